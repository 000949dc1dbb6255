"""Huber regression on the whole history, fitted again as rewards come: Heavy-OFUL and GAdaOFUL."""

import math
from typing import NamedTuple

from ..._utils.validation import Count, NonNegative, Share, Weight
from ...core.allocation import zeros
from ...core.arrays import Floats
from ...core.confidence_region import (
    Region,
    add_observation,
    count_fallback,
    count_projection,
    log_volume,
    make_region,
    set_clipped,
    update_count,
)
from ...core.dispatch import mean, slope
from ...core.jit import jitable, outlined
from ...core.linalg import cholesky, dot, norm, solve_cholesky, stretch, subtract
from ...core.protocols import Link, Observation

EVERY_ROUND = 500  # updates after each of which a new fit is made
GROWTH = math.log(1.05)  # of ln det V, after which later ones are made
STEPS = 100  # Newton steps at most, for one fit and for one multiplier
VANISHED = 1e-14  # the gradient, in units of the sum of its terms' sizes
EXACT = 1e-11  # how exactly the sphere is met before theta is put on it
_GRADIENT, _STEP, _TRIAL, _AFTER = range(4)  # rows of BatchHuberEstimate.vectors
FAR = 1e150  # a residual whose square is still finite: beyond it, psi is tau
_FITTED = 0  # place in BatchHuberEstimate.numbers


class BatchHuberEstimate(NamedTuple):
    """State of `BatchHuber`: every arm, reward, sigma and tau so far, and scratch for the fit."""

    region: Region
    features: Floats
    rewards: Floats
    scales: Floats
    limits: Floats
    hessian: Floats
    factor: Floats
    vectors: Floats
    numbers: Floats  # ln det V at the last fit


@jitable
def influence(z: float, tau: float, smooth: bool) -> tuple[float, float]:
    """psi and psi' at the residual z: of Huber's loss, or of the pseudo-Huber loss if `smooth`."""
    if smooth:
        z = max(-FAR, min(z, FAR))
        root = math.sqrt(tau * tau + z * z)
        ratio = tau / root
        return ratio * z, ratio * ratio * ratio
    if abs(z) <= tau:
        return z, 1.0
    return math.copysign(tau, z), 0.0


@jitable
def fill_gradient(
    part: "BatchHuber", estimate: BatchHuberEstimate, theta: Floats, shift: float, out: Floats
) -> float:
    """out = (ridge + shift) theta - sum_s x_s psi(z_s) / sigma_s; returns sum |psi| / sigma."""
    total = 0.0
    for i in range(out.size):
        out[i] = (part.ridge + shift) * theta[i]
    for s in range(update_count(estimate.region)):
        x, sigma = estimate.features[s], estimate.scales[s]
        z = (estimate.rewards[s] - mean(part.link, dot(x, theta))) / sigma
        pull = influence(z, estimate.limits[s], part.smooth)[0] / sigma
        subtract(out, pull, x)
        total += abs(pull)
    return total


@jitable
def fill_hessian(
    part: "BatchHuber", estimate: BatchHuberEstimate, theta: Floats, shift: float
) -> int:
    """hessian = (ridge + shift) I + sum_s x_s x_s^T mu'(x_s.theta) psi'(z_s) / sigma_s^2, its lower
    triangle; returns how many residuals are beyond their tau."""
    hessian, beyond = estimate.hessian, 0
    for i in range(theta.size):
        for j in range(i):
            hessian[i, j] = 0.0
        hessian[i, i] = part.ridge + shift
    for s in range(update_count(estimate.region)):
        x, sigma = estimate.features[s], estimate.scales[s]
        u = dot(x, theta)
        z = (estimate.rewards[s] - mean(part.link, u)) / sigma
        rate = influence(z, estimate.limits[s], part.smooth)[1]
        beyond += 1 if abs(z) > estimate.limits[s] else 0
        weight = slope(part.link, u) * rate / (sigma * sigma)
        for i in range(theta.size):
            factor = weight * x[i]
            for j in range(i + 1):
                hessian[i, j] += factor * x[j]
    return beyond


@jitable
def minimise(part: "BatchHuber", estimate: BatchHuberEstimate, theta: Floats, shift: float) -> int:
    """Newton's method from `theta`, steps halved until the gradient falls, to rounding."""
    vectors, beyond = estimate.vectors, 0
    gradient, step = vectors[_GRADIENT], vectors[_STEP]
    trial, after = vectors[_TRIAL], vectors[_AFTER]
    total = fill_gradient(part, estimate, theta, shift, gradient)
    size = norm(gradient)
    for _ in range(STEPS):
        beyond = fill_hessian(part, estimate, theta, shift)
        cholesky(estimate.hessian, estimate.factor)
        solve_cholesky(estimate.factor, gradient, step)
        length, fallen = 1.0, size
        while fallen >= size and length > 1e-9:
            for i in range(theta.size):
                trial[i] = theta[i] - length * step[i]
            fill_gradient(part, estimate, trial, shift, after)
            fallen = norm(after)
            length *= 0.5
        if fallen >= size:
            break
        for i in range(theta.size):
            theta[i], gradient[i] = trial[i], after[i]
        size = fallen
        if size <= VANISHED * total:
            break
    return beyond


