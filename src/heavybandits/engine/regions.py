"""The confidence region every estimator keeps: a centre, a design matrix V and its inverse."""

import math
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats, Integers
from .blocked import combine
from .jitable import jitable, outlined
from .layout import aligned_zeros
from .linalg import add_outer, dot, invert, subtract
from .projections import ROWS

SQUARE, SHRINK, LOGDET, GROWTH, STEP, STRAYED, EXPECTED = range(7)  # places in Region.numbers
UPDATES, PROJECTIONS, CUTS = 0, 1, 2  # places in Region.counts

REPAIR_EVERY = 1024  # updates between two fresh inversions: stops the drift of rank-one steps


class Region(NamedTuple):
    """{theta : ||theta - centre||_V <= radius}, the radius being a part of its own.

    numbers: ||x||^2_{V^-1} of the arm last measured; the factor of the last rank-one step; the
    parts of det V / det V_1 whose logarithm has and has not been taken (see `log_volume`); how far
    the centre went against `direction` in the last update, and 1 if it went elsewhere too; the mean
    reward expected of that arm. counts: updates, projections, and the rewards that an estimator
    which truncates its whole history cuts at present.

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
    numbers, counts = np.zeros(7), np.zeros(3, np.int64)
    numbers[GROWTH] = 1.0
    return Region(centre, inverse, design, direction, numbers, counts, scratch, recent)


@jitable
def measure(region: Any, x: Any) -> float:
    """||x||_{V^-1}; leaves V^-1 x in `direction` for the update that follows."""
    combine(region.inverse, x, region.direction)
    square = max(dot(x, region.direction), 0.0)
    region.numbers[SQUARE] = square
    return math.sqrt(square)


@jitable
def log_volume(region: Any) -> float:
    """ln(det V / det V_1)"""
    return region.numbers[LOGDET] + math.log(region.numbers[GROWTH])


@jitable
def add_observation(region: Any, x: Any, weight: float) -> float:
    """V += weight x x^T, after `measure(region, x)`; returns 1 + weight ||x||^2_{V^-1}."""
    growth = 1.0 + weight * region.numbers[SQUARE]
    region.numbers[SHRINK] = weight / growth
    if region.numbers[GROWTH] * growth > 1e100:
        region.numbers[LOGDET] = log_volume(region)
        region.numbers[GROWTH] = 1.0
    region.numbers[GROWTH] *= growth
    region.numbers[STRAYED] = 1.0
    region.counts[UPDATES] += 1
    add_outer(region.recent, weight, x)
    if region.counts[UPDATES] % REPAIR_EVERY == 0:
        repair(region)
    else:
        add_outer(region.inverse, -region.numbers[SHRINK], region.direction)
    return growth


@outlined
def repair(region: Any) -> None:
    """Sum up V and invert it anew."""
    for i in range(region.centre.size):
        for j in range(region.centre.size):
            region.design[i, j] += region.recent[i, j]
            region.recent[i, j] = 0.0
    invert(region.design, region.inverse, region.scratch)


@jitable
def move_centre(region: Any, step: float) -> None:
    """centre -= step V^-1 x, for the x last measured and V before it was widened."""
    region.numbers[STEP] = step
    region.numbers[STRAYED] = 0.0
    subtract(region.centre, step, region.direction)
