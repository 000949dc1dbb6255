"""State of auto's estimator: standardised features, and how certain the estimate is."""

import math
from typing import NamedTuple

from ....core.arrays import Floats, Integers
from ....core.confidence_region import Region, log_volume, penalty_of
from ....core.jit import jitable, outlined

# Places in ScaleFreeEstimate.numbers and in ScaleFreeEstimate.counts
LEVEL, SQUARE, WEIGHED, WEIGHTS, EDGE, EVENT, TYPICAL, RESIDUAL, TOTAL, ZEROS = range(10)
LOGS, LOG_SQUARES, LOG_NOISE, DEBT, PLAIN, EXPONENT = range(10, 16)
LEARNED, KNOWN, RARE, STREAK, SMALL, EXACT, RESTARTS, EVENTS, SUMMED, CLIPPED = range(10)
NUMBERS, COUNTS = 16, 10

WARM = 32  # rewards that are kept and fitted again, so that the first ones need no trust
CONSTANT = 10.0  # value of the constant feature: the base has a hundredth of the penalty
BASE, RARE_BASE = 2.5, 3.0  # logarithm of a known arm; the second while most rewards are one value
SECOND_ORDER = 0.1  # weight of the term that matters for arms with one or two rewards


class ScaleFreeScratch(NamedTuple):
    """row: the standardised arm of the moment; block: rows of BLOCK arms; slopes, image: theta and
    V^-1 in the units of the features; squares: squared norms of the first rows; lanes: scores,
    norms and sizes of BLOCK arms."""

    row: Floats
    block: Floats
    slopes: Floats
    image: Floats
    squares: Floats
    lanes: Floats


class ScaleFreeEstimate(NamedTuple):
    """State of `ScaleFreeHuber`.

    Attributes
    ----------
    region : Region
        theta and V of the standardised rows.
    sizes : Region
        The regression of ln |event|.
    middle, units : arrays of shape (d,)
        Means and standard deviations of the features; a unit is 0 until its feature varies.
    numbers : array
        LEVEL of the rewards; s^2 (SQUARE) and its sums (WEIGHED, WEIGHTS, PLAIN); sizes of large
        rewards (EDGE), of the smallest (EVENT) and of a typical event (TYPICAL), and of a typical
        residual (RESIDUAL); weights of the histograms (TOTAL) and of rewards equal to the base
        (ZEROS); the EXPONENT of the histograms; sums of ln |event| and of its square (LOGS,
        LOG_SQUARES), the variance of its residuals (LOG_NOISE); what is owed to exploration (DEBT).
    counts : array
        Rewards since the last start (LEARNED), those with information about the scale (KNOWN), 1
        while most rewards are one value (RARE), rewards in a row far beyond the limit (STREAK) or
        small but not equal to the base (SMALL), rewards equal to the base (EXACT), RESTARTS,
        events whose sizes were learned (EVENTS), events in the sums (SUMMED), and rewards clipped
        before the last start (CLIPPED).
    arms, rewards : arrays
        The first WARM arms and rewards.
    deviations, residuals : arrays
        Histograms of rewards minus base, gains and losses, and of the residuals of events.
    recent : array
        The last WARM rewards.
    scratch : ScaleFreeScratch
        Room for one choice or update.
    """

    region: Region
    sizes: Region
    middle: Floats
    units: Floats
    numbers: Floats
    counts: Integers
    arms: Floats
    rewards: Floats
    deviations: Floats
    residuals: Floats
    recent: Floats
    scratch: ScaleFreeScratch


@jitable
def known_count(estimate: ScaleFreeEstimate) -> int:
    """Return the number of rewards that are informative about the scale."""
    return estimate.counts[KNOWN]


@jitable
def restart_count(estimate: ScaleFreeEstimate) -> int:
    """Return how often the estimator restarted."""
    return estimate.counts[RESTARTS]


@jitable
def rewards_learned(estimate: ScaleFreeEstimate) -> int:
    """Return the number of rewards since the last start."""
    return estimate.counts[LEARNED]


@jitable
def base_of(estimate: ScaleFreeEstimate) -> float:
    """Return the median of the first rewards: the value of most rewards, if they have one."""
    return estimate.numbers[LEVEL]


@jitable
def exact_share(estimate: ScaleFreeEstimate) -> float:
    """Return the share of the rewards that are equal to the base."""
    return estimate.numbers[ZEROS] / max(estimate.numbers[TOTAL], 1.0)


@jitable
def unit_of(estimate: ScaleFreeEstimate) -> float:
    """Return the power of two that is the unit of sizes."""
    return math.ldexp(1.0, exponent_of(estimate))


@jitable
def typical_event(estimate: ScaleFreeEstimate) -> float:
    """Return the median size of events, 0 if there are fewer than three."""
    return estimate.numbers[TYPICAL]


@jitable
def least_event(estimate: ScaleFreeEstimate) -> float:
    """Return the least size of an event."""
    return estimate.numbers[EVENT]


@jitable
def is_exploration_due(estimate: ScaleFreeEstimate) -> bool:
    """Return True if the next decision goes to the least known arm."""
    return estimate.numbers[DEBT] >= 1.0


@jitable
def noise_square(estimate: ScaleFreeEstimate) -> float:
    """Return s^2."""
    return estimate.numbers[SQUARE]


@jitable
def exponent_of(estimate: ScaleFreeEstimate) -> int:
    """Return the exponent of the histograms."""
    return int(estimate.numbers[EXPONENT])


@jitable
def is_rare(estimate: ScaleFreeEstimate) -> bool:
    """Return True if most rewards are one value, and a few are far from it: sales or claims."""
    return estimate.counts[RARE] != 0


