"""Delays: after how many plays the rewards of a decision arrive."""

import math
from typing import NamedTuple

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import Count, Index, Positive, Share
from ...core.arrays import Key
from ...core.dispatch import wait
from ...core.protocols import Delay
from ...core.rng import uniform

LONGEST = 2.0**52  # plays of a delay


class ConstantDelay(NamedTuple):
    """Delay all rewards by the same number of plays.

    Parameters
    ----------
    plays : int
        Plays until the rewards arrive; 0 for no delay.

    Examples
    --------
    >>> ConstantDelay(100).wait(0, 7), ConstantDelay(100).room
    (100, 101)
    """

    plays: Index

    @property
    def room(self) -> int:
        """Largest number of decisions that wait."""
        return self.plays + 1

    def wait(self, key: Key, decision: int) -> int:
        return self.plays

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class GeometricDelay(NamedTuple):
    """Draw delays from the geometric distribution on 0, 1, 2, ...: rewards overtake each other.

    Parameters
    ----------
    mean : float
        Mean delay in plays.
    room : int, default 10000
        Largest number of decisions that wait.

    Examples
    --------
    >>> import numpy as np
    >>> delays = [GeometricDelay(100.0).wait(np.uint64(1), decision) for decision in range(4000)]
    >>> round(np.mean(delays))
    104
    """

    mean: Positive
    room: Count = 10_000

    def wait(self, key: Key, decision: int) -> int:
        ratio = math.log(self.mean / (1.0 + self.mean))
        return int(math.log(uniform(key, 2 * decision)) / ratio)

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class ParetoDelay(NamedTuple):
    """Draw delays with a heavy tail: P(delay >= n) is about (1 + n / scale)^-shape.

    Parameters
    ----------
    shape : float
        Tail index. At most 1, the mean delay is infinite.
    scale : float, default 1.0
        Unit of the delays, in plays.
    room : int, default 10000
        Largest number of decisions that wait.

    Examples
    --------
    >>> import numpy as np
    >>> ParetoDelay(1.0, scale=10.0).wait(np.uint64(1), 0) >= 0
    True
    """

    shape: Positive
    scale: Positive = 1.0
    room: Count = 10_000

    def wait(self, key: Key, decision: int) -> int:
        size = math.expm1(-math.log(uniform(key, 2 * decision)) / self.shape)
        return int(min(self.scale * size, LONGEST))

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class LostRewards(NamedTuple):
    """Lose the rewards of some decisions; the others have another delay.

    Parameters
    ----------
    share : float
        Probability that the rewards of a decision never arrive.
    delay : Delay, default ConstantDelay(0)
        Delay of the other decisions.

    Examples
    --------
    >>> import numpy as np
    >>> delay = LostRewards(0.3)
    >>> float(np.mean([delay.wait(np.uint64(1), n) < 0 for n in range(4000)]).round(1))
    0.3
    """

    share: Share
    delay: Delay = ConstantDelay(0)

    @property
    def room(self) -> int:
        """Largest number of decisions that wait."""
        return self.delay.room

    def wait(self, key: Key, decision: int) -> int:
        if uniform(key, 2 * decision + 1) < self.share:
            return -1
        return wait(self.delay, key, decision)

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)
