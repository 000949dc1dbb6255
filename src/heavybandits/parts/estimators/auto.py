"""auto's estimator: Huber regression whose level, units, scale, threshold and penalty come from the
data.

Nothing here has a unit. Rewards times a power of two, and each feature times its own power of two,
leave all choices unchanged bit for bit.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.validation import Count, Positive
from ...core.allocation import zeros
from ...core.arm_buffer import ArmBuffer, mark_stale, pick
from ...core.arrays import Floats, Integers
from ...core.confidence_region import (
    REPAIR_EVERY,
    Region,
    add_observation,
    change_penalty,
    count_clipped,
    log_volume,
    make_region,
    measure,
    move_centre,
    penalty_of,
    reset_region,
    shift_centre,
    squared_norm,
)
from ...core.dispatch import maximise, mean, slope
from ...core.factor import LANES
from ...core.histogram import BINS, bin_of, find_valley, rank_place, size_of, weight_from
from ...core.jit import jitable, outlined
from ...core.linalg import combine, dot, squares
from ...core.order_statistics import select_rank
from ...core.protocols import ArmSet, Link, Observation

# Places in ScaleFreeEstimate.numbers and in ScaleFreeEstimate.counts
_LEVEL, _SQUARE, _WEIGHED, _WEIGHTS, _EDGE, _EVENT, _TYPICAL, _RESIDUAL, _TOTAL, _ZEROS = range(10)
_LOGS, _LOG_SQUARES, _LOG_NOISE, _DEBT = range(10, 14)
_LEARNED, _KNOWN, _RARE, _STREAK, _SMALL, _EXACT, _RESTARTS, _EXPONENT, _EVENTS = range(9)
_SUMMED = 9

WARM = 32  # rewards that are kept and fitted again, so that the first ones need no trust
CONSTANT = 10.0  # value of the constant feature: the level has a hundredth of the penalty
PENALTY = 0.1  # least lambda, in dimensions; features have variance one
CHANGED, FAR = 8, 2.0  # restart after so many rewards in a row beyond this multiple of the limit
SHRUNK = 64.0  # restart if rewards are smaller than typical ones by this factor
LEAST_WEIGHT = 1e-9  # of a clipped reward in V; with 0, V would not grow
LOOSE = 4.5  # limit of the first WARM rewards, in medians
MOST = 9.0  # limit of a square, in s^2; without it s never settles if there is no variance
FLATTEST, STEEPEST = 1e-12, 1e12  # limits of the slope of a link: no weight vanishes or overflows
SIX_OCTAVES = 24  # bins between a large reward and 1/64 of it
OWED = 4.0  # times sqrt(n): decisions for exploration if most rewards are one value
WIDE = 16.0  # limit of rewards that are mostly one value, in sizes of large rewards
LARGE = 0.02  # share of the rewards that are large
SEEN = 16.0  # large rewards that make a second peak of their sizes
MEMORY = 4000.0  # rewards after which the histograms forget half
AMOUNTS = 8  # large rewards before their sizes are predicted
SPREAD = 16.0  # limit of the predicted size, relative to the typical one
DOUBT = 0.5  # standard errors that are added to a predicted size


class ScaleFreeEstimate(NamedTuple):
    """State of `ScaleFreeHuber`.

    region: theta and V of the standardised rows; sizes: the regression of ln |large reward|;
    middle, units: means and standard deviations of the features; row, block, slopes, image:
    scratch; numbers: the level of the rewards, s^2 and its two sums, the size of large rewards, the
    least size of an event, its typical size, the typical residual, the weights of the histograms
    and of rewards equal to the level, sums of ln size and of its square, the noise of ln size, and
    what is owed to exploration; counts: rewards since the last start, those that are informative,
    whether most rewards are one value, rewards in a row far beyond the limit, rewards in a row that
    are small but not equal to the level, rewards equal to the level, restarts, the exponent of the
    histograms, events; arms, rewards: the first ones; deviations: histogram of rewards minus level,
    gains and losses; residuals: histogram of the residuals of events; recent: the last rewards.
    """

    region: Region
    sizes: Region
    middle: Floats
    units: Floats
    row: Floats
    block: Floats
    slopes: Floats
    image: Floats
    numbers: Floats
    counts: Integers
    arms: Floats
    rewards: Floats
    deviations: Floats
    residuals: Floats
    recent: Floats
    squares: Floats
    lanes: Floats


@jitable
def known_count(estimate: ScaleFreeEstimate) -> int:
    """Return the number of rewards that are informative about the scale."""
    return estimate.counts[_KNOWN]


def restart_count(estimate: ScaleFreeEstimate) -> int:
    """Return how often the estimator restarted."""
    return int(estimate.counts[_RESTARTS])


@jitable
def noise_square(estimate: ScaleFreeEstimate) -> float:
    """Return s^2."""
    return estimate.numbers[_SQUARE]


@jitable
def is_rare(estimate: ScaleFreeEstimate) -> bool:
    """Return True if most rewards are one value, and a few are far from it: sales or claims."""
    return estimate.counts[_RARE] != 0


# ---- standardised rows


@jitable
def fill_row(estimate: ScaleFreeEstimate, x: Floats) -> None:
    """row = ((x - middle) / units, CONSTANT); a feature that has not varied yet is 0."""
    row, dim = estimate.row, x.size
    for i in range(dim):
        unit = estimate.units[i]
        row[i] = (x[i] - estimate.middle[i]) / unit if unit > 0.0 else 0.0
    row[dim] = CONSTANT


@jitable
def novelty(estimate: ScaleFreeEstimate, x: Floats) -> float:
    """Return the squared norm that features add which have not varied before: 1 / lambda each."""
    new = 0.0
    for i in range(x.size):
        if estimate.units[i] == 0.0 and x[i] != estimate.middle[i]:
            new += 1.0
    return new / penalty_of(estimate.region)


@outlined
def standardise(estimate: ScaleFreeEstimate, count: int) -> None:
    """Set `middle` and `units` to means and standard deviations of the first `count` arms.

    An arm that accounts for more than half of the variance, on average over the features, is left
    out, unless no other arm differs: one arm of another length does not set the units.
    """
    dim, left_out, other = estimate.middle.size, -1, -1
    for _ in range(3):
        used, varied = 0, False
        for j in range(count):
            used += 0 if j == left_out or j == other else 1
        for i in range(dim):
            total, square = 0.0, 0.0
            for j in range(count):
                if j != left_out and j != other:
                    total += estimate.arms[j, i]
            middle = total / used
            for j in range(count):
                if j != left_out and j != other:
                    gap = estimate.arms[j, i] - middle
                    square += gap * gap
            estimate.slopes[i], estimate.row[i] = middle, math.sqrt(square / used)
            varied = varied or square > 0.0
        if left_out >= 0 and not varied:
            return
        for i in range(dim):
            estimate.middle[i], estimate.units[i] = estimate.slopes[i], estimate.row[i]
        far = farthest_arm(estimate, count, left_out, other) if used >= 4 else -1
        if far < 0:
            return
        left_out, other = far, left_out


@jitable
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


@jitable
def notice_features(estimate: ScaleFreeEstimate, x: Floats) -> None:
    """Give a unit to every feature that varies for the first time: its standard deviation so far.

    Its entries in V are those of the penalty, so that nothing else changes.
    """
    for i in range(x.size):
        if estimate.units[i] == 0.0 and x[i] != estimate.middle[i]:
            gap = abs(x[i] - estimate.middle[i])
            estimate.units[i] = gap / math.sqrt(float(estimate.counts[_LEARNED]))


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


@jitable
def inflate(
    estimate: ScaleFreeEstimate, square: float, scale: float, learned: float, volume: float
) -> float:
    """Return the squared norm of an arm times its logarithm, 3 + ln(1 + n w^2 / k)."""
    n = float(estimate.counts[_LEARNED])
    return square * (3.0 + volume + math.log1p(n * square / (scale * scale * learned)))


@jitable
def shared_volume(estimate: ScaleFreeEstimate, learned: float) -> float:
    """Return what rare rewards add to the logarithm of every arm: ln(det V / det V_1) / k."""
    return log_volume(estimate.region) / learned if is_rare(estimate) else 0.0


@jitable
def predicts_sizes(estimate: ScaleFreeEstimate) -> bool:
    """Return True if each reward has its own noise scale, in proportion to its predicted size."""
    warm = estimate.counts[_LEARNED] > WARM
    return warm and is_rare(estimate) and estimate.counts[_EVENTS] >= AMOUNTS


@jitable
def relative_size(estimate: ScaleFreeEstimate, log_size: float, square: float) -> float:
    """Return the size of a large reward relative to the typical one, from its predicted logarithm
    and the squared norm of its row; half a standard error is added."""
    doubt = DOUBT * math.sqrt(estimate.numbers[_LOG_NOISE] * max(square, 0.0))
    return min(max(math.exp(log_size + doubt), 1.0 / SPREAD), SPREAD)


@jitable
def noise_scale_of(estimate: ScaleFreeEstimate) -> float:
    """Return the relative noise scale of the arm in `row`."""
    if not predicts_sizes(estimate):
        return 1.0
    sizes, row = estimate.sizes, estimate.row
    last = row.size - 1
    log_size = dot(row, sizes.centre) - row[last] * sizes.centre[last]
    image = sizes.scratch[0]
    square = 0.0
    for i in range(row.size):
        image[i] = dot(sizes.inverse[i], row)
        square += image[i] * row[i]
    return relative_size(estimate, log_size, square)


# ---- events: rewards that are not the usual value


@outlined
def find_edge(estimate: ScaleFreeEstimate) -> None:
    """Find the size of large rewards and of events, and whether most rewards are one value.

    Large is the size that 2% of the rewards have, and at least three; an event is at least 1/64 of
    it. Most rewards are one value if half of them are no events, or if the sizes have a second peak
    on one side.
    """
    numbers, deviations = estimate.numbers, estimate.deviations
    exponent, total = estimate.counts[_EXPONENT], numbers[_TOTAL]
    seen = total - numbers[_ZEROS]
    place = rank_place(deviations, max(3.0, LARGE * total)) if seen >= 3.0 else -1
    numbers[_EDGE] = size_of(place, exponent) if place >= 0 else 0.0
    least, rare = max(place - SIX_OCTAVES, 0), False
    if place >= 0:
        rare = 2.0 * weight_from(deviations, least) <= total
        valley = -1 if rare else find_valley(deviations, total, SEEN)
        if valley >= 0 and is_one_sided(deviations, valley):
            least, rare = valley, True
    estimate.counts[_RARE] = 1 if rare else 0
    numbers[_EVENT] = size_of(least, exponent) if place >= 0 else 0.0
    weight = weight_from(deviations, least)
    middle = rank_place(deviations, 0.5 * weight) if weight >= 1.0 else -1
    numbers[_TYPICAL] = size_of(middle, exponent) if middle >= 0 else 0.0


@jitable
def is_one_sided(deviations: Floats, place: int) -> bool:
    """Return True if three quarters of what is at least this large are gains, or losses."""
    gains, losses = weight_from(deviations[:1], place), weight_from(deviations[1:], place)
    return 2.0 * abs(gains - losses) >= gains + losses


@jitable
def is_event(estimate: ScaleFreeEstimate, reward: float) -> bool:
    """Return True if a reward is not the usual value."""
    size = abs(reward - estimate.numbers[_LEVEL])
    return size > 0.0 and size >= estimate.numbers[_EVENT]


@jitable
def record_reward(estimate: ScaleFreeEstimate, reward: float) -> None:
    """Add a reward to the histograms."""
    gap = reward - estimate.numbers[_LEVEL]
    estimate.numbers[_TOTAL] += 1.0
    if gap == 0.0:
        estimate.numbers[_ZEROS] += 1.0
        estimate.counts[_EXACT] += 1
    else:
        place = bin_of(abs(gap), estimate.counts[_EXPONENT])
        estimate.deviations[0 if gap > 0.0 else 1, place] += 1.0


@jitable
def find_residual(estimate: ScaleFreeEstimate) -> None:
    """Find the typical residual of events: their median, at least the third largest."""
    count = weight_from(estimate.residuals, 0)
    half = max(0.5 * count, min(3.0, count))
    place = rank_place(estimate.residuals, half) if count >= 1.0 else -1
    typical = size_of(place, estimate.counts[_EXPONENT]) if place >= 0 else 0.0
    estimate.numbers[_RESIDUAL] = typical


@jitable
def forget_half(estimate: ScaleFreeEstimate) -> None:
    """Halve the weights of the histograms."""
    for i in range(BINS):
        estimate.deviations[0, i] *= 0.5
        estimate.deviations[1, i] *= 0.5
        estimate.residuals[0, i] *= 0.5
    estimate.numbers[_TOTAL] *= 0.5
    estimate.numbers[_ZEROS] *= 0.5


# ---- the regression of ln |event|


@jitable
def log_of(estimate: ScaleFreeEstimate, size: float) -> float:
    """Return ln size, in units of the power of two of the histograms."""
    return math.log(math.ldexp(size, -estimate.counts[_EXPONENT]))


@jitable
def learn_size(estimate: ScaleFreeEstimate, reward: float, size: float) -> None:
    """Learn the size of an event: ridge regression of ln size on `row`, errors clipped at three
    standard deviations."""
    sizes, numbers, row = estimate.sizes, estimate.numbers, estimate.row
    logarithm = log_of(estimate, abs(reward - numbers[_LEVEL]))
    numbers[_LOGS] += logarithm
    numbers[_LOG_SQUARES] += logarithm * logarithm
    estimate.counts[_SUMMED] += 1
    if not size > 0.0:
        return
    if estimate.counts[_EVENTS] == 0:
        start = numbers[_RESIDUAL] if numbers[_RESIDUAL] > 0.0 else size
        sizes.centre[row.size - 1] = log_of(estimate, start) / CONSTANT
    estimate.counts[_EVENTS] += 1
    measure(sizes, row)
    square = max(squared_norm(sizes), 0.0)
    most = 3.0 * math.sqrt(numbers[_LOG_NOISE])
    error = min(max(log_of(estimate, size) - dot(row, sizes.centre), -most), most)
    gained = error * error / (1.0 + square) - numbers[_LOG_NOISE]
    numbers[_LOG_NOISE] += gained / float(estimate.counts[_EVENTS] + 10)
    add_observation(sizes, row, 1.0)
    move_centre(sizes, -error / (1.0 + square))


@outlined
def update_size_penalty(estimate: ScaleFreeEstimate) -> None:
    """Give the regression of ln size the penalty k v / ||slopes||^2, within limits."""
    sizes, events = estimate.sizes, float(max(estimate.counts[_EVENTS], 1))
    signal = max(prior_square(sizes) / penalty_of(sizes), 1e-12)
    fitting = learned_directions(sizes) * estimate.numbers[_LOG_NOISE] / signal
    least = 0.25 * float(estimate.middle.size)
    change_penalty(sizes, max(least, min(fitting, 10.0 * events)))


@jitable
def log_deviation(estimate: ScaleFreeEstimate) -> float:
    """Return the standard deviation of ln |event|."""
    events = float(max(estimate.counts[_SUMMED], 1))
    middle = estimate.numbers[_LOGS] / events
    return math.sqrt(max(estimate.numbers[_LOG_SQUARES] / events - middle * middle, 0.0))


# ---- learning


@jitable
def limit_of(
    part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, square: float, scale: float
) -> float:
    """Return the largest error that counts in full, for `square` = w^2, in units of `scale`.

    threshold s (1 + w^2) / w + sqrt(lambda) ||slopes|| w, and at least twice the typical residual;
    if most rewards are one value, at least 16 times a large reward.
    """
    numbers, limit = estimate.numbers, math.inf
    if square > 0.0:
        noise = part.threshold * math.sqrt(numbers[_SQUARE]) * (1.0 + square)
        limit = (noise + math.sqrt(prior_square(estimate.region)) * square) / math.sqrt(square)
    least = WIDE * numbers[_EDGE] / scale if is_rare(estimate) else 2.0 * numbers[_RESIDUAL]
    return max(limit, least * math.sqrt(1.0 + square))


@jitable
def largest_square(estimate: ScaleFreeEstimate, scale: float) -> float:
    """Return the limit of a squared residual in s^2."""
    numbers = estimate.numbers
    if is_rare(estimate):
        return (WIDE * numbers[_EDGE] / scale) ** 2
    return MOST * max(numbers[_SQUARE], numbers[_RESIDUAL] * numbers[_RESIDUAL])


@jitable
def learn_error(region: Region, x: Floats, weight: float, error: float, limit: float) -> float:
    """Make one step with the clipped error and return it; V grows by the weight of the reward."""
    square = weight * max(squared_norm(region), 0.0)
    kept, share = error, 1.0
    if abs(error) > limit:
        count_clipped(region)
        kept, move = math.copysign(limit, error), limit * square / (1.0 + square)
        excess = square * (abs(error) - move)
        share = max(move / excess, LEAST_WEIGHT) if excess > 0.0 else LEAST_WEIGHT
    add_observation(region, x, share * weight)
    move_centre(region, -math.sqrt(weight) * kept / (1.0 + square))
    return kept


@jitable
def weigh_residual(
    estimate: ScaleFreeEstimate, square: float, residual: float, most: float
) -> None:
    """s^2 = mean of min(residual^2, most), weighted by w^2 / (1 + w^2): by how new the arm was."""
    numbers, weight = estimate.numbers, square / (1.0 + square)
    numbers[_WEIGHED] += weight * min(residual * residual, most)
    numbers[_WEIGHTS] += weight
    if numbers[_WEIGHTS] > 0.0:
        numbers[_SQUARE] = numbers[_WEIGHED] / numbers[_WEIGHTS]


@jitable
def is_due(learned: int) -> bool:
    """Return True if the penalty is updated: at 64, 128, ... and every 1024 rewards."""
    return learned % REPAIR_EVERY == 0 or learned & (learned - 1) == 0


@outlined
def update_penalty(estimate: ScaleFreeEstimate) -> None:
    """lambda = k s^2 / ||slopes||^2, between 0.1 d and the mean information on a slope."""
    region, dim = estimate.region, estimate.middle.size
    least, total = PENALTY * float(dim), 0.0
    floor = penalty_of(region)
    constant = region.design[dim, dim] + region.recent[dim, dim] - floor
    for i in range(dim):
        mixed = region.design[i, dim] + region.recent[i, dim]
        own = region.design[i, i] + region.recent[i, i] - floor
        total += own - mixed * mixed / constant if constant > 0.0 else own
    most = max(total / float(dim), least)
    noise = learned_directions(region) * estimate.numbers[_SQUARE]
    signal = prior_square(region) / floor
    change_penalty(region, max(noise / signal, least) if noise < most * signal else most)


# ---- the first rewards


@jitable
def is_linear(link: Link) -> bool:
    """Return True for the identity link, or another one of slope 1."""
    return slope(link, -1.0) == 1.0 and slope(link, 1.0) == 1.0


@outlined
def start(estimate: ScaleFreeEstimate) -> None:
    """Forget everything but the number of restarts."""
    restarts = estimate.counts[_RESTARTS]
    for i in range(estimate.counts.size):
        estimate.counts[i] = 0
    estimate.counts[_RESTARTS] = restarts
    clear_fit(estimate)


@jitable
def clear_fit(estimate: ScaleFreeEstimate) -> None:
    """Forget theta, the scale, the histograms and the sizes."""
    dim, counts = float(estimate.middle.size), estimate.counts
    reset_region(estimate.region, PENALTY * dim)
    reset_region(estimate.sizes, 4.0 * dim)
    for i in range(BINS):
        estimate.deviations[0, i], estimate.deviations[1, i] = 0.0, 0.0
        estimate.residuals[0, i] = 0.0
    for i in range(estimate.numbers.size):
        estimate.numbers[i] = 0.0
    estimate.numbers[_LOG_NOISE] = 1.2
    counts[_KNOWN], counts[_RARE], counts[_EXACT], counts[_SMALL] = 0, 0, 0, 0
    counts[_EVENTS], counts[_SUMMED] = 0, 0


@jitable
def set_level(part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, count: int) -> None:
    """Set the level to the median reward, if the link is linear, and the exponent of the
    histograms to that of the median deviation from it."""
    scratch, different = estimate.recent, 0
    for j in range(count):
        scratch[j] = estimate.rewards[j]
    level = select_rank(scratch, 0, count, (count - 1) // 2) if is_linear(part.link) else 0.0
    for j in range(count):
        if estimate.rewards[j] != level:
            scratch[different] = abs(estimate.rewards[j] - level)
            different += 1
    estimate.numbers[_LEVEL] = level
    if different > 0:
        typical = select_rank(scratch, 0, different, (different - 1) // 2)
        estimate.counts[_EXPONENT] = math.frexp(typical)[1]


@outlined
def fit_again(part: "ScaleFreeHuber", estimate: ScaleFreeEstimate) -> None:
    """Fit the first rewards from scratch, at most WARM of them.

    The level is their median, the unit of a feature its standard deviation. All of them are clipped
    at 4.5 times the median deviation of events, or at 16 large rewards if most are one value.
    """
    counts, numbers, count = estimate.counts, estimate.numbers, estimate.counts[_LEARNED]
    clear_fit(estimate)
    standardise(estimate, count)
    set_level(part, estimate, count)
    for j in range(count):
        record_reward(estimate, estimate.rewards[j])
    if is_linear(part.link):
        find_edge(estimate)
    for j in range(count):
        if is_event(estimate, estimate.rewards[j]):
            size = abs(estimate.rewards[j] - numbers[_LEVEL])
            estimate.residuals[0, bin_of(size, counts[_EXPONENT])] += 1.0
    find_residual(estimate)
    limit = WIDE * numbers[_EDGE] if is_rare(estimate) else LOOSE * numbers[_RESIDUAL]
    for i in range(BINS):
        estimate.residuals[0, i] = 0.0
    for j in range(count):
        fit_one(part, estimate, j, limit)
    find_residual(estimate)
    most = largest_square(estimate, 1.0)
    for j in range(count):
        weigh_residual(estimate, estimate.squares[j], estimate.recent[j], most)
    update_penalty(estimate)
    if count == WARM:
        end_first(estimate)


@jitable
def fit_one(part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, j: int, limit: float) -> None:
    """Learn from one of the first rewards; its residual and squared norm go into `recent` and
    `squares`."""
    region, reward = estimate.region, estimate.rewards[j]
    fill_row(estimate, estimate.arms[j])
    measure(region, estimate.row)
    z = dot(estimate.row, region.centre)
    weight = weight_at_slope(part, z)
    square = weight * max(squared_norm(region), 0.0)
    error = error_of(part, estimate, reward, z, weight)
    unit = math.sqrt(1.0 + square)
    learn_error(region, estimate.row, weight, error, limit * unit)
    residual = abs(error) / unit
    estimate.recent[j], estimate.squares[j] = residual, square
    if is_event(estimate, reward) and residual > 0.0:
        estimate.counts[_KNOWN] += 1
        estimate.residuals[0, bin_of(residual, estimate.counts[_EXPONENT])] += 1.0


@jitable
def end_first(estimate: ScaleFreeEstimate) -> None:
    """Learn the sizes of the events among the first rewards; `recent` becomes these rewards."""
    for j in range(WARM):
        if is_rare(estimate) and is_event(estimate, estimate.rewards[j]):
            fill_row(estimate, estimate.arms[j])
            learn_size(estimate, estimate.rewards[j], estimate.recent[j])
    for j in range(WARM):
        estimate.recent[j] = estimate.rewards[j]


# ---- the later rewards


@jitable
def weight_at_slope(part: "ScaleFreeHuber", z: float) -> float:
    """Return mu'(z), within limits."""
    return min(max(slope(part.link, z), FLATTEST), STEEPEST)


