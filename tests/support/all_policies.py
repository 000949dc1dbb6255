"""A small policy of every algorithm of the catalogue, and of filters that it does not name."""

from typing import Any

import heavybandits as hb
from heavybandits.filters import AdaptiveClip, Clip, LeverageClip, TailClip, TrimmedMean

SIZES: dict[str, Any] = {"dim": 3, "horizon": 60, "arms": 5, "raw_moment": 1.0}
SIZES["central_moment"] = 1.0

# What some are told besides, most of all how often to play: a theorem asks for too many here.
TOLD: dict[str, dict[str, Any]] = {
    "crtm": {"radius_scale": 0.01, "truncation": 5.0},
    "crmm": {"plays": 5},
    "crhl": {"radius_scale": 0.1},
    "crcm": {"plays": 5},
    "heavy_oful": {"radius_scale": 0.1},
    "linucb": {"radius": 1.0},
    "ol2m_mom": {"plays": 6, "group": 2},
    "gloc_mom": {"plays": 6, "group": 2, "radius_scale": 0.1},
    "crt": {"radius_scale": 0.1},
    "mom": {"plays": 4},
    "menu": {"plays": 4},
    "bmm": {"plays": 4},
    "supbmm": {"plays": 4},
    "uniform": {"seed": 12_345},
}

POLICIES: dict[str, Any] = {
    name: row.make(**SIZES, **TOLD.get(name, {}))
    for name, row in ((row.function.__name__.lower(), row) for row in hb.ALGORITHMS.values())
}
POLICIES |= {
    "linucb_clip": hb.linucb(dim=3, filter=Clip(2.0)),
    "linucb_trimmed": hb.linucb(dim=3, radius=1.0, filter=TrimmedMean(plays=5, trim=0.2)),
    "linucb_adaptive": hb.linucb(dim=3, radius=1.0, filter=AdaptiveClip()),
    "crtm_adaptive": hb.linucb(
        dim=3, radius=1.0, filter=AdaptiveClip(weighted=True, truncate=True)
    ),
    "crhl_theory": hb.crhl(dim=3, noise_scale=1.0, epsilon=0.5, corruption=1.0),
    "cral_tuned": hb.cral(dim=3, radius_scale=0.4),
    "crtm_local": hb.crtm(dim=3, horizon=60, raw_moment=1.0, radius_scale=0.01, curvature="local"),
    "linucb_leverage": hb.linucb(dim=3, radius=1.0, filter=LeverageClip()),
    "linucb_tail": hb.linucb(dim=3, radius=1.0, filter=TailClip()),
}

# Those that draw their arms; there is no file of them in the fixtures of format 1.
DRAWING: dict[str, Any] = {
    "mixed": hb.policies.EpsilonGreedy(
        hb.linucb(dim=3, radius=1.0, filter=AdaptiveClip()), epsilon=0.2, seed=7
    ),
    "gap": hb.policies.SquareCB(hb.linucb(dim=3, radius=1.0), radius_scale=5.0),
    "thompson": hb.policies.Thompson(
        hb.linucb(dim=3, radius=1.0, filter=AdaptiveClip()), draws=4, seed=3
    ),
}
