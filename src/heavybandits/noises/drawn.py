"""Moments of a noise that only draws: by quadrature if it has a density, else from many draws."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.arrays import Floats
from ..engine.compiling import compiled
from ..engine.contracts import KnownNoise, Noise
from ..engine.kernels import noise_kernel
from ..engine.members import fault
from ..engine.parts import check_part
from ..engine.streams import NOISE, stream_key
from ..support.errors import InvalidInput
from ..support.validation import epsilon as check_epsilon
from ..support.validation import finite_number
from ..support.warning import warn_caller
from .heavy import Pareto
from .moments import FAR, central_moment, expected_power

DRAWS, TAIL = 1 << 20, 1 << 12  # numbers drawn, and how many at each end are its tail
LIGHT = 1e3  # no power of x falls so fast


def known(noise: Noise) -> KnownNoise:
    """The noise if it knows its moments, else a stand-in for it that has computed them.

    The stand-in says how in its attribute `how`. One that had to draw warns, for what it says is
    right to two or three digits only, and less for moments that are barely finite.

    >>> from heavybandits.parts import uniform
    >>> class Logistic(NamedTuple):
    ...     def draw(self, key, play):
    ...         return -math.log(1.0 / uniform(key, 4 * play) - 1.0)
    ...     def log_density(self, x):
    ...         return -np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x)))
    >>> found = known(Logistic())
    >>> found.how, round(found.moment(2.0), 6) == round(math.pi**2 / 3.0, 6)
    ('quadrature of its density', True)
    """
    if fault(type(noise), KnownNoise) is None:
        return check_part("noise", noise, KnownNoise)
    part: Any = check_part("noise", noise, Noise)
    if hasattr(part, "log_density"):
        law = Quadrature(part)
        law.check()
        return law
    warn_caller(
        f"{type(part).__name__} only draws, so its moments are taken from {DRAWS} draws: give it "
        "log_density(x) for quadrature, or location, moment and the others of KnownNoise"
    )
    return sample(part)


def reward_moment(noise: Noise, low: float, high: float, epsilon: float = 1.0) -> float:
    """The paper's u: the largest E|m + eta|^(1 + epsilon) over m in [low, high].

    It is convex in m, so the largest is at an end. For means with |m| <= B take low = -B and
    high = B; for the logistic link and z in [-S, S], low = mu(-S) and high = mu(S). A noise of your
    own may do without moments, see `known`.

    >>> from heavybandits.noises import Pareto, StudentT
    >>> round(reward_moment(StudentT(3.0), 0.0, 0.731058579), 6)
    3.534447
    >>> round(reward_moment(Pareto(centred=False), 0.0, 0.731058579), 6)
    0.556678
    """
    ends = finite_number("low", low), finite_number("high", high)
    law, order = known(noise), 1.0 + check_epsilon(epsilon)
    return max(law.moment(order, mean) for mean in ends)


class Quadrature(NamedTuple):
    """Moments of a noise by quadrature of its `log_density`, which should have no jumps."""

    noise: Any
    how: str = "quadrature of its density"

    def draw(self, key: Any, play: int) -> float:
        return float(self.noise.draw(key, play))

    def location(self) -> float:
        return self._side(1.0) - self._side(-1.0) if self.tail_index() > 1.0 else math.nan

    def _side(self, sign: float) -> float:
        """E max(sign eta, 0)."""
        return self._power(lambda x: np.log(np.maximum(sign * x, 0.0)), 1.0, 0.0)

    def moment(self, order: float, shift: float = 0.0) -> float:
        if order >= self.tail_index():
            return math.inf
        return self._power(lambda x: np.log(np.abs(x + shift)), order, -shift)

    def _power(self, log_size: Any, order: float, root: float) -> float:
        cuts = [-FAR, -1.0, 0.0, root, 1.0, FAR]
        with np.errstate(all="ignore"):
            return expected_power(log_size, self.noise.log_density, order, cuts, self.tail_index())

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        x = np.geomspace(1e-6, 1e6, 50)
        with np.errstate(all="ignore"):
            return bool(np.array_equal(self.noise.log_density(x), self.noise.log_density(-x)))

    def tail_index(self) -> float:
        """How fast the density falls at 1e20: as |x|^(-1 - index)."""
        with np.errstate(all="ignore"):
            near, far = (self.noise.log_density(np.array([-x, x])) for x in (1e20, 1e22))
            slopes = np.where(np.isneginf(far), np.inf, (near - far) / math.log(100.0)) - 1.0
        index = float(np.round(slopes.min(), 9))
        return index if index < LIGHT else math.inf

    def check(self) -> None:
        mass = self._power(np.zeros_like, 0.0, 0.0)
        if not abs(mass - 1.0) < 0.01:
            name = type(self.noise).__name__
            raise InvalidInput(f"{name}.log_density must integrate to 1, got {mass:.4g}")


class Side(NamedTuple):
    """One tail of a sample by Hill (1975): beyond `start` a Pareto law of this index."""

    alpha: float
    start: float

    def moment(self, order: float, shift: float) -> float:
        return Pareto(self.alpha, self.start, centred=False).moment(order, shift)


class Sample(NamedTuple):
    """Moments of a noise from draws: the middle as drawn, each tail as the Pareto law it fits."""

    noise: Any
    middle: Floats
    upper: Side | None
    lower: Side | None
    how: str = f"{DRAWS} draws"

    def draw(self, key: Any, play: int) -> float:
        return float(self.noise.draw(key, play))

    def _average(self, middle: float, upper: float, lower: float) -> float:
        return float((middle * self.middle.size + TAIL * (upper + lower)) / DRAWS)

    def location(self) -> float:
        if self.tail_index() <= 1.0:
            return math.nan
        upper, lower = (0.0 if s is None else s.moment(1.0, 0.0) for s in (self.upper, self.lower))
        return self._average(float(self.middle.mean()), upper, -lower)

    def moment(self, order: float, shift: float = 0.0) -> float:
        upper = 0.0 if self.upper is None else self.upper.moment(order, shift)
        lower = 0.0 if self.lower is None else self.lower.moment(order, -shift)
        return self._average(float((np.abs(self.middle + shift) ** order).mean()), upper, lower)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        """False: a sample cannot show it."""
        return False

    def tail_index(self) -> float:
        return min((side.alpha for side in (self.upper, self.lower) if side), default=math.inf)


def sample(noise: Any) -> Sample:
    """The moments of a noise from its first draws, the same ones every time."""
    key, drawn = stream_key(0, 0, NOISE), np.empty(DRAWS)
    with np.errstate(over="ignore"):  # uncompiled, the counters of the streams wrap around
        compiled(noise_kernel, noise, key, 0, drawn[:32])(noise, key, 0, drawn)
    drawn.sort()
    upper, lower = hill(drawn[-TAIL:]), hill(-drawn[:TAIL][::-1])
    return Sample(noise, drawn[TAIL if lower else 0 : -TAIL if upper else None], upper, lower)


def hill(largest: Floats) -> Side | None:
    """The tail that these numbers, in rising order, are the end of; None where there is none.

    >>> u = (np.arange(4096) + 0.5) / 4096
    >>> round(hill(np.sort(u ** (-1 / 1.5))).alpha, 1)
    1.5
    """
    start = float(largest[0])
    if start <= 0.0 or largest[-1] <= start:
        return None
    return Side(1.0 / float(np.log(largest / start).mean()), start)
