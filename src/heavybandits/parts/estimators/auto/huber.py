"""auto's estimator: Huber regression whose base, units, scale, threshold and penalty come from the
data.

Nothing here has a unit. Rewards times a power of two, and each feature times its own power of two,
leave all choices unchanged bit for bit.
"""

import math
from typing import NamedTuple

import numpy as np

from ...._utils.validation import Count, Positive
from ....core.allocation import zeros
from ....core.arm_buffer import ArmBuffer, mark_stale, pick
from ....core.arrays import Floats
from ....core.confidence_region import (
    Region,
    log_volume,
    make_region,
    measure,
    penalty_of,
    set_updates,
    shift_centre,
    update_count,
)
from ....core.dispatch import count_arms, maximise, mean
from ....core.histogram import BINS
from ....core.jit import jitable, outlined, vectorised
from ....core.linalg import add_outer, combine, dot, squares
from ....core.protocols import ArmSet, Link, Observation
from .estimate import (
    CONSTANT,
    COUNTS,
    DEBT,
    EDGE,
    EVENTS,
    EXPONENT,
    LEARNED,
    LEVEL,
    LOG_NOISE,
    NUMBERS,
    SQUARE,
    WARM,
    ScaleFreeEstimate,
    ScaleFreeScratch,
    fill_row,
    growth_of,
    inflate,
    is_rare,
    learned_directions,
    notice_features,
    novelty,
    novelty_of_one,
)
from .events import (
    AMOUNTS,
    noise_scale_of,
    predicts_sizes,
    relative_size,
    update_size_penalty,
)
from .fit import (
    PENALTY,
    WIDE,
    error_of,
    fit_again,
    is_due,
    learn_later,
    limit_of,
    start_again,
    update_penalty,
    weight_at_slope,
)

TINY = 1e-140  # a smaller reward counts as 0: its square would underflow
LARGEST_EXPONENT = 1100.0  # of a double
BLOCK, VECTOR = 32, 16  # arms that are measured at once, and in one iteration of their loops

# ---- choosing


