"""Tails: where truncation matters. Data only."""

from typing import Any

from ...arms import Fixed
from ...links import Identity, Logistic
from ...noises import Pareto, StudentT

TITLE = "Tails: where truncation matters"

# Arms in all directions: under those of Figure 1, which all point the same way, nobody learns
# enough in such noise for the estimators to differ.
DIM = 10
ARMS = Fixed(20, DIM, low=-1.0)
PROBLEMS: dict[str, tuple[str, Any]] = {
    "logistic": ("logistic rewards", Logistic()),
    "linear": ("linear rewards", Identity()),
}

# name: (what it is, noise, epsilon)
NOISES: dict[str, tuple[str, Any, float]] = {
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5), 0.4),
    "t2": ("Student's t, 2 degrees of freedom", StudentT(2.0), 0.9),
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0), 1.0),
    "pareto1.5": ("centred Pareto, s = 1.5, from 1", Pareto(1.5, 1.0), 0.4),
    "pareto2": ("centred Pareto, s = 2, from 1", Pareto(2.0, 1.0), 0.9),
    "pareto3": ("centred Pareto, s = 3, from 1", Pareto(3.0, 1.0), 1.0),
}

NONE = 0.0  # stands for "no truncation": the online Newton step of the same radius
LEVELS = [NONE, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003]  # multiples of Algorithm 1's Gamma
RADII = [0.1, 1.0, 10.0]  # of the confidence region, the same with and without truncation

_COMMON: dict[str, Any] = {
    "levels": LEVELS,
    "radii": RADII,
    "noises": list(NOISES),
    "problems": list(PROBLEMS),
    "seed": 0,
}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {
        "horizon": 500,
        "repetitions": 4,
        "noises": ["t1.5"],
        "levels": [NONE, 0.1],
        "radii": [1.0],
        "problems": ["logistic"],
    },
    "quick": _COMMON | {"horizon": 10**4, "repetitions": 10},
    "default": _COMMON | {"horizon": 3 * 10**4, "repetitions": 20},
    "full": _COMMON | {"horizon": 10**5, "repetitions": 30},
}
