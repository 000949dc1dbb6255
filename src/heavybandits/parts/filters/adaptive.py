"""Filters that set their own threshold from the rewards seen so far, in O(1) a reward.

The threshold is a running quantile of |y - predicted| (or of |y|), kept as a logarithm: one number,
moved up when a reward is beyond it and down when not. After the first 32 rewards no reward,
however large, moves the logarithm by more than a fifth. No moment, scale or horizon has to be
known.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.validation import Count, Fraction, Positive
from ...core.arrays import Floats, Integers
from ...core.jit import jitable
from ...core.order_statistics import select_rank
from .memory import COUNTS, count_seen, count_truncated, seen_count

_KNOWN = COUNTS  # place in AdaptiveMemory.counts and MeanMemory.counts
WARM = 32  # rewards whose quantile starts the threshold
SILENT = 4  # first rewards, which set the scale of filters that take a median of them, and no more
BEYOND = 5.0  # rewards that must lie beyond the threshold, so that fewer outliers cannot set it
LOOSEST = 0.25  # largest share beyond it


class AdaptiveMemory(NamedTuple):
    """State of filters that set their own threshold.

    counts: rewards seen, clipped, and different from what was expected; first: logarithms of the
    first `WARM` of the latter sizes; log_size: logarithm of the running quantile, median or root.
    """

    counts: Integers
    first: Floats
    log_size: Floats


def make_adaptive_memory() -> AdaptiveMemory:
    """Make an empty memory."""
    return AdaptiveMemory(np.zeros(COUNTS + 1, np.int64), np.zeros(WARM), np.zeros(1))


@jitable
def known_count(memory: "AdaptiveMemory | MeanMemory") -> int:
    """Return the number of rewards that carried information about the scale."""
    return memory.counts[_KNOWN]


@jitable
def count_known(memory: "AdaptiveMemory | MeanMemory") -> int:
    """Count a reward that carries information about the scale; return their number."""
    memory.counts[_KNOWN] += 1
    return memory.counts[_KNOWN]


@jitable
def follow_threshold(memory: AdaptiveMemory, size: float, share: float) -> float:
    """Return the threshold for this size > 0, and update the one for the next size with it.

    Robbins and Monro on the logarithm m of the (1 - p)-quantile: m += (1{ln size > m} / p - 1) / n,
    p = max(share, 5 / n). The threshold of the first size is zero, that of the second the smaller
    of the two: a longer start would cost much on short data, and one outlier is still clipped.
    """
    count = count_known(memory)
    log = math.log(size)
    if count <= WARM:
        memory.first[count - 1] = log
        beyond = max(int(LOOSEST * count), 1)
        memory.log_size[0] = select_rank(memory.first, 0, count, max(count - 1 - beyond, 0))
        return math.exp(memory.log_size[0]) if count > 1 else 0.0
    before = memory.log_size[0]
    part = max(share, min(BEYOND / count, LOOSEST))
    memory.log_size[0] = before + ((1.0 / part if log > before else 0.0) - 1.0) / count
    return math.exp(before)


@jitable
def filter_adaptively(
    memory: AdaptiveMemory, rewards: Floats, weight: float, centre: float, share: float, keep: float
) -> float:
    """Return the mean of the rewards, those beyond the threshold moved to centre +- keep limit."""
    total = 0.0
    for i in range(rewards.size):
        count_seen(memory, 1)
        error = rewards[i] - centre
        size = weight * abs(error)
        informative = size > 0.0 and rewards[i] != 0.0
        threshold = follow_threshold(memory, size, share) if informative else size
        if size <= threshold:
            total += rewards[i]
        else:
            count_truncated(memory, 1)
            limit = keep * threshold / weight
            total += centre + (limit if error > 0.0 else -limit)
    return total / rewards.size


class AdaptiveClip(NamedTuple):
    """Clip rewards at a running quantile: y is moved to predicted +- the threshold.

    The first reward sets the scale and counts as predicted. Then the filter clips 1 in 4 rewards,
    and later 1 - `quantile` of them. Zeros (most rewards where sales are rare) and rewards equal to
    the prediction are not informative about the scale of the others: they pass and do not count.

    Parameters
    ----------
    quantile : float, default 0.99
        Quantile of |y - predicted| at which rewards are clipped. Under symmetric noise 0.95 learns
        faster. Under skewed noise clipping shifts all rewards by nearly the same amount, which an
        intercept among the features absorbs and a quantile near 1 keeps small.
    residual : bool, default True
        Clip y - predicted. False clips y itself about zero, as CRTM does.
    weighted : bool, default False
        Use the quantile of ||x||_{V^-1} |y - predicted|, CRTM's scale: the filter clips rarely
        played arms at a lower threshold.
    truncate : bool, default False
        Replace a reward beyond the threshold by the prediction instead of clipping it. With
        residual=False it becomes zero: CRTM's truncation with a learned threshold.
    plays : int, default 1
        Rewards per decision; the filter returns their mean.

    Examples
    --------
    >>> clip = AdaptiveClip(quantile=0.9)
    >>> memory = clip.init()
    >>> filtered = [clip.apply(memory, np.array([y]), 1.0, 0.5) for y in (1e100, *[0.1, 1.0] * 50)]
    >>> filtered[0], float(filtered[1]), float(filtered[-1]), memory.counts.tolist()
    (0.5, 0.1, 1.0, [101, 8, 101])
    >>> cut = AdaptiveClip(residual=False, truncate=True)
    >>> memory = cut.init()
    >>> filtered = [cut.apply(memory, np.array([y]), 1.0, 0.5) for y in [1.0] * 40 + [1e9]]
    >>> float(filtered[5]), float(filtered[-1])
    (1.0, 0.0)
    """

    quantile: Fraction = 0.99
    residual: bool = True
    weighted: bool = False
    truncate: bool = False
    plays: Count = 1

    def init(self) -> AdaptiveMemory:
        return make_adaptive_memory()

    def apply(
        self, memory: AdaptiveMemory, rewards: Floats, norm: float, predicted: float
    ) -> float:
        weight = norm if self.weighted else 1.0
        centre = predicted if self.residual else 0.0
        keep = 0.0 if self.truncate else 1.0
        return filter_adaptively(memory, rewards, weight, centre, 1.0 - self.quantile, keep)

    def threshold_in_force(self, memory: AdaptiveMemory) -> float:
        return current_threshold(memory)


class MeanMemory(NamedTuple):
    """State of `MeanScaledClip`.

    counts: rewards seen, clipped, and different from zero; first: sizes of the first `SILENT` of
    the latter; mean: the running mean of |y|.
    """

    counts: Integers
    first: Floats
    mean: Floats


@jitable
def follow_mean(memory: MeanMemory, size: float) -> float:
    """Return the mean for this size, 0 for the first four, whose median starts the mean.

    After that no size more than doubles it: m += (min(size, (n + 1) m) - m) / n.
    """
    memory.counts[_KNOWN] += 1 if size > 0.0 else 0
    known, count, mean = memory.counts[_KNOWN], seen_count(memory), memory.mean[0]
    if known <= SILENT:
        if size > 0.0:
            memory.first[known - 1] = size
        if known > 0:
            middle = select_rank(memory.first, 0, known, (known - 1) // 2)
            memory.mean[0] = middle * known / count
        return 0.0
    memory.mean[0] = mean + (min(size, (count + 1.0) * mean) - mean) / count
    return mean


class MeanScaledClip(NamedTuple):
    """Clip rewards at a multiple of the mean |reward| so far, the same for all arms.

    The threshold of `Clip` is divided by ||x||_{V^-1} instead, so it clips less as an arm becomes
    known. The first four rewards that are not zero set the mean and count as zero. Where sales are
    rare, three times the mean is far below a sale.

    Parameters
    ----------
    multiple : float, default 3.0
        Threshold as a multiple of the mean |reward|.
    plays : int, default 1
        Rewards per decision; the filter returns their mean.

    Examples
    --------
    >>> clip = MeanScaledClip(multiple=3.0)
    >>> memory = clip.init()
    >>> rewards = [1e100] + [1.0] * 50 + [9.0]
    >>> filtered = [clip.apply(memory, np.array([y]), 1.0, 0.0) for y in rewards]
    >>> filtered[0], float(filtered[-2]), round(float(filtered[-1]), 6)
    (0.0, 1.0, 3.0)
    """

    multiple: Positive = 3.0
    plays: Count = 1

    def init(self) -> MeanMemory:
        return MeanMemory(np.zeros(COUNTS + 1, np.int64), np.zeros(SILENT), np.zeros(1))

    def apply(self, memory: MeanMemory, rewards: Floats, norm: float, predicted: float) -> float:
        total = 0.0
        for i in range(rewards.size):
            count_seen(memory, 1)
            limit = self.multiple * follow_mean(memory, abs(rewards[i]))
            if abs(rewards[i]) > limit:
                count_truncated(memory, 1)
                total += math.copysign(limit, rewards[i])
            else:
                total += rewards[i]
        return total / rewards.size

    def threshold_in_force(self, memory: MeanMemory) -> float:
        return self.multiple * float(memory.mean[0])


@jitable
def current_threshold(memory: AdaptiveMemory, silent: int = 1) -> float:
    """Return the threshold for the next reward; 0 before `silent` rewards have been seen.

    >>> current_threshold(AdaptiveClip().init())
    0.0
    """
    if known_count(memory) < silent:
        return 0.0
    return math.exp(float(memory.log_size[0]))
