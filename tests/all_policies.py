"""A small policy of every family of the library: a new family joins the checks by a row here."""

from typing import Any

import heavybandits as hb
from heavybandits import algorithms as baselines
from heavybandits.filters import AdaptiveClip
from heavybandits.policies import Uniform

HORIZON: dict[str, Any] = {"dim": 3, "horizon": 60, "moment": 1.0}

POLICIES: dict[str, Any] = {
    "crtm": hb.crtm(**HORIZON, gamma_scale=0.01, truncation=5.0),
    "crmm": hb.crmm(**HORIZON, plays=5),
    "ol2m": hb.ol2m(dim=3),
    "linucb": hb.linucb(dim=3, radius=1.0),
    "linucb_clip": hb.linucb(dim=3, filter=hb.filters.Clip(2.0)),
    "linucb_trimmed": hb.linucb(
        dim=3, radius=1.0, filter=hb.filters.TrimmedMean(plays=5, trim=0.2)
    ),
    "linucb_adaptive": hb.linucb(dim=3, radius=1.0, filter=AdaptiveClip()),
    "crtm_adaptive": hb.linucb(
        dim=3, radius=1.0, filter=AdaptiveClip(weighted=True, truncate=True)
    ),
    "uniform": Uniform(dim=3, seed=12_345),
    "gloc": baselines.gloc(dim=3),
    "ol2m_mom": baselines.ol2m_mom(dim=3, horizon=60, plays=6, group=2),
    "gloc_mom": baselines.gloc_mom(dim=3, horizon=60, gamma_scale=0.1, plays=6, group=2),
    "crt": baselines.crt(dim=3, moment=1.0, radius_scale=0.1),
    "mom": baselines.mom(**HORIZON, plays=4),
    "tofu": baselines.tofu(**HORIZON),
    "menu": baselines.menu(**HORIZON, plays=4),
    "btc": baselines.btc(**HORIZON, arms=5),
    "bmm": baselines.bmm(**HORIZON, arms=5, plays=4),
    "supbtc": baselines.supbtc(**HORIZON, arms=5),
    "supbmm": baselines.supbmm(**HORIZON, arms=5, plays=4),
}
