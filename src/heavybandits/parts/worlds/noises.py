"""Noises that see the arm and its mean reward. The mean of a reward stays that of the arm."""

from typing import Annotated, NamedTuple

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import Interval, NonNegative
from ...core.arrays import Floats, Key
from ...core.dispatch import draw
from ...core.protocols import Noise
from ...core.rng import uniform

Probability = Annotated[float, Interval(0.0, 1.0, "(]")]


class Heteroskedastic(NamedTuple):
    """Scale a noise with the mean reward of the arm.

        y = m + (base + slope |m|) eta,    m the mean reward of the arm

    Parameters
    ----------
    noise : Noise
        eta, a noise with mean 0.
    base : float, default 0.1
        Multiplier at mean reward 0.
    slope : float, default 1.0
        Growth of the multiplier with |m|.

    Examples
    --------
    >>> from heavybandits.noises import Gaussian
    >>> Heteroskedastic(Gaussian(), 0.5, 2.0).reward(3.0, None, 1.0, 0, 0)
    9.5
    """

    noise: Noise
    base: NonNegative = 0.1
    slope: NonNegative = 1.0

    def draw(self, key: Key, play: int) -> float:
        return draw(self.noise, key, play)

    def reward(self, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        return mean + (self.base + self.slope * abs(mean)) * noise

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class Multiplicative(NamedTuple):
    """Multiply the mean reward by a noise.

        y = m (1 + eta),    m the mean reward of the arm

    Parameters
    ----------
    noise : Noise
        eta, a noise with mean 0.

    Examples
    --------
    >>> from heavybandits.noises import Gaussian
    >>> Multiplicative(Gaussian()).reward(3.0, None, 0.5, 0, 0)
    4.5
    """

    noise: Noise

    def draw(self, key: Key, play: int) -> float:
        return draw(self.noise, key, play)

    def reward(self, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        return mean * (1.0 + noise)

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class ZeroInflated(NamedTuple):
    """Give a reward with some probability, and otherwise exactly 0.

        y = (m / p) (1 + eta) with probability p, else 0,    m the mean reward of the arm

    Parameters
    ----------
    noise : Noise
        eta, a noise with mean 0.
    probability : float, default 0.1
        p, the probability of a reward that is not 0.

    Examples
    --------
    >>> import numpy as np
    >>> from heavybandits.noises import Gaussian
    >>> noise = ZeroInflated(Gaussian(), 0.25)
    >>> seen = [noise.reward(3.0, None, 0.5, np.uint64(0), play) for play in range(4)]
    >>> set(seen) <= {0.0, 18.0}
    True
    """

    noise: Noise
    probability: Probability = 0.1

    def draw(self, key: Key, play: int) -> float:
        return draw(self.noise, key, play)

    def reward(self, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        if uniform(key, play) >= self.probability:
            return 0.0
        return mean / self.probability * (1.0 + noise)

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)
