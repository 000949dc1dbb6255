"""The confidence region every estimator keeps: a centre, a design matrix V and its inverse."""

import math
from typing import NamedTuple

import numpy as np

from .allocation import aligned_zeros
from .arrays import Floats, Integers
from .blocked import combine
from .jit import jitable, outlined
from .linalg import LOST, add_outer, dot, invert, mend_inverse, stretch, subtract
from .projection import ROWS

# places in Region.numbers
SQUARE, SHRINK, LOGDET, GROWTH, STEP, STRAYED, EXPECTED, FLOOR, NOISE = range(9)
UPDATES, PROJECTIONS, CUTS, FALLBACKS = range(4)  # places in Region.counts

ROUNDING = 1e-15  # of the largest sum on the way to a square
REPAIR_EVERY = 1024  # updates between two fresh inversions: stops the drift of rank-one steps


class Region(NamedTuple):
    """{theta : ||theta - centre||_V <= radius}, the radius being a part of its own.

    numbers: ||x||^2_{V^-1} of the arm last measured; the factor of the last rank-one step, 0 if the
    last update inverted V anew; the parts of det V / det V_1 whose logarithm has and has not been
    taken (see `log_volume`); how far the centre went against `direction` in the last update, and 1
    if it went elsewhere too; the mean reward expected of that arm; the penalty, below which no
    eigenvalue of V lies; what rounding alone can make of weight ||x||^2_{V^-1}. counts: updates;
    projections; the rewards that an estimator which truncates its whole history cuts at present;
    and how often rounding may have spoiled V^-1, so that it was made anew or mended.

    V = design + recent: the updates since the last repair are summed apart, for in one sum of 10^6
    terms rounding takes 1e-12 of the largest entry, and the inverse of a badly conditioned V makes
    that a thousand times more of the small ones.
    """

    centre: Floats
    inverse: Floats
    design: Floats
    direction: Floats
    numbers: Floats
    counts: Integers
    scratch: Floats
    recent: Floats


def make_region(dim: int, penalty: float) -> Region:
    """The region before any reward: centre 0, V = penalty I."""
    square, vector = (dim, dim), (dim,)
    inverse, design, recent, centre, direction, scratch = aligned_zeros(
        square, square, square, vector, vector, (ROWS + dim, dim)
    )
    np.fill_diagonal(inverse, 1.0 / penalty)
    np.fill_diagonal(design, penalty)
    numbers, counts = np.zeros(9), np.zeros(4, np.int64)
    numbers[GROWTH], numbers[FLOOR] = 1.0, penalty
    return Region(centre, inverse, design, direction, numbers, counts, scratch, recent)


@jitable
def measure(region: Region, x: Floats) -> float:
    """||x||_{V^-1}; leaves V^-1 x in `direction` for the update that follows."""
    combine(region.inverse, x, region.direction)
    square = dot(x, region.direction)
    region.numbers[SQUARE] = square
    return math.sqrt(max(square, 0.0))


@jitable
def log_volume(region: Region) -> float:
    """ln(det V / det V_1)"""
    return region.numbers[LOGDET] + math.log(region.numbers[GROWTH])


@jitable
def add_observation(region: Region, x: Floats, weight: float) -> float:
    """V += weight x x^T, after `measure(region, x)`; returns 1 + weight ||x||^2_{V^-1}."""
    growth = 1.0 + weight * region.numbers[SQUARE]
    region.numbers[STRAYED] = 1.0
    region.counts[UPDATES] += 1
    add_outer(region.recent, weight, x)
    if growth * ROUNDING > region.numbers[NOISE]:
        region.numbers[NOISE] = growth * ROUNDING
    square = region.numbers[SQUARE]
    if not (weight * square > region.numbers[NOISE] or square == 0.0):
        growth = invert_anew(region, x, weight)
    elif region.counts[UPDATES] % REPAIR_EVERY == 0:
        region.counts[FALLBACKS] += 0 if repair(region, weight / growth) else 1
    else:
        region.numbers[SHRINK] = weight / growth
        add_outer(region.inverse, -region.numbers[SHRINK], region.direction)
    if region.numbers[GROWTH] * growth > 1e100:
        region.numbers[LOGDET] = log_volume(region)
        region.numbers[GROWTH] = 1.0
    region.numbers[GROWTH] *= growth
    return growth


