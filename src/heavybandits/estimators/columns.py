"""CRCM's estimator: one Newton column for every play of a decision, and the one in their midst."""

from typing import NamedTuple

from ..engine.arrays import Floats
from ..engine.blocked import combine
from ..engine.bounds import Count, Positive
from ..engine.contracts import Link, Projection
from ..engine.jitable import jitable
from ..engine.layout import zeros
from ..engine.regions import PROJECTIONS, SQUARE, Region, add_observation, make_region
from ..engine.selection import medoid
from ..engine.verbs import mean, project
from .many_ridges import find_column

BEFORE, AFTER, STEPS, LENGTHS, PROJECTED, BUFFER = range(6)  # rows of ColumnsEstimate.rows


class ColumnsEstimate(NamedTuple):
    """State of `NewtonColumns`: column j of `thetas` learns from play j of every decision.

    `images` is V times `thetas` where it was last needed; `gaps`, below its diagonal, are squared
    distances; `rows` are scratch, a number per column.
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
    """theta_j -= V^-1 x (mu(x.theta_j) - y_j) for every j; keeps x.theta_j before and after."""
    region, thetas, rows = estimate.region, estimate.thetas, estimate.rows
    before, after, steps, lengths = rows[BEFORE], rows[AFTER], rows[STEPS], rows[LENGTHS]
    combine(thetas, x, before)
    for j in range(steps.size):
        steps[j] = (mean(part.link, before[j]) - rewards[j]) / growth
    for j in range(steps.size):
        after[j], lengths[j] = before[j] - steps[j] * region.numbers[SQUARE], 0.0
    for i in range(x.size):
        direction = region.direction[i]
        for j in range(steps.size):
            thetas[i, j] -= direction * steps[j]
            lengths[j] += thetas[i, j] * thetas[i, j]


@jitable
def follow_gaps(gaps: Floats, rows: Floats, weight: float) -> None:
    """gaps_js = ||theta_j - theta_s||_V^2, s < j, after `step_columns`, from those before it.

    With a and b the differences of x.theta before and after, and c that of the steps, the square
    grows by weight b^2 - c (a + b): no sum over d.
    """
    before, after, steps = rows[BEFORE], rows[AFTER], rows[STEPS]
    for j in range(steps.size):
        start, end, step = before[j], after[j], steps[j]
        for s in range(j):
            moved = end - after[s]
            gaps[j, s] += weight * moved * moved - (step - steps[s]) * (start - before[s] + moved)


@jitable
def bring_back(part: "NewtonColumns", estimate: ColumnsEstimate) -> int:
    """Project the columns that left the ball; returns how many, and marks them in `PROJECTED`."""
    region, thetas, rows, count = estimate.region, estimate.thetas, estimate.rows, 0
    for j in range(rows.shape[1]):
        rows[PROJECTED, j] = 0.0
        if rows[LENGTHS, j] > part.norm * part.norm:
            for i in range(region.centre.size):
                region.centre[i] = thetas[i, j]
            if project(part.projection, region):
                for i in range(region.centre.size):
                    thetas[i, j] = region.centre[i]
                rows[PROJECTED, j] = 1.0
                count += 1
    return count


@jitable
def map_columns(region: Region, thetas: Floats, images: Floats) -> None:
    """images = V thetas"""
    for i in range(thetas.shape[0]):
        for j in range(thetas.shape[1]):
            images[i, j] = 0.0
        for m in range(thetas.shape[0]):
            entry = region.design[i, m] + region.recent[i, m]
            for j in range(thetas.shape[1]):
                images[i, j] += entry * thetas[m, j]


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
    rewards of a decision are used, so it goes with the filter `Raw`. O(dk + k^2) per decision, and
    O(d^2 + dk) more per projected column. `norm` is S: columns inside it are not projected. See
    docs/maths/crcm.md.

    >>> from heavybandits.estimators import BallProjection
    >>> from heavybandits.links import Logistic
    >>> columns = NewtonColumns(3, 5, Logistic(), 0.2, 5.1, BallProjection(1.0), 1.0)
    >>> columns.init().thetas.shape
    (3, 5)
    """

    dim: Count
    plays: Count
    link: Link
    curvature: Positive
    penalty: Positive
    projection: Projection
    norm: Positive

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
        follow_gaps(estimate.gaps, rows, self.curvature)
        projected = bring_back(self, estimate)
        if projected > 0:
            region.counts[PROJECTIONS] += projected
            map_columns(region, estimate.thetas, estimate.images)
            for j in range(rewards.size):
                if rows[PROJECTED, j] > 0.0:
                    measure_gaps(estimate, j)
        best = medoid(estimate.gaps, rows[BUFFER], rows[STEPS], True, last)
        for i in range(x.size):
            region.centre[i] = estimate.thetas[i, best]
