"""Radii of theorems: the root of the papers' gamma or beta after t updates."""

import math
from typing import Annotated, NamedTuple

from ..._utils.validation import Fraction, Interval, NonNegative, Positive, Share
from ...core.confidence_region import log_volume
from ...core.dispatch import squared
from ...core.protocols import Estimate
from ..estimators.online_to_confidence import OnlineToConfidenceEstimate, gradient_sum, residual_sum


class OnlineToConfidenceRadius(NamedTuple):
    """The region of Jun et al. (2017), B being their bound on the regret of the Newton step:

    beta = 1 + 4B/kappa + 8R^2/kappa^2 ln((2/delta) sqrt(1 + 2B/kappa + 4R^4/(kappa^4 delta^2)))
    + lambda S^2 - (sum z^2 - centre.sum z x),  B = G/(2 kappa) + 2 kappa S^2 lambda.

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
    """Theorem 3: gamma_{t+1} = (bias + tail t^q) volume ln(1 + t/time_scale) + start + drift t^q.

    bias = 4U^2, tail = C rho, drift = 2 rho^2/kappa, start = lambda S^2, volume = 4d/kappa,
    time_scale = 2 lambda d/kappa: see `theory.median_radius`.

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
    """Theorem 1 of Zhang et al. (2016), the region of OL2M:

    gamma = 8S + (8/beta + 16S/3) tau_t + (2/beta) ln(det V / det V_1) + lambda S^2,
    tau_t = ln(2 ceil(2 log2 t) t^2 / delta).

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
    """R sqrt(ln(det V / det V_1) + 2 ln(1/delta)) + sqrt(lambda) S (Abbasi-Yadkori et al. 2011).

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
    """Theorem 1 of Medina and Yang (2016), the region of CRT after t rounds:

    2 sqrt(2 t^{1/(1+eps)} (ln(det(V)^{1/2}/delta) + v^2 ln t)) + S, `power` being 1/(1+eps).

    Their Corollary 2 (`corollary`) has the bias apart and without the power of t:
    2 sqrt(2 t^{1/(1+eps)} ln(det(V)^{1/2}/delta)) + sqrt(2 v^2 ln t) + S; the proof needs
    the theorem.

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
    """The region of MoM after i epochs of m (Medina and Yang 2016, mini-batches):

    error (sqrt(2 ln(m det(V)^{1/2}/delta)) + sqrt(i)) + S, error being the bound
    (12v)^{1/(1+eps)} (8 ln(2m/delta)/r)^{eps/(1+eps)} on one median of means.

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
