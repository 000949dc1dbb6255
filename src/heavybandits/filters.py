"""Filters: the rewards of one decision (one play or several) made into one number.

`norm` is ||x||_{V^-1} and `predicted` is the mean reward the estimator expects of x. Memory counts
the plays seen and the rewards cut.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .linalg import median, select_rank

SEEN, CUT = 0, 1  # places in Memory.counts


class Memory(NamedTuple):
    """What a filter keeps: two counts, and room to reorder the rewards of one decision."""

    counts: Any
    buffer: Any


def make_memory(plays: int) -> Memory:
    return Memory(counts=np.zeros(2, np.int64), buffer=np.zeros(plays))


class Raw(NamedTuple):
    """No filter: the mean of the plays.

    >>> raw = Raw()
    >>> float(raw.clean(raw.init(), np.array([3.0]), 1.0, 0.0))
    3.0
    """

    plays: int = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        memory.counts[SEEN] += rewards.size
        total = 0.0
        for i in range(rewards.size):
            total += rewards[i]
        return total / rewards.size


class Truncate(NamedTuple):
    """y 1{||x||_{V^-1} |y| <= Gamma}: rewards beyond the level become zero (Algorithm 1, line 6).

    >>> truncate = Truncate(level=2.0)
    >>> memory = truncate.init()
    >>> [float(truncate.clean(memory, np.array([y]), 0.5, 0.0)) for y in (3.9, 4.1)]
    [3.9, 0.0]
    """

    level: float
    plays: int = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        memory.counts[SEEN] += rewards.size
        total = 0.0
        for i in range(rewards.size):
            if norm * abs(rewards[i]) <= self.level:
                total += rewards[i]
            else:
                memory.counts[CUT] += 1
        return total / rewards.size


class TruncateByTime(NamedTuple):
    """y 1{|y| <= scale t^power} for the t-th reward, each truncated once and for good.

    CRT of Medina and Yang (2016) has scale 1 and power 1/(2(1 + epsilon)).

    >>> truncate = TruncateByTime(power=0.25)
    >>> memory = truncate.init()
    >>> [float(truncate.clean(memory, np.array([y]), 1.0, 0.0)) for y in (1.1, 1.1)]
    [0.0, 1.1]
    """

    power: float
    scale: float = 1.0
    plays: int = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        total = 0.0
        for i in range(rewards.size):
            memory.counts[SEEN] += 1
            if abs(rewards[i]) <= self.scale * math.pow(memory.counts[SEEN], self.power):
                total += rewards[i]
            else:
                memory.counts[CUT] += 1
        return total / rewards.size


class Clip(NamedTuple):
    """y clipped to |y| <= Gamma / ||x||_{V^-1}: the level of `Truncate`, winsorised, not zeroed.

    >>> clip = Clip(level=2.0)
    >>> memory = clip.init()
    >>> [float(clip.clean(memory, np.array([y]), 0.5, 0.0)) for y in (3.9, -4.1)]
    [3.9, -4.0]
    """

    level: float
    plays: int = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        memory.counts[SEEN] += rewards.size
        total = 0.0
        for i in range(rewards.size):
            if norm * abs(rewards[i]) <= self.level:
                total += rewards[i]
            else:
                memory.counts[CUT] += 1
                limit = self.level / norm
                total += limit if rewards[i] > 0.0 else -limit
        return total / rewards.size


class Median(NamedTuple):
    """The median of the plays (Algorithm 2, line 6); of an even number, the mean of the middle two.

    The paper's proof takes the lower of the two, but needs E[median] = 0, which by symmetry
    holds for their mean.

    >>> middle = Median(plays=4)
    >>> float(middle.clean(middle.init(), np.array([9.0, 1.0, 2.0, 1e9]), 1.0, 0.0))
    5.5
    """

    plays: int

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        memory.counts[SEEN] += rewards.size
        for i in range(rewards.size):
            memory.buffer[i] = rewards[i]
        return median(memory.buffer, 0, rewards.size)


class MeanOfMedians(NamedTuple):
    """Groups of `group` plays, the median of each, the mean of those; leftovers are dropped.

    Zhong, Huang, Yang and Wang (2021). Groups are consecutive: the plays are independent anyway.

    >>> mom = MeanOfMedians(plays=7, group=3)
    >>> float(mom.clean(mom.init(), np.array([1.0, 2.0, 1e9, 4.0, -1e9, 6.0, 5.0]), 1.0, 0.0))
    3.0
    """

    plays: int
    group: int

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        memory.counts[SEEN] += rewards.size
        for i in range(rewards.size):
            memory.buffer[i] = rewards[i]
        group = min(self.group, rewards.size)
        groups = rewards.size // group
        total = 0.0
        for i in range(groups):
            total += median(memory.buffer, i * group, (i + 1) * group)
        return total / groups


class MedianOfMeans(NamedTuple):
    """`blocks` consecutive blocks of equal size, the mean of each, the median of those.

    Medina and Yang (2016), Algorithm 4; leftovers are dropped.

    >>> mom = MedianOfMeans(plays=6, blocks=3)
    >>> float(mom.clean(mom.init(), np.array([1.0, 3.0, 1e9, 0.0, 4.0, 6.0]), 1.0, 0.0))
    5.0
    """

    plays: int
    blocks: int

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        memory.counts[SEEN] += rewards.size
        blocks = min(self.blocks, rewards.size)
        size = rewards.size // blocks
        for i in range(blocks):
            total = 0.0
            for j in range(i * size, (i + 1) * size):
                total += rewards[j]
            memory.buffer[i] = total / size
        return median(memory.buffer, 0, blocks)


class TrimmedMean(NamedTuple):
    """The mean of what is left when the share `trim` of the plays is cut off at either end.

    >>> trimmed = TrimmedMean(plays=5, trim=0.2)
    >>> float(trimmed.clean(trimmed.init(), np.array([2.0, -1e9, 3.0, 1e9, 4.0]), 1.0, 0.0))
    3.0
    """

    plays: int
    trim: float

    def init(self) -> Memory:
        return make_memory(self.plays)

    def clean(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
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
        memory.counts[SEEN] += size
        memory.counts[CUT] += 2 * low
        return total / (high - low)
