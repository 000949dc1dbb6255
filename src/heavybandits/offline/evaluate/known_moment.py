"""The mean of weighted rewards with a known moment, and an interval that a theorem guarantees.

`docs/maths/evaluation.md` has the proof.
"""

import math

import numpy as np

from ..._utils.statistics import Estimate
from ...core.arrays import Floats

WEIGHT_SHARE = 0.2  # of delta, for the moment of the weights; the two ends have the rest
STEP = 4.0  # ratio of successive moments for which there is a scale
LARGEST_TERM = 1e150  # in units of the scale: its square is still a number


def soft_constant(order: float) -> float:
    """Return the smallest C with 1 + C |x|^p >= sqrt(1 + x^2), p the order, for every x.

    >>> soft_constant(2.0), round(soft_constant(1.5), 4)
    (0.5, 0.4387)
    """
    near = (2.0 - order) ** (1.0 - order / 2.0) if order < 2.0 else 1.0
    return float(near * (order - 1.0) ** (order - 1.0) * order ** (-order / 2.0))


def soften(terms: Floats, order: float) -> Floats:
    """Return sign(x) ln(1 + |x| + C |x|^p), which grows like a logarithm (Catoni 2012).

    >>> soften(np.array([0.0, 1e-3, -1e3]), 2.0).round(3).tolist()
    [0.0, 0.001, -13.124]
    """
    sizes = np.minimum(np.abs(terms), LARGEST_TERM)
    return np.copysign(np.log1p(sizes + soft_constant(order) * sizes**order), terms)


def bound_weight_moment(weights: Floats, order: float, mean: float, delta: float) -> float:
    """Return a bound of E w^p for weights in [0, W], W the largest of them, of this mean.

    The bound is the smaller of W^(p - 1) E w, and of W^p (sqrt(m + l / 2n) + sqrt(l / 2n))^2 with m
    the mean of (w / W)^p and l = ln(1 / delta), Chernoff's bound for numbers in [0, 1].

    >>> bound_weight_moment(np.array([0.0, 4.0]), 2.0, 1.0, 0.01)
    4.0
    """
    largest, half = float(weights.max()), math.log(1.0 / delta) / (2.0 * weights.size)
    seen = float(np.mean((weights / largest) ** order))
    chernoff = largest**order * (math.sqrt(seen + half) + math.sqrt(half)) ** 2
    return min(largest ** (order - 1.0) * mean, chernoff)


def bounded_mean(
    rewards: Floats,
    weights: Floats,
    *,
    raw_moment: float,
    epsilon: float,
    delta: float,
    mean_weight: float = 1.0,
) -> Estimate:
    """Return the mean of weight times reward if E(|reward|^p | weight) <= u, p = 1 + epsilon.

    Both ends are valid together with probability 1 - delta, for every law with this moment and
    every number of rows, if no weight of the law exceeds the largest one here.

    Parameters
    ----------
    rewards, weights : array of shape (n,)
        Independent rows; a weight may be negative.
    raw_moment, epsilon : float
        The bound u and its order minus one.
    delta : float
        Probability with which the interval misses the mean.
    mean_weight : float, default 1
        Bound of E|weight|.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> paid, one = 1.0 + rng.pareto(3.0, 1000), np.ones(1000)
    >>> bounded = bounded_mean(paid, one, raw_moment=3.0, epsilon=1.0, delta=0.05)
    >>> bounded.low < 1.5 < bounded.high
    True
    """
    order, rows, sizes = 1.0 + epsilon, rewards.size, np.abs(weights)
    largest = float(sizes.max())
    if largest == 0.0:
        return Estimate(0.0, 0.0, 0.0)
    constant, own = soft_constant(order), WEIGHT_SHARE * delta
    mean_weight = min(mean_weight, largest)
    most = largest ** (order - 1.0) * mean_weight  # E|w|^p
    least = min(most, max(mean_weight, largest * math.log(1.0 / own) / rows) ** order)
    scales = 1 + math.ceil(math.log(most / least) / math.log(STEP))
    logarithm = math.log(2.0 * scales / (delta - own))
    moment = raw_moment * bound_weight_moment(sizes, order, mean_weight, own)

    def half_width(scale: float) -> float:
        return constant * scale**epsilon * moment + logarithm / (rows * scale)

    tried = [
        (logarithm / (rows * epsilon * constant * raw_moment * least * STEP**n)) ** (1.0 / order)
        for n in range(scales)
    ]
    scale = min(tried, key=half_width)
    softened = soften(scale * weights * rewards, order)
    value, half = float(softened.mean()) / scale, half_width(scale)
    return Estimate(value, value - half, value + half)
