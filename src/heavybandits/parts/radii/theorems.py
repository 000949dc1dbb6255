"""Radii of theorems: the root of the papers' gamma or beta after t updates."""

import math
from typing import Annotated, NamedTuple

from ..._utils.validation import Fraction, Interval, NonNegative, Positive, Share
from ...core.confidence_region import log_volume
from ...core.dispatch import squared
from ...core.protocols import Estimate
from ..estimators.online_to_confidence import OnlineToConfidenceEstimate, gradient_sum, residual_sum


class OnlineToConfidenceRadius(NamedTuple):
    """Use the radius of GLOC (Jun et al. 2017).

        beta = 1 + 4B/kappa + 8R^2/kappa^2 ln((2/delta) sqrt(1 + 2B/kappa + 4R^4/(kappa^4 delta^2)))
               + lambda S^2 - (sum z^2 - centre.sum z x)
        B = G/(2 kappa) + 2 kappa S^2 lambda

    B is their bound on the regret of the Newton step.

    Parameters
    ----------
    kappa : float
        Smallest slope of the link.
    noise_scale : float
        R, the sub-Gaussian scale of the noise, in the unit of the reward.
    norm : float
        S, a bound on ||theta||.
    penalty : float
        lambda of the estimator.
    delta : float
        Probability with which the region may miss theta.

    Examples
    --------
    >>> region = OnlineToConfidenceRadius(0.2, noise_scale=0.5, norm=1.0, penalty=4.0, delta=0.01)
    >>> region.radius(None, 0)
    2.0
    """

    kappa: Positive
    noise_scale: NonNegative
    norm: Positive
    penalty: Positive
    delta: Fraction

    def radius(self, estimate: OnlineToConfidenceEstimate, t: int) -> float:
        start = self.penalty * self.norm * self.norm
        if t == 0:
            return math.sqrt(start)
        regret = gradient_sum(estimate) / (2.0 * self.kappa) + 2.0 * self.kappa * start
        ratio = self.noise_scale * self.noise_scale / (self.kappa * self.kappa)
        inner = 1.0 + 2.0 / self.kappa * regret + 4.0 * ratio * ratio / (self.delta * self.delta)
        tail = 8.0 * ratio * (math.log(2.0 / self.delta) + 0.5 * math.log(inner))
        beta = 1.0 + 4.0 / self.kappa * regret + tail + start - residual_sum(estimate)
        return math.sqrt(max(beta, 0.0))


class MedianRadius(NamedTuple):
    """Use the radius of CRMM (Xue et al. 2023, Theorem 3).

        gamma_{t+1} = (bias + tail t^q) volume ln(1 + t/time_scale) + start + drift t^q

    `theory.median_radius` computes the fields.

    Parameters
    ----------
    bias : float
        4U^2.
    tail : float
        C rho.
    drift : float
        2 rho^2 / kappa.
    power : float
        q, the power of t.
    start : float
        lambda S^2, the square of the radius before the first update.
    volume : float
        4d / kappa.
    time_scale : float
        2 lambda d / kappa, in updates.

    Examples
    --------
    >>> MedianRadius(1.0, 1.0, 1.0, 0.0, 4.0, 10.0, 2.0).radius(None, 0)
    2.0
    """

    bias: NonNegative
    tail: NonNegative
    drift: NonNegative
    power: Share
    start: NonNegative
    volume: NonNegative
    time_scale: Positive

    def radius(self, estimate: object, t: int) -> float:
        return math.sqrt(squared(self, t))

    def squared(self, t: int) -> float:
        if t == 0:
            return self.start
        growth = math.pow(t, self.power)
        squares = self.volume * math.log(1.0 + t / self.time_scale)
        return (self.bias + self.tail * growth) * squares + self.start + self.drift * growth


class LogisticRadius(NamedTuple):
    """Use the radius of OL2M (Zhang et al. 2016, Theorem 1).

        gamma = 8S + (8/beta + 16S/3) tau_t + (2/beta) ln(det V / det V_1) + lambda S^2
        tau_t = ln(2 ceil(2 log2 t) t^2 / delta)

    Parameters
    ----------
    beta : float
        1 / (2 (1 + e^S)), the strong convexity of the logistic loss.
    norm : float
        S, a bound on ||theta||.
    penalty : float
        lambda of the estimator.
    delta : float
        Probability with which the region may miss theta.

    Examples
    --------
    >>> LogisticRadius(beta=0.134471, norm=1.0, penalty=1.0, delta=0.01).radius(None, 0)
    1.0
    """

    beta: Positive
    norm: Positive
    penalty: Positive
    delta: Fraction

    def radius(self, estimate: Estimate, t: int) -> float:
        start = self.penalty * self.norm * self.norm
        if t == 0:
            return math.sqrt(start)
        rounds = max(1.0, math.ceil(2.0 * math.log2(t)))
        tau = math.log(2.0 * rounds * t * t / self.delta)
        return math.sqrt(
            8.0 * self.norm
            + (8.0 / self.beta + 16.0 * self.norm / 3.0) * tau
            + 2.0 / self.beta * log_volume(estimate.region)
            + start
        )


