"""CRCM's estimator: one Newton estimate for every play of a decision, and their medoid."""

import math
from typing import NamedTuple

from ..._utils.validation import Count, Weight
from ...core.allocation import aligned_zeros
from ...core.arrays import Floats
from ...core.confidence_region import (
    REPAIR_EVERY,
    Region,
    add_observation,
    count_projection,
    make_region,
    squared_norm,
    update_count,
)
from ...core.dispatch import mean, means, project
from ...core.jit import jitable
from ...core.linalg import combine, dot
from ...core.order_statistics import list_above, medoid
from ...core.protocols import Link, Observation, Projection
from .gaps import (
    FAR,
    NewtonEnsembleEstimate,
    change_gaps,
    follow_gaps,
    map_columns,
    measure_gaps,
    padded,
    renew_gaps,
)

ROOM = 1.1  # how much the square of the least median distance is expected to grow in a decision
WILD = 1e4  # in units of the squares at hand: a square that has fallen from there has lost digits


@jitable
def step_columns(
    part: "NewtonEnsemble",
    estimate: NewtonEnsembleEstimate,
    x: Floats,
    rewards: Floats,
    growth: float,
) -> None:
    """theta_j -= V^-1 x (mu(x.theta_j) - y_j) for every j; leaves what `follow_gaps` needs.

    With a = x.(theta_j - theta_s) and c the difference of their steps, ||theta_j - theta_s||_V^2
    grows by weight a^2 - 2 growth a c + growth ||x||^2 c^2, the product of two differences: those
    of `outer` and of `inner`.
    """
    region, thetas, plays = estimate.region, estimate.thetas, rewards.size
    outer, inner, steps = estimate.outer[:plays], estimate.inner[:plays], estimate.row[:plays]
    combine(thetas, x, outer)
    means(part.link, outer, steps)
    scale, root = math.sqrt(part.curvature), math.sqrt(growth)
    near, far = scale * squared_norm(region) * root / (root + 1.0), root * (root + 1.0) / scale
    for j in range(steps.size):
        step = (steps[j] - rewards[j]) / growth
        steps[j] = step
        inner[j] = scale * outer[j] - near * step
        outer[j] = scale * outer[j] - far * step
    move_columns(thetas, region.direction, steps, estimate.lengths[:plays])


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
def bring_back(
    part: "NewtonEnsemble", estimate: NewtonEnsembleEstimate, j: int, limit: float
) -> None:
    """Project theta_j, which has left the ball, and put its gaps and all counts right.

    If it moves by m, ||theta_j - theta_s||_V^2 grows by m.V(theta_j before + after - 2 theta_s). If
    that leaves no digits of a much larger square, the square is computed again.
    """
    region, thetas = estimate.region, estimate.thetas
    changes = estimate.outer[: thetas.shape[1]]
    centre, move, pull, middle = region.centre, region.scratch[0], region.scratch[1], 0.0
    for i in range(centre.size):
        centre[i] = thetas[i, j]
    if not project(part.projection, region):
        return
    count_projection(region)
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


class NewtonEnsemble(NamedTuple):
    """Estimate theta as the medoid of k Newton estimates, the j-th from the j-th play: CRCM.

        V += curvature x x^T
        theta_j = the V-norm projection of theta_j - V^-1 x (mu(x.theta_j) - y_j)
        centre = theta_j with the least median_i ||theta_i - theta_j||_V, i = j included

    The estimator uses all rewards of a decision, so use it with `NoFilter`. The cost is O(d^2 + dk
    + k^2) per decision, and O(d^2 + dk) more per projected column. See docs/maths/crcm.md.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    plays : int
        k, plays of one arm per decision.
    link : Link
        mu, the mean reward as a function of x.theta.
    curvature : float
        Weight of a reward in V.
    penalty : float
        lambda; V starts at lambda I.
    projection : Projection
        Projection of each theta_j.
    norm : float
        S; columns with ||theta_j|| <= S are not projected.

    Examples
    --------
    >>> from heavybandits.estimators import BallProjection
    >>> from heavybandits.links import Logistic
    >>> columns = NewtonEnsemble(3, 5, Logistic(), 0.2, 5.1, BallProjection(1.0), 1.0)
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

    def init(self) -> NewtonEnsembleEstimate:
        dim, plays, width = self.dim, self.plays, padded(self.plays)
        rows = [(width,)] * 5
        arrays = aligned_zeros((dim, plays), (dim, plays), (plays, width), *rows, (1,))
        return NewtonEnsembleEstimate(make_region(dim, self.penalty), *arrays)

    def predict(self, estimate: NewtonEnsembleEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: NewtonEnsembleEstimate, observation: Observation) -> None:
        region, x, rewards = estimate.region, observation.x, observation.rewards
        plays, lengths = rewards.size, estimate.lengths
        if update_count(region) % REPAIR_EVERY == 0 or estimate.gaps[0, 0] != FAR:
            renew_gaps(estimate)  # the second case: gaps from a file that has other numbers
        growth = add_observation(region, x, self.curvature)
        limit = ROOM * estimate.least[0]
        step_columns(self, estimate, x, rewards, growth)
        follow_gaps(estimate, limit)
        for i in range(list_above(lengths[:plays], self.norm * self.norm)):
            bring_back(self, estimate, int(lengths[i]), limit)
        row, counts = estimate.row[:plays], estimate.near[:plays]
        best, least = medoid(estimate.gaps, row, counts, True, limit)
        estimate.least[0] = least * least
        for i in range(x.size):
            region.centre[i] = estimate.thetas[i, best]
