"""Coverage: do the theorems' regions contain theta*, and how large are they? Data only."""

from typing import Any

from ...parts.noises import Pareto, StudentT
from ..parts import TwoPoint, saturating

TITLE = "Coverage of the confidence regions"

DIM, ARMS = 10, 20
SMALL_DIM, FEW_ARMS = 3, 6  # for CRAL, whose noise is a thousand times as large as the rewards
LOUD = 1000.0

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
# CRAL receives C instead of a moment: its noises have none, or are lone atoms with exactly this C.
# name: (what it is, noise, the C that CRAL receives)
ADAPTIVE: dict[str, tuple[str, Any, float]] = {
    "cauchy": ("Cauchy, C = 0", StudentT(1.0, LOUD), 0.0),
    "signs": ("plus or minus one, C = 0", TwoPoint(0.5, LOUD), 0.0),
    "pareto 1.5": ("Pareto 1.5, C = 1", Pareto(1.5, LOUD), 1.0),
    "atom, C = 1": ("lone atom of probability 1/9, C = 1", TwoPoint(1.0 / 9.0, LOUD), 1.0),
    "atom, C = 5": ("lone atom of probability 1/121, C = 5", TwoPoint(1.0 / 121.0, LOUD), 5.0),
    "rarer atom": ("lone atom of probability 1/2000, C = 22, given 1", TwoPoint(5e-4, LOUD), 1.0),
}
VIOLATING = "rarer atom"  # the theorem says nothing about it
SATURATING = ["rare", "often", "rare 0.3", "often 0.3"]

LABELS = {name: row[0] for name, row in (NOISES | ADAPTIVE).items()}

# region: the constant c, None for the theorem's
REGIONS: dict[str, float | None] = {"theorem": None, "c = 0.01": 0.01, "c = 0.0001": 0.0001}
FIFTIETH = "a fiftieth"  # of the theorem's radius: if that held theta* too, the test had no power

# algorithm: (what promises, how surely, the noises it is made for)
PROMISES: dict[str, tuple[str, float, list[str]]] = {
    "CRTM": ("Theorem 1", 0.99, ["t3", "t1.5", "pareto-centred"]),
    "CRMM": ("Theorem 3", 0.98, ["t3", "t1.5"]),
    "CRHL": ("CRHL's theorem", 0.99, ["t3", "t1.5", *SATURATING]),
    "CRCM": ("CRCM's theorem", 0.99, ["t3", "t1.5", *SATURATING]),
    "CRAL": ("CRAL's theorem", 0.99, [name for name in ADAPTIVE if name != VIOLATING]),
}

_COMMON: dict[str, Any] = {"regions": list(REGIONS), "algorithms": ["CRTM", "CRMM"], "seed": 0}
# Ours need no symmetry and no more than one central moment: so they meet the noises at its limit.
_OURS: dict[str, Any] = {"algorithms": ["CRHL", "CRCM"], "regions": ["theorem", FIFTIETH]}
_ADAPTIVE: dict[str, Any] = {"algorithms": ["CRAL"], "regions": ["theorem", FIFTIETH]}
_ADAPTIVE |= {"horizon": 2000, "noises": list(ADAPTIVE)}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"horizon": 500, "runs": 2, "noises": ["t3"], "regions": ["theorem", "c = 0.0001"]}
    | {"ours": _OURS | {"horizon": 100, "noises": ["often 0.3"]}}
    | {"adaptive": _ADAPTIVE | {"horizon": 100, "noises": ["signs"]}},
    "quick": _COMMON
    | {"horizon": 2000, "runs": 400, "noises": ["t3", "pareto-centred"]}
    | {"ours": _OURS | {"horizon": 2000, "noises": ["rare", "often 0.3"], "regions": ["theorem"]}}
    | {"adaptive": _ADAPTIVE},
    "default": _COMMON
    | {"horizon": 10**4, "runs": 400, "noises": ["t3", "pareto-centred"]}
    | {"ours": _OURS | {"horizon": 2000, "noises": SATURATING}}
    | {"adaptive": _ADAPTIVE},
    "full": _COMMON
    | {"horizon": 20_000, "runs": 400, "noises": ["t3", "t1.5", "pareto", "pareto-centred"]}
    | {"ours": _OURS | {"horizon": 10**4, "noises": ["t3", "t1.5", *SATURATING]}}
    | {"adaptive": _ADAPTIVE | {"horizon": 10**4}},
}