@jitable
def block_width(count: int) -> int:
    """Return the columns of `block` that are computed for so many arms: no vector is half full."""
    return -(-count // VECTOR) * VECTOR


@vectorised
def standardise_column(values: Floats, middle: float, unit: float, out: Floats) -> None:
    """Write (values - middle) / unit into `out`."""
    for k in range(out.size):
        out[k] = (values[k] - middle) / unit


@jitable
def fill_block(estimate: ScaleFreeEstimate, features: Floats, first: int, count: int) -> None:
    """Write the standardised rows of arms first, first + 1, ... into the columns of `block`."""
    block, dim = estimate.scratch.block, estimate.middle.size
    for i in range(dim):
        unit, middle = estimate.units[i], estimate.middle[i]
        if unit > 0.0:
            standardise_column(features[i, first : first + count], middle, unit, block[i, :count])
        else:
            for k in range(count):
                block[i, k] = 0.0
    for k in range(count):
        block[dim, k] = CONSTANT


@jitable
def add_novelty(
    estimate: ScaleFreeEstimate, features: Floats, first: int, count: int, out: Floats
) -> None:
    """Add `novelty` to the squared norms of arms first, first + 1, ...; `out` starts with them."""
    more = novelty_of_one(estimate)
    for i in range(estimate.middle.size):
        if estimate.units[i] == 0.0:
            for k in range(count):
                if features[i, first + k] != estimate.middle[i]:
                    out[k] += more


@jitable
def measure_arms(estimate: ScaleFreeEstimate, buffer: ArmBuffer) -> None:
    """Write z.theta and the squared widths of all arms into `scores` and `squares`. O(K d^2)."""
    region, sizes, block = estimate.region, estimate.sizes, estimate.scratch.block
    growth, lanes = growth_of(estimate, learned_directions(region)), estimate.scratch.lanes
    forced = estimate.numbers[DEBT] >= 1.0
    sized = predicts_sizes(estimate) and not forced
    constant = CONSTANT * sizes.centre[estimate.middle.size]
    for first in range(0, buffer.scores.size, BLOCK):
        count = min(BLOCK, buffer.scores.size - first)
        width = block_width(count)
        scores, norms, log_sizes = lanes[0, :width], lanes[1, :width], lanes[2, :width]
        size_norms, above, below = lanes[3, :width], lanes[4, :width], lanes[5, :width]
        fill_block(estimate, buffer.features, first, count)
        combine(block, region.centre, scores)
        squares(block, region.inverse, norms, above, below)
        add_novelty(estimate, buffer.features, first, count, norms)
        if sized:
            combine(block, sizes.centre, log_sizes)
            squares(block, sizes.inverse, size_norms, above, below)
        for k in range(count):
            square, scale = max(norms[k], 0.0), 1.0
            if sized:
                scale = relative_size(estimate, log_sizes[k] - constant, size_norms[k])
            if not forced:
                square = inflate(growth, square, scale)
            buffer.scores[first + k] = 0.0 if forced else scores[k]
            buffer.squares[first + k] = square


@outlined
def spread_out(estimate: ScaleFreeEstimate) -> None:
    """image = (lambda a I + sum x x^T)^-1 over the arms so far, a their mean squared length: until
    every feature has varied, the arm that differs most from the arms so far is the least known."""
    image, count, dim = estimate.scratch.image, estimate.counts[LEARNED], estimate.middle.size
    row, total = estimate.scratch.row[:dim], 0.0
    for j in range(count):
        total += dot(estimate.arms[j], estimate.arms[j])
    size = total / float(count) if total > 0.0 else 1.0
    for i in range(dim):
        for j in range(dim):
            image[i, j] = 1.0 / (penalty_of(estimate.region) * size) if i == j else 0.0
    for j in range(count):
        combine(image, estimate.arms[j], row)
        add_outer(image, -1.0 / (1.0 + dot(row, estimate.arms[j])), row)


@jitable
def best_point(estimate: ScaleFreeEstimate, arms: ArmSet, buffer: ArmBuffer, width: float) -> int:
    """Choose from a continuous set, with theta and V^-1 in the units of the features and one
    logarithm for all arms."""
    region, dim = estimate.region, estimate.middle.size
    slopes, image, known = estimate.scratch.slopes, estimate.scratch.image, 0
    for i in range(dim):
        unit = estimate.units[i]
        known += 1 if unit > 0.0 else 0
        slopes[i] = region.centre[i] / unit if unit > 0.0 else 0.0
        for j in range(dim):
            both = unit * estimate.units[j]
            image[i, j] = region.inverse[i, j] / both if both > 0.0 else 0.0
        if unit == 0.0:
            image[i, i] = 1.0 / penalty_of(region)
    if known < dim and estimate.counts[LEARNED] < WARM:
        spread_out(estimate)
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


class ScaleFreeHuber(NamedTuple):
    """Huber regression in one pass, without a given base, scale, threshold, penalty or unit.

    Features are standardised: z = ((x - mean) / deviation, 10), mean and deviation over the first
    32 arms played; the constant 10 is an intercept with a hundredth of the penalty. The median of
    the first 32 rewards is subtracted from all rewards (identity link). With w = ||z||_{V^-1} / r,
    m = mu'(z.theta) = 1 for the identity link, and e = (y - mu(z.theta)) / r:

    limit = max{threshold s (1 + w^2) / w + sqrt(lambda) ||slopes|| w, 2 q sqrt(1 + w^2)};
    psi = e clipped at +- limit;  theta += V^-1 z psi / (r (1 + w^2));  V += share z z^T / r^2;
    s^2 = mean of min(psi^2 / (1 + w^2), 9 max(s^2, q^2)), weighted by w^2 / (1 + w^2) or not,
    whichever is larger.

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
    rewards, it becomes lambda = k s^2 / ||slopes||^2, the fixed point of the evidence (MacKay
    1992); k = d - lambda tr V^-1 is the number of learned directions. Lambda is at most 0.2 sqrt(n
    d), unless most rewards are one value: the arms that are played most are the best ones, whose
    means are almost equal, so that the slopes seem small, and lambda would grow without end.

    The first 32 rewards are kept, and fitted again from scratch as they come in: outliers among
    them are known only later. Eight rewards in a row beyond twice their limits are not noise but
    another unit or another environment, and the estimator restarts. It also restarts if the rewards
    have become smaller by a factor of 64. No theorem covers this estimator.

    Parameters
    ----------
    dim : int
        Dimension of the arms.
    link : Link
        Link of the mean reward. Only with the identity link there is a base, and rare rewards.
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

    @property
    def own_rows(self) -> bool:
        return True

    def init(self) -> ScaleFreeEstimate:
        dim, rows = self.dim, self.dim + 1
        return ScaleFreeEstimate(
            region=make_region(rows, PENALTY * dim),
            sizes=make_region(rows, 4.0 * dim),
            middle=zeros(dim),
            units=zeros(dim),
            numbers=zeros(NUMBERS),
            counts=np.zeros(COUNTS, np.int64),
            arms=zeros(WARM, dim),
            rewards=zeros(WARM),
            deviations=zeros(2, BINS),
            residuals=zeros(1, BINS),
            recent=zeros(WARM),
            scratch=ScaleFreeScratch(
                row=zeros(rows),
                block=zeros(rows, BLOCK),
                slopes=zeros(dim),
                image=zeros(dim, dim),
                squares=zeros(WARM),
                lanes=zeros(6, BLOCK),
            ),
        )

    def is_valid(self, estimate: ScaleFreeEstimate) -> bool:
        numbers = estimate.numbers
        squares = numbers[SQUARE] >= 0.0 and numbers[LOG_NOISE] >= 0.0
        exponent = abs(numbers[EXPONENT]) <= LARGEST_EXPONENT
        return bool(squares and exponent and (estimate.units >= 0.0).all())

    def threshold_in_force(self, memory: ScaleFreeEstimate) -> float:
        """Return threshold s, before it grows with what is known of an arm; 16 large rewards if
        most rewards are one value."""
        if is_rare(memory):
            return WIDE * float(memory.numbers[EDGE])
        return self.threshold * math.sqrt(memory.numbers[SQUARE])

    def revise(self, estimate: ScaleFreeEstimate, x: Floats, before: float, after: float) -> None:
        """theta += V^-1 z sqrt(m) (psi' - psi) / r, both clipped at the limit of today; while the
        first rewards are fitted again, fit them with the reward revised."""
        region, count = estimate.region, int(min(estimate.counts[LEARNED], WARM))
        same = (estimate.arms[:count] == x).all(axis=1) & (estimate.rewards[:count] == before)
        if same.any():
            estimate.rewards[same.argmax()] = after
        if estimate.counts[LEARNED] <= WARM:
            updates = update_count(region)
            fit_again(self, estimate)
            set_updates(region, updates)
            return
        fill_row(estimate, x)
        z, scale = dot(estimate.scratch.row, region.centre), noise_scale_of(estimate)
        weight = weight_at_slope(self, z)
        square = dot(estimate.scratch.row, np.vecdot(region.inverse, estimate.scratch.row))
        limit = limit_of(self, estimate, weight / (scale * scale) * max(square, 0.0), scale)
        errors = (error_of(self, estimate, y, z, weight) / scale for y in (before, after))
        old, new = (min(max(error, -limit), limit) for error in errors)
        shift_centre(region, estimate.scratch.row, math.sqrt(weight) / scale * (new - old))

    def learned_count(self, estimate: ScaleFreeEstimate) -> int:
        return int(estimate.counts[LEARNED])

    def split_arm(self, estimate: ScaleFreeEstimate, x: Floats) -> tuple[Floats, Floats]:
        fill_row(estimate, x)
        region, row = estimate.region, estimate.scratch.row
        scores, squares = row * region.centre, row * np.vecdot(region.inverse, row)
        scores[-1] += estimate.numbers[LEVEL]
        new = (estimate.units == 0.0) & (x != estimate.middle)
        squares[:-1] += new * novelty_of_one(estimate)
        return scores, squares

    def predict(self, estimate: ScaleFreeEstimate, z: float) -> float:
        return mean(self.link, z) + estimate.numbers[LEVEL]

    def score_arm(self, estimate: ScaleFreeEstimate, x: Floats) -> float:
        fill_row(estimate, x)
        return dot(estimate.scratch.row, estimate.region.centre)

    def measure_arm(self, estimate: ScaleFreeEstimate, x: Floats) -> float:
        fill_row(estimate, x)
        return measure(estimate.region, estimate.scratch.row)

    def arm_norm(self, estimate: ScaleFreeEstimate, x: Floats) -> float:
        """Return the norm of an arm, which grows with n as `inflate` says."""
        fill_row(estimate, x)
        region, row = estimate.region, estimate.scratch.row
        square = novelty(estimate, x)
        for i in range(row.size):
            square += row[i] * dot(region.inverse[i], row)
        growth = growth_of(estimate, learned_directions(region))
        return math.sqrt(inflate(growth, max(square, 0.0), noise_scale_of(estimate)))

    def best_arm(
        self, estimate: ScaleFreeEstimate, arms: ArmSet, buffer: ArmBuffer, width: float
    ) -> int:
        if count_arms(arms) == 0:
            return best_point(estimate, arms, buffer, width)
        measure_arms(estimate, buffer)
        mark_stale(buffer)
        return pick(buffer, width)

    def update(self, estimate: ScaleFreeEstimate, observation: Observation) -> None:
        counts, x = estimate.counts, observation.x
        reward = observation.reward if abs(observation.reward) >= TINY else 0.0
        updates = update_count(estimate.region) + 1
        if counts[LEARNED] < WARM:
            place = counts[LEARNED]
            for i in range(x.size):
                estimate.arms[place, i] = x[i]
            estimate.rewards[place] = reward
        counts[LEARNED] += 1
        learned = counts[LEARNED]
        if learned <= WARM and (learned <= 8 or learned % 4 == 0):
            fit_again(self, estimate)
            set_updates(estimate.region, updates)
            return
        if learned > WARM:
            notice_features(estimate, x)
        fill_row(estimate, x)
        measure(estimate.region, estimate.scratch.row)
        if learn_later(self, estimate, reward):
            start_again(self, estimate, x, reward)
            set_updates(estimate.region, updates)
        elif is_due(learned):
            update_penalty(estimate)
            if counts[EVENTS] > AMOUNTS:
                update_size_penalty(estimate)
