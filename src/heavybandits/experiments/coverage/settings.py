"""Coverage: do the theorems' regions contain theta*, and how large are they? Data only."""

from typing import Any

from ...parts.noises import Pareto, StudentT
from ..parts import saturating

TITLE = "Coverage of the confidence regions"

DIM, ARMS = 10, 20

# name: (what it is, noise, epsilon)
NOISES: dict[str, tuple[str, Any, float]] = {
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0), 1.0),
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5), 0.4),
    "pareto": ("Pareto as printed, not centred", Pareto(3.0, 0.01, centred=False), 1.0),
    "pareto-centred": ("Pareto, centred", Pareto(3.0, 0.01), 1.0),
    "rare": ("two points, one of them rare, E noise^2 = 1", saturating(0.001, 2.0), 1.0),
    "often": ("two points, E noise^2 = 1", saturating(0.3, 2.0), 1.0),
    "rare 0.3": ("two points, one of them rare, E|noise|^1.3 = 1", saturating(0.001, 1.3), 0.3),
    "often 0.3": ("two points, E|noise|^1.3 = 1", saturating(0.3, 1.3), 0.3),
}
SATURATING = ["rare", "often", "rare 0.3", "often 0.3"]

# region: the constant c, None for the theorem's
REGIONS: dict[str, float | None] = {"theorem": None, "c = 0.01": 0.01, "c = 0.0001": 0.0001}
FIFTIETH = "a fiftieth"  # of the theorem's radius: if that held theta* too, the test had no power

# algorithm: (what promises, how surely, the noises it is made for)
PROMISES: dict[str, tuple[str, float, list[str]]] = {
    "CRTM": ("Theorem 1", 0.99, ["t3", "t1.5", "pareto-centred"]),
    "CRMM": ("Theorem 3", 0.98, ["t3", "t1.5"]),
    "CRHL": ("CRHL's theorem", 0.99, ["t3", "t1.5", *SATURATING]),
    "CRCM": ("CRCM's theorem", 0.99, ["t3", "t1.5", *SATURATING]),
}

_COMMON: dict[str, Any] = {"regions": list(REGIONS), "algorithms": ["CRTM", "CRMM"], "seed": 0}
# Ours need no symmetry and no more than one central moment: so they meet the noises at its limit.
_OURS: dict[str, Any] = {"algorithms": ["CRHL", "CRCM"], "regions": ["theorem", FIFTIETH]}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"horizon": 500, "runs": 2, "noises": ["t3"], "regions": ["theorem", "c = 0.0001"]}
    | {"ours": _OURS | {"horizon": 100, "noises": ["often 0.3"]}},
    "quick": _COMMON
    | {"horizon": 2000, "runs": 400, "noises": ["t3", "pareto-centred"]}
    | {"ours": _OURS | {"horizon": 2000, "noises": ["rare", "often 0.3"], "regions": ["theorem"]}},
    "default": _COMMON
    | {"horizon": 10**4, "runs": 400, "noises": ["t3", "pareto-centred"]}
    | {"ours": _OURS | {"horizon": 2000, "noises": SATURATING}},
    "full": _COMMON
    | {"horizon": 20_000, "runs": 400, "noises": ["t3", "t1.5", "pareto", "pareto-centred"]}
    | {"ours": _OURS | {"horizon": 10**4, "noises": ["t3", "t1.5", *SATURATING]}},
}
