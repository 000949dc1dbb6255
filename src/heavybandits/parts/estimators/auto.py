"""auto's estimator: Huber regression whose scale, threshold and penalty come from the data.

Nothing here has a unit: rewards or features times a power of two leave all choices unchanged. So
the scale is kept as a mean square and never as a logarithm.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.validation import Count, Positive
from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.confidence_region import (
    REPAIR_EVERY,
    Region,
    add_observation,
    change_penalty,
    count_clipped,
    forget_step,
    make_region,
    mark_strayed,
    measure,
    move_centre,
    penalty_of,
    reset_region,
    shift_centre,
    squared_norm,
)
from ...core.dispatch import mean, slope
from ...core.jit import jitable, outlined
from ...core.linalg import dot, norm, stretch
from ...core.order_statistics import select_rank
from ...core.protocols import Link, Observation

_KNOWN, _LEARNED, _STREAK, _DWARFED, _RESTARTS = range(5)  # places in ScaleFreeEstimate.counts
WARM = 32  # rewards whose median guards the scale
CHANGED, FAR = 8, 2.0  # restart after so many rewards in a row beyond this multiple of the limit
DWARF = 30.0  # restart if both first rewards exceed this multiple of most later ones
LEAST_WEIGHT = 1e-9  # of a clipped reward in V; with 0, V would not grow
LOOSE = 4.5  # limit of the first WARM rewards, in medians
MOST = 9.0  # limit of a square, in s^2; without it s never settles if there is no variance
FLATTEST, STEEPEST = 1e-12, 1e12  # limits of the slope of a link: no weight vanishes or overflows


class ScaleFreeEstimate(NamedTuple):
    """State of `ScaleFreeHuber`.

    scale: s^2, lambda at the start, and the smaller of the first two rewards; counts: the rewards
    that are informative about s, those learned from since the last start, those far beyond the
    limit in a row, those of the first WARM that are much smaller than the first two, and the
    restarts; first: the sizes of the first informative rewards.
    """

    region: Region
    scale: Floats
    counts: Integers
    first: Floats


@jitable
def known_count(estimate: ScaleFreeEstimate) -> int:
    """Return the number of rewards that are informative about the scale."""
    return estimate.counts[_KNOWN]


def restart_count(estimate: ScaleFreeEstimate) -> int:
    """Return how often the estimator restarted."""
    return int(estimate.counts[_RESTARTS])


@jitable
def prior_radius(region: Region) -> float:
    """Return sqrt(lambda) ||theta||: how far the penalty may have moved the centre."""
    return math.sqrt(penalty_of(region)) * norm(region.centre)


@outlined
def start(estimate: ScaleFreeEstimate, penalty: float, x: Floats) -> None:
    """Forget everything: theta = 0 and V = penalty ||x||^2 I."""
    first = penalty * dot(x, x)
    reset_region(estimate.region, first)
    for i in range(_RESTARTS):
        estimate.counts[i] = 0
    estimate.scale[0], estimate.scale[1] = 0.0, first


@jitable
def guarded_square(first: Floats, known: int, most: float) -> float:
    """Return the sum of the squares of the first sizes, each limited to `most`."""
    total = 0.0
    for i in range(known):
        size = min(first[i], most)
        total += size * size
    return total


@jitable
def largest_error(part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, square: float) -> float:
    """Return threshold s (1 + w^2) / w + sqrt(lambda) ||theta|| w, for `square` = w^2."""
    if square == 0.0:
        return math.inf
    noise = part.threshold * math.sqrt(estimate.scale[0]) * (1.0 + square)
    return (noise + prior_radius(estimate.region) * square) / math.sqrt(square)


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


@outlined
def limit_first(estimate: ScaleFreeEstimate, size: float) -> None:
    """Limit the very first reward to 4.5 times the size of the second.

    The estimate so far is proportional to the first reward, and so can be scaled down.
    """
    if estimate.first[0] > LOOSE * size:
        factor = LOOSE * size / estimate.first[0]
        stretch(estimate.region.centre, factor)
        estimate.first[0] *= factor


@jitable
def starts_with_outliers(estimate: ScaleFreeEstimate, size: float) -> bool:
    """Record the size of one of the first 32 rewards; return True at the last of them if the first
    two are much larger than most of the others.

    The first two had nothing to be compared with. There is one restart for this reason: outliers
    that come again are part of the noise.
    """
    known, counts = estimate.counts[_KNOWN], estimate.counts
    if known <= 2:
        estimate.scale[2] = size if known == 1 else min(estimate.scale[2], size)
    elif DWARF * size < estimate.scale[2]:
        counts[_DWARFED] += 1
    return known == WARM and 2 * counts[_DWARFED] > WARM and counts[_RESTARTS] == 0


@jitable
def learned_directions(region: Region) -> float:
    """Return k = d - lambda tr V^-1, at least 1: how many of the d directions are learned."""
    trace = 0.0
    for i in range(region.centre.size):
        trace += region.inverse[i, i]
    return max(float(region.centre.size) - penalty_of(region) * trace, 1.0)


@jitable
def is_due(learned: int) -> bool:
    """Return True if the penalty is updated: at 4, 8, 16, ... and every 1024 rewards."""
    return learned >= 4 and (learned % REPAIR_EVERY == 0 or learned & (learned - 1) == 0)


@outlined
def update_penalty(estimate: ScaleFreeEstimate) -> None:
    """lambda = k s^2 / ||theta||^2, limited to its first value and the mean eigenvalue of V."""
    region, least, total = estimate.region, estimate.scale[1], 0.0
    for i in range(region.centre.size):
        total += region.design[i, i] + region.recent[i, i]
    most = max(total / float(region.centre.size), least)
    noise, signal = (
        learned_directions(region) * estimate.scale[0],
        dot(region.centre, region.centre),
    )
    change_penalty(region, max(noise / signal, least) if noise < most * signal else most)


@jitable
def learn_reward(
    part: "ScaleFreeHuber",
    estimate: ScaleFreeEstimate,
    x: Floats,
    weight: float,
    error: float,
    informative: bool,
) -> float:
    """Learn from an error and update the scale; return the limit at which it was clipped."""
    square, known = weight * max(squared_norm(estimate.region), 0.0), estimate.counts[_KNOWN]
    unit, n = math.sqrt(1.0 + square), float(max(estimate.counts[_LEARNED], 1))
    limit, most = largest_error(part, estimate, square), 0.0
    if informative and known <= WARM:
        estimate.first[known - 1] = abs(error) / unit
    if 0 < known <= WARM:
        most = LOOSE * select_rank(estimate.first, 0, known, (known - 1) // 2)
        limit = max(limit, most * unit)
    size = learn_error(estimate.region, x, weight, error, limit) / unit
    if known > WARM:
        counted = min(size * size, MOST * estimate.scale[0])
        estimate.scale[0] += (counted - estimate.scale[0]) / min(n, part.window)
    elif known > 0:
        estimate.scale[0] = guarded_square(estimate.first, known, most) / n
    return limit


class ScaleFreeHuber(NamedTuple):
    """Huber regression in one pass, without a given scale, threshold or penalty.

    With p = ||x||_{V^-1}, m = mu'(x.theta), w^2 = m p^2 and e = (y - mu(x.theta)) / sqrt(m):

    limit = threshold s (1 + w^2) / w + sqrt(lambda) ||theta|| w;  psi = e clipped at +- limit;
    theta += V^-1 x sqrt(m) psi / (1 + w^2);  V += r m x x^T;
    s^2 = mean of min(psi^2 / (1 + w^2), 9 s^2) over the last `window` rewards.

    So no reward moves the prediction of its arm by more than `threshold` of its standard errors s
    w, plus the possible bias of the penalty. The limit grows like sqrt(n/d): s^2 / limit^2 = d / n
    up to constants is the equation of Wang et al. (2021), whose root adapts to any moment. A reward
    beyond the limit counts in V with a weight r < 1, at which it would have moved theta as far, so
    that the arm of a clipped reward stays uncertain. The terms e^2 / (1 + w^2) sum to the penalised
    squares of ridge regression, so that learned effects do not count as noise. Each is limited to
    9 s^2: without a variance s would grow with the limit, and the radius with it.

    The penalty starts at lambda = `penalty` ||x_1||^2. Whenever the number of rewards has doubled,
    and every 1024 rewards, it becomes lambda = k s^2 / ||theta||^2, the fixed point of the evidence
    (MacKay 1992); k = d - lambda tr V^-1 is the number of learned directions. With much noise and
    small effects theta is shrunk; without noise it is not. The penalty stays between its first
    value and the mean eigenvalue of V.

    The first reward is used as it is until the second reward limits it. The first 32 rewards are
    clipped at 4.5 of their medians or more. A reward that is zero or equal to its prediction has no
    information about the scale in that phase. Eight rewards in a row beyond twice their limits are
    not noise but another unit or another environment, and the estimator restarts. It also restarts,
    once, if the first two rewards are thirty times as large as most of the first 32. No theorem
    covers this estimator.

    >>> from heavybandits.links import Identity
    >>> ScaleFreeHuber(3, Identity()).init().region.centre.shape
    (3,)
    """

    dim: Count
    link: Link
    penalty: Positive = 0.1
    threshold: Positive = 0.35
    window: Positive = 1000.0

    @property
    def any_norm(self) -> bool:
        return True

    def init(self) -> ScaleFreeEstimate:
        return ScaleFreeEstimate(
            make_region(self.dim, 1.0), zeros(3), zeros(5, dtype=np.int64), zeros(WARM)
        )

    def is_valid(self, estimate: ScaleFreeEstimate) -> bool:
        return bool(estimate.scale[0] >= 0.0)

    def threshold_in_force(self, memory: ScaleFreeEstimate) -> float:
        """Return threshold s, before it grows with what is known of an arm."""
        return self.threshold * math.sqrt(memory.scale[0])

    def revise(self, estimate: ScaleFreeEstimate, x: Floats, before: float, after: float) -> None:
        """theta += V^-1 x sqrt(m) (psi' - psi), both clipped at the limit of today."""
        region = estimate.region
        z = dot(x, region.centre)
        weight = min(max(slope(self.link, z), FLATTEST), STEEPEST)
        root, expected = math.sqrt(weight), mean(self.link, z)
        limit = largest_error(
            self, estimate, weight * max(dot(x, np.vecdot(region.inverse, x)), 0.0)
        )
        old, new = (min(max((y - expected) / root, -limit), limit) for y in (before, after))
        shift_centre(region, x, root * (new - old))

    def predict(self, estimate: ScaleFreeEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: ScaleFreeEstimate, observation: Observation) -> None:
        region, counts = estimate.region, estimate.counts
        x, reward, expected = observation.x, observation.reward, observation.predicted
        fresh = counts[_LEARNED] == 0 and dot(x, x) > 0.0
        if fresh:
            start(estimate, self.penalty, x)
            measure(region, x)
            expected = mean(self.link, 0.0)
        weight = min(max(slope(self.link, dot(x, region.centre)), FLATTEST), STEEPEST)
        informative = reward != 0.0 and reward != expected
        second = informative and counts[_KNOWN] == 1
        if second:
            unit = math.sqrt(weight + weight * weight * max(squared_norm(region), 0.0))
            limit_first(estimate, abs(reward - mean(self.link, 0.0)) / unit)
            expected = mean(self.link, dot(x, region.centre))
        error = (reward - expected) / math.sqrt(weight)
        counts[_KNOWN] += 1 if informative else 0
        counts[_LEARNED] += 1 if fresh or counts[_LEARNED] > 0 else 0
        limit = learn_reward(self, estimate, x, weight, error, informative)
        early = informative and counts[_KNOWN] <= WARM
        spoilt = early and starts_with_outliers(estimate, abs(reward - mean(self.link, 0.0)))
        if fresh:
            forget_step(region)
        if second:
            mark_strayed(region)
        counts[_STREAK] = counts[_STREAK] + 1 if abs(error) > FAR * limit else 0
        if (spoilt or counts[_STREAK] >= CHANGED) and dot(x, x) > 0.0:
            start(estimate, self.penalty, x)
            counts[_RESTARTS] += 1
            forget_step(region)
        elif is_due(counts[_LEARNED]):
            update_penalty(estimate)
