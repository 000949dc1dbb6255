"""Evaluation: which intervals contain the truth, and how large are the errors? Data only."""

from typing import Any

from ...parts.noises import Gaussian, Pareto, StudentT

TITLE = "Evaluation from logs"

ACTIONS, FEATURES, PEOPLE = 5, 3, 64  # contexts are drawn from so many, so that the truth is known
SKEW = 0.8  # how unequal the propensities of the log are
FLOOR = 0.02  # the least of them
KEEN = 0.5  # how sharply the judged policy follows the true means

# name: (what it is, noise)
LAWS: dict[str, tuple[str, Any]] = {
    "gauss": ("Gaussian", Gaussian(1.0)),
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0)),
    "t2.5": ("Student's t, 2.5 degrees of freedom", StudentT(2.5)),
    "pareto3": ("centred Pareto, s = 3", Pareto(3.0, 1.0)),
    "pareto2.5": ("centred Pareto, s = 2.5", Pareto(2.5, 1.0)),
    "pareto2.1": ("centred Pareto, s = 2.1", Pareto(2.1, 1.0)),
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5)),
    "pareto1.5": ("centred Pareto, s = 1.5", Pareto(1.5, 1.0)),
}
NO_VARIANCE = ["t1.5", "pareto1.5"]
LIGHT = ["gauss", "t3", "pareto2.5"]

# Open Bandit Pipeline's formulas, written down here again: plain means and the bootstrap.
PLAIN = "plain IPS"
OTHERS = [PLAIN, "plain SNIPS", "plain DR", "sub-Gaussian IPS"]
OURS = "DR"
CLIPPED = "DR, clipped"
BOUNDED = "IPS, known moment"
METHODS = [*OTHERS, OURS, CLIPPED, "IPS", "SNIPS", BOUNDED]
BOOTSTRAPS = 200
SHRINK = 0.05  # lambda of the sub-Gaussian weights, w / (1 - lambda + lambda w)

PROMISE = 0.93  # of intervals at 95%

_COMMON: dict[str, Any] = {"laws": list(LAWS), "sizes": [2_000], "seed": 1}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON | {"laws": ["t1.5", "pareto2.5"], "sizes": [200], "runs": {"200": 4}},
    "quick": _COMMON | {"laws": ["gauss", "t1.5", "pareto1.5"], "runs": {"2000": 60}},
    "default": _COMMON | {"runs": {"2000": 150}},
    "full": _COMMON | {"sizes": [2_000, 20_000], "runs": {"2000": 600, "20000": 150}},
}