@outlined
def invert_anew(region: Region, x: Floats, weight: float) -> float:
    """The end of an update where rounding may have made all of ||x||^2_{V^-1}, or its sign.

    Then V^-1 may be indefinite, and rank-one steps would make that grow without end. So V^-1 comes
    from V, and V^-1 x from that: with V widened already, it is smaller than before by `growth`.
    """
    region.counts[FALLBACKS] += 1
    repair(region, weight / (1.0 + weight * max(region.numbers[SQUARE], 0.0)))
    square = measure(region, x) ** 2
    growth = 1.0 / max(1.0 - weight * square, 1e-9)
    region.numbers[SQUARE] = growth * square
    stretch(region.direction, growth)
    return growth


@outlined
def repair(region: Region, shrink: float) -> bool:
    """Sum up V and invert it anew by Cholesky. If V has not the digits for that: False, and the
    rank-one step is made and brought back to V (see `mend_inverse`)."""
    dim, design, inverse = region.centre.size, region.design, region.inverse
    region.numbers[SHRINK] = 0.0
    for i in range(dim):
        for j in range(dim):
            design[i, j] += region.recent[i, j]
            region.recent[i, j] = 0.0
    sound = known(region) and invert(design, inverse, region.scratch)
    if not sound:
        add_outer(inverse, -shrink, region.direction)
        work, mark = region.scratch[:dim], region.scratch[dim]
        mend_inverse(design, region.numbers[FLOOR], inverse, work, mark)
    size, narrowness = 0.0, 0.0
    for i in range(dim):
        size += design[i, i]
        narrowness += inverse[i, i]
    typical = size / region.counts[UPDATES]  # weight ||x||^2 of an arm
    region.numbers[NOISE] = ROUNDING * typical * narrowness
    return sound


@outlined
def fade(region: Region, keep: float) -> None:
    """V = keep V + (1 - keep) lambda I: stabilised forgetting (Kulhavy and Zarrop 1993).

    Plain forgetting, V = keep V, would let V vanish where no arm is played; so it never falls below
    the penalty. The centre stays: what comes next counts for more. O(d^3).
    """
    floor = region.numbers[FLOOR]
    for i in range(region.centre.size):
        for j in range(region.centre.size):
            region.design[i, j] = keep * (region.design[i, j] + region.recent[i, j])
            region.recent[i, j] = 0.0
            region.inverse[i, j] /= keep  # what is mended if V has too few digits
        region.design[i, i] += (1.0 - keep) * floor
    renew(region)


@jitable
def renew(region: Region) -> bool:
    """V^-1 and det V / det V_1 from V, for V has changed in every direction; False if it cannot."""
    floor = region.numbers[FLOOR]
    if not repair(region, 0.0):
        region.counts[FALLBACKS] += 1
        return False
    volume = 0.0  # `repair` leaves the triangle of V in the scratch
    for i in range(region.centre.size):
        volume += math.log(region.scratch[i, i] * region.scratch[i, i] / floor)
    region.numbers[LOGDET], region.numbers[GROWTH] = max(volume, 0.0), 1.0
    return True


@outlined
def repenalise(region: Region, penalty: float) -> None:
    """V with another penalty, and theta = V^-1 b with the b it had: ridge regression's. O(d^3)."""
    dim, pull = region.centre.size, region.direction
    for i in range(dim):
        pull[i] = 0.0
        for j in range(dim):
            pull[i] += (region.design[i, j] + region.recent[i, j]) * region.centre[j]
    for i in range(dim):
        region.design[i, i] += penalty - region.numbers[FLOOR]
    region.numbers[FLOOR] = penalty
    region.numbers[STRAYED] = 1.0
    if renew(region):
        combine(region.inverse, pull, region.centre)


@jitable
def known(region: Region) -> bool:
    """Whether V has digits in every direction: V_ii V^-1_ii is how much of V_ii cancels."""
    for i in range(region.centre.size):
        if LOST * region.design[i, i] * region.inverse[i, i] > 1.0:
            return False
    return True


def shift_centre(region: Region, x: Floats, change: float) -> None:
    """centre += change V^-1 x, for an x that V holds already: its reward turned out otherwise."""
    region.centre[:] += change * (region.inverse @ x)
    region.numbers[SHRINK], region.numbers[STRAYED] = 0.0, 1.0


@jitable
def move_centre(region: Region, step: float) -> None:
    """centre -= step V^-1 x, for the x last measured and V before it was widened."""
    region.numbers[STEP] = step
    region.numbers[STRAYED] = 0.0
    subtract(region.centre, step, region.direction)
