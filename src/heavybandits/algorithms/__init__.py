"""Named algorithms: a citation, the assumptions and one expression over parts."""

from .adaptive import cral
from .auto import auto
from .finite import bmm, btc, supbmm, supbtc
from .glm import crmm, crtm, gloc, gloc_mom, ol2m, ol2m_mom
from .hurdle import hurdle
from .linear import crt, linucb, menu, mom, tofu
from .robust import crcm, crhl, gada_oful, heavy_oful, hvt_ucb

__all__ = [
    "auto",
    "bmm",
    "btc",
    "cral",
    "crcm",
    "crhl",
    "crmm",
    "crt",
    "crtm",
    "gada_oful",
    "gloc",
    "gloc_mom",
    "heavy_oful",
    "hurdle",
    "hvt_ucb",
    "linucb",
    "menu",
    "mom",
    "ol2m",
    "ol2m_mom",
    "supbmm",
    "supbtc",
    "tofu",
]
