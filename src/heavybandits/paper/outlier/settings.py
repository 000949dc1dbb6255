"""Outlier: what one reward of -10^4 does. Data only."""

from typing import Any

from ...arms import Fixed
from ...engine.contracts import Filter
from ...filters import Clip, Truncate
from ...links import Identity
from ...noises import Outlier, StudentT

TITLE = "One outlier"

# Linear rewards, arms in all directions and little noise: a problem that everybody can solve.
DIM = 10
ARMS = Fixed(20, DIM, low=-1.0)
LINK = Identity()
PLAY, VALUE = 100, -1e4
BASE = StudentT(3.0, scale=0.1)
NOISES: dict[str, tuple[str, Any]] = {
    "clean": ("Student's t noise", BASE),
    "outlier": ("the same, with one reward of -10,000 at play 100", Outlier(BASE, PLAY, VALUE)),
}
FILTERED: dict[str, Filter] = {"LinUCB, truncated": Truncate(5.0), "LinUCB, clipped": Clip(2.0)}
ALGORITHMS = ["CRTM", "CRMM", "OL2M", "GLOC", "LinUCB", *FILTERED, "random play"]
UNTUNED = ["random play"]
ROBUST = ["CRTM", "CRMM", *FILTERED]
SHARE = 0.1  # unharmed: the outlier costs less than this share of what random play costs

_COMMON: dict[str, Any] = {"algorithms": ALGORITHMS, "checkpoints": 100, "seed": 0}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {
        "horizon": 1000,
        "repetitions": 3,
        "constants": 2,
        "tuning_repetitions": 2,
        "checkpoints": 10,
        "algorithms": ["CRTM", "OL2M", "LinUCB", "random play"],
    },
    "quick": _COMMON
    | {"horizon": 10**4, "repetitions": 20, "constants": 5, "tuning_repetitions": 5},
    "default": _COMMON
    | {"horizon": 10**4, "repetitions": 40, "constants": 9, "tuning_repetitions": 20},
    "full": _COMMON
    | {"horizon": 10**5, "repetitions": 40, "constants": 9, "tuning_repetitions": 20},
}
