"""Radii with a parameter to tune: those of experiments, and scaled radii of theorems."""

import math
from typing import NamedTuple

from ..._utils.validation import NonNegative, Positive, Share
from ...core.dispatch import radius, squared
from ...core.protocols import Radius
from ..estimators.online_to_confidence import OnlineToConfidenceEstimate, gradient_sum


class GradientSum(NamedTuple):
    """Use GLOC's radius in published experiments: sqrt(c G) with G = sum g^2 ||x||^2_{V^-1}.

    Parameters
    ----------
    scale : float
        c, the multiplier of G.

    Examples
    --------
    >>> from heavybandits.estimators import NoProjection, OnlineToConfidence
    >>> from heavybandits.links import Identity
    >>> gloc = OnlineToConfidence(2, Identity(), 1.0, 1.0, NoProjection())
    >>> GradientSum(scale=4.0).radius(gloc.init(), 0)
    0.0
    """

    scale: NonNegative

    def radius(self, estimate: OnlineToConfidenceEstimate, t: int) -> float:
        return math.sqrt(self.scale * gradient_sum(estimate))


class Constant(NamedTuple):
    """Use the same radius sqrt(gamma) after every update, as CRTM does.

    Parameters
    ----------
    squared : float
        gamma, the square of the radius.

    Examples
    --------
    >>> Constant(squared=4.0).radius(None, 7)
    2.0
    """

    squared: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        return math.sqrt(self.squared)


class LogRadius(NamedTuple):
    """Use the radius sqrt(scale ln(t / time_scale + 1) t^power), tuned in the paper's experiments.

    OL2M: scale = c d, time_scale = lambda, power = 0. CRMM: scale = c d, time_scale = d lambda,
    power = (1 - epsilon) / (1 + epsilon). The radius is zero before the first update.

    Parameters
    ----------
    scale : float
        Multiplier of the square.
    time_scale : float
        Divisor of t, in updates.
    power : float, default 0.0
        Power of t in the square.

    Examples
    --------
    >>> round(LogRadius(scale=10.0, time_scale=10.0).radius(None, 3154) ** 2, 4)
    57.5701
    """

    scale: NonNegative
    time_scale: Positive
    power: Share = 0.0

    def radius(self, estimate: object, t: int) -> float:
        return math.sqrt(squared(self, t))

    def squared(self, t: int) -> float:
        return self.scale * math.log(1.0 + t / self.time_scale) * math.pow(t, self.power)


class Scaled(NamedTuple):
    """Multiply another radius by a factor, as most experiments do with the radius of a theorem.

    Parameters
    ----------
    inner : Radius
        The radius to multiply.
    factor : float
        The factor.

    Examples
    --------
    >>> from heavybandits.radii import Constant
    >>> Scaled(Constant(4.0), 0.1).radius(None, 7)
    0.2
    """

    inner: Radius
    factor: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        return self.factor * radius(self.inner, estimate, t)


class PowerRadius(NamedTuple):
    """Use the radius scale t^power + bias: TOFU, MENU, BTC and BMM.

    Parameters
    ----------
    scale : float
        Multiplier of the power of t.
    power : float
        Power of t.
    bias : float
        Constant term.
    start : float
        Radius before the first update.

    Examples
    --------
    >>> PowerRadius(scale=2.0, power=0.5, bias=1.0, start=3.0).radius(None, 4)
    5.0
    """

    scale: NonNegative
    power: Share
    bias: NonNegative
    start: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        if t == 0:
            return self.start
        return self.scale * math.pow(t, self.power) + self.bias
