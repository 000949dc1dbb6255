"""Filters that find their threshold in the rewards and loosen it as more is learned.

Like those of `adaptive` they keep the logarithm of a scale and move it by a bounded step per
reward. The first four rewards set the scale and count as predicted. See docs/maths/filters.md.
"""

import math
from typing import Annotated, NamedTuple

from ..._utils.validation import Count, Interval, Positive, Share
from ...core.arrays import Floats
from ...core.jit import jitable
from ...core.order_statistics import median, select_rank
from .adaptive import (
    LOOSEST,
    SILENT,
    WARM,
    AdaptiveMemory,
    count_known,
    current_threshold,
    known_count,
    make_adaptive_memory,
)
from .memory import count_seen, count_truncated


@jitable
def follow_median(memory: AdaptiveMemory, log: float) -> float:
    """Return the running median for this size: exact at first, then m +- 1/(2 sqrt(n))."""
    count = count_known(memory)
    if count <= WARM:
        memory.first[count - 1] = log
        memory.log_size[0] = median(memory.first, 0, count)
        return math.exp(memory.log_size[0])
    middle = memory.log_size[0]
    memory.log_size[0] = middle + math.copysign(0.5 / math.sqrt(count), log - middle)
    return math.exp(middle)


@jitable
def follow_root(memory: AdaptiveMemory, log: float, strength: float) -> float:
    """Return the threshold M for this size: m += (min(1, e^2/M^2)/p - 1)/n, p = z ln(n)/n."""
    count = count_known(memory)
    if count <= WARM:
        memory.first[count - 1] = log
        beyond = max(int(LOOSEST * count), 1)
        memory.log_size[0] = select_rank(memory.first, 0, count, max(count - 1 - beyond, 0))
        return math.exp(memory.log_size[0])
    before = memory.log_size[0]
    share = min(strength * math.log(count) / count, 0.5)
    part = math.exp(2.0 * min(log - before, 0.0))
    memory.log_size[0] = before + (part / share - 1.0) / count
    return math.exp(before)


@jitable
def clip_about(memory: AdaptiveMemory, reward: float, predicted: float, limit: float) -> float:
    """Clip a reward to predicted +- limit; the first ones become predicted."""
    count_seen(memory, 1)
    allowed = limit if known_count(memory) > SILENT else 0.0
    if abs(reward - predicted) <= allowed:
        return reward
    count_truncated(memory, 1)
    return predicted + math.copysign(allowed, reward - predicted)


class LeverageClip(NamedTuple):
    """Clip residuals at a learned scale: high for known arms, low for unknown arms.

    The filter clips y - predicted at

        threshold s n^power sqrt((1 + w^2) / w^2),    w^2 = curvature ||x||^2_{V^-1},

    where s is the running median of |y - predicted| and n the number of rewards seen. As w falls,
    the threshold grows like sqrt(n/d), so the bias of skewed noise vanishes, unlike that of
    `AdaptiveClip`. No theorem covers this filter.

    Parameters
    ----------
    threshold : float, default 0.5
        Multiple of the median |y - predicted|. A value below 0.5 learns faster under symmetric
        noise, and fails under skewed noise without a variance.
    curvature : float, default 1.0
        Weight of a reward in V: 1 for ridge regression, kappa/2 for `crtm`.
    power : float, default 0.0
        Power of n, for noise without a variance; CRHL has (1 - epsilon) / (2 (1 + epsilon)).
    plays : int, default 1
        Rewards per decision; the filter returns their mean.

    Examples
    --------
    >>> import numpy as np
    >>> clip = LeverageClip()
    >>> memory = clip.init()
    >>> filtered = [clip.apply(memory, np.array([y]), 1.0, 0.0) for y in (1.0, -1.0) * 20 + (9.0,)]
    >>> filtered[0], round(float(filtered[-1]), 1)
    (0.0, 0.7)
    """

    threshold: Positive = 0.5
    curvature: Positive = 1.0
    power: Share = 0.0
    plays: Count = 1

    def init(self) -> AdaptiveMemory:
        return make_adaptive_memory()

    def apply(
        self, memory: AdaptiveMemory, rewards: Floats, norm: float, predicted: float
    ) -> float:
        total, square = 0.0, self.curvature * norm * norm
        for i in range(rewards.size):
            error, limit = rewards[i] - predicted, math.inf
            if error != 0.0:
                scale = self.threshold * follow_median(memory, math.log(abs(error)))
                scale *= math.pow(known_count(memory), self.power)
                if square > 0.0:
                    limit = scale * math.sqrt((1.0 + square) / square)
            total += clip_about(memory, rewards[i], predicted, limit)
        return total / rewards.size

    def threshold_in_force(self, memory: AdaptiveMemory) -> float:
        """Return the multiple of the median error, before it is loosened for a known arm."""
        return self.threshold * current_threshold(memory, SILENT)


class TailClip(NamedTuple):
    """Clip residuals y - predicted at the root M of a tail equation, without hyperparameters.

        mean min(e^2, M^2) / M^2 = z ln(n) / n

    For independent rewards the root adapts to whatever moment exists (Wang et al. 2021, Genalti et
    al. 2024). This filter follows the root in one pass, which no theorem covers. The fraction of
    rewards beyond M falls like ln(n)/n, so the bias vanishes.

    Parameters
    ----------
    strength : float, default 3.0
        z of the equation; a larger number clips more.
    plays : int, default 1
        Rewards per decision; the filter returns their mean.

    Examples
    --------
    >>> import numpy as np
    >>> clip = TailClip()
    >>> memory = clip.init()
    >>> filtered = [clip.apply(memory, np.array([y]), 1.0, 0.5) for y in [1.0, 0.0] * 20 + [1e9]]
    >>> filtered[0], float(filtered[20]), float(filtered[-1]) < 2.0
    (0.5, 1.0, True)
    """

    strength: Annotated[float, Interval(1e-3, 1e3)] = 3.0
    plays: Count = 1

    def init(self) -> AdaptiveMemory:
        return make_adaptive_memory()

    def apply(
        self, memory: AdaptiveMemory, rewards: Floats, norm: float, predicted: float
    ) -> float:
        total = 0.0
        for i in range(rewards.size):
            error, limit = rewards[i] - predicted, math.inf
            if error != 0.0:
                limit = follow_root(memory, math.log(abs(error)), self.strength)
            total += clip_about(memory, rewards[i], predicted, limit)
        return total / rewards.size

    def threshold_in_force(self, memory: AdaptiveMemory) -> float:
        return current_threshold(memory, SILENT)
