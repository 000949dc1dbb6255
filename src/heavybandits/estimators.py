"""Estimators: theta-hat and its design matrix, from one cleaned reward at a time."""

from typing import Any, NamedTuple

from .linalg import norm
from .projections import project_ball
from .regions import EXPECTED, PROJECTIONS, STRAYED, Region, make_region, move_centre, widen
from .verbs import mean, project


class BallProjection(NamedTuple):
    """The centre's nearest point of {||theta|| <= S} in the V-norm: what the theorems need.

    >>> BallProjection(norm=1.0)
    BallProjection(norm=1.0)
    """

    norm: float

    def project(self, region: Any) -> bool:
        if norm(region.centre) <= self.norm:
            return False
        project_ball(region.inverse, region.centre, self.norm, region.scratch)
        return True


class Rescaling(NamedTuple):
    """The centre scaled back to length S: cheap, and not the projection the proofs use.

    >>> Rescaling(norm=2.0).norm
    2.0
    """

    norm: float

    def project(self, region: Any) -> bool:
        length = norm(region.centre)
        if length <= self.norm:
            return False
        for i in range(region.centre.size):
            region.centre[i] *= self.norm / length
        return True


class NoProjection(NamedTuple):
    """The centre left where it is, as the paper's equation (2) writes its baselines.

    >>> NoProjection().project(None)
    False
    """

    def project(self, region: Any) -> bool:
        return False


class NewtonEstimate(NamedTuple):
    """State of `OnlineNewton`."""

    region: Region


class OnlineNewton(NamedTuple):
    """The online Newton step: one pass, O(d^2) a reward, nothing stored (Algorithm 1, lines 7-9).

    g = (mu(x.theta) - y) x;  V += curvature x x^T;
    theta = argmin_{||theta'|| <= S} ||theta' - theta||_V^2 / 2 + theta'.g, which is the V-norm
    projection of theta - V^-1 g. `curvature` is kappa / 2 in the paper, `penalty` its lambda.

    >>> from heavybandits import Logistic
    >>> OnlineNewton(10, Logistic(), 0.098, 1.0, BallProjection(1.0)).init().region.centre.shape
    (10,)
    """

    dim: int
    link: Any
    curvature: float
    penalty: float
    projection: Any

    def init(self) -> NewtonEstimate:
        return NewtonEstimate(make_region(self.dim, self.penalty))

    def predict(self, estimate: Any, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: Any, x: Any, reward: float, rewards: Any) -> None:
        region = estimate.region
        gradient = region.numbers[EXPECTED] - reward
        move_centre(region, gradient / widen(region, x, self.curvature))
        if project(self.projection, region):
            region.counts[PROJECTIONS] += 1
            region.numbers[STRAYED] = 1.0


class Ridge(NamedTuple):
    """Ridge regression, the estimator of linear bandits: theta = (penalty I + X^T X)^-1 X^T y.

    Kept in recursive form, theta += V^-1 x (y - x.theta), the same point without X^T y.

    >>> float(Ridge(3, 1.0).init().region.design.trace())
    3.0
    """

    dim: int
    penalty: float

    def init(self) -> NewtonEstimate:
        return NewtonEstimate(make_region(self.dim, self.penalty))

    def predict(self, estimate: Any, z: float) -> float:
        return z

    def update(self, estimate: Any, x: Any, reward: float, rewards: Any) -> None:
        region = estimate.region
        gradient = region.numbers[EXPECTED] - reward
        move_centre(region, gradient / widen(region, x, 1.0))