@jitable
def error_of(
    part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, reward: float, z: float, weight: float
) -> float:
    """Return (y - level - mu(z)) / sqrt(mu'(z))."""
    return (reward - estimate.numbers[_LEVEL] - mean(part.link, z)) / math.sqrt(weight)


@jitable
def has_shrunk(estimate: ScaleFreeEstimate, reward: float) -> bool:
    """Return True if the unit of the rewards has become smaller by a factor of 64 or more.

    If most rewards are exactly one value: eight others in a row are smaller than typical events by
    that factor. Otherwise: the last 32 rewards are not all equal, but closer together than that.
    """
    counts, least = estimate.counts, estimate.numbers[_TYPICAL] / SHRUNK
    gap = abs(reward - estimate.numbers[_LEVEL])
    place = counts[_LEARNED] % WARM
    estimate.recent[place] = reward
    if gap >= least:
        counts[_SMALL] = 0
    elif gap > 0.0:
        counts[_SMALL] += 1
    if is_rare(estimate):
        return counts[_SMALL] >= CHANGED and 2 * counts[_EXACT] >= counts[_LEARNED]
    if place != 0 or least == 0.0:
        return False
    low, high = estimate.recent[0], estimate.recent[0]
    for j in range(WARM):
        low, high = min(low, estimate.recent[j]), max(high, estimate.recent[j])
    return 0.0 < high - low < 2.0 * least


