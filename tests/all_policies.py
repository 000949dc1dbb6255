"""A small policy of every family of the library: a new family joins the checks by a row here."""

from typing import Any

import heavybandits as hb

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
    "linucb_adaptive": hb.linucb(dim=3, radius=1.0, filter=hb.filters.AdaptiveClip()),
    "crtm_adaptive": hb.linucb(
        dim=3, radius=1.0, filter=hb.filters.AdaptiveClip(weighted=True, truncate=True)
    ),
    "uniform": hb.policies.Uniform(dim=3, seed=12_345),
    "gloc": hb.gloc(dim=3),
    "ol2m_mom": hb.ol2m_mom(dim=3, horizon=60, plays=6, group=2),
    "gloc_mom": hb.gloc_mom(dim=3, horizon=60, gamma_scale=0.1, plays=6, group=2),
    "crt": hb.crt(dim=3, moment=1.0, radius_scale=0.1),
    "mom": hb.mom(**HORIZON, plays=4),
    "tofu": hb.tofu(**HORIZON),
    "menu": hb.menu(**HORIZON, plays=4),
    "btc": hb.btc(**HORIZON, arms=5),
    "bmm": hb.bmm(**HORIZON, arms=5, plays=4),
    "supbtc": hb.supbtc(**HORIZON, arms=5),
    "supbmm": hb.supbmm(**HORIZON, arms=5, plays=4),
}
