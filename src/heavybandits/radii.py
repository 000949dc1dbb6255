"""Radii: how wide the confidence region is after t updates: the root of the papers' gamma."""

import math
from typing import Any, NamedTuple

from .regions import log_volume
from .verbs import squared


class Constant(NamedTuple):
    """sqrt(gamma) for ever: CRTM's, by Theorem 1 or tuned.

    >>> Constant(squared=4.0).radius(None, 7)
    2.0
    """

    squared: float

    def radius(self, estimate: Any, t: int) -> float:
        return math.sqrt(self.squared)


class Growing(NamedTuple):
    """sqrt(scale ln(t / slowness + 1) t^power): the tuned radii of the paper's experiments.

    OL2M: scale = c d, slowness = lambda, power = 0. CRMM: scale = c d, slowness = d lambda,
    power = (1 - epsilon) / (1 + epsilon). Zero before the first update.

    >>> round(Growing(scale=10.0, slowness=10.0).radius(None, 3154) ** 2, 4)
    57.5701
    """

    scale: float
    slowness: float
    power: float = 0.0

    def radius(self, estimate: Any, t: int) -> float:
        return math.sqrt(squared(self, t))

    def squared(self, t: int) -> float:
        return self.scale * math.log(1.0 + t / self.slowness) * math.pow(t, self.power)


class MedianRegion(NamedTuple):
    """Theorem 3: gamma_{t+1} = (bias + spread t^q) volume ln(1 + t/slowness) + start + drift t^q.

    bias = 4U^2, spread = C rho, drift = 2 rho^2/kappa, start = lambda S^2, volume = 4d/kappa,
    slowness = 2 lambda d/kappa: see `theory.median_radius`.

    >>> MedianRegion(1.0, 1.0, 1.0, 0.0, 4.0, 10.0, 2.0).radius(None, 0)
    2.0
    """

    bias: float
    spread: float
    drift: float
    power: float
    start: float
    volume: float
    slowness: float

    def radius(self, estimate: Any, t: int) -> float:
        return math.sqrt(squared(self, t))

    def squared(self, t: int) -> float:
        if t == 0:
            return self.start
        growth = math.pow(t, self.power)
        squares = self.volume * math.log(1.0 + t / self.slowness)
        return (self.bias + self.spread * growth) * squares + self.start + self.drift * growth


class LogisticRegion(NamedTuple):
    """Theorem 1 of Zhang et al. (2016), the region of OL2M:

    gamma = 8S + (8/beta + 16S/3) tau_t + (2/beta) ln(det V / det V_1) + lambda S^2,
    tau_t = ln(2 ceil(2 log2 t) t^2 / delta).

    >>> LogisticRegion(beta=0.134471, norm=1.0, penalty=1.0, delta=0.01).radius(None, 0)
    1.0
    """

    beta: float
    norm: float
    penalty: float
    delta: float

    def radius(self, estimate: Any, t: int) -> float:
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

    spread: float
    norm: float
    penalty: float
    delta: float

    def radius(self, estimate: Any, t: int) -> float:
        volume = log_volume(estimate.region) - 2.0 * math.log(self.delta)
        return self.spread * math.sqrt(volume) + math.sqrt(self.penalty) * self.norm