@jitable
def owe_exploration(estimate: ScaleFreeEstimate) -> None:
    """Count what is owed to exploration, while most rewards are one value and events are gains.

    4 sqrt(n) min(1, deviation of ln |event|) decisions in all go to the least known arm: an arm that
    sells rarely at a high price shows nothing for a long time.
    """
    numbers, n = estimate.numbers, float(estimate.counts[_LEARNED])
    least = bin_of(max(numbers[_EVENT], 1e-300), estimate.counts[_EXPONENT])
    gains = weight_from(estimate.deviations[:1], least)
    if not is_rare(estimate) or gains < weight_from(estimate.deviations[1:], least):
        numbers[_DEBT] = 0.0
        return
    if numbers[_DEBT] >= 1.0:
        numbers[_DEBT] -= 1.0
    share = min(1.0, log_deviation(estimate))
    numbers[_DEBT] += OWED * share * (math.sqrt(n) - math.sqrt(n - 1.0))


@jitable
def learn_later(part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, reward: float) -> bool:
    """Learn from a reward after the first ones, whose row is measured; return True to restart."""
    region, counts, numbers = estimate.region, estimate.counts, estimate.numbers
    z = dot(estimate.row, region.centre)
    slope_weight, scale = weight_at_slope(part, z), noise_scale_of(estimate)
    weight = slope_weight / (scale * scale)
    square = weight * max(squared_norm(region), 0.0)
    error = error_of(part, estimate, reward, z, slope_weight) / scale
    limit, unit = limit_of(part, estimate, square, scale), math.sqrt(1.0 + square)
    kept = learn_error(region, estimate.row, weight, error, limit)
    if counts[_LEARNED] > WARM and has_shrunk(estimate, reward):
        return True
    residual = abs(error) / unit
    if numbers[_TOTAL] == numbers[_ZEROS] and reward != numbers[_LEVEL]:
        counts[_EXPONENT] = math.frexp(abs(reward - numbers[_LEVEL]))[1]
    record_reward(estimate, reward)
    if is_event(estimate, reward) and residual > 0.0:
        estimate.residuals[0, bin_of(residual, counts[_EXPONENT])] += 1.0
        if is_rare(estimate) and counts[_LEARNED] > WARM:
            learn_size(estimate, reward, residual * scale)
    counts[_KNOWN] += 1 if residual > 0.0 else 0
    if numbers[_TOTAL] > MEMORY:
        forget_half(estimate)
    if counts[_LEARNED] < 2 * WARM or counts[_LEARNED] % 8 == 0:
        if is_linear(part.link):
            find_edge(estimate)
        find_residual(estimate)
    weigh_residual(estimate, square, kept / unit, largest_square(estimate, scale))
    owe_exploration(estimate)
    counts[_STREAK] = counts[_STREAK] + 1 if abs(error) > FAR * limit else 0
    return counts[_STREAK] >= CHANGED


