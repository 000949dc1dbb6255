"""Means of heavy-tailed numbers, and the interval of a mean."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._utils.statistics import student_quantile
from ...core.arrays import Floats

LEAST_ROWS = 20  # rows that an evaluation needs
FAR = 1e150  # largest distance from zero, in units of the median size
STEP = 10.0**0.5  # ratio of successive weights of the clipped mean
TIGHTEST = 0.1  # largest weight of the clipped mean, as a share of the rows
LARGEST_GAP = 2.5  # standard errors by which two clipped means, or two tails, may differ
LEAST_SKEWNESS = 1e-6  # below it the correction is lost in rounding
LEVEL = 1.0 / 3.0  # share of delta at which the interval is computed, see `mean_interval`


def in_units(values: Floats, size: Callable[[Floats], Any] = np.max) -> tuple[Floats, float]:
    """Return the numbers in a unit near their `size`, a power of two; then squares do not overflow.

    Numbers beyond 1e150 units are set to 1e150, which changes no robust mean.

    >>> in_units(np.array([3e200, 1e-200, -4e200]))[0].round(2).tolist()
    [0.49, 0.0, -0.65]
    """
    sizes = np.abs(values[values != 0.0])
    if not sizes.size:
        return values, 1.0
    unit = 2.0 ** min(max(math.frexp(float(size(sizes)))[1], -1000), 1000)
    with np.errstate(over="ignore"):
        return np.clip(values / unit, -FAR, FAR), unit


def plain_mean(values: Floats, delta: float) -> float:
    """Return the mean; `delta` has no effect.

    >>> plain_mean(np.array([1.7e308, 1.7e308, 0.0, 0.0]), 0.05)
    8.5e+307
    """
    scaled, unit = in_units(values)
    return unit * float(scaled.mean())


def mean_interval(values: Floats, delta: float) -> tuple[float, float]:
    """Return an interval for the mean of independent numbers that may be skewed.

    The interval is the union of Student's interval and of the interval of Hall (1992), which
    corrects for the skewness g. With s the standard deviation and t = z / sqrt(n) - g / 6n, z a
    quantile of Student's t, an end of Hall's interval is

        mean - s (3 / g) ((1 + g t)^(1/3) - 1)

    Both are computed at a third of delta. The other two thirds pay for the diagnosis: `evaluate`
    reports an interval only if no few rows carry the mean, so the logs with an interval are those
    in which large rewards are rarer than on average.

    >>> [round(end, 2) for end in mean_interval(np.arange(100.0), 0.05)]
    [42.43, 56.57]
    """
    scaled, unit = in_units(values)
    rows, mean = values.size, float(scaled.mean())
    away = scaled - mean
    deviation = float(away.std())
    if deviation == 0.0:
        return unit * mean, unit * mean
    skewness = float(np.mean(away * away * away)) / deviation**3
    low, high = moments_interval(rows, mean, deviation, skewness, delta)
    return unit * low, unit * high


def moments_interval(
    rows: int, mean: float, deviation: float, skewness: float, delta: float
) -> tuple[float, float]:
    """Return the interval of `mean_interval` from the moments of the numbers.

    `deviation` is the square root of the mean squared distance from the mean, greater than 0.

    >>> [round(end, 2) for end in moments_interval(100, 49.5, 28.866, 0.0, 0.05)]
    [42.43, 56.57]
    """
    deviation *= math.sqrt(rows / (rows - 1))
    reach = student_quantile(1.0 - LEVEL * delta / 2.0, rows - 1) / math.sqrt(rows)
    ends = [-reach, reach]
    if abs(skewness) > LEAST_SKEWNESS:
        for side in ends[:]:
            root = float(np.cbrt(1.0 + skewness * (side - skewness / (6.0 * rows))))
            ends.append(3.0 / skewness * (1.0 - root))
    return mean + deviation * min(ends), mean + deviation * max(ends)


class Sizes(NamedTuple):
    """Squared distances, the largest first, and the sum of each of them and all that follow."""

    squares: Floats
    rest: Floats

    @classmethod
    def of(cls, distances: Floats) -> "Sizes":
        squares = np.sort(distances * distances)[::-1]
        return cls(squares, np.cumsum(squares[::-1])[::-1])

    def threshold(self, weight: float) -> float:
        """Return the threshold M of this weight; if fewer rows differ from the median, the largest
        distance, so that nothing is clipped.

        >>> Sizes.of(np.ones(100)).threshold(4.0)
        5.0
        >>> Sizes.of(np.array([50.0, 50.0] + 98 * [0.0])).threshold(3.0)
        50.0
        """
        beyond = np.arange(min(math.ceil(weight), self.squares.size))  # rows beyond M
        threshold = self.rest[beyond] / (weight - beyond)
        found = threshold[np.argmax(threshold >= self.squares[beyond])]
        return math.sqrt(found if found > 0.0 else self.squares[0])


def clipped_mean(values: Floats, delta: float) -> float:
    """Return a mean that clips as tightly as both tails agree.

    Rows beyond a threshold M count as if they were at the threshold. The threshold of weight L
    solves sum min(e^2 / M^2, 1) = L, where e is the distance from the median (Wang et al. 2021).
    M sqrt(L) / n is then the standard error of the clipped mean for every tail, and about L rows
    are beyond the threshold if the tail is heavy.

    The first mean is clipped at weight ln(1 / delta). The value is a mean that is clipped more
    tightly and varies less, as long as it differs from the first by at most 2.5 standard errors and
    as many rows are beyond its threshold on both sides. For skewed numbers the value is the first
    mean, which is too low if the upper tail is the heavier one.

    >>> rng = np.random.default_rng(0)
    >>> abs(clipped_mean(rng.standard_t(1.5, 2000), 0.05)) < 0.1
    True
    """
    scaled, unit = in_units(values, np.median)
    centre = float(np.median(scaled))
    away = scaled - centre
    sizes, weight = Sizes.of(away), math.log(1.0 / delta)
    threshold = sizes.threshold(weight)
    loose = np.clip(away, -threshold, threshold)
    return unit * (centre + tighten(away, loose, sizes, weight))


def tighten(away: Floats, loose: Floats, sizes: Sizes, weight: float) -> float:
    """Return the tightest mean that agrees with the loose one, and whose two tails agree.

    >>> skewed = np.linspace(0.0, 10.0, 100) ** 2
    >>> tighten(skewed, skewed, Sizes.of(skewed), 3.0) == float(skewed.mean())
    True
    """
    value, size = float(loose.mean()), away.size
    weight *= STEP
    while weight <= TIGHTEST * size:
        threshold = sizes.threshold(weight)
        tight = np.clip(away, -threshold, threshold)
        gap = loose - tight
        above, below = int(np.sum(away > threshold)), int(np.sum(away < -threshold))
        if abs(gap.mean()) > LARGEST_GAP * gap.std() / math.sqrt(size):
            break
        if abs(above - below) > LARGEST_GAP * math.sqrt(above + below):
            break
        value = float(tight.mean())
        weight *= STEP
    return value


AGGREGATES: dict[str, Callable[[Floats, float], float]] = {
    "mean": plain_mean,
    "clipped": clipped_mean,
}
