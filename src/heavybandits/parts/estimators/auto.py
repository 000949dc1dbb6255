"""auto's estimator: Huber regression whose scale, threshold and penalty come from the data.

Nothing here has a unit: rewards or features times a power of two change no bit of what is chosen.
So the scale is kept as a mean square and never as a logarithm.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.validation import Count, Positive
from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.confidence_region import (
    CUTS,
    EXPECTED,
    FLOOR,
    GROWTH,
    LOGDET,
    NOISE,
    REPAIR_EVERY,
    SHRINK,
    SQUARE,
    STRAYED,
    Region,
    add_observation,
    make_region,
    measure,
    move_centre,
    repenalise,
    shift_centre,
)
from ...core.dispatch import mean, slope
from ...core.jit import jitable, outlined
from ...core.linalg import dot, norm, stretch
from ...core.order_statistics import select_rank
from ...core.protocols import Link

KNOWN, LEARNED, STREAK, DWARFED, RESTARTS = range(5)  # places in ScaleFreeEstimate.counts
WARM = 32  # rewards whose median guards the scale
CHANGED, FAR = 8, 2.0  # so many rewards in a row beyond twice the limit: another world
DWARF = 30.0  # times as large as most that follow: so large the first two must not be
LEAST_TRUST = 1e-9  # in a reward; with none at all V would not grow, and rank one means nothing
LOOSE = 4.5  # medians, beyond which one of these counts as that
MOST = 9.0  # s^2: a square counts as that at most, or tails without a variance would never settle
FLATTEST, STEEPEST = 1e-12, 1e12  # slopes of a link, so that no weight vanishes or overflows


class ScaleFreeEstimate(NamedTuple):
    """State of `ScaleFreeHuber`.

    scale: s^2, lambda at the start, and the smaller of the first two rewards; counts: the rewards
    that told something of s, those learned from since it began, those far beyond the limit in a
    row, those of the first that the first two dwarf, and how often it began anew; first: the sizes
    of the first that told something.
    """

    region: Region
    scale: Floats
    counts: Integers
    first: Floats


@jitable
def prior_radius(region: Region) -> float:
    """sqrt(lambda) ||theta||: how far the penalty may have pulled the centre."""
    return math.sqrt(region.numbers[FLOOR]) * norm(region.centre)


@outlined
def begin(estimate: ScaleFreeEstimate, penalty: float, x: Floats) -> None:
    """Know nothing: theta = 0 and V = penalty ||x||^2 I."""
    region, start = estimate.region, penalty * dot(x, x)
    for i in range(x.size):
        region.centre[i] = 0.0
        for j in range(x.size):
            region.recent[i, j] = 0.0
            region.design[i, j] = start if i == j else 0.0
            region.inverse[i, j] = 1.0 / start if i == j else 0.0
    region.numbers[FLOOR], region.numbers[NOISE] = start, 0.0
    region.numbers[LOGDET], region.numbers[GROWTH] = 0.0, 1.0
    for i in range(RESTARTS):
        estimate.counts[i] = 0
    estimate.scale[0], estimate.scale[1] = 0.0, start


@jitable
def guarded_square(first: Floats, known: int, most: float) -> float:
    """The sum of the squares of the first sizes, none of them larger than `most`."""
    total = 0.0
    for i in range(known):
        size = min(first[i], most)
        total += size * size
    return total


@jitable
def largest_error(part: "ScaleFreeHuber", estimate: ScaleFreeEstimate, square: float) -> float:
    """threshold s (1 + w^2) / w + sqrt(lambda) ||theta|| w, for `square` = w^2."""
    if square == 0.0:
        return math.inf
    noise = part.threshold * math.sqrt(estimate.scale[0]) * (1.0 + square)
    return (noise + prior_radius(estimate.region) * square) / math.sqrt(square)


@jitable
def learn_error(region: Region, x: Floats, weight: float, error: float, limit: float) -> float:
    """One step with the error clipped, which is returned; V grows by what is believed of it."""
    square = weight * max(region.numbers[SQUARE], 0.0)
    kept, trust = error, 1.0
    if abs(error) > limit:
        region.counts[CUTS] += 1
        kept, move = math.copysign(limit, error), limit * square / (1.0 + square)
        trust = max(move / (square * (abs(error) - move)), LEAST_TRUST)
    add_observation(region, x, trust * weight)
    move_centre(region, -math.sqrt(weight) * kept / (1.0 + square))
    return kept


@outlined
def doubt_first(estimate: ScaleFreeEstimate, size: float) -> None:
    """Believe of the very first reward at most 4.5 times the size of the second.

    All that has been learned so far is proportional to it, and so can be scaled down.
    """
    if estimate.first[0] > LOOSE * size:
        believed = LOOSE * size / estimate.first[0]
        stretch(estimate.region.centre, believed)
        estimate.first[0] *= believed


@jitable
def began_badly(estimate: ScaleFreeEstimate, size: float) -> bool:
    """Take note of the size of one of the first 32 rewards; True at the last of them, if the first
    two dwarf most of the others.

    Those two had nothing to be judged by. Once is enough: if it happens again, it is no accident.
    """
    known, counts = estimate.counts[KNOWN], estimate.counts
    if known <= 2:
        estimate.scale[2] = size if known == 1 else min(estimate.scale[2], size)
    elif DWARF * size < estimate.scale[2]:
        counts[DWARFED] += 1
    return known == WARM and 2 * counts[DWARFED] > WARM and counts[RESTARTS] == 0


@jitable
def learned_directions(region: Region) -> float:
    """k = d - lambda tr V^-1, at least 1: how many of the d directions the data has told of."""
    trace = 0.0
    for i in range(region.centre.size):
        trace += region.inverse[i, i]
    return max(float(region.centre.size) - region.numbers[FLOOR] * trace, 1.0)


@jitable
def is_due(learned: int) -> bool:
    """Whether the penalty is weighed anew: at 4, 8, 16, ... and every 1024 rewards."""
    return learned >= 4 and (learned % REPAIR_EVERY == 0 or learned & (learned - 1) == 0)


@outlined
def weigh_prior(estimate: ScaleFreeEstimate) -> None:
    """lambda = k s^2 / ||theta||^2, from where it started to the mean eigenvalue of V."""
    region, least, total = estimate.region, estimate.scale[1], 0.0
    for i in range(region.centre.size):
        total += region.design[i, i] + region.recent[i, i]
    most = max(total / float(region.centre.size), least)
    noise, signal = (
        learned_directions(region) * estimate.scale[0],
        dot(region.centre, region.centre),
    )
    repenalise(region, max(noise / signal, least) if noise < most * signal else most)


@jitable
def learn_reward(
    part: "ScaleFreeHuber",
    estimate: ScaleFreeEstimate,
    x: Floats,
    weight: float,
    error: float,
    told: bool,
) -> float:
    """Learn from an error and let the scale follow; the limit it was judged by."""
    square, known = weight * max(estimate.region.numbers[SQUARE], 0.0), estimate.counts[KNOWN]
    spread, n = math.sqrt(1.0 + square), float(max(estimate.counts[LEARNED], 1))
    limit, most = largest_error(part, estimate, square), 0.0
    if told and known <= WARM:
        estimate.first[known - 1] = abs(error) / spread
    if 0 < known <= WARM:
        most = LOOSE * select_rank(estimate.first, 0, known, (known - 1) // 2)
        limit = max(limit, most * spread)
    size = learn_error(estimate.region, x, weight, error, limit) / spread
    if known > WARM:
        counted = min(size * size, MOST * estimate.scale[0])
        estimate.scale[0] += (counted - estimate.scale[0]) / min(n, part.window)
    elif known > 0:
        estimate.scale[0] = guarded_square(estimate.first, known, most) / n
    return limit


class ScaleFreeHuber(NamedTuple):
    """Huber regression in one pass that is told no scale, no threshold and no penalty.

    With p = ||x||_{V^-1}, m = mu'(x.theta), w^2 = m p^2 and e = (y - mu(x.theta)) / sqrt(m):

    limit = threshold s (1 + w^2) / w + sqrt(lambda) ||theta|| w;  psi = e clipped at +- limit;
    theta += V^-1 x sqrt(m) psi / (1 + w^2);  V += r m x x^T;
    s^2 = mean of min(psi^2 / (1 + w^2), 9 s^2) over the last `window` rewards.

    So no reward moves the prediction of its arm by more than `threshold` of its standard errors s
    w, beyond what the penalty may have cost. The limit opens like sqrt(n/d): s^2 / limit^2 = d / n
    up to constants is the equation of Wang et al. (2021), whose root adapts to any moment. A reward
    beyond it counts in V for r < 1, the weight at which it would have moved theta as far: what is
    not believed leaves its arm in doubt. e^2 / (1 + w^2) sums up to the penalised squares of ridge
    regression, so that what was learned does not pass for noise. None counts for more than 9 s^2:
    without a variance s would grow as the limit opens, and the radius with it.

    The penalty starts at lambda = `penalty` ||x_1||^2 and is weighed anew whenever the rewards
    have doubled, and every 1024: lambda = k s^2 / ||theta||^2, the evidence's fixed point (MacKay
    1992), k = d - lambda tr V^-1 being how many directions have been learned. Much noise and small
    effects, and theta is held back; no noise, and it is let go. It stays above where it started
    and below the mean eigenvalue of V.

    The first reward is believed as it is, until the second one says how much of it may be; the
    first 32 are cut at 4.5 of their medians at the earliest. A reward of zero, or one as predicted,
    tells nothing of the scale then. Eight rewards in a row beyond twice their limits are no noise:
    another unit, or another world. Then it begins anew. So it does, once, if the first two rewards
    turn out to be thirty times as large as most of the first 32. No theorem covers it.

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

    def sound(self, estimate: ScaleFreeEstimate) -> bool:
        return bool(estimate.scale[0] >= 0.0)

    def threshold_in_force(self, estimate: ScaleFreeEstimate) -> float:
        """threshold s, before it opens for what is known of an arm."""
        return self.threshold * math.sqrt(estimate.scale[0])

    def revise(self, estimate: ScaleFreeEstimate, x: Floats, before: float, after: float) -> None:
        """theta += V^-1 x sqrt(m) (psi' - psi), both clipped at the limit of today."""
        region = estimate.region
        z = dot(x, region.centre)
        weight = min(max(slope(self.link, z), FLATTEST), STEEPEST)
        root, expected = math.sqrt(weight), mean(self.link, z)
        limit = largest_error(self, estimate, weight * max(dot(x, region.inverse @ x), 0.0))
        old, new = (min(max((y - expected) / root, -limit), limit) for y in (before, after))
        shift_centre(region, x, root * (new - old))

    def predict(self, estimate: ScaleFreeEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(
        self, estimate: ScaleFreeEstimate, x: Floats, reward: float, rewards: Floats
    ) -> None:
        region, counts = estimate.region, estimate.counts
        fresh = counts[LEARNED] == 0 and dot(x, x) > 0.0
        if fresh:
            begin(estimate, self.penalty, x)
            measure(region, x)
            region.numbers[EXPECTED] = mean(self.link, 0.0)
        weight = min(max(slope(self.link, dot(x, region.centre)), FLATTEST), STEEPEST)
        told = reward != 0.0 and reward != region.numbers[EXPECTED]
        second = told and counts[KNOWN] == 1
        if second:
            spread = math.sqrt(weight + weight * weight * max(region.numbers[SQUARE], 0.0))
            doubt_first(estimate, abs(reward - mean(self.link, 0.0)) / spread)
            region.numbers[EXPECTED] = mean(self.link, dot(x, region.centre))
        error = (reward - region.numbers[EXPECTED]) / math.sqrt(weight)
        counts[KNOWN] += 1 if told else 0
        counts[LEARNED] += 1 if fresh or counts[LEARNED] > 0 else 0
        limit = learn_reward(self, estimate, x, weight, error, told)
        early = told and counts[KNOWN] <= WARM
        lost = early and began_badly(estimate, abs(reward - mean(self.link, 0.0)))
        if fresh:
            region.numbers[SHRINK] = 0.0  # what was measured with the V before means nothing
        if second:
            region.numbers[STRAYED] = 1.0
        counts[STREAK] = counts[STREAK] + 1 if abs(error) > FAR * limit else 0
        if (lost or counts[STREAK] >= CHANGED) and dot(x, x) > 0.0:
            begin(estimate, self.penalty, x)
            counts[RESTARTS] += 1
            region.numbers[SHRINK], region.numbers[STRAYED] = 0.0, 1.0
        elif is_due(counts[LEARNED]):
            weigh_prior(estimate)
