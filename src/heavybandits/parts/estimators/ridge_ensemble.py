"""MENU's estimator: one ridge regression for every play of a decision, and their medoid."""

from typing import NamedTuple

from ..._utils.validation import Count, Weight
from ...core.allocation import zeros
from ...core.arrays import Floats
from ...core.confidence_region import Region, add_observation, make_region
from ...core.jit import jitable
from ...core.linalg import combine
from ...core.order_statistics import SLACK, count_near, median_distance, medoid
from ...core.protocols import Observation


class RidgeEnsembleEstimate(NamedTuple):
    """State of `RidgeEnsemble`: column j of `thetas` is regression j; `gaps`, below its
    diagonal, are squared distances."""

    region: Region
    thetas: Floats
    gaps: Floats
    errors: Floats
    buffer: Floats


@jitable
def regress(
    region: Region, thetas: Floats, errors: Floats, x: Floats, rewards: Floats, growth: float
) -> None:
    """Every theta_j += V^-1 x (y_j - x.theta_j) for the V just widened by x; keeps the errors."""
    combine(thetas, x, errors)
    for j in range(errors.size):
        errors[j] = rewards[j] - errors[j]
    for i in range(x.size):
        step = region.direction[i] / growth
        for j in range(errors.size):
            thetas[i, j] += step * errors[j]


@jitable
def find_column(thetas: Floats, centre: Floats) -> int:
    """Return the first column that begins as the centre does: its own, or as good a guess."""
    for j in range(thetas.shape[1]):
        if thetas[0, j] == centre[0]:
            return j
    return 0


@jitable
def spread_out(gaps: Floats, errors: Floats, rewards: Floats, growth: float) -> None:
    """gaps_js = ||theta_j - theta_s||_V^2, s < j, after `regress`, from what they were before.

    With a = x.(theta_j - theta_s) and e = y_j - y_s - a, both V and the thetas move by rank one:
    the square grows by a^2 + 2ae + e^2 ||x||^2 = (y_j - y_s)^2 - e^2 / growth. No sum over d.
    """
    for j in range(errors.size):
        for s in range(j):
            reward, error = rewards[j] - rewards[s], errors[j] - errors[s]
            gaps[j, s] += reward * reward - error * error / growth


class RidgeEnsemble(NamedTuple):
    """Estimate theta as the medoid of k ridge regressions, the j-th on the j-th play: MENU.

        centre = theta_{k*},    k* = argmin_j median_{s != j} ||theta_j - theta_s||_V

    (Shao et al. 2018). The estimator uses all rewards of a decision, so use it with `NoFilter`. The
    cost is O(dk + k^2) per decision, plus the update of V.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    plays : int
        k, plays of one arm per decision.
    penalty : float
        lambda; V starts at lambda I.
    include_self : bool, default False
        Include s = j in the median.

    Examples
    --------
    >>> RidgeEnsemble(dim=3, plays=5, penalty=1.0).init().thetas.shape
    (3, 5)
    """

    dim: Count
    plays: Count
    penalty: Weight
    include_self: bool = False

    def init(self) -> RidgeEnsembleEstimate:
        return RidgeEnsembleEstimate(
            region=make_region(self.dim, self.penalty),
            thetas=zeros(self.dim, self.plays),
            gaps=zeros(self.plays, self.plays),
            errors=zeros(self.plays),
            buffer=zeros(self.plays),
        )

    def predict(self, estimate: RidgeEnsembleEstimate, z: float) -> float:
        return z

    def update(self, estimate: RidgeEnsembleEstimate, observation: Observation) -> None:
        region, thetas, gaps, errors, buffer = estimate
        x, rewards = observation.x, observation.rewards
        last = find_column(thetas, region.centre)
        growth = add_observation(region, x, 1.0)
        regress(region, thetas, errors, x, rewards, growth)
        spread_out(gaps, errors, rewards, growth)
        limit = median_distance(gaps, last, buffer, self.include_self, 0.0) ** 2 * SLACK
        count_near(gaps, limit, errors)
        best, _ = medoid(gaps, buffer, errors, self.include_self, limit)
        for i in range(x.size):
            region.centre[i] = thetas[i, best]
