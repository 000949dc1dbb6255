"""The fit of auto's estimator: the first rewards again and again, the later ones in one pass."""

import math
from typing import Any

from ....core.arrays import Floats
from ....core.confidence_region import (
    REPAIR_EVERY,
    Region,
    add_observation,
    change_penalty,
    clipped_count,
    count_clipped,
    measure,
    move_centre,
    penalty_of,
    reset_region,
    set_clipped,
    squared_norm,
)
from ....core.dispatch import mean, slope
from ....core.histogram import BINS, bin_of, weight_from
from ....core.jit import jitable, outlined
from ....core.linalg import dot
from ....core.order_statistics import select_rank
from ....core.protocols import Link
from .estimate import (
    CLIPPED,
    DEBT,
    EDGE,
    EVENT,
    EVENTS,
    EXACT,
    EXPONENT,
    KNOWN,
    LEARNED,
    LEVEL,
    LOG_NOISE,
    PLAIN,
    RARE,
    RESIDUAL,
    RESTARTS,
    SMALL,
    SQUARE,
    STREAK,
    SUMMED,
    TOTAL,
    TYPICAL,
    WARM,
    WEIGHED,
    WEIGHTS,
    ZEROS,
    ScaleFreeEstimate,
    exponent_of,
    fill_row,
    is_rare,
    learned_directions,
    prior_square,
    standardise,
)
from .events import (
    find_edge,
    find_residual,
    forget_half,
    is_event,
    learn_size,
    log_deviation,
    noise_scale_of,
    record_reward,
)

PENALTY = 0.1  # least lambda, in dimensions; features have variance one
SLOWEST = 0.2  # times sqrt(n d): largest lambda, or a policy that plays few arms learns no others
CHANGED, FAR = 8, 2.0  # restart after so many rewards in a row beyond this multiple of the limit
SHRUNK = 64.0  # restart if rewards are smaller than typical ones by this factor
LATEST = 12  # latest rewards that are compared with typical ones
LEAST_WEIGHT = 1e-9  # of a clipped reward in V; with 0, V would not grow
LOOSE = 4.5  # limit of the first WARM rewards, in medians
MOST = 9.0  # limit of a square, in s^2; without it s never settles if there is no variance
FLATTEST, STEEPEST = 1e-12, 1e12  # limits of the slope of a link: no weight vanishes or overflows
WIDE = 16.0  # limit of rewards that are mostly one value, in sizes of large rewards
OWED = 4.0  # times sqrt(n): decisions for exploration if most rewards are one value
MEMORY = 4000.0  # rewards after which the histograms forget half


# ---- learning


@jitable
def limit_of(part: Any, estimate: ScaleFreeEstimate, square: float, scale: float) -> float:
    """Return the largest error that counts in full, for `square` = w^2, in units of `scale`.

    threshold s (1 + w^2) / w + sqrt(lambda) ||slopes|| w, and at least twice the typical residual;
    if most rewards are one value, at least 16 times a large reward.
    """
    numbers, limit = estimate.numbers, math.inf
    if square > 0.0:
        noise = part.threshold * math.sqrt(numbers[SQUARE]) * (1.0 + square)
        limit = (noise + math.sqrt(prior_square(estimate.region)) * square) / math.sqrt(square)
    least = WIDE * numbers[EDGE] / scale if is_rare(estimate) else 2.0 * numbers[RESIDUAL]
    return max(limit, least * math.sqrt(1.0 + square))


@jitable
def largest_square(estimate: ScaleFreeEstimate, scale: float) -> float:
    """Return the limit of a squared residual in s^2."""
    numbers = estimate.numbers
    if is_rare(estimate):
        return (WIDE * numbers[EDGE] / scale) ** 2
    return MOST * max(numbers[SQUARE], numbers[RESIDUAL] * numbers[RESIDUAL])


@outlined
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
    """s^2 = mean of min(residual^2, most), weighted by w^2 / (1 + w^2), that is by how new the arm
    was, and at least the plain mean: s must not rest on a few early rewards."""
    numbers, weight = estimate.numbers, square / (1.0 + square)
    kept = min(residual * residual, most)
    numbers[WEIGHED] += weight * kept
    numbers[WEIGHTS] += weight
    numbers[PLAIN] += kept
    plain = numbers[PLAIN] / float(estimate.counts[LEARNED])
    weighed = numbers[WEIGHED] / numbers[WEIGHTS] if numbers[WEIGHTS] > 0.0 else 0.0
    numbers[SQUARE] = max(weighed, plain)


@jitable
def is_due(learned: int) -> bool:
    """Return True if the penalty is updated: at 64, 128, ... and every 1024 rewards."""
    return learned % REPAIR_EVERY == 0 or learned & (learned - 1) == 0


