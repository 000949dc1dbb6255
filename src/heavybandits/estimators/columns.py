"""CRCM's estimator: one Newton column for every play of a decision, and the one in their midst."""

import math
from typing import NamedTuple

from ..engine.arrays import Floats
from ..engine.blocked import combine
from ..engine.bounds import Count, Weight
from ..engine.contracts import Link, Projection
from ..engine.jitable import jitable, outlined
from ..engine.layout import aligned_zeros
from ..engine.linalg import dot
from ..engine.regions import (
    PROJECTIONS,
    REPAIR_EVERY,
    SQUARE,
    UPDATES,
    Region,
    add_observation,
    make_region,
)
from ..engine.selection import list_above, medoid
from ..engine.verbs import mean, means, project

OUTER, INNER, COUNTS, LENGTHS, KEPT, BUFFER = range(6)  # rows of ColumnsEstimate.rows
LANES = 8  # numbers that one turn of a vectorised loop takes
FAR = 1e300  # in `gaps` on and above the diagonal: added to, it stays, and it is never near
ROOM = 1.1  # how much the square of the least median distance is expected to grow in a decision
WILD = 1e4  # in units of the squares at hand: a square that has fallen from there has lost digits


class ColumnsEstimate(NamedTuple):
    """State of `NewtonColumns`: column j of `thetas` learns from play j of every decision.

    `gaps`, below its diagonal, are squared distances; rows[KEPT, 0] is the square of the last least
    median distance. `images` and the other rows are scratch. The rows of both have room for a few
    numbers more than there are columns (see `padded`).
    """

    region: Region
    thetas: Floats
    images: Floats
    gaps: Floats
    rows: Floats


