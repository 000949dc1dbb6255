"""Noises eta: a reward is y = mu(x.theta) + eta.

Each draws the noise of a play from at most four uniforms of that play, in any order, and knows
its moments without drawing: `location` is E[eta] (nan if there is none), `moment(p, s)` is
E|s + eta|^p for p > 0 (inf if it is infinite), `central_moment(p)` is E|eta - E eta|^p,
`tail_index` is the order from which moments are infinite and `symmetric` means about zero.
A noise of your own needs only `draw`; it may use uniforms 0, 1, 2 (3 is that of Contaminated).
"""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from .jitable import jitable
from .moments import (
    FAR,
    central_moment,
    expected_power,
    log_normal_density,
    shifted_moment,
    stable_moment,
)
from .streams import uniform
from .validation import InvalidInput
from .verbs import draw


def _power(base: float, exponent: float) -> float:
    return math.exp(min(exponent * math.log(base), 700.0))  # beyond it a double overflows


def _normal(key: Any, play: int) -> float:
    size = math.sqrt(-2.0 * math.log(uniform(key, 4 * play)))
    return size * math.cos(2.0 * math.pi * uniform(key, 4 * play + 1))


def _pareto_mean(shape: float, minimum: float) -> float:
    return shape * minimum / (shape - 1.0)


def _stable_angle(alpha: float, skew: float) -> float:
    return math.atan(skew * math.tan(0.5 * math.pi * alpha))


for _helper in (_power, _normal, _pareto_mean, _stable_angle):  # not as decorators: keeps the types
    jitable(_helper)


class StudentT(NamedTuple):
    """T = scale sqrt(dof (U^(-2/dof) - 1)) cos(2 pi V), Student's t (Bailey 1994).

    >>> StudentT(3.0).moment(3.0), round(StudentT(3.0).moment(2.0, shift=0.5), 6)
    (inf, 3.25)
    """

    dof: float = 3.0
    scale: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        excess = _power(uniform(key, 4 * play), -2.0 / self.dof) - 1.0  # expm1 is twice as slow
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
            gaussian = Gaussian(self.scale * math.sqrt(0.5 * self.dof)).moment(order)
            return gaussian * math.exp(log_ratio(-order))
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
    """minimum U^(-1/shape), minus its mean if centred; raw (not centred) is what the paper prints.

    >>> Pareto().location(), round(Pareto(centred=False).location(), 6)
    (0.0, 0.015)
    """

    shape: float = 3.0
    minimum: float = 0.01
    centred: bool = True

    def draw(self, key: Any, play: int) -> float:
        raw = self.minimum * _power(uniform(key, 4 * play), -1.0 / self.shape)
        if self.centred:
            return raw - _pareto_mean(self.shape, self.minimum)
        return raw

    def location(self) -> float:
        if self.shape <= 1.0:
            return math.nan
        return 0.0 if self.centred else _pareto_mean(self.shape, self.minimum)

    def moment(self, order: float, shift: float = 0.0) -> float:
        if order >= self.shape:
            return math.inf
        a, raw = self.shape, Pareto(self.shape, self.minimum, centred=False)
        s = (shift - (raw.location() if self.centred else 0.0)) / self.minimum
        if order == 2.0:
            unit = a / ((a - 1.0) ** 2 * (a - 2.0)) + (s + _pareto_mean(a, 1.0)) ** 2
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
    """A random sign times minimum U^(-1/shape).

    >>> SymmetricPareto(3.0).moment(2.0, shift=1.0), SymmetricPareto(3.0).moment(3.0)
    (4.0, inf)
    """

    shape: float = 3.0
    minimum: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        size = self.minimum * _power(uniform(key, 4 * play), -1.0 / self.shape)
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


class Gaussian(NamedTuple):
    """scale Z, Z standard normal by Box and Muller: scale sqrt(-2 log U) cos(2 pi V).

    >>> round(Gaussian(2.0).moment(2.0), 6), Gaussian(2.0).tail_index()
    (4.0, inf)
    """

    scale: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        return self.scale * _normal(key, play)

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        if shift == 0.0:
            unit = 2.0 ** (0.5 * order) * math.gamma(0.5 * order + 0.5) / math.sqrt(math.pi)
            return float(self.scale**order * unit)
        return shifted_moment(self, order, shift, log_normal_density)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return True

    def tail_index(self) -> float:
        return math.inf