class ScaleFreeHuber(NamedTuple):
    """Huber regression in one pass, without a given level, scale, threshold, penalty or unit.

    Features are standardised: z = ((x - mean) / deviation, 10), mean and deviation over the first
    32 arms played; the constant 10 is an intercept with a hundredth of the penalty. The median of
    the first 32 rewards is subtracted from all rewards (identity link). With w = ||z||_{V^-1} / r,
    m = mu'(z.theta) = 1 for the identity link, and e = (y - mu(z.theta)) / r:

    limit = max{threshold s (1 + w^2) / w + sqrt(lambda) ||slopes|| w, 2 q sqrt(1 + w^2)};
    psi = e clipped at +- limit;  theta += V^-1 z psi / (r (1 + w^2));  V += share z z^T / r^2;
    s^2 = mean of min(psi^2 / (1 + w^2), 9 max(s^2, q^2)), weighted by w^2 / (1 + w^2).

    So no reward moves the prediction of its arm by more than `threshold` of its standard errors s
    w, plus the possible bias of the penalty. The limit grows like sqrt(n/d): s^2 / limit^2 = d / n
    up to constants is the equation of Wang et al. (2021), whose root adapts to any moment. q is the
    median residual. A reward beyond the limit counts in V with a share below 1, at which it would
    have moved theta as far, so that the arm of a clipped reward stays uncertain.

    **Sales and claims.** If at least half of the rewards are one value, or the sizes of rewards
    have a second peak, then rare large rewards are the signal and not outliers: the limit is 16
    times the size that 2% of the rewards have, and squares count up to that limit. r is then the
    size of the reward relative to a typical one, predicted by a regression of the logarithm of the
    residuals on z; otherwise r = 1. And 4 sqrt(n) decisions in all go to the least known arm.

    The penalty starts at lambda = 0.1 d. Whenever the number of rewards has doubled, and every 1024
    rewards, it becomes lambda = k s^2 / ||slopes||^2, the fixed point of the evidence (MacKay 1992);
    k = d - lambda tr V^-1 is the number of learned directions.

    The first 32 rewards are kept, and fitted again from scratch as they come in: outliers among
    them are known only later. Eight rewards in a row beyond twice their limits are not noise but
    another unit or another environment, and the estimator restarts. It also restarts if the rewards
    have become smaller by a factor of 64. No theorem covers this estimator.

    Parameters
    ----------
    dim : int
        Dimension of the arms.
    link : Link
        Link of the mean reward. Only with the identity link there is a level, and rare rewards.
    threshold : float, default 0.35
        Largest move of a prediction by one reward, in its standard errors.

    >>> from heavybandits.links import Identity
    >>> ScaleFreeHuber(3, Identity()).init().region.centre.shape
    (4,)
    """

    dim: Count
    link: Link
    threshold: Positive = 0.35

    @property
    def any_norm(self) -> bool:
        return True

    def init(self) -> ScaleFreeEstimate:
        dim, rows = self.dim, self.dim + 1
        numbers = zeros(14)
        numbers[_LOG_NOISE] = 1.2
        return ScaleFreeEstimate(
            region=make_region(rows, PENALTY * dim),
            sizes=make_region(rows, 4.0 * dim),
            middle=zeros(dim),
            units=zeros(dim),
            row=zeros(rows),
            block=zeros(rows, LANES),
            slopes=zeros(dim),
            image=zeros(dim, dim),
            numbers=numbers,
            counts=np.zeros(10, np.int64),
            arms=zeros(WARM, dim),
            rewards=zeros(WARM),
            deviations=zeros(2, BINS),
            residuals=zeros(1, BINS),
            recent=zeros(WARM),
            squares=zeros(WARM),
            lanes=zeros(4, LANES),
        )

    def is_valid(self, estimate: ScaleFreeEstimate) -> bool:
        positive = (estimate.units >= 0.0).all() and (estimate.counts >= 0)[:_EXPONENT].all()
        return bool(estimate.numbers[_SQUARE] >= 0.0 and positive)

    def threshold_in_force(self, memory: ScaleFreeEstimate) -> float:
        """Return threshold s, before it grows with what is known of an arm; 16 large rewards if
        most rewards are one value."""
        if is_rare(memory):
            return WIDE * float(memory.numbers[_EDGE])
        return self.threshold * math.sqrt(memory.numbers[_SQUARE])

    def revise(self, estimate: ScaleFreeEstimate, x: Floats, before: float, after: float) -> None:
        """theta += V^-1 z sqrt(m) (psi' - psi) / r, both clipped at the limit of today."""
        region = estimate.region
        fill_row(estimate, x)
        z, scale = dot(estimate.row, region.centre), noise_scale_of(estimate)
        weight = weight_at_slope(self, z)
        square = dot(estimate.row, np.vecdot(region.inverse, estimate.row))
        limit = limit_of(self, estimate, weight / (scale * scale) * max(square, 0.0), scale)
        errors = (error_of(self, estimate, y, z, weight) / scale for y in (before, after))
        old, new = (min(max(error, -limit), limit) for error in errors)
        shift_centre(region, estimate.row, math.sqrt(weight) / scale * (new - old))

    def predict(self, estimate: ScaleFreeEstimate, z: float) -> float:
        return mean(self.link, z) + estimate.numbers[_LEVEL]

    def score_arm(self, estimate: ScaleFreeEstimate, x: Floats) -> float:
        fill_row(estimate, x)
        return dot(estimate.row, estimate.region.centre)

    def measure_arm(self, estimate: ScaleFreeEstimate, x: Floats) -> float:
        fill_row(estimate, x)
        return measure(estimate.region, estimate.row)

    def arm_norm(self, estimate: ScaleFreeEstimate, x: Floats) -> float:
        """Return w sqrt(3 + ln(1 + n w^2 / k)); with rare rewards ln(det V / det V_1) / k more."""
        fill_row(estimate, x)
        region, row = estimate.region, estimate.row
        square = novelty(estimate, x)
        for i in range(row.size):
            square += row[i] * dot(region.inverse[i], row)
        learned = learned_directions(region)
        volume = shared_volume(estimate, learned)
        scale = noise_scale_of(estimate)
        return math.sqrt(max(inflate(estimate, max(square, 0.0), scale, learned, volume), 0.0))

    def best_arm(
        self, estimate: ScaleFreeEstimate, arms: ArmSet, buffer: ArmBuffer, width: float
    ) -> int:
        if arms.size == 0:
            return best_point(estimate, arms, buffer, width)
        measure_arms(estimate, buffer)
        mark_stale(buffer)
        return pick(buffer, width)

    def update(self, estimate: ScaleFreeEstimate, observation: Observation) -> None:
        counts, x, reward = estimate.counts, observation.x, observation.reward
        if counts[_LEARNED] < WARM:
            place = counts[_LEARNED]
            for i in range(x.size):
                estimate.arms[place, i] = x[i]
            estimate.rewards[place] = reward
        counts[_LEARNED] += 1
        learned = counts[_LEARNED]
        if learned <= WARM and (learned <= 8 or learned % 4 == 0):
            fit_again(self, estimate)
            return
        if learned > WARM:
            notice_features(estimate, x)
        fill_row(estimate, x)
        measure(estimate.region, estimate.row)
        if learn_later(self, estimate, reward):
            start_again(self, estimate, x, reward)
        elif is_due(learned):
            update_penalty(estimate)
            if counts[_EVENTS] > AMOUNTS:
                update_size_penalty(estimate)


