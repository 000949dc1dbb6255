"""Events: rewards that are not the usual value, such as sales and claims, and their sizes."""

import math

from ....core.arrays import Floats
from ....core.confidence_region import (
    add_observation,
    change_penalty,
    measure,
    move_centre,
    penalty_of,
    squared_norm,
)
from ....core.histogram import BINS, bin_of, find_valley, rank_place, size_of, weight_from
from ....core.jit import jitable, outlined
from ....core.linalg import dot
from .estimate import (
    CONSTANT,
    EDGE,
    EVENT,
    EVENTS,
    EXACT,
    LEARNED,
    LEVEL,
    LOG_NOISE,
    LOG_SQUARES,
    LOGS,
    RARE,
    RESIDUAL,
    SUMMED,
    TOTAL,
    TYPICAL,
    WARM,
    ZEROS,
    ScaleFreeEstimate,
    exponent_of,
    is_rare,
    learned_directions,
    prior_square,
)

LARGE = 0.02  # share of the rewards that are large
SIX_OCTAVES = 24  # bins between a large reward and 1/64 of it
SEEN = 16.0  # large rewards that make a second peak of their sizes
AMOUNTS = 8  # events before their sizes are predicted
LARGEST_SIZE = 16.0  # limit of a predicted size, relative to the typical one
DOUBT = 0.5  # standard errors that are added to a predicted size


# ---- events: rewards that are not the usual value


@outlined
def find_edge(estimate: ScaleFreeEstimate) -> None:
    """Find the size of large rewards and of events, and whether most rewards are one value.

    Large is the size that 2% of the rewards have, or half of those that differ from the base, and
    at least three rewards. An event is at least 1/64 of it. Most rewards are one value if half of
    them are no events, or if the sizes have a second peak on one side.
    """
    numbers, deviations = estimate.numbers, estimate.deviations
    exponent, total = exponent_of(estimate), numbers[TOTAL]
    seen = total - numbers[ZEROS]
    rank = max(3.0, min(LARGE * total, 0.5 * seen))
    place = rank_place(deviations, rank) if seen >= 3.0 else -1
    numbers[EDGE] = size_of(place, exponent) if place >= 0 else 0.0
    least, rare = max(place - SIX_OCTAVES, 0), False
    if place >= 0:
        rare = 2.0 * weight_from(deviations, least) <= total
        valley = -1 if rare else find_valley(deviations, total, SEEN)
        if valley >= 0 and is_one_sided(deviations, valley):
            least, rare = valley, True
    estimate.counts[RARE] = 1 if rare else 0
    numbers[EVENT] = size_of(least, exponent) if place >= 0 else 0.0
    weight = weight_from(deviations, least)
    middle = rank_place(deviations, 0.5 * weight) if weight >= 1.0 else -1
    numbers[TYPICAL] = size_of(middle, exponent) if middle >= 0 else 0.0


@jitable
def is_one_sided(deviations: Floats, place: int) -> bool:
    """Return True if three quarters of what is at least this large are gains, or losses."""
    gains, losses = weight_from(deviations[:1], place), weight_from(deviations[1:], place)
    return 2.0 * abs(gains - losses) >= gains + losses


@jitable
def is_event(estimate: ScaleFreeEstimate, reward: float) -> bool:
    """Return True if a reward is not the usual value."""
    size = abs(reward - estimate.numbers[LEVEL])
    return size > 0.0 and size >= estimate.numbers[EVENT]


@jitable
def share_from(estimate: ScaleFreeEstimate, size: float) -> float:
    """Return the share of the rewards that are at least this far from the base, 0 for size 0."""
    if not size > 0.0:
        return 0.0
    least = bin_of(size, exponent_of(estimate))
    return weight_from(estimate.deviations, least) / estimate.numbers[TOTAL]


@jitable
def record_reward(estimate: ScaleFreeEstimate, reward: float) -> None:
    """Add a reward to the histograms."""
    gap = reward - estimate.numbers[LEVEL]
    estimate.numbers[TOTAL] += 1.0
    if gap == 0.0:
        estimate.numbers[ZEROS] += 1.0
        estimate.counts[EXACT] += 1
    else:
        place = bin_of(abs(gap), exponent_of(estimate))
        estimate.deviations[0 if gap > 0.0 else 1, place] += 1.0


@outlined
def find_residual(estimate: ScaleFreeEstimate) -> None:
    """Find the typical residual of events: their median, at least the third largest."""
    count = weight_from(estimate.residuals, 0)
    half = max(0.5 * count, min(3.0, count))
    place = rank_place(estimate.residuals, half) if count >= 1.0 else -1
    typical = size_of(place, exponent_of(estimate)) if place >= 0 else 0.0
    estimate.numbers[RESIDUAL] = typical


