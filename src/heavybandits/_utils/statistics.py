"""Resampling, and intervals that admit how few repetitions of heavy-tailed things there are."""

import functools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONFIDENCE = 0.95
DRAWS = 20_000
FEW = 8  # repetitions, below which no percentile of their resamples lies far enough out


class Estimate(NamedTuple):
    """A number with its interval, 95% unless stated otherwise."""

    value: float
    low: float
    high: float


UNKNOWN = Estimate(math.nan, -math.inf, math.inf)


@functools.lru_cache(maxsize=4096)
def student_quantile(probability: float, dof: float) -> float:
    """Return the quantile of Student's t, interpolated in a table of its distribution function.

    >>> round(student_quantile(0.975, 9), 4)
    2.2622
    """
    # sin(angle) is t / sqrt(dof + t^2), whose density is a power of cos: nothing beyond 12 widths
    angles = np.linspace(0.0, min(math.pi / 2.0, 12.0 / math.sqrt(dof)), 20_001)
    density = np.cos(angles) ** (dof - 1.0)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0)])
    wanted = abs(2.0 * probability - 1.0) * below[-1]
    angle = float(np.interp(wanted, below, angles))
    return math.copysign(math.sqrt(dof) * math.tan(angle), probability - 0.5)


def student_probability(t: float, dof: float) -> float:
    """Return P(T <= t) for Student's t.

    >>> round(student_probability(2.2622, 9), 4)
    0.975
    """
    angles = np.linspace(0.0, min(math.pi / 2.0, 12.0 / math.sqrt(dof)), 20_001)
    density = np.cos(angles) ** (dof - 1.0)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0)])
    share = np.interp(math.atan(abs(t) / math.sqrt(dof)), angles, below / below[-1])
    return 0.5 + math.copysign(0.5 * float(share), t)


def expanded_tail(size: int) -> float:
    """The tail to remove from a bootstrap of `size` values so that the interval is not too short.

    The plain percentile interval is short by sqrt((n-1)/n) and by the normal instead of Student's
    t; this tail, Phi(-sqrt(n/(n-1)) t_{n-1}), makes up for both (Hesterberg 2015).

    >>> round(expanded_tail(10), 4), round(expanded_tail(10**6), 4)
    (0.0086, 0.025)
    """
    quantile = student_quantile(0.5 + CONFIDENCE / 2.0, size - 1)
    return NormalDist().cdf(-math.sqrt(size / (size - 1)) * quantile)


def bootstrap(
    values: Any, statistic: Callable[[Array], Array] = lambda means: means[:, 0], draws: int = DRAWS
) -> Estimate:
    """An expanded percentile interval for the mean of repetitions, or a statistic of such means.

    values: one row per repetition, one column per quantity. Whole rows are resampled, so that what
    was paired stays paired. statistic: (any, columns) means to one number per row. Resamples are
    between the smallest and the largest value: of fewer than eight, the interval is also that of
    Student's t, with the deviation of the resamples.

    >>> [round(v, 9) for v in bootstrap([2.0, 2.0, 2.0])]
    [2.0, 2.0, 2.0]
    >>> [round(v, 1) for v in bootstrap([1.0, 3.0])]
    [2.0, -10.7, 14.7]
    """
    table = np.array(values, dtype=np.float64, order="C")
    size = len(table)
    table = table.reshape(size, -1)
    value = float(statistic(table.mean(axis=0, keepdims=True))[0])
    if size < 2:
        return Estimate(value, -math.inf, math.inf)
    resampled = statistic(_resamples(size, draws) @ table)
    made, half = _interval(value, resampled, expanded_tail(size)), 0.0
    if size < FEW:
        error = float(resampled.std()) * math.sqrt(size / (size - 1))
        half = student_quantile(0.5 + CONFIDENCE / 2.0, size - 1) * error
    return Estimate(value, min(made.low, value - half), max(made.high, value + half))


@functools.lru_cache(maxsize=4)
def _resamples(size: int, draws: int) -> Array:
    """The share of each repetition in each resample, (draws, size): the same for every bootstrap,
    and most of its work."""
    rng = np.random.default_rng(0)
    return rng.multinomial(size, np.full(size, 1.0 / size), size=draws) / size


