"""Noises made of other noises."""

from typing import NamedTuple

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Index, Share
from ...core.arrays import Key
from ...core.dispatch import draw
from ...core.part import walk
from ...core.protocols import KnownNoise, Noise
from ...core.rng import uniform
from .moments import central_moment, known


class Contaminated(NamedTuple):
    """Draw from `base` with probability 1 - share, and from `outlier` otherwise.

    Parameters
    ----------
    base : Noise
        Noise of most plays.
    outlier : Noise
        Noise of the other plays.
    share : float, default 0.01
        Probability of a draw from `outlier`.

    Examples
    --------
    >>> from heavybandits.noises import Gaussian
    >>> round(Contaminated(Gaussian(), Gaussian(10.0), share=0.01).moment(2.0), 6)
    1.99
    """

    base: Noise
    outlier: Noise
    share: Share = 0.01

    def check(self) -> None:
        for name, part in (("base", self.base), ("outlier", self.outlier)):
            if any(isinstance(inner, Contaminated) for inner in walk(part)):
                raise InvalidInputError(  # both would use uniform 3
                    f"Contaminated.{name} must be a noise that is not itself Contaminated, "
                    f"got {part!r}"
                )

    def draw(self, key: Key, play: int) -> float:
        if uniform(key, 4 * play + 3) < self.share:
            return draw(self.outlier, key, play)
        return draw(self.base, key, play)

    def _parts(self) -> list[tuple[float, KnownNoise]]:
        # a part of no weight is left out, for 0 * inf is nan
        parts = [(1.0 - self.share, self.base), (self.share, self.outlier)]
        return [(weight, known(part)) for weight, part in parts if weight > 0.0]

    def location(self) -> float:
        return float(sum(weight * part.location() for weight, part in self._parts()))

    def moment(self, order: float, shift: float = 0.0) -> float:
        return float(sum(weight * part.moment(order, shift) for weight, part in self._parts()))

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return all(part.symmetric() for _, part in self._parts())

    def tail_index(self) -> float:
        return min(part.tail_index() for _, part in self._parts())


class Outlier(NamedTuple):
    """Draw from `base`, except that one play draws `value`.

    Parameters
    ----------
    base : Noise
        Noise of all other plays.
    play : int
        Number of the play with the outlier, from 0.
    value : float
        Noise of that play, in the unit of the reward.

    Examples
    --------
    >>> from heavybandits.noises import Gaussian
    >>> noise = Outlier(Gaussian(), play=7, value=-1e4)
    >>> noise.draw(0, 7), round(noise.moment(2.0), 6)
    (-10000.0, 1.0)
    """

    base: Noise
    play: Index
    value: float

    def draw(self, key: Key, play: int) -> float:
        if play == self.play:
            return self.value
        return draw(self.base, key, play)

    def location(self) -> float:
        return known(self.base).location()

    def moment(self, order: float, shift: float = 0.0) -> float:
        return known(self.base).moment(order, shift)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return known(self.base).symmetric()

    def tail_index(self) -> float:
        return known(self.base).tail_index()
