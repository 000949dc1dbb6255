"""Means of heavy-tailed numbers, each with an interval.

The plain mean of numbers without a variance depends on their largest rows. The robust means limit
the largest rows. The sample bounds how much that changes the mean only if the tail continues as it
begins, or if the user knows a moment (`bounded_mean`).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.statistics import Estimate, student_quantile
from ..._utils.validation import epsilon as check_epsilon
from ..._utils.validation import finite_array, fraction, one_of, positive
from ...core.arrays import Floats

LEAST_ROWS = 20  # numbers that an interval needs
FAR = 1e150  # largest distance from zero, in units of the median size
STEP = 10.0**0.5  # ratio of successive weights of the clipped mean
TIGHTEST = 0.1  # largest weight of the clipped mean, as a share of the rows
LARGEST_GAP = 2.5  # standard errors by which two clipped means, or two tails, may differ
HEAVIEST = 0.9  # largest 1 / tail index; the mean of a tail with index near 1 cannot be estimated


def robust_mean(values: Floats, method: str = "clipped", delta: float = 0.05) -> Estimate:
    """Return the mean of independent numbers with an interval of confidence 1 - delta.

    Parameters
    ----------
    values : array of shape (n,)
        At least 20 finite numbers.
    method : {"clipped", "mean", "catoni"}, default "clipped"
        "clipped": `clipped_mean`; "mean": the plain mean with Student's interval; "catoni":
        `catoni_mean`.
    delta : float, default 0.05
        Probability with which the interval misses the mean.

    Examples
    --------
    >>> robust_mean(np.arange(101.0), "mean").value
    50.0
    """
    numbers = finite_array("values", values, (None,))
    if numbers.size < LEAST_ROWS:
        raise InvalidInputError(f"values must have at least {LEAST_ROWS} rows, got {numbers.size}")
    chosen = AGGREGATES[one_of("method", method, AGGREGATES)]
    scaled, unit = in_units(numbers, plain=method == "mean")
    return Estimate(*(unit * number for number in chosen(scaled, fraction("delta", delta))))


def in_units(values: Floats, plain: bool) -> tuple[Floats, float]:
    """Return the numbers in a unit near their size, a power of two; then squares do not overflow.

    The size is the median size, and numbers beyond 1e150 units are set to 1e150, which changes no
    robust mean. For the `plain` mean it is the largest size.

    >>> in_units(np.array([3e200, 1e-200, -4e200]), plain=True)[0].round(2).tolist()
    [0.49, 0.0, -0.65]
    """
    sizes = np.abs(values[values != 0.0])
    if not sizes.size:
        return values, 1.0
    size = float(sizes.max() if plain else np.median(sizes))
    unit = 2.0 ** min(max(math.frexp(size)[1], -1000), 1000)
    with np.errstate(over="ignore"):
        return np.clip(values / unit, -FAR, FAR), unit


def plain_mean(values: Floats, delta: float) -> Estimate:
    """Return the mean with Student's interval, which needs a variance and little skewness.

    >>> [round(x, 2) for x in plain_mean(np.arange(100.0), 0.05)]
    [49.5, 43.74, 55.26]
    """
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = student_quantile(1.0 - delta / 2.0, values.size - 1) * error
    value = float(values.mean())
    return Estimate(value, value - half, value + half)


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


def clipped_mean(values: Floats, delta: float) -> Estimate:
    """Return a mean that clips as tightly as both tails agree, and an interval that clips little.

    Rows beyond a threshold M count as if they were at the threshold. The threshold of weight L
    solves sum min(e^2 / M^2, 1) = L, where e is the distance from the median (Wang et al. 2021).
    M sqrt(L) / n is then the standard error of the clipped mean for every tail, and about L rows
    lie beyond the threshold if the tail is heavy.

    The interval is that of the mean clipped at weight ln(1 / delta). Either side is widened by one
    more row of the size of the threshold, or by the mass that Hill's estimate of the tails puts
    beyond the threshold, if that is more. The value is a mean that is clipped more tightly and
    varies less, as long as it differs from the first by at most 2.5 standard errors and as many
    rows lie beyond its threshold on both sides. For skewed numbers the value is the first mean.

    >>> rng = np.random.default_rng(0)
    >>> clipped = clipped_mean(rng.standard_t(1.5, 2000), 0.05)
    >>> abs(clipped.value) < 0.1, clipped.low < 0.0 < clipped.high
    (True, True)
    """
    centre = float(np.median(values))
    away = values - centre
    sizes, weight = Sizes.of(away), math.log(1.0 / delta)
    threshold = sizes.threshold(weight)
    loose = np.clip(away, -threshold, threshold)
    error = float(loose.std()) / math.sqrt(values.size)
    half = student_quantile(1.0 - delta / 2.0, values.size - 1) * error
    above, below = (unseen(sign * away, threshold) for sign in (1.0, -1.0))
    more = [min(threshold, float(side.max())) / values.size for side in (away, -away)]
    middle = float(loose.mean())
    low = middle - half - max(more[1], below - above)
    high = middle + half + max(more[0], above - below)
    value = min(max(tighten(away, loose, sizes, weight), low), high)
    return Estimate(centre + value, centre + low, centre + high)


def unseen(away: Floats, threshold: float) -> float:
    """Return E(e - M)+ of one side, from Hill's estimate xi of its tail (k the root of the rows).

        P(e > M) M / (1 / xi - 1),    P(e > M) = (k / n) (e_(k) / M)^(1 / xi)

    >>> unseen(np.linspace(-1.0, 1.0, 100), 5.0) < 1e-6
    True
    """
    count = round(math.sqrt(away.size))
    top = np.partition(away, away.size - count - 1)[-count - 1 :]
    base = float(top.min())
    if base <= 0.0 or threshold <= 0.0:
        return 0.0
    shape = min(float(np.mean(np.log(top / base))) * (count + 1) / count, HEAVIEST)
    if shape <= 0.0:
        return 0.0
    beyond = count / away.size * math.exp(math.log(base / threshold) / shape)
    return beyond * threshold / (1.0 / shape - 1.0)


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


def bounded_mean(
    terms: Floats,
    weights: Floats,
    offset: Floats,
    *,
    raw_moment: float,
    epsilon: float,
    delta: float,
) -> Estimate:
    """Return the mean of offset + terms if E|term|^p <= u weight^p in every row, p = 1 + epsilon.

    Here u is the raw moment. Terms are clipped at M = (v n / ln(2 / delta))^(1 / p), v = u
    mean(weight^p). Clipping changes the mean by at most (p - 1)^(p - 1) / p^p v M^(1 - p), which
    widens both sides of the interval. Only a known moment can bound this change.

    >>> rng = np.random.default_rng(0)
    >>> one, none = np.ones(1000), np.zeros(1000)
    >>> bounded = bounded_mean(
    ...     rng.pareto(3.0, 1000), one, none, raw_moment=1.0, epsilon=1.0, delta=0.05
    ... )
    >>> bounded.low < 0.5 < bounded.high
    True
    """
    order, size = 1.0 + check_epsilon(epsilon), terms.size
    logarithm = math.log(2.0 / delta)
    total = positive("raw_moment", raw_moment) * float(np.mean(weights**order))
    threshold = (total * size / logarithm) ** (1.0 / order)
    lost = epsilon**epsilon / order**order * total * threshold**-epsilon
    clipped = offset + np.clip(terms, -threshold, threshold)
    half = student_quantile(1.0 - delta / 2.0, size - 1) * float(clipped.std()) / math.sqrt(size)
    half += lost + min(threshold, float(np.abs(terms).max())) / size
    value = float(clipped.mean())
    return Estimate(value, value - half, value + half)


def catoni_mean(values: Floats, delta: float) -> Estimate:
    """Return Catoni's mean (2012): the root m of sum phi(a (z - m)).

        phi(x) = sign(x) ln(1 + |x| + x^2 / 2),    a = sqrt(2 ln(2 / delta) / (n v))

    The interval, in which |sum phi| <= 2 ln(2 / delta), is exact if v is at least the variance;
    here v is the variance of the clipped rows.

    >>> round(catoni_mean(np.linspace(-1.0, 1.0, 1001), 0.05).value, 6)
    0.0
    """
    logarithm, sizes = math.log(2.0 / delta), Sizes.of(values - np.median(values))
    centre, threshold = float(np.median(values)), sizes.threshold(math.log(1.0 / delta))
    variance = float(np.clip(values - centre, -threshold, threshold).var())
    if variance == 0.0:
        return Estimate(centre, centre, centre)
    scale = math.sqrt(2.0 * logarithm / (values.size * variance))

    def influence(place: float) -> tuple[float, float]:
        x = scale * (values - place)
        size = np.abs(x)
        grown = size + 0.5 * x * x
        slope = -scale * np.sum((1.0 + size) / (1.0 + grown))
        return float(np.copysign(np.log1p(grown), x).sum()), float(slope)

    ends = float(values.min()) - 10.0 / scale, float(values.max()) + 10.0 / scale
    wanted = (0.0, 2.0 * logarithm, -2.0 * logarithm)
    return Estimate(*(find_root(influence, centre, *ends, target) for target in wanted))


def find_root(
    decreasing: Callable[[float], tuple[float, float]],
    place: float,
    low: float,
    high: float,
    target: float,
) -> float:
    """Return the place where a decreasing function, given with its slope, passes the target.

    Newton steps from `place`; bisection where a step leaves the interval known so far.

    >>> round(find_root(lambda x: (-x, -1.0), 0.0, -1.0, 3.0, -2.0), 9)
    2.0
    """
    for _ in range(100):
        value, slope = decreasing(place)
        low, high = (place, high) if value > target else (low, place)
        before, newton = place, place + (target - value) / slope
        place = newton if low < newton < high else 0.5 * (low + high)
        if abs(place - before) <= 1e-15 * max(abs(place), high - low):
            break
    return place


AGGREGATES: dict[str, Callable[[Floats, float], Estimate]] = {
    "clipped": clipped_mean,
    "mean": plain_mean,
    "catoni": catoni_mean,
}
