"""Noises whose moments are infinite from some order on."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Interval, Positive
from ...core.arrays import Key
from ...core.rng import uniform
from .draws import pareto_mean, power, stable_angle
from .light import Gaussian
from .moments import (
    FAR,
    central_moment,
    expected_power,
    normal_moment,
    shifted_moment,
    stable_moment,
)


class StudentT(NamedTuple):
    """Draw noise from Student's t distribution.

        eta = scale sqrt(dof (U^(-2/dof) - 1)) cos(2 pi V),    U, V uniform (Bailey 1994)

    Parameters
    ----------
    dof : float, default 3.0
        Degrees of freedom, above 0.2. Moments of this order and above are infinite.
    scale : float, default 1.0
        Multiplier of the noise, in the unit of the reward.

    Examples
    --------
    >>> StudentT(3.0).moment(3.0), round(StudentT(3.0).moment(2.0, shift=0.5), 6)
    (inf, 3.25)
    """

    dof: Annotated[float, Interval(0.2, ends="(]")] = 3.0
    scale: Positive = 1.0

    def draw(self, key: Key, play: int) -> float:
        excess = power(uniform(key, 4 * play), -2.0 / self.dof) - 1.0  # expm1 is twice as slow
        turn = math.cos(2.0 * math.pi * uniform(key, 4 * play + 1))
        return self.scale * math.sqrt(self.dof * excess) * turn

    def location(self) -> float:
        return 0.0 if self.dof > 1.0 else math.nan

    def moment(self, order: float, shift: float = 0.0) -> float:
        if order >= self.dof:
            return math.inf

        def log_ratio(p: float) -> float:
            return math.lgamma(0.5 * (self.dof + p)) - math.lgamma(0.5 * self.dof)

        if shift == 0.0:
            gaussian = (self.scale * math.sqrt(0.5 * self.dof)) ** order * normal_moment(order)
            return float(gaussian * math.exp(log_ratio(-order)))
        constant, half = log_ratio(1.0) - 0.5 * math.log(math.pi * self.dof), 0.5 * (self.dof + 1.0)
        density = lambda x: constant - half * np.log1p(x * x / self.dof)  # noqa: E731
        return shifted_moment(self, order, shift, density)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return True

    def tail_index(self) -> float:
        return self.dof


class Pareto(NamedTuple):
    """Draw noise from the Pareto distribution, minus its mean if `centred`.

        eta = minimum U^(-1/shape) - mean,    U uniform

    Parameters
    ----------
    shape : float, default 3.0
        Tail index. Moments of this order and above are infinite.
    minimum : float, default 0.01
        Smallest value before the mean is subtracted, in the unit of the reward.
    centred : bool, default True
        Subtract the mean, which requires a shape above 1. The paper prints the raw noise, False.

    Examples
    --------
    >>> Pareto().location(), round(Pareto(centred=False).location(), 6)
    (0.0, 0.015)
    """

    shape: Positive = 3.0
    minimum: Positive = 0.01
    centred: bool = True

    def check(self) -> None:
        if self.centred and self.shape <= 1.0:
            raise InvalidInputError(
                f"Pareto.shape must be above 1 when centred, for else there is no mean, "
                f"got {self.shape}"
            )

    def draw(self, key: Key, play: int) -> float:
        raw = self.minimum * power(uniform(key, 4 * play), -1.0 / self.shape)
        if self.centred:
            return raw - pareto_mean(self.shape, self.minimum)
        return raw

    def location(self) -> float:
        if self.shape <= 1.0:
            return math.nan
        return 0.0 if self.centred else pareto_mean(self.shape, self.minimum)

    def moment(self, order: float, shift: float = 0.0) -> float:
        if order >= self.shape:
            return math.inf
        a, raw = self.shape, Pareto(self.shape, self.minimum, centred=False)
        s = (shift - (raw.location() if self.centred else 0.0)) / self.minimum
        if order == 2.0:
            unit = a / ((a - 1.0) ** 2 * (a - 2.0)) + (s + pareto_mean(a, 1.0)) ** 2
        elif s == 0.0:
            unit = a / (a - order)
        else:
            size, density = lambda x: np.log(np.abs(x + s)), lambda x: -(a + 1.0) * np.log(x)
            unit = a * expected_power(size, density, order, [1.0, max(1.0, -s), FAR], a)
        return float(self.minimum**order * unit)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return False

    def tail_index(self) -> float:
        return self.shape


class SymmetricPareto(NamedTuple):
    """Draw Pareto noise with a random sign.

        eta = +-minimum U^(-1/shape),    U uniform

    Parameters
    ----------
    shape : float, default 3.0
        Tail index. Moments of this order and above are infinite.
    minimum : float, default 1.0
        Smallest |eta|, in the unit of the reward.

    Examples
    --------
    >>> SymmetricPareto(3.0).moment(2.0, shift=1.0), SymmetricPareto(3.0).moment(3.0)
    (4.0, inf)
    """

    shape: Positive = 3.0
    minimum: Positive = 1.0

    def draw(self, key: Key, play: int) -> float:
        size = self.minimum * power(uniform(key, 4 * play), -1.0 / self.shape)
        return math.copysign(size, uniform(key, 4 * play + 1) - 0.5)

    def location(self) -> float:
        return 0.0 if self.shape > 1.0 else math.nan

    def moment(self, order: float, shift: float = 0.0) -> float:
        side = Pareto(self.shape, self.minimum, centred=False)
        return 0.5 * (side.moment(order, shift) + side.moment(order, -shift))

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return True

    def tail_index(self) -> float:
        return self.shape


class AlphaStable(NamedTuple):
    """Draw stable noise (S1, as scipy's levy_stable) by Chambers, Mallows and Stuck (1976).

    With V uniform on (-pi/2, pi/2), W exponential, a = atan(skew tan(pi alpha / 2)):
    X = scale sin(alpha V + a) (cos a cos V)^(-1/alpha) (cos(V - alpha V - a) / W)^(1/alpha - 1).
    The mean is 0 for alpha > 1.

    Parameters
    ----------
    alpha : float, default 1.5
        Tail index, in (0, 2]. 2 is Gaussian; below 2, moments of this order and above are infinite.
    skew : float, default 0.0
        Skewness, in [-1, 1]. For alpha = 1 it must be 0 (Cauchy).
    scale : float, default 1.0
        Multiplier of the noise, in the unit of the reward.

    Examples
    --------
    >>> round(AlphaStable(1.5).moment(1.0), 6), AlphaStable(1.5).moment(1.5)
    (1.705465, inf)
    """

    alpha: Annotated[float, Interval(0.0, 2.0, "(]")] = 1.5
    skew: Annotated[float, Interval(-1.0, 1.0)] = 0.0
    scale: Positive = 1.0

    def check(self) -> None:
        if self.alpha == 1.0 and self.skew != 0.0:
            raise InvalidInputError(f"AlphaStable.skew must be 0 when alpha = 1, got {self.skew}")

    def draw(self, key: Key, play: int) -> float:
        v = math.pi * (uniform(key, 4 * play) - 0.5)
        w = -math.log(uniform(key, 4 * play + 1))
        angle = stable_angle(self.alpha, self.skew)
        turn = self.alpha * v + angle
        ratio = max(math.cos(v - turn), 5e-17) / w  # rounding may push the cosine below zero
        size = (1.0 / self.alpha - 1.0) * math.log(ratio)
        size -= math.log(math.cos(angle) * math.cos(v)) / self.alpha
        return self.scale * math.sin(turn) * math.exp(min(size, 700.0))

    def location(self) -> float:
        return 0.0 if self.alpha > 1.0 else math.nan

    def moment(self, order: float, shift: float = 0.0) -> float:
        if self.alpha == 2.0:
            return Gaussian(math.sqrt(2.0) * self.scale).moment(order, shift)
        if order >= self.alpha:
            return math.inf
        angle = math.copysign(1.0, shift) * stable_angle(self.alpha, self.skew)
        unit = stable_moment(self.alpha, angle, order, abs(shift) / self.scale)
        return float(self.scale**order * unit)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return self.skew == 0.0 or self.alpha == 2.0

    def tail_index(self) -> float:
        return self.alpha if self.alpha < 2.0 else math.inf
