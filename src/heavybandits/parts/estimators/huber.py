"""CRHL's estimator: a Newton step on a clipped residual, in units that shrink with the doubt."""

import math
from typing import NamedTuple

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Count, NonNegative, Share, Weight
from ...core.allocation import zeros
from ...core.arrays import Floats
from ...core.confidence_region import (
    Region,
    add_observation,
    count_clipped,
    make_region,
    move_centre,
    squared_norm,
    update_count,
)
from ...core.dispatch import mean, radius
from ...core.jit import jitable
from ...core.part import check_reads
from ...core.protocols import Link, Observation, Projection, Radius
from .projection import project_centre


class HuberEstimate(NamedTuple):
    """State of `HuberNewton`: its region, and nu of the reward to come, written before `learn`."""

    region: Region
    noise_scale: Floats


@jitable
def error_scale(
    part: "HuberNewton", estimate: HuberEstimate, norm: float, t: int, growth: float
) -> float:
    """Return sigma of round t, the unit of the residual (see `HuberNewton`)."""
    sigma = max(estimate.noise_scale[0], part.least, part.steady * norm)
    if part.doubt > 0.0:
        beta = radius(part.radius, estimate, t - 1)
        sigma = max(sigma, norm * math.sqrt(part.doubt * beta / growth))
    if part.corruption > 0.0:
        corrupted = part.corruption * norm / radius(part.volume, estimate, t)
        sigma = max(sigma, math.sqrt(corrupted))
    return sigma


@jitable
def clip_error(error: float, square: float, limit: float) -> float:
    """Return the error clipped to |error| <= limit sqrt(1 + w^2)/w, for `square` = w^2."""
    if square * (error * error) <= limit * limit * (1.0 + square):
        return error
    return math.copysign(limit * math.sqrt((1.0 + square) / square), error)


class HuberNewton(NamedTuple):
    """Estimate theta by one-pass Huber regression: the estimator of CRHL.

    With p = ||x||_{V^-1}, w^2 = curvature p^2 / sigma^2 and z = (y - mu(x.theta)) / sigma:

        sigma = max{nu, least, steady p, p sqrt(doubt beta / t^q), sqrt(corruption p / sqrt(K_t))}
        tau = threshold t^q sqrt(1 + w^2) / w;  V += curvature x x^T / sigma^2
        theta = the V-norm projection of theta + V^-1 x clip(z, tau) / sigma

    nu is `noise_scale`, or the value of `HuberEstimate.noise_scale` when a reward comes: it may
    differ from reward to reward. beta is `radius` after t - 1 updates and sqrt(K_t) is `volume`
    after t. The estimator clips and weights rewards itself, so use it with `NoFilter`. Proofs:
    docs/maths/crhl.md.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link
        mu, the mean reward as a function of x.theta.
    curvature : float
        Weight of a reward in V; kappa in the theorem.
    penalty : float
        lambda; V starts at lambda I.
    projection : Projection
        Projection of theta after each reward.
    noise_scale : float
        nu, in the unit of the reward.
    threshold : float
        Threshold of the first reward, in units of sigma.
    power : float
        q, the power of t in the threshold.
    radius : Radius
        beta, used where `doubt` is positive.
    volume : Radius
        sqrt(K_t), used where `corruption` is positive.
    least : float, default 0.0
        Lower bound on sigma, in the unit of the reward.
    steady : float, default 0.0
        Multiplier of p in sigma.
    doubt : float, default 0.0
        Multiplier of beta in sigma.
    corruption : float, default 0.0
        Multiplier of p / sqrt(K_t) in sigma^2. In the theorem it is sqrt(kappa) times the bound on
        the sum of |falsified minus true reward|.

    Examples
    --------
    >>> from heavybandits.estimators import BallProjection
    >>> from heavybandits.links import Logistic
    >>> from heavybandits.radii import LogRadius
    >>> ball, beta = BallProjection(1.0), LogRadius(2.0, 2.0)
    >>> step = HuberNewton(2, Logistic(), 0.2, 1.0, ball, 1.0, 0.5, 0.0, beta, beta)
    >>> step.init().noise_scale
    array([1.])
    """

    dim: Count
    link: Link
    curvature: Weight
    penalty: Weight
    projection: Projection
    noise_scale: Weight
    threshold: Weight
    power: Share
    radius: Radius
    volume: Radius
    least: NonNegative = 0.0
    steady: NonNegative = 0.0
    doubt: NonNegative = 0.0
    corruption: NonNegative = 0.0

    def check(self) -> None:
        check_reads(self.radius, self)
        check_reads(self.volume, self)
        smallest = self._replace(dim=1)  # whatever the dim, asking needs no room
        if self.corruption > 0.0 and not self.volume.radius(smallest.init(), 1) > 0.0:
            raise InvalidInputError("volume must be positive where corruption is, got 0")

    def init(self) -> HuberEstimate:
        noise_scale = zeros(1)
        noise_scale[0] = self.noise_scale
        return HuberEstimate(make_region(self.dim, self.penalty), noise_scale)

    def predict(self, estimate: HuberEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: HuberEstimate, observation: Observation) -> None:
        region = estimate.region
        t = update_count(region) + 1
        growth = math.pow(t, self.power) if self.power > 0.0 else 1.0
        sigma = error_scale(self, estimate, observation.norm, t, growth)
        error = observation.reward - observation.predicted
        weight = self.curvature / (sigma * sigma)
        square = weight * squared_norm(region)
        clipped = clip_error(error, square, self.threshold * growth * sigma)
        if clipped != error:
            count_clipped(region)
        step = clipped / (sigma * sigma) / add_observation(region, observation.x, weight)
        move_centre(region, -step)
        project_centre(self.projection, region)
