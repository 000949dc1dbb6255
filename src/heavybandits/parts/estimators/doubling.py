"""CRAL's estimators: Huber regression whose threshold doubles when too many rewards reach it."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ..._utils.validation import Count, Fraction, Index, Interval, NonNegative, Positive, Weight
from ...core.allocation import zeros
from ...core.arm_buffer import ArmBuffer, pick
from ...core.arrays import Floats, Integers
from ...core.confidence_region import (
    Region,
    add_by_factor,
    count_clipped,
    make_region,
    measure_by_factor,
    move_centre,
    squared_norm,
    update_count,
)
from ...core.dispatch import maximise, mean
from ...core.factor import LANES, measure_columns, solve_lower
from ...core.jit import jitable
from ...core.linalg import LARGEST, bounded, combine
from ...core.protocols import ArmSet, Link, Observation, Projection
from .projection import project_centre

_THRESHOLD, _NOVELTY, _ENERGY, _RADIUS = range(4)  # places in DoublingEstimate.numbers
CAP = 4.0  # 4 sqrt(c b) p, the least unit of a residual
DOUBLINGS = 3.0  # the threshold doubles when N > 3 l
FIRST = 16.0  # evidence N at which the threshold of the tuned form grows for the first time

Ratio = Annotated[float, Interval(1.0, 1e20)]
Growth = Annotated[float, Interval(1.0, 1e20, "(]")]


class DoublingEstimate(NamedTuple):
    """State of `DoublingHuber` and `GrowingHuber`.

    factor: the triangle R of V = R^T R; numbers: the threshold tau, N (the squares of the clipped
    steps since tau last grew, in units of tau^2), B (the squares of all clipped steps, which the
    tuned form divides by w^2 where w > 1) and the radius; counts: how often tau grew; noise_scale:
    s of the reward to come, written before `learn`.
    """

    region: Region
    factor: Floats
    numbers: Floats
    counts: Integers
    noise_scale: Floats
    scratch: Floats


def make_estimate(
    dim: int, penalty: float, noise_scale: float, threshold: float = 0.0, radius: float = 0.0
) -> DoublingEstimate:
    """Make the state before any reward."""
    factor = zeros(dim, dim)
    np.fill_diagonal(factor, math.sqrt(penalty))
    numbers, scale = np.array([threshold, 0.0, 0.0, radius]), np.array([noise_scale])
    region, scratch = make_region(dim, penalty), zeros(dim, LANES)
    return DoublingEstimate(region, factor, numbers, np.zeros(1, np.int64), scale, scratch)


def is_valid_estimate(estimate: DoublingEstimate) -> bool:
    """Return True if R has a positive diagonal and no number is negative."""
    numbers = np.concatenate([estimate.numbers, estimate.noise_scale])
    return bool((estimate.factor.diagonal() > 0.0).all() and (numbers >= 0.0).all())


@jitable
def threshold_of(estimate: DoublingEstimate) -> float:
    """Return tau."""
    return estimate.numbers[_THRESHOLD]


@jitable
def energy_of(estimate: DoublingEstimate) -> float:
    """Return B, the sum of the squares of all clipped steps (see `DoublingEstimate`)."""
    return estimate.numbers[_ENERGY]


@jitable
def radius_of(estimate: DoublingEstimate) -> float:
    """Return the radius that the estimator keeps for the next choice."""
    return estimate.numbers[_RADIUS]


@jitable
def best_arm_by_factor(
    estimate: DoublingEstimate, arms: ArmSet, buffer: ArmBuffer, width: float
) -> int:
    """Return the optimistic arm; the norms of finitely many arms are those of the factor."""
    region = estimate.region
    arm = maximise(arms, buffer, region, width)
    if arm < 0:
        return arm
    measure_columns(estimate.factor, buffer.features, buffer.squares, estimate.scratch)
    combine(buffer.features, region.centre, buffer.scores)
    return pick(buffer, width)


@jitable
def norm_by_factor(estimate: DoublingEstimate, x: Floats) -> float:
    """Return ||x||_{V^-1}."""
    return math.sqrt(solve_lower(estimate.factor, x, estimate.region.scratch[0]))


@jitable
def step_share(square: float) -> float:
    """Return u = w / sqrt(1 + w^2), for `square` = w^2."""
    return math.sqrt(square / (1.0 + square))


@jitable
def learn_clipped(
    estimate: DoublingEstimate,
    x: Floats,
    error: float,
    sigma: float,
    curvature: float,
    weighted: bool,
) -> float:
    """Make one step with psi = clip(error, tau/u), in units of sigma; return u psi.

    After `measure_by_factor`: V += curvature x x^T / sigma^2; theta += V^-1 x psi / sigma. If
    `weighted`, a clipped reward counts in V with the weight psi / error.
    """
    region, weight = estimate.region, curvature / (sigma * sigma)
    share = step_share(weight * squared_norm(region))
    limit = threshold_of(estimate) / share if share > 0.0 else LARGEST  # 0 by underflow only
    kept = min(max(error, -limit), limit)
    if kept != error:
        count_clipped(region)
        if weighted:
            weight *= kept / error
    growth = add_by_factor(region, estimate.factor, x, weight)
    move_centre(region, -kept / (sigma * growth))
    return share * kept


@jitable
def grow_threshold(
    estimate: DoublingEstimate, step: float, energy: float, limit: float, growth: float
) -> None:
    """B += energy; N += (step / tau)^2; if N > limit, tau *= growth and N restarts at 0."""
    numbers, share = estimate.numbers, step / estimate.numbers[_THRESHOLD]
    numbers[_ENERGY] += energy
    numbers[_NOVELTY] += share * share
    if numbers[_NOVELTY] > limit:
        numbers[_THRESHOLD] *= growth
        numbers[_NOVELTY] = 0.0
        estimate.counts[0] += 1


class DoublingHuber(NamedTuple):
    """Estimate theta by one-pass Huber regression that finds its threshold: the estimator of CRAL.

    It receives neither a moment nor its order. With p = ||x||_{V^-1}, l = ln(10 t^2 (k+1)^2 /
    delta) after k doublings (with a horizon T: ln(5 T (k+1)^2 / delta)), beta = c tau l + r and
    b = beta / tau:

        sigma = max{s, 4 ratio sqrt(curvature c b) p, 4 sqrt(corruption p / (tau l))}
        w^2 = curvature p^2 / sigma^2;  u = w / sqrt(1 + w^2)
        psi = clip((y - mu(x.theta)) / sigma, tau / u);  V += curvature x x^T / sigma^2
        theta = the projection of theta + V^-1 x psi / sigma
        N += (u psi / tau)^2;  if N > 3 l: tau = 2 tau, N = 0

    tau starts at r / l. s is `noise_scale`, or the value of `DoublingEstimate.noise_scale` when a
    reward comes. An arm x = 0 changes nothing. The Cholesky factor of V has the digits of every
    direction for any penalty. Use this estimator with `NoFilter` and `DoublingRadius`. Proofs:
    docs/maths/cral.md.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link
        mu, the mean reward as a function of x.theta.
    curvature : float
        kappa, the smallest slope of the link.
    ratio : float
        L / kappa, the largest slope divided by the smallest.
    penalty : float
        lambda; V starts at lambda I.
    projection : Projection
        Projection of theta after each reward.
    noise_scale : float
        s, in the unit of the reward.
    factor : float
        c, which is 9 + 20 C.
    start : float
        r, at least sqrt(curvature penalty) ||theta*||.
    delta : float
        Probability with which the confidence region may miss theta.
    horizon : int, default 0
        T if it is known; 0 for a region valid at all times.
    corruption : float, default 0.0
        Bound on the sum of |falsified minus true reward|, in the unit of the reward.

    Examples
    --------
    >>> from heavybandits.estimators import NoProjection
    >>> from heavybandits.links import Identity
    >>> step = DoublingHuber(2, Identity(), 1.0, 1.0, 1.0, NoProjection(), 1.0, 9.0, 1.0, 0.05)
    >>> round(step.threshold_in_force(step.init()), 6)
    0.188739
    """

    dim: Count
    link: Link
    curvature: Weight
    ratio: Ratio
    penalty: Weight
    projection: Projection
    noise_scale: Weight
    factor: Positive
    start: Weight
    delta: Fraction
    horizon: Index = 0
    corruption: NonNegative = 0.0

    def init(self) -> DoublingEstimate:
        level = confidence(self, 1, 0)
        tau = self.start / level
        radius = beta_of(self, tau, level) / math.sqrt(self.curvature)
        return make_estimate(self.dim, self.penalty, self.noise_scale, tau, radius)

    def is_valid(self, estimate: DoublingEstimate) -> bool:
        return is_valid_estimate(estimate) and bool(threshold_of(estimate) > 0.0)

    def threshold_in_force(self, memory: DoublingEstimate) -> float:
        """Return tau, before it grows with what is known of an arm."""
        return float(threshold_of(memory))

    def predict(self, estimate: DoublingEstimate, z: float) -> float:
        return mean(self.link, z)

    def best_arm(
        self, estimate: DoublingEstimate, arms: ArmSet, buffer: ArmBuffer, width: float
    ) -> int:
        return best_arm_by_factor(estimate, arms, buffer, width)

    def arm_norm(self, estimate: DoublingEstimate, x: Floats) -> float:
        return norm_by_factor(estimate, x)

    def measure_arm(self, estimate: DoublingEstimate, x: Floats) -> float:
        return measure_by_factor(estimate.region, estimate.factor, x)

    def update(self, estimate: DoublingEstimate, observation: Observation) -> None:
        norm = observation.norm
        if norm > 0.0:
            level = confidence(self, update_count(estimate.region) + 1, estimate.counts[0])
            sigma = error_unit(self, estimate, norm, level)
            error = (observation.reward - observation.predicted) / sigma
            step = learn_clipped(estimate, observation.x, error, sigma, self.curvature, False)
            project_centre(self.projection, estimate.region)
            grow_threshold(estimate, step, step * step, DOUBLINGS * level, 2.0)
            keep_radius(self, estimate)


@jitable
def confidence(part: DoublingHuber, t: int, doublings: int) -> float:
    """Return l = ln(10 t^2 (k+1)^2 / delta), or ln(5 T (k+1)^2 / delta) with a horizon T."""
    epochs = float(doublings + 1) * float(doublings + 1)
    if part.horizon > 0:
        return math.log(5.0 * float(part.horizon) * epochs / part.delta)
    return math.log(10.0 * (float(t) * float(t)) * epochs / part.delta)


@jitable
def beta_of(part: DoublingHuber, tau: float, level: float) -> float:
    """Return beta = c tau l + r."""
    return part.factor * tau * level + part.start


@jitable
def error_unit(part: DoublingHuber, estimate: DoublingEstimate, norm: float, level: float) -> float:
    """Return sigma, the unit of the residual (see `DoublingHuber`)."""
    tau = threshold_of(estimate)
    ratio = beta_of(part, tau, level) / tau
    cap = CAP * part.ratio * math.sqrt(part.curvature * part.factor * ratio)
    sigma = max(estimate.noise_scale[0], cap * norm)
    if part.corruption > 0.0:
        sigma = max(sigma, CAP * math.sqrt(part.corruption * norm / (tau * level)))
    return sigma


@jitable
def keep_radius(part: DoublingHuber, estimate: DoublingEstimate) -> None:
    """Compute the radius of the next choice, beta / sqrt(curvature)."""
    level = confidence(part, update_count(estimate.region) + 1, estimate.counts[0])
    beta = beta_of(part, threshold_of(estimate), level)
    estimate.numbers[_RADIUS] = beta / math.sqrt(part.curvature)


class GrowingHuber(NamedTuple):
    """Estimate theta by one-pass Huber regression without a given scale.

    It is the tuned form of `DoublingHuber`; no theorem covers it. With p = ||x||_{V^-1},
    w^2 = curvature p^2 / s^2, u = w / sqrt(1 + w^2) and e = (y - mu(x.theta)) / s:

        tau = |e| u at the first e that is not zero;  psi = clip(e, tau / u);  q = psi / e
        V += q curvature x x^T / s^2;  theta = the projection of theta + V^-1 x psi / s
        N += (u psi / tau)^2;  if N > min(limit, 16 (k + 1)): tau = growth tau, N = 0, k = k + 1
        B += (u psi)^2 / max(1, w^2)

    q is the weight of a reward in Huber regression, 1 if the reward was not clipped. While tau is
    too small, rewards are clipped, and their arms stay uncertain until they are played again. If
    w > 1, the error e is mostly the effect of directions that are not known yet. So B counts less
    of it: B is about the noise. The first growths of tau need less evidence, because one small
    error may have set the first tau. With the identity link, multiplying all rewards by a power of
    two changes no choice and multiplies theta exactly. Use this estimator with `NoFilter` and
    `GrowingRadius`.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link
        mu, the mean reward as a function of x.theta.
    projection : Projection
        Projection of theta after each reward.
    curvature : float, default 1.0
        Weight of a reward in V.
    penalty : float, default 0.001
        lambda; V starts at lambda I.
    noise_scale : float, default 1.0
        s, in the unit of the reward.
    limit : float, default 64.0
        Evidence N at which the threshold grows, after the first growths.
    growth : float, default sqrt(2)
        Factor by which the threshold grows, above 1.

    Examples
    --------
    >>> from heavybandits.estimators import NoProjection
    >>> from heavybandits.links import Identity
    >>> GrowingHuber(2, Identity(), NoProjection()).growth
    1.4142135623730951
    """

    dim: Count
    link: Link
    projection: Projection
    curvature: Weight = 1.0
    penalty: Weight = 0.001
    noise_scale: Weight = 1.0
    limit: Positive = 64.0
    growth: Growth = math.sqrt(2.0)

    def init(self) -> DoublingEstimate:
        return make_estimate(self.dim, self.penalty, self.noise_scale)

    def is_valid(self, estimate: DoublingEstimate) -> bool:
        return is_valid_estimate(estimate)

    def threshold_in_force(self, memory: DoublingEstimate) -> float:
        """Return tau, before it grows with what is known of an arm."""
        return float(threshold_of(memory))

    def predict(self, estimate: DoublingEstimate, z: float) -> float:
        return mean(self.link, z)

    def best_arm(
        self, estimate: DoublingEstimate, arms: ArmSet, buffer: ArmBuffer, width: float
    ) -> int:
        return best_arm_by_factor(estimate, arms, buffer, width)

    def arm_norm(self, estimate: DoublingEstimate, x: Floats) -> float:
        return norm_by_factor(estimate, x)

    def measure_arm(self, estimate: DoublingEstimate, x: Floats) -> float:
        return measure_by_factor(estimate.region, estimate.factor, x)

    def update(self, estimate: DoublingEstimate, observation: Observation) -> None:
        norm = observation.norm
        if norm > 0.0:
            scale = estimate.noise_scale[0]
            error = bounded((observation.reward - observation.predicted) / scale)
            square = self.curvature * (norm / scale) * (norm / scale)
            if threshold_of(estimate) == 0.0:
                estimate.numbers[_THRESHOLD] = abs(error) * step_share(square)
            step = learn_clipped(estimate, observation.x, error, scale, self.curvature, True)
            project_centre(self.projection, estimate.region)
            if threshold_of(estimate) > 0.0:
                limit = min(self.limit, FIRST * float(estimate.counts[0] + 1))
                energy = step * step / max(square, 1.0)
                grow_threshold(estimate, step, energy, limit, self.growth)