@outlined
def forget_half(estimate: ScaleFreeEstimate) -> None:
    """Halve the weights of the histograms."""
    for i in range(BINS):
        estimate.deviations[0, i] *= 0.5
        estimate.deviations[1, i] *= 0.5
        estimate.residuals[0, i] *= 0.5
    estimate.numbers[TOTAL] *= 0.5
    estimate.numbers[ZEROS] *= 0.5


# ---- the regression of ln |event|


@jitable
def log_of(estimate: ScaleFreeEstimate, size: float) -> float:
    """Return ln size, in units of the power of two of the histograms."""
    return math.log(math.ldexp(size, -exponent_of(estimate)))


@outlined
def learn_size(estimate: ScaleFreeEstimate, reward: float, size: float) -> None:
    """Learn the size of an event: ridge regression of ln size on `row`, errors clipped at three
    standard deviations."""
    sizes, numbers, row = estimate.sizes, estimate.numbers, estimate.scratch.row
    logarithm = log_of(estimate, abs(reward - numbers[LEVEL]))
    numbers[LOGS] += logarithm
    numbers[LOG_SQUARES] += logarithm * logarithm
    estimate.counts[SUMMED] += 1
    if not size > 0.0:
        return
    if estimate.counts[EVENTS] == 0:
        start = numbers[RESIDUAL] if numbers[RESIDUAL] > 0.0 else size
        sizes.centre[row.size - 1] = log_of(estimate, start) / CONSTANT
    estimate.counts[EVENTS] += 1
    measure(sizes, row)
    square = max(squared_norm(sizes), 0.0)
    most = 3.0 * math.sqrt(numbers[LOG_NOISE])
    error = min(max(log_of(estimate, size) - dot(row, sizes.centre), -most), most)
    gained = error * error / (1.0 + square) - numbers[LOG_NOISE]
    numbers[LOG_NOISE] += gained / float(estimate.counts[EVENTS] + 10)
    add_observation(sizes, row, 1.0)
    move_centre(sizes, -error / (1.0 + square))


@outlined
def update_size_penalty(estimate: ScaleFreeEstimate) -> None:
    """Give the regression of ln size the penalty k v / ||slopes||^2, within limits."""
    sizes, events = estimate.sizes, float(max(estimate.counts[EVENTS], 1))
    signal = max(prior_square(sizes) / penalty_of(sizes), 1e-12)
    fitting = learned_directions(sizes) * estimate.numbers[LOG_NOISE] / signal
    least = 0.25 * float(estimate.middle.size)
    change_penalty(sizes, max(least, min(fitting, 10.0 * events)))


@jitable
def log_deviation(estimate: ScaleFreeEstimate) -> float:
    """Return the standard deviation of ln |event|."""
    events = float(max(estimate.counts[SUMMED], 1))
    middle = estimate.numbers[LOGS] / events
    return math.sqrt(max(estimate.numbers[LOG_SQUARES] / events - middle * middle, 0.0))


@jitable
def predicts_sizes(estimate: ScaleFreeEstimate) -> bool:
    """Return True if each reward has its own noise scale, in proportion to its predicted size."""
    warm = estimate.counts[LEARNED] > WARM
    return warm and is_rare(estimate) and estimate.counts[EVENTS] >= AMOUNTS


@jitable
def relative_size(estimate: ScaleFreeEstimate, log_size: float, square: float) -> float:
    """Return the size of a large reward relative to the typical one, from its predicted logarithm
    and the squared norm of its row; half a standard error is added."""
    doubt = DOUBT * math.sqrt(estimate.numbers[LOG_NOISE] * max(square, 0.0))
    size = math.exp(min(log_size + doubt, 100.0))
    return min(max(size, 1.0 / LARGEST_SIZE), LARGEST_SIZE)


@outlined
def noise_scale_of(estimate: ScaleFreeEstimate) -> float:
    """Return the relative noise scale of the arm in `row`."""
    if not predicts_sizes(estimate):
        return 1.0
    sizes, row = estimate.sizes, estimate.scratch.row
    last = row.size - 1
    log_size = dot(row, sizes.centre) - row[last] * sizes.centre[last]
    image = sizes.scratch[0]
    square = 0.0
    for i in range(row.size):
        image[i] = dot(sizes.inverse[i], row)
        square += image[i] * row[i]
    return relative_size(estimate, log_size, square)
