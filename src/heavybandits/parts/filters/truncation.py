"""Filters that look at each reward separately: keep, truncate or clip."""

import math
from typing import NamedTuple

from ..._utils.validation import Count, Positive, Share
from ...core.arrays import Floats
from .memory import Memory, count_seen, count_truncated, make_memory, seen_count


class NoFilter(NamedTuple):
    """Return the mean of the plays, unchanged.

    Parameters
    ----------
    plays : int, default 1
        Rewards per decision.

    Examples
    --------
    >>> import numpy as np
    >>> raw = NoFilter()
    >>> float(raw.apply(raw.init(), np.array([3.0]), 1.0, 0.0))
    3.0
    """

    plays: Count = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        count_seen(memory, rewards.size)
        total = 0.0
        for i in range(rewards.size):
            total += rewards[i]
        return total / rewards.size


class Truncate(NamedTuple):
    """Set rewards with ||x||_{V^-1} |y| > threshold to zero (Xue et al. 2023, Algorithm 1, line 6).

    Parameters
    ----------
    threshold : float
        Gamma, in units of the reward times ||x||_{V^-1}.
    plays : int, default 1
        Rewards per decision; the filter returns their mean.

    See Also
    --------
    Clip : Clip the same rewards instead.

    Examples
    --------
    >>> import numpy as np
    >>> truncate = Truncate(threshold=2.0)
    >>> memory = truncate.init()
    >>> [float(truncate.apply(memory, np.array([y]), 0.5, 0.0)) for y in (3.9, 4.1)]
    [3.9, 0.0]
    """

    threshold: Positive
    plays: Count = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        count_seen(memory, rewards.size)
        total = 0.0
        for i in range(rewards.size):
            if norm * abs(rewards[i]) <= self.threshold:
                total += rewards[i]
            else:
                count_truncated(memory, 1)
        return total / rewards.size

    def threshold_in_force(self, memory: Memory) -> float:
        return self.threshold


class TruncateByTime(NamedTuple):
    """Set the t-th reward to zero if |y| > scale t^power.

    CRT (Medina and Yang 2016) has scale 1 and power 1/(2(1 + epsilon)).

    Parameters
    ----------
    power : float
        Power of t, in [0, 1].
    scale : float, default 1.0
        Threshold of the first reward, in the unit of the reward.
    plays : int, default 1
        Rewards per decision; the filter returns their mean.

    Examples
    --------
    >>> import numpy as np
    >>> truncate = TruncateByTime(power=0.25)
    >>> memory = truncate.init()
    >>> [float(truncate.apply(memory, np.array([y]), 1.0, 0.0)) for y in (1.1, 1.1)]
    [0.0, 1.1]
    """

    power: Share
    scale: Positive = 1.0
    plays: Count = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        total = 0.0
        for i in range(rewards.size):
            count_seen(memory, 1)
            if abs(rewards[i]) <= self.scale * math.pow(seen_count(memory), self.power):
                total += rewards[i]
            else:
                count_truncated(memory, 1)
        return total / rewards.size

    def threshold_in_force(self, memory: Memory) -> float:
        return self.scale * math.pow(seen_count(memory) + 1, self.power)


class Clip(NamedTuple):
    """Clip rewards to |y| <= threshold / ||x||_{V^-1}.

    Parameters
    ----------
    threshold : float
        Gamma, in units of the reward times ||x||_{V^-1}.
    plays : int, default 1
        Rewards per decision; the filter returns their mean.

    See Also
    --------
    Truncate : Set the same rewards to zero.

    Examples
    --------
    >>> import numpy as np
    >>> clip = Clip(threshold=2.0)
    >>> memory = clip.init()
    >>> [float(clip.apply(memory, np.array([y]), 0.5, 0.0)) for y in (3.9, -4.1)]
    [3.9, -4.0]
    """

    threshold: Positive
    plays: Count = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        count_seen(memory, rewards.size)
        total = 0.0
        for i in range(rewards.size):
            if norm * abs(rewards[i]) <= self.threshold:
                total += rewards[i]
            else:
                count_truncated(memory, 1)
                limit = self.threshold / norm
                total += limit if rewards[i] > 0.0 else -limit
        return total / rewards.size

    def threshold_in_force(self, memory: Memory) -> float:
        return self.threshold
