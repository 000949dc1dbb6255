"""Coverage: do the theorems' regions contain theta*, and how large are they? Data only."""

from typing import Any

from ...noises import Pareto, StudentT

TITLE = "Coverage of the confidence regions"

DIM, ARMS = 10, 20

# name: (what it is, noise, epsilon)
NOISES: dict[str, tuple[str, Any, float]] = {
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0), 1.0),
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5), 0.4),
    "pareto": ("Pareto as printed, not centred", Pareto(3.0, 0.01, centred=False), 1.0),
    "pareto-centred": ("Pareto, centred", Pareto(3.0, 0.01), 1.0),
}

# region: the constant c, None for the theorem's
REGIONS: dict[str, float | None] = {"theorem": None, "c = 0.01": 0.01, "c = 0.0001": 0.0001}

# algorithm: (what promises, how surely, the noises it is made for)
PROMISES: dict[str, tuple[str, float, list[str]]] = {
    "CRTM": ("Theorem 1", 0.99, ["t3", "t1.5", "pareto-centred"]),
    "CRMM": ("Theorem 3", 0.98, ["t3", "t1.5"]),
}

_COMMON: dict[str, Any] = {"regions": list(REGIONS), "algorithms": list(PROMISES), "seed": 0}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"horizon": 500, "runs": 2, "noises": ["t3"], "regions": ["theorem", "c = 0.0001"]},
    "quick": _COMMON | {"horizon": 2000, "runs": 400, "noises": ["t3", "pareto-centred"]},
    "default": _COMMON | {"horizon": 10**4, "runs": 400, "noises": ["t3", "pareto-centred"]},
    "full": _COMMON | {"horizon": 10**5, "runs": 400, "noises": list(NOISES)},
}
