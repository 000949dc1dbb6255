"""Estimators that see each filtered reward once and keep a region only."""

from typing import NamedTuple

from ..._utils.validation import Count, Weight
from ...core.arrays import Floats
from ...core.confidence_region import (
    Region,
    add_observation,
    make_region,
    move_centre,
    shift_centre,
)
from ...core.dispatch import mean, project, slope
from ...core.linalg import dot
from ...core.protocols import Link, Observation, Projection
from .projection import project_centre


class RegionEstimate(NamedTuple):
    """State of the estimators of this module."""

    region: Region


class OnlineNewton(NamedTuple):
    """Estimate theta by online Newton steps (Xue et al. 2023, Algorithm 1, lines 7 to 9).

        g = (mu(x.theta) - y) x;  V += curvature x x^T
        theta = argmin_{||theta'|| <= S} ||theta' - theta||_V^2 / 2 + theta'.g

    The minimum is the V-norm projection of theta - V^-1 g. The cost is O(d^2) per reward; no reward
    is stored.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link
        mu, the mean reward as a function of x.theta.
    curvature : float
        Weight of a reward in V; kappa / 2 in the paper.
    penalty : float
        lambda; V starts at lambda I.
    projection : Projection
        Projection of theta after each reward.

    Examples
    --------
    >>> from heavybandits.estimators import BallProjection
    >>> from heavybandits.links import Logistic
    >>> OnlineNewton(10, Logistic(), 0.098, 1.0, BallProjection(1.0)).init().region.centre.shape
    (10,)
    """

    dim: Count
    link: Link
    curvature: Weight
    penalty: Weight
    projection: Projection

    def init(self) -> RegionEstimate:
        return RegionEstimate(make_region(self.dim, self.penalty))

    def predict(self, estimate: RegionEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: RegionEstimate, observation: Observation) -> None:
        region, x = estimate.region, observation.x
        gradient = observation.predicted - observation.reward
        move_centre(region, gradient / add_observation(region, x, self.curvature))
        project_centre(self.projection, region)


class LocalNewton(NamedTuple):
    """Estimate theta by online Newton steps with the local curvature: V += mu'(x.theta) x x^T.

    `OnlineNewton` adds a bound that is valid in the whole ball, which for a link as curved as the
    exponential is many times too small. No theorem covers this estimator under heavy tails (light
    tails: Zhang, Xu, Zhao, Sugiyama 2025).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link
        mu, the mean reward as a function of x.theta.
    penalty : float
        lambda; V starts at lambda I.
    projection : Projection
        Projection of theta after each reward.

    Examples
    --------
    >>> from heavybandits.estimators import BallProjection
    >>> from heavybandits.links import Exponential
    >>> LocalNewton(3, Exponential(), 1.0, BallProjection(1.0)).init().region.centre.shape
    (3,)
    """

    dim: Count
    link: Link
    penalty: Weight
    projection: Projection

    def init(self) -> RegionEstimate:
        return RegionEstimate(make_region(self.dim, self.penalty))

    def predict(self, estimate: RegionEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: RegionEstimate, observation: Observation) -> None:
        region, x = estimate.region, observation.x
        gradient = observation.predicted - observation.reward
        weight = slope(self.link, dot(x, region.centre))
        move_centre(region, gradient / add_observation(region, x, weight))
        project_centre(self.projection, region)

    def revise(self, estimate: RegionEstimate, x: Floats, before: float, after: float) -> None:
        """One Newton step more: the loss so far changes by (before - after) x.theta."""
        shift_centre(estimate.region, x, after - before)
        project(self.projection, estimate.region)


class Ridge(NamedTuple):
    """Estimate theta by ridge regression, the estimator of linear bandits.

        theta = (penalty I + X^T X)^-1 X^T y

    The recursive form theta += V^-1 x (y - x.theta) gives the same point without X^T y.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    penalty : float
        lambda; V starts at lambda I.

    Examples
    --------
    >>> float(Ridge(3, 1.0).init().region.design.trace())
    3.0
    """

    dim: Count
    penalty: Weight

    def init(self) -> RegionEstimate:
        return RegionEstimate(make_region(self.dim, self.penalty))

    def predict(self, estimate: RegionEstimate, z: float) -> float:
        return z

    def update(self, estimate: RegionEstimate, observation: Observation) -> None:
        region, x = estimate.region, observation.x
        gradient = observation.predicted - observation.reward
        move_centre(region, gradient / add_observation(region, x, 1.0))

    def revise(self, estimate: RegionEstimate, x: Floats, before: float, after: float) -> None:
        """theta += V^-1 x (after - before), as if the reward had been `after` from the start."""
        shift_centre(estimate.region, x, after - before)