def bootstrap_rows(
    values: Array,
    rng: np.random.Generator,
    draws: int,
    statistic: Callable[[Array], Array] = lambda means: means,
) -> Estimate:
    """Return a 90% percentile interval for many rows and few draws: rows are drawn one by one.

    >>> bootstrap_rows(np.ones(1000), np.random.default_rng(0), draws=20)
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    size = values.size
    means = np.array([values[rng.integers(size, size=size)].mean() for _ in range(draws)])
    return _interval(float(statistic(values.mean(keepdims=True))[0]), statistic(means), 0.05)


def _interval(value: float, resampled: Array, tail: float) -> Estimate:
    low, high = np.quantile(resampled, (tail, 1.0 - tail))
    return Estimate(value, float(low), float(high))


def difference(first: Any, second: Any) -> Estimate:
    """By how much the mean of the first exceeds that of the second, repetition by repetition.

    >>> [round(v, 9) for v in difference(np.arange(10.0) + 3.0, np.arange(10.0))]
    [3.0, 3.0, 3.0]
    """
    return bootstrap(np.column_stack([first, second]), lambda means: means[:, 0] - means[:, 1])


def paired_p_value(first: Any, second: Any) -> float:
    """Return the p-value of equal means, repetition by repetition: `difference` inverted.

    It is below 0.05 if and only if the 95% interval of `difference` excludes zero, up to the
    number of resamples.

    >>> paired_p_value(np.arange(10.0) + 3.0, np.arange(10.0)) < 1e-4
    True
    >>> paired_p_value([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), paired_p_value([1.0], [2.0])
    (1.0, 1.0)
    """
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    size = gaps.size
    if size < 2 or not gaps.any():
        return 1.0
    resampled = _resamples(size, DRAWS) @ gaps
    deviation, shrink = float(resampled.std()), math.sqrt((size - 1) / size)
    if not deviation > 1e-12 * abs(gaps.mean()):
        return 0.0  # all gaps are equal
    beyond = abs(gaps.mean()) / deviation
    tail = min(float(np.mean(resampled <= 0.0)), float(np.mean(resampled >= 0.0)), 0.5)
    least = 10.0 / DRAWS
    quantile = NormalDist().inv_cdf(max(tail, least))
    if tail < least:  # too few resamples: by the normal law, but no larger than seen
        quantile = min(quantile, -beyond)
    value = 2.0 * student_probability(shrink * quantile, size - 1)
    if size < FEW:
        value = max(value, 2.0 * student_probability(-shrink * beyond, size - 1))
    return min(value, 1.0)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values that are corrected for their number (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, last = [0.0] * len(order), 0.0
    for place, i in enumerate(order):
        last = max(last, min(1.0, (len(order) - place) * p_values[i]))
        corrected[i] = last
    return corrected


def margin(means: Array, ours: list[int], others: list[int]) -> Array:
    """By how much the best of the others exceeds the worst of ours: positive if ours are lowest.

    >>> margin(np.array([[1.0, 2.0, 5.0]]), [0, 1], [2])
    array([3.])
    """
    return np.asarray(means[:, others].min(axis=1) - means[:, ours].max(axis=1))


def wilson(successes: int, trials: int) -> Estimate:
    """Wilson's interval for a share.

    >>> [round(x, 3) for x in wilson(10, 10)]
    [1.0, 0.722, 1.0]
    """
    if trials == 0:
        return UNKNOWN
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0)
    share, weight = successes / trials, z * z / trials
    middle = (share + weight / 2.0) / (1.0 + weight)
    half = z * math.sqrt(share * (1.0 - share) / trials + weight / (4.0 * trials)) / (1.0 + weight)
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


def slope(x: Any, y: Any) -> Estimate:
    """Return the least-squares slope of ln y on ln x, with Student's interval.

    >>> [round(v, 6) for v in slope([1, 2, 4, 8], [3, 12, 48, 192])]
    [2.0, 2.0, 2.0]
    """
    a, b = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    if np.unique(a).size < 2:
        return UNKNOWN
    a = a - a.mean()
    value = float(a @ b / (a @ a))
    if a.size < 3:
        return Estimate(value, -math.inf, math.inf)
    residual = b - b.mean() - value * a
    error = math.sqrt(float(residual @ residual) / (a.size - 2) / float(a @ a))
    half = student_quantile(0.5 + CONFIDENCE / 2.0, a.size - 2) * error
    return Estimate(value, value - half, value + half)


def ratio(above: Any, below: Any, deviation: float, dof: int) -> Estimate:
    """The ratio of two geometric means, `deviation` being the standard one of the logarithms.

    >>> [round(v, 3) for v in ratio([8.0, 8.0], [2.0, 2.0], deviation=0.1, dof=10)]
    [4.0, 3.201, 4.998]
    """
    top, bottom = np.log(np.asarray(above)), np.log(np.asarray(below))
    value = float(top.mean() - bottom.mean())
    if dof < 1:
        return Estimate(math.exp(value), 0.0, math.inf)
    error = deviation * math.sqrt(1.0 / top.size + 1.0 / bottom.size)
    half = student_quantile(0.5 + CONFIDENCE / 2.0, dof) * error
    return Estimate(math.exp(value), math.exp(value - half), math.exp(value + half))


def pooled_deviation(groups: list[Any]) -> tuple[float, int]:
    """Return the standard deviation of ln(time) within groups, and its degrees of freedom.

    One deviation for all, so that a run too long to repeat often still has an interval.

    >>> pooled_deviation([[1.0, 1.0], [5.0]])
    (0.0, 1)
    """
    logs = [np.log(np.asarray(group, dtype=np.float64)) for group in groups]
    dof = sum(log.size - 1 for log in logs)
    total = sum(float(((log - log.mean()) ** 2).sum()) for log in logs)
    return (math.sqrt(total / dof), dof) if dof else (math.nan, 0)


def summary(values: Any) -> dict[str, float]:
    """Return mean with its interval, median, quartiles and extremes of one quantity.

    >>> summary([1.0, 2.0, 9.0])["median"]
    2.0
    """
    column = np.asarray(values, dtype=np.float64)
    mean = bootstrap(column)
    low, middle, high = (float(q) for q in np.quantile(column, (0.25, 0.5, 0.75)))
    return {
        "mean": mean.value,
        "mean low": mean.low,
        "mean high": mean.high,
        "median": middle,
        "lower quartile": low,
        "upper quartile": high,
        "smallest": float(column.min()),
        "largest": float(column.max()),
    }