@outlined
def update_penalty(estimate: ScaleFreeEstimate) -> None:
    """lambda = k s^2 / ||slopes||^2, between 0.1 d and the mean information on a slope, and at most
    0.2 sqrt(n d) unless most rewards are one value.

    The best arms have almost equal means. The more often they are played, the smaller the slopes
    seem, and without the last limit lambda would grow until the other arms seem to be known.
    """
    region, dim = estimate.region, estimate.middle.size
    least, total = PENALTY * float(dim), 0.0
    floor = penalty_of(region)
    constant = region.design[dim, dim] + region.recent[dim, dim] - floor
    for i in range(dim):
        mixed = region.design[i, dim] + region.recent[i, dim]
        own = region.design[i, i] + region.recent[i, i] - floor
        total += own - mixed * mixed / constant if constant > 0.0 else own
    most = max(total / float(dim), least)
    if not is_rare(estimate):
        slowest = SLOWEST * math.sqrt(float(estimate.counts[LEARNED]) * float(dim))
        most = max(min(most, slowest), least)
    noise = learned_directions(region) * estimate.numbers[SQUARE]
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
    restarts = estimate.counts[RESTARTS]
    for i in range(estimate.counts.size):
        estimate.counts[i] = 0
    estimate.counts[RESTARTS] = restarts
    estimate.counts[CLIPPED] = clipped_count(estimate.region)
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
    estimate.numbers[LOG_NOISE] = 1.2
    counts[KNOWN], counts[RARE], counts[EXACT], counts[SMALL] = 0, 0, 0, 0
    counts[EVENTS], counts[SUMMED] = 0, 0


