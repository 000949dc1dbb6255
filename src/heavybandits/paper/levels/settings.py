"""Levels: a level that sets itself against fixed ones, chosen in hindsight. Data only."""

from typing import Any

from ...filters import AdaptiveClip, Clip, Raw, Truncate
from ...noises import Gaussian, Pareto, StudentT

TITLE = "Levels that set themselves"

DIM, ARMS = 10, 20
RADIUS = 1.0  # of the confidence region, the same for all

NOISES: dict[str, tuple[str, Any]] = {
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5)),
    "t2": ("Student's t, 2 degrees of freedom", StudentT(2.0)),
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0)),
    "pareto1.5": ("centred Pareto, s = 1.5, from 1", Pareto(1.5, 1.0)),
    "pareto2": ("centred Pareto, s = 2, from 1", Pareto(2.0, 1.0)),
    "pareto3": ("centred Pareto, s = 3, from 1", Pareto(3.0, 1.0)),
    "gauss": ("Gaussian, a control", Gaussian(1.0)),
}

# Both problems have 20 arms in 10 dimensions; ridge regression meets fresh arms of any sign.
PROBLEMS = {
    "logistic": "logistic rewards, fixed arms, online Newton step",
    "linear": "linear rewards, fresh arms, ridge regression",
}

FIXED: dict[str, Any] = {
    "none": Raw(),
    **{f"truncate {level:g}": Truncate(level) for level in (0.3, 1.0, 3.0, 10.0, 30.0)},
    **{f"clip {level:g}": Clip(level) for level in (0.3, 1.0, 3.0, 10.0, 30.0)},
}
ADAPTIVE: dict[str, Any] = {
    "adaptive clip": AdaptiveClip(),
    "adaptive clip, 0.95": AdaptiveClip(quantile=0.95),
    "adaptive clip, raw": AdaptiveClip(residual=False),
    "adaptive clip, weighted": AdaptiveClip(weighted=True),
    "adaptive truncate": AdaptiveClip(truncate=True),
    "adaptive truncate, raw": AdaptiveClip(residual=False, truncate=True),
}
JUDGED = "adaptive clip"
FAR = 1.25  # "not far behind": at most a quarter more regret than the best fixed level

_COMMON: dict[str, Any] = {
    "noises": list(NOISES),
    "problems": list(PROBLEMS),
    "filters": [*FIXED, *ADAPTIVE],
    "seed": 1,  # the default quantile was set on seed 7
}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {
        "horizon": 300,
        "repetitions": 3,
        "noises": ["t1.5"],
        "problems": ["linear"],
        "filters": ["none", "clip 1", "clip 10", JUDGED],
    },
    "quick": _COMMON
    | {"horizon": 5_000, "repetitions": 10, "filters": [*FIXED, JUDGED], "problems": ["linear"]},
    "default": _COMMON | {"horizon": 20_000, "repetitions": 20},
    "full": _COMMON | {"horizon": 20_000, "repetitions": 30},
}
