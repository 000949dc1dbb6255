"""GLOC: an online learner's predictions turned into a confidence region (Jun et al. 2017)."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..linalg import dot
from ..regions import PROJECTIONS, SQUARE, Region, make_region, move_centre, widen
from ..verbs import mean, project

GRADIENTS, RESIDUALS = 0, 1  # places in OnlineToConfidenceEstimate.sums


class OnlineToConfidenceEstimate(NamedTuple):
    """State of `OnlineToConfidence`: its region, the online iterate and two running sums."""

    region: Region
    iterate: Any
    sums: Any


class OnlineToConfidence(NamedTuple):
    """An online Newton step predicts; ridge regression on the PREDICTIONS is the estimate.

    z = x.iterate, g = mu(z) - y; V += x x^T;
    iterate = V-norm projection of iterate - (g/kappa) V^-1 x;  centre = V^-1 sum z x.

    The sums are G = sum g^2 ||x||^2_{V^-1} with the V that includes x, and the least value of the
    ridge objective, sum z^2 - centre.sum z x, which a round raises by the squared error of the old
    centre over 1 + ||x||^2_{V^-1}. The two matrices of the paper are one, since both start from
    `penalty` I.

    >>> from heavybandits import Logistic, NoProjection
    >>> OnlineToConfidence(3, Logistic(), 0.2, 1.0, NoProjection()).init().iterate.shape
    (3,)
    """

    dim: int
    link: Any
    kappa: float
    penalty: float
    projection: Any

    def init(self) -> OnlineToConfidenceEstimate:
        region = make_region(self.dim, self.penalty)
        return OnlineToConfidenceEstimate(region, np.zeros(self.dim), np.zeros(2))

    def predict(self, estimate: Any, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: Any, x: Any, reward: float, rewards: Any) -> None:
        region, iterate, sums = estimate
        z = dot(x, iterate)
        gradient = mean(self.link, z) - reward
        residual = z - dot(x, region.centre)
        growth = widen(region, x, 1.0)
        sums[GRADIENTS] += gradient * gradient * region.numbers[SQUARE] / growth
        sums[RESIDUALS] += residual * residual / growth
        move_centre(region, -residual / growth)
        step = gradient / (self.kappa * growth)
        for i in range(x.size):
            iterate[i] -= step * region.direction[i]
        online = Region(
            iterate,
            region.inverse,
            region.design,
            region.direction,
            region.numbers,
            region.counts,
            region.scratch,
            region.recent,
        )
        if project(self.projection, online):
            region.counts[PROJECTIONS] += 1


class OnlineToConfidenceRegion(NamedTuple):
    """The region of Jun et al. (2017), B being their bound on the regret of the Newton step:

    beta = 1 + 4B/kappa + 8R^2/kappa^2 ln((2/delta) sqrt(1 + 2B/kappa + 4R^4/(kappa^4 delta^2)))
    + lambda S^2 - (sum z^2 - centre.sum z x),  B = G/(2 kappa) + 2 kappa S^2 lambda.

    >>> region = OnlineToConfidenceRegion(kappa=0.2, spread=0.5, norm=1.0, penalty=4.0, delta=0.01)
    >>> region.radius(None, 0)
    2.0
    """

    kappa: float
    spread: float
    norm: float
    penalty: float
    delta: float

    def radius(self, estimate: Any, t: int) -> float:
        start = self.penalty * self.norm * self.norm
        if t == 0:
            return math.sqrt(start)
        regret = estimate.sums[GRADIENTS] / (2.0 * self.kappa) + 2.0 * self.kappa * start
        ratio = self.spread * self.spread / (self.kappa * self.kappa)
        inner = 1.0 + 2.0 / self.kappa * regret + 4.0 * ratio * ratio / (self.delta * self.delta)
        tail = 8.0 * ratio * (math.log(2.0 / self.delta) + 0.5 * math.log(inner))
        beta = 1.0 + 4.0 / self.kappa * regret + tail + start - estimate.sums[RESIDUALS]
        return math.sqrt(max(beta, 0.0))


class GradientSum(NamedTuple):
    """sqrt(c G), G = sum g^2 ||x||^2_{V^-1}: the radius of GLOC in experiments, theirs and others'.

    >>> from heavybandits.estimators import NoProjection
    >>> from heavybandits import Identity
    >>> gloc = OnlineToConfidence(2, Identity(), 1.0, 1.0, NoProjection())
    >>> GradientSum(scale=4.0).radius(gloc.init(), 0)
    0.0
    """

    scale: float

    def radius(self, estimate: Any, t: int) -> float:
        return math.sqrt(self.scale * estimate.sums[GRADIENTS])
