"""Moments of a noise that only draws, from many draws."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import warn_caller
from ...core.arrays import Floats
from ...core.compile import compiled
from ...core.kernels import noise_kernel
from ...core.rng import NOISE, stream_key
from .heavy import Pareto
from .moments import central_moment

DRAWS, TAIL = 1 << 20, 1 << 12  # numbers drawn, and how many at each end are its tail


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
    """Return the moments of a noise from its first draws, always the same ones, and warn."""
    warn_caller(
        f"{type(noise).__name__} only draws, so its moments are taken from {DRAWS} draws: give it "
        "log_density(x) for quadrature, or location, moment and the others of KnownNoise"
    )
    key, drawn = stream_key(0, 0, NOISE), np.empty(DRAWS)
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