class Laplace(NamedTuple):
    """A random sign times -scale log U.

    >>> Laplace(2.0).moment(1.0), Laplace(2.0).moment(2.0, shift=1.0)
    (2.0, 9.0)
    """

    scale: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        size = -self.scale * math.log(uniform(key, 4 * play))
        return math.copysign(size, uniform(key, 4 * play + 1) - 0.5)

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        if shift == 0.0:
            return float(self.scale**order * math.gamma(order + 1.0))
        return shifted_moment(self, order, shift, lambda x: -np.abs(x) - math.log(2.0))

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return True

    def tail_index(self) -> float:
        return math.inf


class LogNormal(NamedTuple):
    """scale (e^(sigma Z) - e^(sigma^2 / 2)), centred; all moments finite, yet skewed and wild.

    >>> LogNormal().location(), round(LogNormal().moment(2.0), 6)
    (0.0, 4.670774)
    """

    sigma: float = 1.0
    scale: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        mean = math.exp(0.5 * self.sigma * self.sigma)
        return self.scale * (math.exp(self.sigma * _normal(key, play)) - mean)

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        square = self.sigma * self.sigma
        if order == 2.0:
            return self.scale**2 * math.exp(square) * math.expm1(square) + shift * shift
        offset = shift / self.scale - math.exp(0.5 * square)
        level = math.log(abs(offset)) if offset else -math.inf

        def log_size(z: Any) -> Any:  # log|offset + e^(sigma z)| without overflow
            if offset >= 0.0:
                return np.logaddexp(self.sigma * z, level)
            gap = np.abs(self.sigma * z - level)
            return np.maximum(self.sigma * z, level) + np.log(-np.expm1(-gap))

        root = [level / self.sigma] if offset < 0.0 else []
        cuts = [-FAR, 0.0, order * self.sigma, *root, FAR]  # the mass may sit at order * sigma
        unit = expected_power(log_size, log_normal_density, order, cuts, math.inf)
        return float(self.scale**order * unit)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return False

    def tail_index(self) -> float:
        return math.inf


class AlphaStable(NamedTuple):
    """Stable noise (S1, as scipy's levy_stable) by Chambers, Mallows and Stuck (1976).

    With V uniform on (-pi/2, pi/2), W exponential, a = atan(skew tan(pi alpha / 2)):
    X = scale sin(alpha V + a) (cos a cos V)^(-1/alpha) (cos(V - alpha V - a) / W)^(1/alpha - 1).
    The mean is 0 for alpha > 1; at alpha = 1 only skew = 0 (Cauchy) is allowed.

    >>> round(AlphaStable(1.5).moment(1.0), 6), AlphaStable(1.5).moment(1.5)
    (1.705465, inf)
    """

    alpha: float = 1.5
    skew: float = 0.0
    scale: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        v = math.pi * (uniform(key, 4 * play) - 0.5)
        w = -math.log(uniform(key, 4 * play + 1))
        angle = _stable_angle(self.alpha, self.skew)
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
        angle = math.copysign(1.0, shift) * _stable_angle(self.alpha, self.skew)
        unit = stable_moment(self.alpha, angle, order, abs(shift) / self.scale)
        return float(self.scale**order * unit)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return self.skew == 0.0 or self.alpha == 2.0

    def tail_index(self) -> float:
        return self.alpha if self.alpha < 2.0 else math.inf


class Contaminated(NamedTuple):
    """A mixture: the draw of base with probability 1 - share, else that of outlier.

    >>> round(Contaminated(Gaussian(), Gaussian(10.0), share=0.01).moment(2.0), 6)
    1.99
    """

    base: Any
    outlier: Any
    share: float = 0.01

    def draw(self, key: Any, play: int) -> float:
        if uniform(key, 4 * play + 3) < self.share:
            return draw(self.outlier, key, play)
        return draw(self.base, key, play)

    def _parts(self) -> list[tuple[float, Any]]:
        # a part of no weight is left out, for 0 * inf is nan
        parts = [(1.0 - self.share, self.base), (self.share, self.outlier)]
        return [(weight, part) for weight, part in parts if weight > 0.0]

    def location(self) -> float:
        return float(sum(weight * part.location() for weight, part in self._parts()))

    def moment(self, order: float, shift: float = 0.0) -> float:
        return float(sum(weight * part.moment(order, shift) for weight, part in self._parts()))

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return all(part.symmetric() for _, part in self._parts())

    def tail_index(self) -> float:
        return min(float(part.tail_index()) for _, part in self._parts())


