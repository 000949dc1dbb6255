"""CRCM's estimator: one Newton column for every play of a decision, and the one in their midst."""

import math
from typing import NamedTuple

from ..engine.arrays import Floats
from ..engine.blocked import combine
from ..engine.contracts import Link, Projection
from ..engine.jitable import jitable
from ..engine.layout import zeros
from ..engine.regions import (
    PROJECTIONS,
    REPAIR_EVERY,
    SQUARE,
    UPDATES,
    Region,
    add_observation,
    make_region,
)
from ..engine.selection import medoid
from ..engine.verbs import mean, project
from ..support.validation import Count, Weight
from .many_ridges import find_column

OUTER, INNER, STEPS, LENGTHS, KEPT, BUFFER = range(6)  # rows of ColumnsEstimate.rows
IN_STEP = 2.0  # rows[KEPT, 0] once `images` follow; files of before that have 0 or 1 there
LANES = 16  # numbers that one turn of a vectorised loop takes


class ColumnsEstimate(NamedTuple):
    """State of `NewtonColumns`: column j of `thetas` learns from play j of every decision.

    `images` is V times `thetas`; `gaps`, below its diagonal, are squared distances; `rows` are
    scratch, a number per column.
    """

    region: Region
    thetas: Floats
    images: Floats
    gaps: Floats
    rows: Floats


@jitable
def step_columns(
    part: "NewtonColumns", estimate: ColumnsEstimate, x: Floats, rewards: Floats, growth: float
) -> None:
    """theta_j -= V^-1 x (mu(x.theta_j) - y_j) for every j; leaves what `follow_gaps` needs.

    V theta_j moves along x, as V grew there. With a = x.(theta_j - theta_s) and c the difference of
    their steps, ||theta_j - theta_s||_V^2 grows by weight a^2 - 2 growth a c + growth ||x||^2 c^2,
    the product of two differences: those of `outer` and of `inner`.
    """
    region, thetas, rows = estimate.region, estimate.thetas, estimate.rows
    outer, inner, steps, lengths = rows[OUTER], rows[INNER], rows[STEPS], rows[LENGTHS]
    images, pulls = estimate.images, rows[BUFFER]
    combine(thetas, x, outer)
    for j in range(steps.size):
        steps[j] = mean(part.link, outer[j])
    scale, root = math.sqrt(part.curvature), math.sqrt(growth)
    near, far = scale * region.numbers[SQUARE] * root / (root + 1.0), root * (root + 1.0) / scale
    for j in range(steps.size):
        residual = steps[j] - rewards[j]
        pulls[j], steps[j] = part.curvature * outer[j] - residual, residual / growth
        inner[j] = scale * outer[j] - near * steps[j]
        outer[j] = scale * outer[j] - far * steps[j]
        lengths[j] = 0.0
    for i in range(x.size):
        direction, feature = region.direction[i], x[i]
        for j in range(steps.size):
            images[i, j] += feature * pulls[j]
            thetas[i, j] -= direction * steps[j]
            lengths[j] += thetas[i, j] * thetas[i, j]


@jitable
def follow_gaps(gaps: Floats, outer: Floats, inner: Floats) -> None:
    """gaps_js = ||theta_j - theta_s||_V^2, s < j, after `step_columns`: no sum over d.

    Rows are followed up to a multiple of LANES, beyond the diagonal, where nobody looks: the rest
    of a vector would take as long as several whole ones.
    """
    for j in range(outer.size):
        left, right = outer[j], inner[j]
        for s in range(min(j + LANES - j % LANES, outer.size)):
            gaps[j, s] += (left - outer[s]) * (right - inner[s])


@jitable
def bring_back(part: "NewtonColumns", estimate: ColumnsEstimate, j: int) -> bool:
    """Project theta_j, which has left the ball; True if that moved it."""
    region, thetas, images = estimate.region, estimate.thetas, estimate.images
    for i in range(region.centre.size):
        region.centre[i] = thetas[i, j]
    if not project(part.projection, region):
        return False
    region.counts[PROJECTIONS] += 1
    for i in range(region.centre.size):
        thetas[i, j] = region.centre[i]
        image = 0.0
        for m in range(region.centre.size):
            image += (region.design[i, m] + region.recent[i, m]) * region.centre[m]
        images[i, j] = image
    return True


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
    estimate.rows[KEPT, 0] = IN_STEP


@jitable
def measure_gaps(estimate: ColumnsEstimate, j: int) -> None:
    """gaps = (theta_j - theta_s).V (theta_j - theta_s) for this j and every s, from `images`."""
    thetas, images, buffer = estimate.thetas, estimate.images, estimate.rows[BUFFER]
    for s in range(buffer.size):
        buffer[s] = 0.0
    for i in range(thetas.shape[0]):
        place, image = thetas[i, j], images[i, j]
        for s in range(buffer.size):
            buffer[s] += (place - thetas[i, s]) * (image - images[i, s])
    for s in range(j):
        estimate.gaps[j, s] = buffer[s]
    for s in range(j + 1, buffer.size):
        estimate.gaps[s, j] = buffer[s]


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
        return ColumnsEstimate(
            region=make_region(self.dim, self.penalty),
            thetas=zeros(self.dim, self.plays),
            images=zeros(self.dim, self.plays),
            gaps=zeros(self.plays, self.plays),
            rows=zeros(6, self.plays),
        )

    def predict(self, estimate: ColumnsEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: ColumnsEstimate, x: Floats, reward: float, rewards: Floats) -> None:
        region, rows = estimate.region, estimate.rows
        last = find_column(estimate.thetas, region.centre)
        growth = add_observation(region, x, self.curvature)
        step_columns(self, estimate, x, rewards, growth)
        follow_gaps(estimate.gaps, rows[OUTER], rows[INNER])
        if rows[KEPT, 0] != IN_STEP or region.counts[UPDATES] % REPAIR_EVERY == 0:
            map_columns(estimate)
        for j in range(rewards.size):
            if rows[LENGTHS, j] > self.norm * self.norm and bring_back(self, estimate, j):
                measure_gaps(estimate, j)
        best = medoid(estimate.gaps, rows[BUFFER], rows[STEPS], True, last)
        for i in range(x.size):
            region.centre[i] = estimate.thetas[i, best]
