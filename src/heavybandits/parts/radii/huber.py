"""Radii of Huber regression and of column medians: docs/maths has their proofs."""

import math
from typing import NamedTuple

from ..._utils.validation import Fraction, NonNegative, Positive, Share


class HuberRadius(NamedTuple):
    """Use the radius beta_t of CRHL without a horizon (Theorem 1 of docs/maths/crhl.md).

        beta_t = scale t^q max{tau0 l_t, tau0^-eps K_t^{(1+eps)/2}} + bias
        l_t = ln(pi^2 t^2 / (2 delta)),    K_t = volume ln(1 + t / time_scale)

    With a horizon, l and K are constants and `PowerRadius` is enough.

    Parameters
    ----------
    scale : float
        Multiplier of the first term.
    power : float
        q, the power of t.
    threshold : float
        tau0, the threshold of the first reward.
    epsilon : float
        Order of the moment minus 1, in [0, 1].
    delta : float
        Probability with which the region may miss theta.
    volume : float
        Multiplier of the logarithm in K_t.
    time_scale : float
        Divisor of t in K_t, in updates.
    bias : float
        Constant term.

    Examples
    --------
    >>> HuberRadius(8.0, 0.0, 1.0, 1.0, 0.01, 2.0, 2.0, 1.0).radius(None, 0)
    1.0
    """

    scale: NonNegative
    power: Share
    threshold: Positive
    epsilon: Share
    delta: Fraction
    volume: Positive
    time_scale: Positive
    bias: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        if t == 0:
            return self.bias
        noise = self.threshold * math.log(math.pi * math.pi * t * t / (2.0 * self.delta))
        volume = self.volume * math.log(1.0 + t / self.time_scale)
        bias = math.pow(self.threshold, -self.epsilon) * math.pow(
            volume, (1.0 + self.epsilon) / 2.0
        )
        return self.scale * math.pow(t, self.power) * max(noise, bias) + self.bias


class PseudoHuberRadius(NamedTuple):
    """Use the radius beta_t of GAdaOFUL (Yu et al. 2025).

        beta_t = scale (K / tau0 + sqrt(K l) + tau0 l) + bias,    l = ln(2 t^2 / delta)

    Parameters
    ----------
    scale : float
        Multiplier of the first term.
    volume : float
        K.
    threshold : float
        tau0, the threshold of the first reward.
    delta : float
        Probability with which the region may miss theta.
    bias : float
        Constant term.
    start : float
        Radius before the first update.

    Examples
    --------
    >>> PseudoHuberRadius(32.0, 24.858440, 1.612791, 0.01, 7.0710678, 1.0).radius(None, 0)
    1.0
    """

    scale: NonNegative
    volume: Positive
    threshold: Positive
    delta: Fraction
    bias: NonNegative
    start: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        if t == 0:
            return self.start
        confidence = math.log(2.0 * t * t / self.delta)
        noise = math.sqrt(self.volume * confidence) + self.threshold * confidence
        return self.scale * (self.volume / self.threshold + noise) + self.bias


class NewtonEnsembleRadius(NamedTuple):
    """Use the radius beta_n of CRCM (docs/maths/crcm.md).

        beta_n = scale n^q sqrt(ln(1 + n / time_scale)) + bias

    Parameters
    ----------
    scale : float
        Multiplier of the first term.
    power : float
        q, the power of n.
    time_scale : float
        Divisor of n, in updates.
    bias : float
        Constant term.

    Examples
    --------
    >>> NewtonEnsembleRadius(1.0, 0.0, 10.0, 3.0).radius(None, 0)
    3.0
    """

    scale: NonNegative
    power: Share
    time_scale: Positive
    bias: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        if t == 0:
            return self.bias
        volume = math.sqrt(math.log(1.0 + t / self.time_scale))
        return self.scale * math.pow(t, self.power) * volume + self.bias