class Outlier(NamedTuple):
    """Base, except that one play draws `value`: what does one monstrous reward do?

    >>> noise = Outlier(Gaussian(), play=7, value=-1e4)
    >>> noise.draw(0, 7), round(noise.moment(2.0), 6)
    (-10000.0, 1.0)
    """

    base: Any
    play: int
    value: float

    def draw(self, key: Any, play: int) -> float:
        if play == self.play:
            return self.value
        return draw(self.base, key, play)

    def location(self) -> float:
        return float(self.base.location())

    def moment(self, order: float, shift: float = 0.0) -> float:
        return float(self.base.moment(order, shift))

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return bool(self.base.symmetric())

    def tail_index(self) -> float:
        return float(self.base.tail_index())


_OURS = (StudentT, Pareto, SymmetricPareto, Gaussian, Laplace, LogNormal, AlphaStable)
_ALLOWED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "dof": (lambda x: x > 0.2, "a number > 0.2"),
    "shape": (lambda x: x > 0.0, "a number > 0"),
    "minimum": (lambda x: x > 0.0, "a number > 0"),
    "scale": (lambda x: x > 0.0, "a number > 0"),
    "sigma": (lambda x: 0.0 < x <= 18.0, "in (0, 18]"),  # beyond it the variance overflows
    "alpha": (lambda x: 0.0 < x <= 2.0, "in (0, 2]"),
    "skew": (lambda x: -1.0 <= x <= 1.0, "in [-1, 1]"),
    "share": (lambda x: 0.0 <= x <= 1.0, "in [0, 1]"),
    "play": (lambda x: x >= 0 and isinstance(x, Integral), "an integer >= 0"),
    "value": (lambda x: True, "a finite number"),
}


def _mixes(noise: Any) -> bool:
    return isinstance(noise, Contaminated) or (isinstance(noise, Outlier) and _mixes(noise.base))


def check_noise(noise: Any) -> None:
    """Raise InvalidInput, naming the field, if this is not a noise with allowed constants.

    >>> check_noise(StudentT(dof=0.1))
    Traceback (most recent call last):
    heavybandits.validation.InvalidInput: StudentT.dof must be a number > 0.2, not 0.1
    """
    name = type(noise).__name__
    if not callable(getattr(noise, "draw", None)):
        raise InvalidInput(f"a noise must have a method draw(key, play); {name} has none")
    if not isinstance(noise, (*_OURS, Contaminated, Outlier)):
        return

    def refuse(field: str, allowed: str) -> None:
        raise InvalidInput(f"{name}.{field} must be {allowed}, not {getattr(noise, field)!r}")

    for field, value in noise._asdict().items():
        if field in ("base", "outlier"):
            check_noise(value)
            if isinstance(noise, Contaminated) and _mixes(value):  # both would use uniform 3
                refuse(field, "a noise that is not itself Contaminated")
        elif field in _ALLOWED:
            allowed, text = _ALLOWED[field]
            if not (isinstance(value, Real) and math.isfinite(value) and allowed(value)):
                refuse(field, text)
    if isinstance(noise, Pareto) and noise.centred and noise.shape <= 1.0:
        refuse("shape", "> 1 when centred (else there is no mean)")
    if isinstance(noise, AlphaStable) and noise.alpha == 1.0 and noise.skew != 0.0:
        refuse("skew", "0 when alpha = 1")


def reward_moment(noise: Any, low: float, high: float, epsilon: float = 1.0) -> float:
    """The paper's u: the largest E|m + eta|^(1 + epsilon) over m in [low, high].

    It is convex in m, so the largest is at an end. For means with |m| <= B take low = -B and
    high = B; for the logistic link and z in [-S, S], low = mu(-S) and high = mu(S).

    >>> round(reward_moment(StudentT(3.0), 0.0, 0.731058579), 6)
    3.534447
    >>> round(reward_moment(Pareto(centred=False), 0.0, 0.731058579), 6)
    0.556678
    """
    return max(float(noise.moment(1.0 + epsilon, mean)) for mean in (low, high))
