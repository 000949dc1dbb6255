"""Radii of the robust linear bandits."""

import math
from typing import Any, NamedTuple

from ..regions import log_volume
from ..verbs import radius


class Scaled(NamedTuple):
    """factor times another radius: how most experiments tame the radius of a theorem.

    >>> from heavybandits import Constant
    >>> Scaled(Constant(4.0), 0.1).radius(None, 7)
    0.2
    """

    inner: Any
    factor: float

    def radius(self, estimate: Any, t: int) -> float:
        return self.factor * radius(self.inner, estimate, t)


class Powered(NamedTuple):
    """scale t^power + bias, and `start` before the first update: TOFU, MENU, BTC and BMM.

    >>> Powered(scale=2.0, power=0.5, bias=1.0, start=3.0).radius(None, 4)
    5.0
    """

    scale: float
    power: float
    bias: float
    start: float

    def radius(self, estimate: Any, t: int) -> float:
        if t == 0:
            return self.start
        return self.scale * math.pow(t, self.power) + self.bias


class TruncatedRegion(NamedTuple):
    """Theorem 1 of Medina and Yang (2016), the region of CRT, with the t known by then:

    2 sqrt(2 t^{1/(1+eps)} (ln(det(V)^{1/2}/delta) + v^2 ln t)) + S, `power` being 1/(1+eps).

    Their Corollary 2 (`corollary`) has the bias apart and without the power of t:
    2 sqrt(2 t^{1/(1+eps)} ln(det(V)^{1/2}/delta)) + sqrt(2 v^2 ln t) + S; the proof needs
    the theorem.

    >>> TruncatedRegion(moment=1.0, power=0.5, norm=1.0, delta=0.01).radius(None, 0)
    1.0
    """

    moment: float
    power: float
    norm: float
    delta: float
    corollary: bool = False

    def radius(self, estimate: Any, t: int) -> float:
        if t == 0:
            return self.norm
        volume = 0.5 * log_volume(estimate.region) - math.log(self.delta)
        growth = 2.0 * math.pow(t, self.power)
        bias = self.moment * self.moment * math.log(t)
        if self.corollary:
            return 2.0 * math.sqrt(growth * volume) + math.sqrt(2.0 * bias) + self.norm
        return 2.0 * math.sqrt(growth * (volume + bias)) + self.norm


class MiniBatchRegion(NamedTuple):
    """The region of MoM after i epochs of m (Medina and Yang 2016, mini-batches):

    error (sqrt(2 ln(m det(V)^{1/2}/delta)) + sqrt(i)) + S, error being the bound
    (12v)^{1/(1+eps)} (8 ln(2m/delta)/r)^{eps/(1+eps)} on one median of means.

    >>> MiniBatchRegion(error=0.5, epochs=100.0, norm=1.0, delta=0.01).radius(None, 0)
    1.0
    """

    error: float
    epochs: float
    norm: float
    delta: float

    def radius(self, estimate: Any, t: int) -> float:
        if t == 0:
            return self.norm
        volume = log_volume(estimate.region) + 2.0 * math.log(self.epochs / self.delta)
        return self.error * (math.sqrt(volume) + math.sqrt(t)) + self.norm
