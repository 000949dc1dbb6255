"""Radii with a parameter to tune: those of experiments, and scaled radii of theorems."""

import math
from typing import NamedTuple

from ..._utils.validation import NonNegative, Positive, Share
from ...core.dispatch import radius, squared
from ...core.protocols import Radius
from ..estimators.online_to_confidence import OnlineToConfidenceEstimate, gradient_sum


class GradientSum(NamedTuple):
    """sqrt(c G), G = sum g^2 ||x||^2_{V^-1}: the radius of GLOC in experiments, theirs and others'.

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
    """sqrt(gamma), the same after every update: CRTM's, by Theorem 1 or tuned.

    >>> Constant(squared=4.0).radius(None, 7)
    2.0
    """

    squared: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        return math.sqrt(self.squared)


class LogRadius(NamedTuple):
    """sqrt(scale ln(t / time_scale + 1) t^power): the tuned radii of the paper's experiments.

    OL2M: scale = c d, time_scale = lambda, power = 0. CRMM: scale = c d, time_scale = d lambda,
    power = (1 - epsilon) / (1 + epsilon). Zero before the first update.

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
    """factor times another radius: most experiments use the radius of a theorem like this.

    >>> from heavybandits.radii import Constant
    >>> Scaled(Constant(4.0), 0.1).radius(None, 7)
    0.2
    """

    inner: Radius
    factor: NonNegative

    def radius(self, estimate: object, t: int) -> float:
        return self.factor * radius(self.inner, estimate, t)


class PowerRadius(NamedTuple):
    """scale t^power + bias, and `start` before the first update: TOFU, MENU, BTC and BMM.

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
