"""GLOC's estimator: an online learner's predictions, regressed on (Jun et al. 2017)."""

from typing import NamedTuple

from ..._utils.validation import Count, Weight
from ...core.allocation import zeros
from ...core.arrays import Floats
from ...core.confidence_region import (
    Region,
    add_observation,
    count_projection,
    make_region,
    move_centre,
    squared_norm,
)
from ...core.dispatch import mean, project
from ...core.jit import jitable
from ...core.linalg import bounded, dot, subtract
from ...core.protocols import Link, Observation, Projection

_GRADIENTS, _RESIDUALS = 0, 1  # places in OnlineToConfidenceEstimate.sums


class OnlineToConfidenceEstimate(NamedTuple):
    """State of `OnlineToConfidence`: its region, the online iterate and two running sums."""

    region: Region
    iterate: Floats
    sums: Floats


@jitable
def gradient_sum(estimate: OnlineToConfidenceEstimate) -> float:
    """Return G = sum g^2 ||x||^2_{V^-1}."""
    return estimate.sums[_GRADIENTS]


@jitable
def residual_sum(estimate: OnlineToConfidenceEstimate) -> float:
    """Return the least value of the ridge objective, sum z^2 - centre.sum z x."""
    return estimate.sums[_RESIDUALS]


@jitable
def with_centre(region: Region, centre: Floats) -> Region:
    """Return the region with another centre; all arrays are shared."""
    return Region(
        centre,
        region.inverse,
        region.design,
        region.direction,
        region.numbers,
        region.counts,
        region.scratch,
        region.recent,
    )


class OnlineToConfidence(NamedTuple):
    """Estimate theta by ridge regression on the predictions of online Newton steps: GLOC.

        z = x.iterate;  g = mu(z) - y;  V += x x^T
        iterate = the V-norm projection of iterate - (g/kappa) V^-1 x
        centre = V^-1 sum z x

    (Jun et al. 2017). The state has two sums: G = sum g^2 ||x||^2_{V^-1} with the V that includes
    x, and the least value of the ridge objective, sum z^2 - centre.sum z x. A round raises the
    second sum by the squared error of the old centre divided by 1 + ||x||^2_{V^-1}. The two
    matrices of the paper are equal, because both start from `penalty` I.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link
        mu, the mean reward as a function of x.theta.
    kappa : float
        Smallest slope of the link.
    penalty : float
        lambda; V starts at lambda I.
    projection : Projection
        Projection of the iterate after each reward.

    Examples
    --------
    >>> from heavybandits.links import Logistic
    >>> from heavybandits.estimators import NoProjection
    >>> OnlineToConfidence(3, Logistic(), 0.2, 1.0, NoProjection()).init().iterate.shape
    (3,)
    """

    dim: Count
    link: Link
    kappa: Weight
    penalty: Weight
    projection: Projection

    def init(self) -> OnlineToConfidenceEstimate:
        region = make_region(self.dim, self.penalty)
        return OnlineToConfidenceEstimate(region, zeros(self.dim), zeros(2))

    def predict(self, estimate: OnlineToConfidenceEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: OnlineToConfidenceEstimate, observation: Observation) -> None:
        region, iterate, sums = estimate
        x = observation.x
        z = dot(x, iterate)
        gradient = bounded(mean(self.link, z)) - observation.reward
        residual = z - dot(x, region.centre)
        growth = add_observation(region, x, 1.0)
        sums[_GRADIENTS] += gradient * gradient * squared_norm(region) / growth
        sums[_RESIDUALS] += residual * residual / growth
        move_centre(region, -residual / growth)
        step = gradient / (self.kappa * growth)
        subtract(iterate, step, region.direction)
        if project(self.projection, with_centre(region, iterate)):
            count_projection(region)
