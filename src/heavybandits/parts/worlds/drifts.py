"""Drifts: theta as a function of the play. The norm of theta stays that of its start."""

import math
from typing import NamedTuple

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import Count, Positive
from ...core.arrays import Floats, Key
from ...core.jit import jitable
from ...core.linalg import norm
from ...core.rng import uniform


@jitable
def normal_number(key: Key, index: int) -> float:
    """Return standard normal number `index` of a stream, by Box and Muller."""
    size = math.sqrt(-2.0 * math.log(uniform(key, 2 * index)))
    return size * math.cos(2.0 * math.pi * uniform(key, 2 * index + 1))


@jitable
def normal_pair(key: Key, index: int) -> tuple[float, float]:
    """Return pair `index` of independent standard normal numbers, by Box and Muller.

    The pair shares a logarithm, and the sine of its angle is the root of 1 - cos^2: these calls
    would be most of the time of a world.
    """
    size = math.sqrt(-2.0 * math.log(uniform(key, 2 * index)))
    turn = uniform(key, 2 * index + 1)
    cosine = math.cos(2.0 * math.pi * turn)
    return size * cosine, size * math.copysign(math.sqrt(1.0 - cosine * cosine), 0.5 - turn)


@jitable
def scale_to(theta: Floats, length: float) -> None:
    """Give theta this norm."""
    factor = length / max(norm(theta), 1e-300)
    for i in range(theta.size):
        theta[i] *= factor


class Flip(NamedTuple):
    """Reverse the sign of theta at one play, the hardest single change.

    Parameters
    ----------
    at : int
        Number of the first play with -theta, from 1.

    Examples
    --------
    >>> import numpy as np
    >>> theta, start = np.ones(2), np.ones(2)
    >>> [Flip(at=5).move(theta, start, np.uint64(0), play) for play in (4, 5)], theta.tolist()
    ([False, True], [-1.0, -1.0])
    """

    at: Count

    def move(self, theta: Floats, start: Floats, key: Key, play: int) -> bool:
        if play != self.at:
            return False
        for i in range(theta.size):
            theta[i] = -start[i]
        return True

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class Jumps(NamedTuple):
    """Draw a new direction of theta, uniform on the sphere, every so many plays.

    Parameters
    ----------
    every : int
        Plays between two jumps. The first jump is at play `every`.

    Examples
    --------
    >>> import numpy as np
    >>> theta, start = np.ones(2), np.ones(2)
    >>> [Jumps(every=5).move(theta, start, np.uint64(0), play) for play in (0, 4, 5)]
    [False, False, True]
    >>> round(float(theta @ theta), 6)
    2.0
    """

    every: Count

    def move(self, theta: Floats, start: Floats, key: Key, play: int) -> bool:
        if play == 0 or play % self.every != 0:
            return False
        for i in range(theta.size):
            theta[i] = normal_number(key, (play // self.every) * theta.size + i)
        scale_to(theta, norm(start))
        return True

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class RandomWalk(NamedTuple):
    """Move theta by a Gaussian step at every play, on the sphere of its first norm.

    Parameters
    ----------
    step : float
        Standard deviation of each coordinate of a step, in the unit of theta.

    Examples
    --------
    >>> import numpy as np
    >>> theta, start = np.ones(2), np.ones(2)
    >>> RandomWalk(0.1).move(theta, start, np.uint64(0), 1), round(float(theta @ theta), 6)
    (True, 2.0)
    """

    step: Positive

    def move(self, theta: Floats, start: Floats, key: Key, play: int) -> bool:
        if play == 0:
            return False
        pairs = (theta.size + 1) // 2
        for i in range(pairs):
            one, other = normal_pair(key, play * pairs + i)
            theta[2 * i] += self.step * one
            if 2 * i + 1 < theta.size:
                theta[2 * i + 1] += self.step * other
        scale_to(theta, norm(start))
        return True

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class Cycle(NamedTuple):
    """Rotate theta in the planes of its coordinates (0, 1), (2, 3), ..., at constant speed.

    With an odd number of coordinates the last one stays.

    Parameters
    ----------
    period : int
        Plays after which theta is its start again.

    Examples
    --------
    >>> import numpy as np
    >>> theta, start = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    >>> Cycle(period=4).move(theta, start, np.uint64(0), 1), theta.round(6).tolist()
    (True, [0.0, 1.0])
    """

    period: Count

    def move(self, theta: Floats, start: Floats, key: Key, play: int) -> bool:
        angle = 2.0 * math.pi * (play % self.period) / self.period
        along, across = math.cos(angle), math.sin(angle)
        for i in range(0, theta.size - 1, 2):
            theta[i] = along * start[i] - across * start[i + 1]
            theta[i + 1] = across * start[i] + along * start[i + 1]
        return True

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)