# ---- standardised rows


@jitable
def fill_row(estimate: ScaleFreeEstimate, x: Floats) -> None:
    """row = ((x - middle) / units, CONSTANT); a feature that has not varied yet is 0."""
    row, dim = estimate.scratch.row, x.size
    for i in range(dim):
        unit = estimate.units[i]
        row[i] = (x[i] - estimate.middle[i]) / unit if unit > 0.0 else 0.0
    row[dim] = CONSTANT


@jitable
def novelty(estimate: ScaleFreeEstimate, x: Floats) -> float:
    """Return the squared norm that features add which have not varied before."""
    new = 0
    for i in range(x.size):
        if estimate.units[i] == 0.0 and x[i] != estimate.middle[i]:
            new += 1
    return float(new) * novelty_of_one(estimate)


@jitable
def novelty_of_one(estimate: ScaleFreeEstimate) -> float:
    """Return n / lambda, the squared norm of a feature that varies for the first time in n rewards:
    it will be sqrt(n) of its deviations from the mean. n counts up to WARM."""
    return float(min(estimate.counts[LEARNED], WARM)) / penalty_of(estimate.region)


@outlined
def standardise(estimate: ScaleFreeEstimate, count: int) -> None:
    """Set `middle` and `units` to means and standard deviations of the first `count` arms.

    An arm that accounts for more than half of the variance, on average over the features, is left
    out, unless no other arm differs: one arm of another length does not set the units.
    """
    dim, left_out, other = estimate.middle.size, -1, -1
    middles, deviations = estimate.scratch.slopes, estimate.scratch.row
    for _ in range(3):
        used, varied = 0, False
        for j in range(count):
            used += 1 if j not in (left_out, other) else 0
        for i in range(dim):
            total, square, low, high = 0.0, 0.0, math.inf, -math.inf
            for j in range(count):
                if j != left_out and j != other:
                    value = estimate.arms[j, i]
                    total += value
                    low, high = min(low, value), max(high, value)
            middle = total / used if low < high else low  # rounding is no variance
            for j in range(count):
                if j != left_out and j != other:
                    gap = estimate.arms[j, i] - middle
                    square += gap * gap
            middles[i], deviations[i] = middle, math.sqrt(square / used)
            varied = varied or square > 0.0
        if left_out >= 0 and not varied:
            return
        for i in range(dim):
            estimate.middle[i], estimate.units[i] = middles[i], deviations[i]
        far = farthest_arm(estimate, count, left_out, other) if used >= 4 else -1
        if far < 0:
            return
        left_out, other = far, left_out


@outlined
def farthest_arm(estimate: ScaleFreeEstimate, count: int, left_out: int, other: int) -> int:
    """Return the arm that accounts for more than half of the variance, -1 if there is none."""
    used = count - (1 if left_out >= 0 else 0) - (1 if other >= 0 else 0)
    for j in range(count):
        square, varied = 0.0, 0
        for i in range(estimate.middle.size):
            if estimate.units[i] > 0.0:
                share = (estimate.arms[j, i] - estimate.middle[i]) / estimate.units[i]
                square += share * share
                varied += 1
        if j != left_out and j != other and varied > 0 and 2.0 * square > float(used * varied):
            return j
    return -1


@outlined
def notice_features(estimate: ScaleFreeEstimate, x: Floats) -> None:
    """Give a unit to every feature that varies for the first time: its standard deviation so far.

    Its entries in V are those of the penalty, so that nothing else changes.
    """
    for i in range(x.size):
        if estimate.units[i] == 0.0 and x[i] != estimate.middle[i]:
            gap = abs(x[i] - estimate.middle[i])
            estimate.units[i] = gap / math.sqrt(float(estimate.counts[LEARNED]))


# ---- how certain is theta


@jitable
def learned_directions(region: Region) -> float:
    """Return k = d - lambda tr V^-1, at least 1: how many of the d slopes are learned."""
    slopes = region.centre.size - 1
    trace = 0.0
    for i in range(slopes):
        trace += region.inverse[i, i]
    return max(float(slopes) - penalty_of(region) * trace, 1.0)


@jitable
def prior_square(region: Region) -> float:
    """Return lambda ||slopes||^2: how far the penalty may have moved the centre, squared."""
    total = 0.0
    for i in range(region.centre.size - 1):
        total += region.centre[i] * region.centre[i]
    return penalty_of(region) * total


class Growth(NamedTuple):
    """How the squared norms of arms grow with n: `base`, `second` and n / k (`rate`)."""

    base: float
    second: float
    rate: float


@jitable
def growth_of(estimate: ScaleFreeEstimate, learned: float) -> Growth:
    """Return the growth of all arms of a decision; `learned` is that of `learned_directions`.

    While most rewards are one value, ln(det V / det V_1) / k is added for every arm.
    """
    rate = float(estimate.counts[LEARNED]) / learned
    if is_rare(estimate):
        return Growth(RARE_BASE + log_volume(estimate.region) / learned, 0.0, rate)
    return Growth(BASE, SECOND_ORDER, rate)


@jitable
def inflate(growth: Growth, square: float, scale: float) -> float:
    """Return w^2 (base + L + second w^2 L^2), L = ln(1 + n w^2 / k), with w in units of `scale` in
    L and in the last term.

    That term is the second one of Bernstein's inequality: a single outlier may mislead about an arm
    with one or two rewards, so its width grows faster with n, and the arm is played again.
    """
    relative = square / (scale * scale)
    logarithm = math.log1p(growth.rate * relative)
    return square * (growth.base + logarithm * (1.0 + growth.second * relative * logarithm))
