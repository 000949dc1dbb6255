"""Diagnosis: do enough rows carry a mean for a valid interval?

An interval from the data alone knows only the rewards that occurred. If a few rows decide the mean,
the next log has others, and the interval misses. So `evaluate` counts the rows that carry the mean,
and reports no interval if there are too few of them.
"""

import math

import numpy as np

from ...core.arrays import Floats
from ..log import Decisions

LEAST_CARRIERS = 20.0  # rows that an interval needs at delta = 0.05, found on logs of known truth
USUAL_DELTA = 0.05
INTERVALS = ("checked", "always")  # when there is an interval
NEXT_STEP = (
    "collect more rows, or pass a bound of E|reward|^(1 + epsilon) that you know as raw_moment, or "
    "ask for the interval nevertheless with interval='always'"
)


def count_carriers(values: Floats, weights: Floats | None = None) -> float:
    """Return (sum e^2)^3 / (sum |e|^3)^2, the effective number of rows that carry the mean of e.

    Here e is the value, times its weight if there are weights.

    It is k if k of the values have one size and the others are zero, and 0.39 n for n Gaussian
    values. The normal approximation of the mean errs by at most about 1 / sqrt of this number
    (Berry 1941, Esseen 1942).

    >>> count_carriers(np.array([5.0, -5.0, 0.0, 0.0]))
    2.0
    >>> round(count_carriers(np.array([1e300, 1.0, 1.0])), 6), count_carriers(np.zeros(3))
    (1.0, 0.0)
    """
    sizes = _in_units(values) if weights is None else _in_units(values) * _in_units(weights)
    sizes = _in_units(sizes)
    if not sizes.any():
        return 0.0
    squares = sizes * sizes
    return float(squares.sum() ** 3 / (squares * sizes).sum() ** 2)


def _in_units(values: Floats) -> Floats:
    """Return the sizes of the values in units of the largest."""
    sizes = np.abs(values)
    return np.asarray(sizes / (sizes.max(initial=0.0) or 1.0))


def needed_carriers(delta: float) -> float:
    """Return the number of carriers that an interval of confidence 1 - delta needs.

    >>> needed_carriers(0.05), round(needed_carriers(0.001))
    (20.0, 46)
    """
    return LEAST_CARRIERS * max(1.0, math.log(delta) / math.log(USUAL_DELTA))


def effective_size(weights: Floats) -> float:
    """Return (sum w)^2 / sum w^2 of the sizes of the weights (Kish 1965).

    >>> effective_size(np.array([2.0, 2.0, 0.0])), effective_size(np.zeros(3))
    (2.0, 0.0)
    """
    sizes = np.abs(weights)
    square = float(np.sum(sizes * sizes))
    return float(sizes.sum()) ** 2 / square if square > 0.0 else 0.0


def centre_rewards(log: Decisions) -> Floats:
    """Return the rewards less the median reward of their action.

    >>> from heavybandits.offline.log import Log
    >>> data = {"action": list("aaab"), "reward": [1, 2, 9, 5], "propensity": [0.5] * 4}
    >>> centre_rewards(Log(data).decisions).tolist()
    [-1.0, 0.0, 7.0, 0.0]
    """
    centred = log.rewards.copy()
    for action in np.unique(log.taken):
        mine = log.taken == action
        centred[mine] -= np.median(centred[mine])
    return centred


def expected_carriers(weights: Floats, centred: Floats) -> float:
    """Return the carriers of weights times rewards if the rewards of all rows were shuffled.

    It is K(w) K(r) / n with the carriers K(w) of the weights and K(r) of the rewards of all rows.

    >>> expected_carriers(np.array([2.0, 2.0, 0.0, 0.0]), np.array([0.0, 0.0, 9.0, 0.0]))
    0.5
    """
    return count_carriers(weights) * count_carriers(centred) / centred.size


def find_certainty(known: Decisions, weights: Floats) -> list[str]:
    """Return why the log contains no information about a policy if none of its actions was drawn.

    A log of one available action in every row, or a policy that always takes the logged action,
    needs no draws.

    >>> from heavybandits.offline.log import Log
    >>> known = Log({"action": list("ab"), "reward": [1, 2], "propensity": [1.0, 1.0]}).decisions
    >>> find_certainty(known, np.ones(2)), len(find_certainty(known, np.zeros(2)))
    ([], 1)
    """
    free = known.available.sum(axis=1) > 1
    if not free.any() or (known.propensities[free] != 1.0).any() or (weights == 1.0).all():
        return []
    return [
        "no action was drawn at random: every propensity is 1, so the log does not contain what "
        "other actions would have earned; log the decisions of a policy that explores, such as "
        "policies.EpsilonGreedy"
    ]


def find_reasons(weights: Floats, centred: Floats, delta: float) -> list[str]:
    """Return why a mean of weights times rewards has no interval, one sentence each.

    Two numbers must reach `needed_carriers`: the carriers among the weighted rewards, and those
    that the rewards of the whole log lead us to expect. The second number sees rare rewards that
    the log has only for other actions, or by chance only with small weights.
    """
    if not weights.any():
        return []  # the mean does not depend on a reward
    if not centred.any():
        return [
            "all rewards of an action are the same number, so the log does not show how rewards "
            "vary: collect more rows"
        ]
    needed, rows = needed_carriers(delta), weights.size
    own, expected = count_carriers(centred, weights), expected_carriers(weights, centred)
    if own < needed:
        return [
            f"{own:.1f} of {rows} rows carry the estimate, and an interval needs {needed:.0f}: a "
            f"few large rewards or weights decide it, and the next log has others; {NEXT_STEP}"
        ]
    if expected < needed:
        return [
            "the whole log has large rewards so rarely that with these weights "
            f"{expected:.1f} of {rows} rows are expected to carry the estimate, and an interval "
            f"needs {needed:.0f}: the rows that count may lack large rewards by chance; {NEXT_STEP}"
        ]
    return []