def padded(plays: int) -> int:
    """The length of a row: a multiple of LANES, unless even the first is not full.

    Then every row begins a cache line, and loops over rows leave no scalar rest.

    >>> padded(75), padded(5)
    (80, 5)
    """
    return plays if plays < LANES else -(-plays // LANES) * LANES


@jitable
def step_columns(
    part: "NewtonColumns", estimate: ColumnsEstimate, x: Floats, rewards: Floats, growth: float
) -> None:
    """theta_j -= V^-1 x (mu(x.theta_j) - y_j) for every j; leaves what `follow_gaps` needs.

    With a = x.(theta_j - theta_s) and c the difference of their steps, ||theta_j - theta_s||_V^2
    grows by weight a^2 - 2 growth a c + growth ||x||^2 c^2, the product of two differences: those
    of `outer` and of `inner`.
    """
    region, thetas, rows, plays = estimate.region, estimate.thetas, estimate.rows, rewards.size
    outer, inner, steps = rows[OUTER, :plays], rows[INNER, :plays], rows[BUFFER, :plays]
    combine(thetas, x, outer)
    means(part.link, outer, steps)
    scale, root = math.sqrt(part.curvature), math.sqrt(growth)
    near, far = scale * region.numbers[SQUARE] * root / (root + 1.0), root * (root + 1.0) / scale
    for j in range(steps.size):
        step = (steps[j] - rewards[j]) / growth
        steps[j] = step
        inner[j] = scale * outer[j] - near * step
        outer[j] = scale * outer[j] - far * step
    move_columns(thetas, region.direction, steps, rows[LENGTHS, :plays])


@jitable
def move_columns(thetas: Floats, direction: Floats, steps: Floats, lengths: Floats) -> None:
    """theta_j -= steps_j direction, and lengths_j = ||theta_j||^2: two rows at a time."""
    dim = direction.size
    for j in range(steps.size):
        lengths[j] = 0.0
    for i in range(1, dim, 2):
        first, second = direction[i - 1], direction[i]
        for j in range(steps.size):
            above, below = thetas[i - 1, j] - first * steps[j], thetas[i, j] - second * steps[j]
            thetas[i - 1, j], thetas[i, j] = above, below
            lengths[j] += above * above + below * below
    if dim % 2 == 1:
        for j in range(steps.size):
            thetas[dim - 1, j] -= direction[dim - 1] * steps[j]
            lengths[j] += thetas[dim - 1, j] * thetas[dim - 1, j]


@jitable
def follow_gaps(estimate: ColumnsEstimate, limit: float) -> None:
    """gaps_js = ||theta_j - theta_s||_V^2, s < j, after `step_columns`: no sum over d.

    And how many of each column's squares are at most `limit`: as they pass by, two rows at a time.
    Rows are followed up to a multiple of LANES, beyond the diagonal: the rest of a vector would
    take as long as several whole ones.
    """
    gaps, rows = estimate.gaps, estimate.rows
    outer, inner, counts, nears = rows[OUTER], rows[INNER], rows[COUNTS], rows[BUFFER]
    size = gaps.shape[0]
    for s in range(counts.size):
        counts[s] = 0.0
    for j in range(1 + size % 2, size, 2):  # the first of an odd number of rows is empty
        above, above_inner, above_near = outer[j - 1], inner[j - 1], 0
        below, below_inner, below_near = outer[j], inner[j], 0
        for s in range(min(j + LANES - j % LANES, counts.size)):
            gap = gaps[j - 1, s] + (above - outer[s]) * (above_inner - inner[s])
            other = gaps[j, s] + (below - outer[s]) * (below_inner - inner[s])
            gaps[j - 1, s], gaps[j, s] = gap, other
            near, nearby = 1 if gap <= limit else 0, 1 if other <= limit else 0
            above_near += near
            below_near += nearby
            counts[s] += near + nearby
        nears[j - 1], nears[j] = above_near, below_near
    for s in range(size % 2, size):
        counts[s] += nears[s]


@jitable
def bring_back(part: "NewtonColumns", estimate: ColumnsEstimate, j: int, limit: float) -> None:
    """Project theta_j, which has left the ball, and put its gaps and all counts right.

    If it moves by m, ||theta_j - theta_s||_V^2 grows by m.V(theta_j before + after - 2 theta_s). Of
    a square much larger than what is left of it that would leave no digits: then it is made anew.
    """
    region, thetas = estimate.region, estimate.thetas
    changes = estimate.rows[OUTER, : thetas.shape[1]]
    centre, move, pull, middle = region.centre, region.scratch[0], region.scratch[1], 0.0
    for i in range(centre.size):
        centre[i] = thetas[i, j]
    if not project(part.projection, region):
        return
    region.counts[PROJECTIONS] += 1
    for i in range(centre.size):
        move[i] = centre[i] - thetas[i, j]
    apply_design(region, move, pull)
    for i in range(centre.size):
        middle += pull[i] * (thetas[i, j] + centre[i])
        thetas[i, j] = centre[i]
    if dot(move, pull) > WILD * (limit + part.penalty * part.norm * part.norm):
        map_columns(estimate)
        measure_gaps(estimate, j)
        change_gaps(estimate, j, 0.0, limit)
        return
    combine(thetas, pull, changes)
    for s in range(changes.size):
        changes[s] = middle - 2.0 * changes[s]
    change_gaps(estimate, j, 1.0, limit)


@jitable
def apply_design(region: Region, x: Floats, out: Floats) -> None:
    """out = V x"""
    for i in range(out.size):
        out[i] = 0.0
    for m in range(x.size):
        for i in range(out.size):
            out[i] += (region.design[m, i] + region.recent[m, i]) * x[m]


@jitable
def change_gaps(estimate: ColumnsEstimate, j: int, keep: float, limit: float) -> None:
    """gaps = keep gaps + rows[OUTER], for this j and every other; with them the counts of all."""
    gaps, rows, plays = estimate.gaps, estimate.rows, estimate.gaps.shape[0]
    changes, counts = rows[OUTER, :plays], rows[COUNTS, :plays]
    near = change_some(gaps[j, :j], changes, counts, keep, limit)
    near += change_some(gaps[j + 1 :, j], changes[j + 1 :], counts[j + 1 :], keep, limit)
    counts[j] = near


@jitable
def change_some(gaps: Floats, changes: Floats, counts: Floats, keep: float, limit: float) -> int:
    """The same for a part of the others; returns how many of them are near now."""
    near = 0
    for s in range(gaps.size):
        before, after = gaps[s], keep * gaps[s] + changes[s]
        gaps[s] = after
        close = 1 if after <= limit else 0
        near += close
        counts[s] += close - (1 if before <= limit else 0)
    return near


@jitable
def map_columns(estimate: ColumnsEstimate) -> None:
    """images = V thetas"""
    region, thetas, images = estimate.region, estimate.thetas, estimate.images
    for i in range(thetas.shape[0]):
        for j in range(thetas.shape[1]):
            images[i, j] = 0.0
        for m in range(thetas.shape[0]):
            entry = region.design[i, m] + region.recent[i, m]
            for j in range(thetas.shape[1]):
                images[i, j] += entry * thetas[m, j]


@jitable
def measure_gaps(estimate: ColumnsEstimate, j: int) -> None:
    """rows[OUTER] = (theta_j - theta_s).V (theta_j - theta_s) for every s, from `images`."""
    thetas, images = estimate.thetas, estimate.images
    out = estimate.rows[OUTER, : thetas.shape[1]]
    for s in range(out.size):
        out[s] = 0.0
    for i in range(thetas.shape[0]):
        place, image = thetas[i, j], images[i, j]
        for s in range(out.size):
            out[s] += (place - thetas[i, s]) * (image - images[i, s])


@outlined
def renew_gaps(estimate: ColumnsEstimate) -> None:
    """All gaps from the columns: stops the drift of following them."""
    gaps, out = estimate.gaps, estimate.rows[OUTER]
    map_columns(estimate)
    for j in range(gaps.shape[0]):
        measure_gaps(estimate, j)
        for s in range(gaps.shape[1]):
            gaps[j, s] = out[s] if s < j else FAR


class NewtonColumns(NamedTuple):
    """k Newton estimates with one matrix, the j-th on the j-th play; the centre is their medoid.

    V += curvature x x^T; every theta_j = the V-norm projection of theta_j - V^-1 x (mu(x.theta_j)
    - y_j); centre = theta_j with the least median_i ||theta_i - theta_j||_V, i = j included. All
    rewards of a decision are used, so it goes with the filter `Raw`. O(d^2 + dk + k^2) per
    decision, and O(d^2 + dk) more per projected column. `norm` is S: columns inside it are not
    projected. See docs/maths/crcm.md.

    >>> from heavybandits.estimators import BallProjection
    >>> from heavybandits.links import Logistic
    >>> columns = NewtonColumns(3, 5, Logistic(), 0.2, 5.1, BallProjection(1.0), 1.0)
    >>> columns.init().thetas.shape
    (3, 5)
    """

    dim: Count
    plays: Count
    link: Link
    curvature: Weight
    penalty: Weight
    projection: Projection
    norm: Weight

    def init(self) -> ColumnsEstimate:
        dim, plays, width = self.dim, self.plays, padded(self.plays)
        arrays = aligned_zeros((dim, plays), (dim, plays), (plays, width), (6, width))
        return ColumnsEstimate(make_region(dim, self.penalty), *arrays)

    def predict(self, estimate: ColumnsEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: ColumnsEstimate, x: Floats, reward: float, rewards: Floats) -> None:
        region, rows, plays = estimate.region, estimate.rows, rewards.size
        if region.counts[UPDATES] % REPAIR_EVERY == 0 or estimate.gaps[0, 0] != FAR:
            renew_gaps(estimate)  # also of a file from before there was a FAR
        growth = add_observation(region, x, self.curvature)
        limit = ROOM * rows[KEPT, 0]
        step_columns(self, estimate, x, rewards, growth)
        follow_gaps(estimate, limit)
        for i in range(list_above(rows[LENGTHS, :plays], self.norm * self.norm)):
            bring_back(self, estimate, int(rows[LENGTHS, i]), limit)
        row, counts = rows[BUFFER, :plays], rows[COUNTS, :plays]
        best, least = medoid(estimate.gaps, row, counts, True, limit)
        rows[KEPT, 0] = least * least
        for i in range(x.size):
            region.centre[i] = estimate.thetas[i, best]