@jitable
def constrain(part: "BatchHuber", estimate: BatchHuberEstimate, theta: Floats) -> int:
    """The minimum on the sphere ||theta|| = S: `minimise` at the multiplier that leads there.

    The length falls as the multiplier grows; Newton's method on 1/S - 1/length, kept in a bracket.
    """
    low, high, shift, beyond = 0.0, math.inf, 0.0, 0
    step, trial = estimate.vectors[_STEP], estimate.vectors[_TRIAL]
    for _ in range(STEPS):
        length = norm(theta)
        if abs(length - part.norm) <= EXACT * part.norm:
            break
        if length > part.norm:
            low = shift
        else:
            high = shift
        for i in range(theta.size):
            trial[i] = theta[i]
        solve_cholesky(estimate.factor, trial, step)
        shift += length * length / dot(theta, step) * (length - part.norm) / part.norm
        if not low < shift < high:
            shift = 0.5 * (low + high) if high < math.inf else 2.0 * low + part.ridge
        beyond = minimise(part, estimate, theta, shift)
    stretch(theta, part.norm / norm(theta))
    return beyond


@outlined
def fit(part: "BatchHuber", estimate: BatchHuberEstimate) -> None:
    """theta = argmin_{||theta|| <= S} of the loss of all rewards so far, from the last theta."""
    region = estimate.region
    beyond = minimise(part, estimate, region.centre, 0.0)
    if norm(region.centre) > part.norm:
        beyond = constrain(part, estimate, region.centre)
        count_projection(region)
    if not math.isfinite(norm(region.centre)):  # numbers too far apart: the next fit restarts
        region.centre[:], estimate.vectors[:] = 0.0, 0.0
        estimate.hessian[:], estimate.factor[:] = 0.0, 0.0
        count_fallback(region)
    set_clipped(region, beyond)
    estimate.numbers[_FITTED] = log_volume(region)


class BatchHuber(NamedTuple):
    """Estimate theta by Huber regression on all rewards.

    With p = ||x||_{V^-1} and w = p / sigma:

        sigma = max{nu, least, steady p, root sqrt(p)}
        tau = threshold t^q sqrt(1 + w^2) / w
        V += x x^T / sigma^2

    theta solves ridge theta = sum_s (x_s / sigma_s) psi_s((y_s - mu(x_s.theta)) / sigma_s) in the
    ball ||theta|| <= S. Up to the 500th reward every reward leads to a new fit; later only when det
    V has grown by 5 percent. A fit costs O(t d^2), and the memory is O(T d). See
    docs/maths/batch_huber.md.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    capacity : int
        T, the largest number of rewards.
    link : Link
        mu, the mean reward as a function of x.theta.
    penalty : float
        lambda; V starts at lambda I.
    ridge : float
        Ridge penalty of the regression.
    norm : float
        S, a bound on ||theta||.
    noise_scale : float
        nu, in the unit of the reward.
    threshold : float
        Threshold of the first reward, in units of sigma.
    power : float, default 0.0
        q, the power of t in the threshold.
    least : float, default 0.0
        Lower bound on sigma, in the unit of the reward.
    steady : float, default 0.0
        Multiplier of p in sigma.
    root : float, default 0.0
        Multiplier of sqrt(p) in sigma.
    smooth : bool, default False
        Use the pseudo-Huber loss instead of Huber's.

    Examples
    --------
    >>> from heavybandits.links import Identity
    >>> BatchHuber(2, 100, Identity(), 2.0, 2.0, 1.0, 1.0, 1.0).init().features.shape
    (100, 2)
    """

    dim: Count
    capacity: Count
    link: Link
    penalty: Weight
    ridge: Weight
    norm: Weight
    noise_scale: Weight
    threshold: Weight
    power: Share = 0.0
    least: NonNegative = 0.0
    steady: NonNegative = 0.0
    root: NonNegative = 0.0
    smooth: bool = False

    def init(self) -> BatchHuberEstimate:
        return BatchHuberEstimate(
            region=make_region(self.dim, self.penalty),
            features=zeros(self.capacity, self.dim),
            rewards=zeros(self.capacity),
            scales=zeros(self.capacity),
            limits=zeros(self.capacity),
            hessian=zeros(self.dim, self.dim),
            factor=zeros(self.dim, self.dim),
            vectors=zeros(4, self.dim),
            numbers=zeros(1),
        )

    def is_valid(self, state: BatchHuberEstimate) -> bool:
        """Return True if the history of a state file fits and its scales are positive."""
        count = update_count(state.region)
        return bool(count <= self.capacity and (state.scales[:count] > 0.0).all())

    def predict(self, estimate: BatchHuberEstimate, z: float) -> float:
        return mean(self.link, z)

    def update(self, estimate: BatchHuberEstimate, observation: Observation) -> None:
        region, numbers = estimate.region, estimate.numbers
        x, p, place = observation.x, observation.norm, update_count(region)
        if place >= self.capacity:
            return  # callers reject this earlier
        sigma = max(self.noise_scale, self.least, self.steady * p, self.root * math.sqrt(p))
        w = max(p / sigma, 1e-150)  # an arm of zeros is never clipped
        for i in range(x.size):
            estimate.features[place, i] = x[i]
        estimate.rewards[place], estimate.scales[place] = observation.reward, sigma
        growth = math.pow(place + 1, self.power)
        estimate.limits[place] = self.threshold * growth * math.sqrt(1.0 + w * w) / w
        add_observation(region, x, 1.0 / (sigma * sigma))
        if place < EVERY_ROUND or log_volume(region) >= numbers[_FITTED] + GROWTH:
            fit(self, estimate)
