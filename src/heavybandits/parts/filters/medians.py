"""Filters that turn several plays of the same arm into one number."""

from typing import Annotated, NamedTuple

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Count, Interval
from ...core.arrays import Floats
from ...core.order_statistics import median, select_rank
from .memory import Memory, count_seen, count_truncated, make_memory


class Median(NamedTuple):
    """Return the median of the plays (Xue et al. 2023, Algorithm 2, line 6).

    For an even number of plays it is the mean of the middle two. The paper's proof uses the lower
    of the two, but needs E[median] = 0, which by symmetry is true for their mean.

    Parameters
    ----------
    plays : int
        Plays per decision.

    Examples
    --------
    >>> import numpy as np
    >>> middle = Median(plays=4)
    >>> float(middle.apply(middle.init(), np.array([9.0, 1.0, 2.0, 1e9]), 1.0, 0.0))
    5.5
    """

    plays: Count

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        count_seen(memory, rewards.size)
        for i in range(rewards.size):
            memory.buffer[i] = rewards[i]
        return median(memory.buffer, 0, rewards.size)


class MeanOfMedians(NamedTuple):
    """Return the mean of the medians of groups of plays (Zhong, Huang, Yang and Wang 2021).

    Groups are consecutive plays; plays that do not fill a group are dropped.

    Parameters
    ----------
    plays : int
        Plays per decision.
    group : int
        Plays per group, at most `plays`.

    Examples
    --------
    >>> import numpy as np
    >>> mom = MeanOfMedians(plays=7, group=3)
    >>> float(mom.apply(mom.init(), np.array([1.0, 2.0, 1e9, 4.0, -1e9, 6.0, 5.0]), 1.0, 0.0))
    3.0
    """

    plays: Count
    group: Count

    def check(self) -> None:
        if self.group > self.plays:
            raise InvalidInputError(
                f"MeanOfMedians.group must be at most plays = {self.plays}, got {self.group}"
            )

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        count_seen(memory, rewards.size)
        for i in range(rewards.size):
            memory.buffer[i] = rewards[i]
        group, groups = self.group, rewards.size // self.group
        total = 0.0
        for i in range(groups):
            total += median(memory.buffer, i * group, (i + 1) * group)
        return total / groups


class MedianOfMeans(NamedTuple):
    """Return the median of the means of blocks of plays (Medina and Yang 2016, Algorithm 4).

    Blocks are consecutive plays of equal number; plays that do not fill a block are dropped.

    Parameters
    ----------
    plays : int
        Plays per decision.
    blocks : int
        Number of blocks, at most `plays`.

    Examples
    --------
    >>> import numpy as np
    >>> mom = MedianOfMeans(plays=6, blocks=3)
    >>> float(mom.apply(mom.init(), np.array([1.0, 3.0, 1e9, 0.0, 4.0, 6.0]), 1.0, 0.0))
    5.0
    """

    plays: Count
    blocks: Count

    def check(self) -> None:
        if self.blocks > self.plays:
            raise InvalidInputError(
                f"MedianOfMeans.blocks must be at most plays = {self.plays}, got {self.blocks}"
            )

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        count_seen(memory, rewards.size)
        size = rewards.size // self.blocks
        for i in range(self.blocks):
            total = 0.0
            for j in range(i * size, (i + 1) * size):
                total += rewards[j]
            memory.buffer[i] = total / size
        return median(memory.buffer, 0, self.blocks)


class TrimmedMean(NamedTuple):
    """Return the mean of the plays without the smallest and the largest.

    Parameters
    ----------
    plays : int
        Plays per decision.
    trim : float
        Fraction of the plays to drop at either end, in [0, 0.5).

    Examples
    --------
    >>> import numpy as np
    >>> trimmed = TrimmedMean(plays=5, trim=0.2)
    >>> float(trimmed.apply(trimmed.init(), np.array([2.0, -1e9, 3.0, 1e9, 4.0]), 1.0, 0.0))
    3.0
    """

    plays: Count
    trim: Annotated[float, Interval(0.0, 0.5, "[)")]

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        size = rewards.size
        for i in range(size):
            memory.buffer[i] = rewards[i]
        low = min(int(self.trim * size), (size - 1) // 2)
        high = size - low
        select_rank(memory.buffer, 0, size, low)
        select_rank(memory.buffer, low, size, high - low - 1)
        total = 0.0
        for i in range(low, high):
            total += memory.buffer[i]
        count_seen(memory, size)
        count_truncated(memory, 2 * low)
        return total / (high - low)