class SelfNormalised(NamedTuple):
    """Use the radius of the self-normalised bound (Abbasi-Yadkori et al. 2011).

        R sqrt(ln(det V / det V_1) + 2 ln(1/delta)) + sqrt(lambda) S

    Parameters
    ----------
    noise_scale : float
        R, the sub-Gaussian scale of the noise, in the unit of the reward.
    norm : float
        S, a bound on ||theta||.
    penalty : float
        lambda of the estimator.
    delta : float
        Probability with which the region may miss theta.

    Examples
    --------
    >>> from heavybandits.estimators import Ridge
    >>> round(SelfNormalised(1.0, 1.0, 1.0, 0.01).radius(Ridge(2, 1.0).init(), 0), 4)
    4.0349
    """

    noise_scale: NonNegative
    norm: Positive
    penalty: Positive
    delta: Fraction

    def radius(self, estimate: Estimate, t: int) -> float:
        volume = log_volume(estimate.region) - 2.0 * math.log(self.delta)
        return self.noise_scale * math.sqrt(volume) + math.sqrt(self.penalty) * self.norm


class TruncatedRadius(NamedTuple):
    """Use the radius of CRT after t rounds (Medina and Yang 2016, Theorem 1).

        2 sqrt(2 t^{1/(1+eps)} (ln(det(V)^{1/2}/delta) + v^2 ln t)) + S

    Corollary 2 has a separate bias without the power of t; the proof needs the theorem:

        2 sqrt(2 t^{1/(1+eps)} ln(det(V)^{1/2}/delta)) + sqrt(2 v^2 ln t) + S

    Parameters
    ----------
    raw_moment : float
        v, a bound on the raw moment of order 1 + epsilon.
    power : float
        1 / (1 + epsilon).
    norm : float
        S, a bound on ||theta||.
    delta : float
        Probability with which the region may miss theta.
    corollary : bool, default False
        Use the radius of Corollary 2.

    Examples
    --------
    >>> TruncatedRadius(raw_moment=1.0, power=0.5, norm=1.0, delta=0.01).radius(None, 0)
    1.0
    """

    raw_moment: NonNegative
    power: Share
    norm: Positive
    delta: Fraction
    corollary: bool = False

    def radius(self, estimate: Estimate, t: int) -> float:
        if t == 0:
            return self.norm
        volume = 0.5 * log_volume(estimate.region) - math.log(self.delta)
        growth = 2.0 * math.pow(t, self.power)
        bias = self.raw_moment * self.raw_moment * math.log(t)
        if self.corollary:
            return 2.0 * math.sqrt(growth * volume) + math.sqrt(2.0 * bias) + self.norm
        return 2.0 * math.sqrt(growth * (volume + bias)) + self.norm


class MiniBatchRadius(NamedTuple):
    """Use the radius of MoM after i epochs of m (Medina and Yang 2016, mini-batches).

        error (sqrt(2 ln(m det(V)^{1/2}/delta)) + sqrt(i)) + S

    Parameters
    ----------
    error : float
        (12v)^{1/(1+eps)} (8 ln(2m/delta)/r)^{eps/(1+eps)}, the bound on one median of means.
    epochs : float
        m, the number of epochs.
    norm : float
        S, a bound on ||theta||.
    delta : float
        Probability with which the region may miss theta.

    Examples
    --------
    >>> MiniBatchRadius(error=0.5, epochs=100.0, norm=1.0, delta=0.01).radius(None, 0)
    1.0
    """

    error: NonNegative
    epochs: Annotated[float, Interval(1.0)]
    norm: Positive
    delta: Fraction

    def radius(self, estimate: Estimate, t: int) -> float:
        if t == 0:
            return self.norm
        volume = log_volume(estimate.region) + 2.0 * math.log(self.epochs / self.delta)
        return self.error * (math.sqrt(volume) + math.sqrt(t)) + self.norm