@outlined
def start_again(
    part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, x: Floats, reward: float
) -> None:
    """Restart: this reward is the first."""
    start(estimate)
    estimate.counts[_RESTARTS] += 1
    estimate.counts[_LEARNED] = 1
    for i in range(x.size):
        estimate.arms[0, i] = x[i]
    estimate.rewards[0] = reward
    fit_again(part, estimate)


# ---- choosing


@jitable
def fill_block(estimate: ScaleFreeEstimate, features: Floats, first: int) -> None:
    """Write the standardised rows of LANES arms into the columns of `block`."""
    block, dim = estimate.block, estimate.middle.size
    for i in range(dim):
        unit, middle = estimate.units[i], estimate.middle[i]
        for lane in range(LANES):
            gap = features[i, first + lane] - middle
            block[i, lane] = gap / unit if unit > 0.0 else 0.0
    for lane in range(LANES):
        block[dim, lane] = CONSTANT


@jitable
def add_novelty(estimate: ScaleFreeEstimate, features: Floats, first: int, out: Floats) -> None:
    """Add `novelty` to the squared norms of LANES arms."""
    more = 1.0 / penalty_of(estimate.region)
    for i in range(estimate.middle.size):
        if estimate.units[i] == 0.0:
            for lane in range(LANES):
                if features[i, first + lane] != estimate.middle[i]:
                    out[first + lane] += more


