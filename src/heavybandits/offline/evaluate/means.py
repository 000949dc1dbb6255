"""Means of heavy-tailed numbers, each with an interval.

The plain mean of numbers without a variance is at the mercy of its largest rows. Every other one
here gives up a little of them. What is given up can be bounded by the sample only if the tail goes
on as it begins, or if the user knows a moment (`bounded_mean`).
"""

import math
from collections.abc import Callable

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.statistics import Estimate, student_quantile
from ..._utils.validation import finite_array, fraction, one_of
from ...core.arrays import Floats
from .clipped_mean import Sizes, clipped_mean

ROWS = 20  # fewer numbers than this have no interval worth printing
FAR = 1e150  # in units of the median size
PLAIN = ("mean", "median_of_means")  # which square nothing, or must
ROOT = (1.0 + math.sqrt(2.0)) ** 2  # the constant of Wang et al. (2021) in the root of a level


def robust_mean(values: Floats, method: str = "clipped", delta: float = 0.05) -> Estimate:
    """The mean of independent numbers, and an interval that holds it with probability 1 - delta.

    Parameters
    ----------
    method : "clipped", the default (see `clipping.clipped_mean`); "mean" with Student's interval;
        "median_of_means"; "trimmed"; "catoni"; "lse".

    >>> robust_mean(np.arange(101.0), "mean").value
    50.0
    """
    numbers = finite_array("values", values, (None,))
    if numbers.size < ROWS:
        raise InvalidInputError(f"values must have at least {ROWS} rows, got {numbers.size}")
    chosen = METHODS[one_of("method", method, METHODS)]
    scaled, unit = in_units(numbers, plain=method in PLAIN)
    return Estimate(*(unit * number for number in chosen(scaled, fraction("delta", delta))))


def in_units(values: Floats, plain: bool) -> tuple[Floats, float]:
    """The numbers in a unit near their size, a power of two, so that their squares are numbers.

    The size is that of the median one; what lies 1e150 times further out lies at 1e150, which is
    the same to everyone but the `plain` methods. Their size is that of the largest one.

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
    """The mean with Student's interval, which needs a variance and little skewness.

    >>> [round(x, 2) for x in plain_mean(np.arange(100.0), 0.05)]
    [49.5, 43.74, 55.26]
    """
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = student_quantile(1.0 - delta / 2.0, values.size - 1) * error
    value = float(values.mean())
    return Estimate(value, value - half, value + half)


def median_of_means(values: Floats, delta: float) -> Estimate:
    """The median of the means of k = ceil(8 ln(1 / delta)) blocks (Nemirovski and Yudin 1983).

    Rows go to blocks in turn. The interval is that of order statistics for the median of a block's
    mean: it holds the mean itself only where that is the median too.

    >>> median_of_means(np.r_[np.zeros(240), 1e9], 0.05).value
    0.0
    """
    count = min(math.ceil(8.0 * math.log(1.0 / delta)), values.size // 2)
    means = np.sort([values[start::count].mean() for start in range(count)])
    below, place = 0.5**count, 0
    while below + math.comb(count, place + 1) * 0.5**count <= delta / 2.0:
        place += 1
        below += math.comb(count, place) * 0.5**count
    return Estimate(float(np.median(means)), float(means[place]), float(means[-1 - place]))


def trimmed_mean(values: Floats, delta: float) -> Estimate:
    """Rows beyond a level are left out, the level being learned on the other half of the rows.

    The level M solves sum min(e^2 / M^2, 1) = c ln(4 / delta), c = (1 + sqrt 2)^2, e the distance
    from the median; with N rows in a half and V their mean square, the interval is
    sqrt(2 V ln / N) + 10 M ln / N (Genalti et al. 2024, after Wang et al. 2021), which is wide.

    >>> abs(trimmed_mean(np.r_[np.linspace(-1, 1, 999), 1e9], 0.05).value) < 0.01
    True
    """
    halves = values[::2], values[1::2]
    logarithm, made = math.log(4.0 / delta), []
    for mine, other in (halves, halves[::-1]):
        centre = float(np.median(other))
        level = Sizes.of(other - centre).level(min(ROOT * logarithm, other.size / 2.0))
        kept = np.where(np.abs(mine - centre) <= level, mine - centre, 0.0)
        square = float(np.mean(kept * kept))
        half = (
            math.sqrt(2.0 * square * logarithm / mine.size) + 10.0 * level * logarithm / mine.size
        )
        made.append((centre + float(kept.mean()), half))
    value, half = (float(column) for column in np.mean(made, axis=0))
    return Estimate(value, value - half, value + half)


def catoni_mean(values: Floats, delta: float) -> Estimate:
    """Catoni's mean (2012): the root of sum phi(a (z - m)), phi(x) = sign(x) ln(1 + |x| + x^2 / 2).

    a = sqrt(2 ln(2 / delta) / (n v)). The interval, where |sum phi| <= 2 ln(2 / delta), is exact if
    v is at least the variance; here v is that of the clipped rows.

    >>> round(catoni_mean(np.linspace(-1.0, 1.0, 1001), 0.05).value, 6)
    0.0
    """
    logarithm, sizes = math.log(2.0 / delta), Sizes.of(values - np.median(values))
    centre, level = float(np.median(values)), sizes.level(math.log(1.0 / delta))
    variance = float(np.clip(values - centre, -level, level).var())
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
    """Where a decreasing function, told with its slope, passes the target.

    By Newton's steps from `place`; where one leaves the interval known so far, by halving that.

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


def lse_mean(values: Floats, delta: float) -> Estimate:
    """Log-sum-exponential of what is above zero less that of what is below (Behnamnia et al. 2025).

        -(1 / l) ln mean exp(-l z),    l = F sqrt(ln(1 / delta) / (n v)),    v = mean z^2

    Each part is pessimistic; for numbers of both signs the difference is not. The interval is that
    of its own fluctuation (delta method); what it gives up is not in it. Their l is cut at 1, which
    would depend on the unit of the rewards: here it is not.

    >>> 0.45 < lse_mean(np.linspace(0.0, 1.0, 1001), 0.05).value < 0.5
    True
    """
    quantile = student_quantile(1.0 - delta / 4.0, values.size - 1)
    parts = [_lse(np.maximum(sign * values, 0.0), delta) for sign in (1.0, -1.0)]
    value = parts[0][0] - parts[1][0]
    half = quantile * math.hypot(parts[0][1], parts[1][1])
    return Estimate(value, value - half, value + half)


def _lse(values: Floats, delta: float) -> tuple[float, float]:
    """The log-sum-exponential of numbers >= 0, and its standard error."""
    square, size = float(np.mean(values * values)), values.size
    if square == 0.0:
        return 0.0, 0.0
    factor = 2.0 * math.e * math.sqrt(8.0 / (6.0 * math.e))
    rate = factor * math.sqrt(math.log(1.0 / delta) / (size * square))
    shrunk = np.exp(-rate * values)
    mean = float(shrunk.mean())
    return -math.log(mean) / rate, float(shrunk.std()) / (rate * mean * math.sqrt(size))


METHODS: dict[str, Callable[[Floats, float], Estimate]] = {
    "clipped": clipped_mean,
    "mean": plain_mean,
    "median_of_means": median_of_means,
    "trimmed": trimmed_mean,
    "catoni": catoni_mean,
    "lse": lse_mean,
}