@outlined
def set_level(part: Any, estimate: ScaleFreeEstimate, count: int) -> None:
    """Set the base to the median reward, if the link is linear, and the exponent of the
    histograms to that of the median deviation from it."""
    scratch, different = estimate.recent, 0
    for j in range(count):
        scratch[j] = estimate.rewards[j]
    level = select_rank(scratch, 0, count, (count - 1) // 2) if is_linear(part.link) else 0.0
    for j in range(count):
        if estimate.rewards[j] != level:
            scratch[different] = abs(estimate.rewards[j] - level)
            different += 1
    estimate.numbers[LEVEL] = level
    if different > 0:
        typical = select_rank(scratch, 0, different, (different - 1) // 2)
        estimate.numbers[EXPONENT] = float(math.frexp(typical)[1])


@outlined
def fit_again(part: Any, estimate: ScaleFreeEstimate) -> None:
    """Fit the first rewards from scratch, at most WARM of them.

    The base is their median, the unit of a feature its standard deviation. All of them are clipped
    at 4.5 times the median deviation of events, or at 16 large rewards if most are one value.
    """
    numbers, count = estimate.numbers, estimate.counts[LEARNED]
    clear_fit(estimate)
    set_clipped(estimate.region, estimate.counts[CLIPPED])
    standardise(estimate, count)
    set_level(part, estimate, count)
    for j in range(count):
        record_reward(estimate, estimate.rewards[j])
    if is_linear(part.link):
        find_edge(estimate)
    for j in range(count):
        if is_event(estimate, estimate.rewards[j]):
            size = abs(estimate.rewards[j] - numbers[LEVEL])
            estimate.residuals[0, bin_of(size, exponent_of(estimate))] += 1.0
    find_residual(estimate)
    limit = WIDE * numbers[EDGE] if is_rare(estimate) else LOOSE * numbers[RESIDUAL]
    for i in range(BINS):
        estimate.residuals[0, i] = 0.0
    for j in range(count):
        fit_one(part, estimate, j, limit)
    find_residual(estimate)
    most = largest_square(estimate, 1.0)
    for j in range(count):
        weigh_residual(estimate, estimate.scratch.squares[j], estimate.recent[j], most)
    update_penalty(estimate)
    if count == WARM:
        end_first(estimate)


@outlined
def fit_one(part: Any, estimate: ScaleFreeEstimate, j: int, limit: float) -> None:
    """Learn from one of the first rewards; its residual and squared norm go into `recent` and
    `squares`."""
    region, reward = estimate.region, estimate.rewards[j]
    fill_row(estimate, estimate.arms[j])
    measure(region, estimate.scratch.row)
    z = dot(estimate.scratch.row, region.centre)
    weight = weight_at_slope(part, z)
    square = weight * max(squared_norm(region), 0.0)
    error = error_of(part, estimate, reward, z, weight)
    unit = math.sqrt(1.0 + square)
    learn_error(region, estimate.scratch.row, weight, error, limit * unit)
    residual = abs(error) / unit
    estimate.recent[j], estimate.scratch.squares[j] = residual, square
    if is_event(estimate, reward) and residual > 0.0:
        estimate.counts[KNOWN] += 1
        estimate.residuals[0, bin_of(residual, exponent_of(estimate))] += 1.0


@outlined
def end_first(estimate: ScaleFreeEstimate) -> None:
    """Learn the sizes of the events among the first rewards; `recent` becomes these rewards."""
    for j in range(WARM):
        if is_rare(estimate) and is_event(estimate, estimate.rewards[j]):
            fill_row(estimate, estimate.arms[j])
            learn_size(estimate, estimate.rewards[j], estimate.recent[j])
    for j in range(WARM):
        estimate.recent[(j + 1) % WARM] = estimate.rewards[j]


# ---- the later rewards


@jitable
def weight_at_slope(part: Any, z: float) -> float:
    """Return mu'(z), within limits."""
    return min(max(slope(part.link, z), FLATTEST), STEEPEST)


@jitable
def error_of(
    part: Any, estimate: ScaleFreeEstimate, reward: float, z: float, weight: float
) -> float:
    """Return (y - base - mu(z)) / sqrt(mu'(z))."""
    return (reward - estimate.numbers[LEVEL] - mean(part.link, z)) / math.sqrt(weight)


@outlined
def has_shrunk(estimate: ScaleFreeEstimate, reward: float) -> bool:
    """Return True if the unit of the rewards has become smaller by a factor of 64 or more.

    If most rewards are exactly one value: eight others in a row are smaller than typical events by
    that factor. Otherwise, after every fourth reward: the last 12 are not all equal, but closer
    together than that.
    """
    counts, least = estimate.counts, estimate.numbers[TYPICAL] / SHRUNK
    gap = abs(reward - estimate.numbers[LEVEL])
    place = counts[LEARNED] % WARM
    estimate.recent[place] = reward
    if gap >= least:
        counts[SMALL] = 0
    elif gap > 0.0:
        counts[SMALL] += 1
    if is_rare(estimate):
        return counts[SMALL] >= CHANGED and 2 * counts[EXACT] >= counts[LEARNED]
    if place % 4 != 0 or least == 0.0:
        return False
    low, high = reward, reward
    for j in range(counts[LEARNED] - LATEST + 1, counts[LEARNED]):
        earlier = estimate.recent[j % WARM]
        low, high = min(low, earlier), max(high, earlier)
    return 0.0 < high - low < 2.0 * least


@outlined
def owe_exploration(estimate: ScaleFreeEstimate) -> None:
    """Count what is owed to exploration, while most rewards are one value and events are gains.

    4 sqrt(n) min(1, 3 deviations of ln |event|) decisions in all go to the least known arm: an arm
    that sells rarely at a high price shows nothing for a long time. Events of one size need none.
    """
    numbers, n = estimate.numbers, float(estimate.counts[LEARNED])
    least = bin_of(max(numbers[EVENT], 1e-300), exponent_of(estimate))
    gains = weight_from(estimate.deviations[:1], least)
    if not is_rare(estimate) or gains < weight_from(estimate.deviations[1:], least):
        numbers[DEBT] = 0.0
        return
    if numbers[DEBT] >= 1.0:
        numbers[DEBT] -= 1.0
    share = min(1.0, 3.0 * log_deviation(estimate))
    numbers[DEBT] += OWED * share * (math.sqrt(n) - math.sqrt(n - 1.0))


@jitable
def learn_later(part: Any, estimate: ScaleFreeEstimate, reward: float) -> bool:
    """Learn from a reward after the first ones, whose row is measured; return True to restart."""
    region, counts, numbers = estimate.region, estimate.counts, estimate.numbers
    z = dot(estimate.scratch.row, region.centre)
    slope_weight, scale = weight_at_slope(part, z), noise_scale_of(estimate)
    weight = slope_weight / (scale * scale)
    square = weight * max(squared_norm(region), 0.0)
    error = error_of(part, estimate, reward, z, slope_weight) / scale
    limit, unit = limit_of(part, estimate, square, scale), math.sqrt(1.0 + square)
    kept = learn_error(region, estimate.scratch.row, weight, error, limit)
    if counts[LEARNED] > WARM and has_shrunk(estimate, reward):
        return True
    residual = abs(error) / unit
    if numbers[TOTAL] == numbers[ZEROS] and reward != numbers[LEVEL]:
        numbers[EXPONENT] = float(math.frexp(abs(reward - numbers[LEVEL]))[1])
    record_reward(estimate, reward)
    if is_event(estimate, reward) and residual > 0.0:
        estimate.residuals[0, bin_of(residual, exponent_of(estimate))] += 1.0
        if is_rare(estimate) and counts[LEARNED] > WARM:
            learn_size(estimate, reward, residual * scale)
    counts[KNOWN] += 1 if residual > 0.0 else 0
    if numbers[TOTAL] > MEMORY:
        forget_half(estimate)
    if counts[LEARNED] < 2 * WARM or counts[LEARNED] % 8 == 0:
        if is_linear(part.link):
            find_edge(estimate)
        find_residual(estimate)
    weigh_residual(estimate, square, kept / unit, largest_square(estimate, scale))
    owe_exploration(estimate)
    counts[STREAK] = counts[STREAK] + 1 if abs(error) > FAR * limit else 0
    return counts[STREAK] >= CHANGED


@outlined
def start_again(part: Any, estimate: ScaleFreeEstimate, x: Floats, reward: float) -> None:
    """Restart: this reward is the first."""
    start(estimate)
    estimate.counts[RESTARTS] += 1
    estimate.counts[LEARNED] = 1
    for i in range(x.size):
        estimate.arms[0, i] = x[i]
    estimate.rewards[0] = reward
    fit_again(part, estimate)