@jitable
def measure_arms(estimate: ScaleFreeEstimate, buffer: ArmBuffer) -> None:
    """Write z.theta and the squared widths of all arms into `scores` and `squares`. O(K d^2)."""
    region, sizes, block = estimate.region, estimate.sizes, estimate.block
    above, below, log_sizes, size_squares = (
        estimate.lanes[0],
        estimate.lanes[1],
        estimate.lanes[2],
        estimate.lanes[3],
    )
    learned, sized = learned_directions(region), predicts_sizes(estimate)
    volume, forced = shared_volume(estimate, learned), estimate.numbers[_DEBT] >= 1.0
    constant = CONSTANT * sizes.centre[estimate.middle.size]
    for first in range(0, buffer.scores.size, LANES):
        fill_block(estimate, buffer.features, first)
        combine(block, region.centre, buffer.scores[first : first + LANES])
        squares(block, region.inverse, buffer.squares[first : first + LANES], above, below)
        add_novelty(estimate, buffer.features, first, buffer.squares)
        if sized:
            combine(block, sizes.centre, log_sizes)
            squares(block, sizes.inverse, size_squares, above, below)
        for lane in range(LANES):
            square, scale = max(buffer.squares[first + lane], 0.0), 1.0
            if sized:
                size = log_sizes[lane] - constant
                scale = relative_size(estimate, size, size_squares[lane])
            if forced:
                buffer.scores[first + lane] = 0.0
            else:
                square = inflate(estimate, square, scale, learned, volume)
            buffer.squares[first + lane] = square


@jitable
def best_point(estimate: ScaleFreeEstimate, arms: ArmSet, buffer: ArmBuffer, width: float) -> int:
    """Choose from a continuous set, with theta and V^-1 in the units of the features and one
    logarithm for all arms."""
    region, dim, slopes, image = (
        estimate.region,
        estimate.middle.size,
        estimate.slopes,
        estimate.image,
    )
    for i in range(dim):
        unit = estimate.units[i]
        slopes[i] = region.centre[i] / unit if unit > 0.0 else 0.0
        for j in range(dim):
            both = unit * estimate.units[j]
            image[i, j] = region.inverse[i, j] / both if both > 0.0 else 0.0
        if unit == 0.0:
            image[i, i] = 1.0 / penalty_of(region)
    raw = Region(
        slopes,
        image,
        region.design,
        region.direction,
        region.numbers,
        region.counts,
        region.scratch,
        region.recent,
    )
    volume = 3.0 + log_volume(region) / learned_directions(region)
    return maximise(arms, buffer, raw, width * math.sqrt(volume))


def raw_theta(estimate: ScaleFreeEstimate) -> Floats:
    """Return the slopes in the units of the features; 0 for a feature that has not varied yet."""
    units = estimate.units
    return np.divide(
        estimate.region.centre[:-1], units, out=np.zeros_like(units), where=units > 0.0
    )
