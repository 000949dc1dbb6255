"""Per-arm estimators: mean and width of every available arm, each from an estimate of its own.

BTC and BMM of Xue, Wang, Wang, Zhang (2020). Their data are kept in stages, which never mix:
`StagedElimination` uses one stage after the other, `PerArmUCB` the first only.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ..._utils.validation import Count, Interval
from ...core.allocation import repeated, zeros
from ...core.arrays import Floats, Integers
from ...core.confidence_region import Region, add_observation, make_region, measure, update_count
from ...core.dispatch import radius
from ...core.jit import jitable
from ...core.linalg import combine, dot
from ...core.order_statistics import median
from ...core.part import check_reads
from ...core.protocols import Radius, Tally
from .blocks import (
    BLOCK,
    History,
    count_truncated,
    is_valid_history,
    make_history,
    store,
    stored_count,
    truncated_sum,
    weigh,
)


class Stages(NamedTuple):
    """Confidence regions, one per stage: the fields of `Region` with a leading axis."""

    centre: Floats
    inverse: Floats
    design: Floats
    direction: Floats
    numbers: Floats
    counts: Integers
    scratch: Floats
    recent: Floats


def make_stages(dim: int, stages: int) -> Stages:
    """Make stages with A = I in each."""
    return Stages(*(repeated(array, stages) for array in make_region(dim, 1.0)))


@jitable
def region_of(stages: Stages, stage: int) -> Region:
    """Return the region of one stage: views, nothing is copied."""
    return Region(
        stages.centre[stage],
        stages.inverse[stage],
        stages.design[stage],
        stages.direction[stage],
        stages.numbers[stage],
        stages.counts[stage],
        stages.scratch[stage],
        stages.recent[stage],
    )


@jitable
def image_of(inverse: Floats, features: Floats, arm: int, x: Floats, image: Floats) -> float:
    """image = A^-1 x for one column; returns ||x||_{A^-1}."""
    for i in range(x.size):
        x[i] = features[i, arm]
    combine(inverse, x, image)
    return math.sqrt(max(dot(x, image), 0.0))


@jitable
def norm_of(region: Region, x: Floats) -> float:
    """||x||_{V^-1}, leaving nothing but scratch."""
    image = region.scratch[0]
    combine(region.inverse, x, image)
    return math.sqrt(max(dot(x, image), 0.0))


class TruncatedScratch(NamedTuple):
    """Scratch of `TruncatedRegression`: no call reads what an earlier one wrote."""

    images: Floats
    batch: Integers  # the arms that the images belong to
    x: Floats
    sums: Floats
    weights: Floats  # of every stored play, one row per arm


class TruncatedMemory(NamedTuple):
    """State of `TruncatedRegression`."""

    stages: Stages
    history: History
    truncated: Integers  # rewards left out of the estimate of the arm last stored
    scratch: TruncatedScratch


class TruncatedRegression(NamedTuple):
    """Estimate the mean of every arm from a history truncated for this arm: BTC (Xue et al. 2020).

        b_tau = x.A^-1 x_tau,    h = (sum |b_tau|^{1+eps})^{1/(1+eps)}
        mean = sum b_tau y_tau 1{|b_tau y_tau| <= h},    width = radius ||x||_{A^-1}

    with A = I + sum x x^T. The cost is O(K d n) for n plays in the stage, the memory O(T(d + K)).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    capacity : int
        T, the largest number of rewards.
    arms : int
        Number of arms for which weights are computed at the same time.
    order : float
        1 + epsilon, the order of the moment, in [1, 2].
    radius : Radius
        Size of the confidence region.
    stages : int, default 1
        Number of stages with separate data.

    Examples
    --------
    >>> from heavybandits.radii import PowerRadius
    >>> base = TruncatedRegression(2, 100, 4, 2.0, PowerRadius(1.0, 0.0, 0.0, 1.0))
    >>> memory = base.init()
    >>> base.remember(memory, 0, np.array([1.0, 0.0]), np.array([0.5]))
    >>> base.remember(memory, 0, np.array([1.0, 0.0]), np.array([1e9]))
    >>> estimates, widths = np.zeros(1), np.zeros(1)
    >>> base.estimate_arms(memory, 0, np.array([[1.0], [0.0]]), np.ones(1), estimates, widths)
    >>> round(float(estimates[0]), 6), round(float(widths[0]), 6)
    (0.166667, 0.57735)
    """

    dim: Count
    capacity: Count
    arms: Count
    order: Annotated[float, Interval(1.0, 2.0)]
    radius: Radius
    stages: Count = 1

    def check(self) -> None:
        check_reads(self.radius, self)

    @property
    def plays(self) -> int:
        return 1

    def init(self) -> TruncatedMemory:
        return TruncatedMemory(
            stages=make_stages(self.dim, self.stages),
            history=make_history(self.dim, self.capacity, self.stages),
            truncated=zeros(1, dtype=np.int64),
            scratch=TruncatedScratch(
                images=zeros(self.arms, self.dim),
                batch=zeros(self.arms, dtype=np.int64),
                x=zeros(self.dim),
                sums=zeros(BLOCK),
                weights=zeros(self.arms, self.capacity),
            ),
        )

    def is_valid(self, state: TruncatedMemory) -> bool:
        return is_valid_history(state.history, self.capacity)

    def arm_width(self, memory: TruncatedMemory, stage: int, x: Floats) -> float:
        reach = radius(self.radius, memory, memory.history.sizes[stage])
        return reach * norm_of(region_of(memory.stages, stage), x)

    def remember(self, memory: TruncatedMemory, stage: int, x: Floats, rewards: Floats) -> None:
        if stored_count(memory.history) >= self.capacity:
            return  # callers reject this earlier
        region = region_of(memory.stages, stage)
        measure(region, x)
        add_observation(region, x, 1.0)
        store(memory.history, stage, x, rewards[0])
        scratch = memory.scratch
        combine(region.inverse, x, scratch.images[0])
        weigh(memory.history, stage, scratch.images, scratch.weights, 1)
        weights, sums = scratch.weights[0], scratch.sums
        memory.truncated[0] = count_truncated(memory.history, stage, weights, self.order, sums)

    def estimate_arms(
        self,
        memory: TruncatedMemory,
        stage: int,
        features: Floats,
        alive: Floats,
        estimates: Floats,
        widths: Floats,
    ) -> None:
        history, inverse, scratch = memory.history, memory.stages.inverse[stage], memory.scratch
        reach = radius(self.radius, memory, history.sizes[stage])
        count = 0
        for k in range(estimates.size):
            estimates[k], widths[k] = 0.0, 0.0
            if alive[k] > 0.0:
                norm = image_of(inverse, features, k, scratch.x, scratch.images[count])
                widths[k] = reach * norm
                scratch.batch[count] = k
                count += 1
            if count == self.arms or k == estimates.size - 1:
                weigh(history, stage, scratch.images, scratch.weights, count)
                for j in range(count):
                    weights, sums = scratch.weights[j], scratch.sums
                    total = truncated_sum(history, stage, weights, self.order, sums)
                    estimates[scratch.batch[j]] = total
                count = 0

    def tally(self, state: TruncatedMemory) -> Tally:
        """Plays stored, 0, and the rewards left out of the estimate of the arm last stored."""
        return Tally(stored_count(state.history), 0, state.truncated[0])


class MedianScratch(NamedTuple):
    """Scratch of `MedianRegression`."""

    image: Floats
    buffer: Floats
    x: Floats


class MedianMemory(NamedTuple):
    """State of `MedianRegression`: in every stage sum x y_j, one column per play."""

    stages: Stages
    sums: Floats
    scratch: MedianScratch


class MedianRegression(NamedTuple):
    """Estimate the mean of every arm as the median of r ridge regressions: BMM (Xue et al. 2020).

        mean = median_j x.A^-1 sum_tau y^j_tau x_tau,    width = radius ||x||_{A^-1}

    The cost is O(K d r) per decision, the memory O(stages d (d + r)). The published form stores all
    rewards; their sums are enough.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    plays : int
        r, plays of one arm per decision.
    radius : Radius
        Size of the confidence region.
    stages : int, default 1
        Number of stages with separate data.

    Examples
    --------
    >>> from heavybandits.radii import PowerRadius
    >>> base = MedianRegression(2, 3, PowerRadius(1.0, 0.0, 0.0, 1.0))
    >>> memory = base.init()
    >>> base.remember(memory, 0, np.array([1.0, 0.0]), np.array([0.5, 1e9, 0.7]))
    >>> estimates, widths = np.zeros(1), np.zeros(1)
    >>> base.estimate_arms(memory, 0, np.array([[1.0], [0.0]]), np.ones(1), estimates, widths)
    >>> float(estimates[0])
    0.35
    """

    dim: Count
    plays: Count
    radius: Radius
    stages: Count = 1

    def check(self) -> None:
        check_reads(self.radius, self)

    def init(self) -> MedianMemory:
        return MedianMemory(
            stages=make_stages(self.dim, self.stages),
            sums=zeros(self.stages, self.dim, self.plays),
            scratch=MedianScratch(zeros(self.dim), zeros(self.plays), zeros(self.dim)),
        )

    def arm_width(self, memory: MedianMemory, stage: int, x: Floats) -> float:
        reach = radius(self.radius, memory, update_count(region_of(memory.stages, stage)))
        return reach * norm_of(region_of(memory.stages, stage), x)

    def remember(self, memory: MedianMemory, stage: int, x: Floats, rewards: Floats) -> None:
        region = region_of(memory.stages, stage)
        measure(region, x)
        add_observation(region, x, 1.0)
        for i in range(x.size):
            for j in range(rewards.size):
                memory.sums[stage, i, j] += x[i] * rewards[j]

    def estimate_arms(
        self,
        memory: MedianMemory,
        stage: int,
        features: Floats,
        alive: Floats,
        estimates: Floats,
        widths: Floats,
    ) -> None:
        reach = radius(self.radius, memory, update_count(region_of(memory.stages, stage)))
        inverse, scratch = memory.stages.inverse[stage], memory.scratch
        for k in range(estimates.size):
            estimates[k], widths[k] = 0.0, 0.0
            if alive[k] > 0.0:
                widths[k] = reach * image_of(inverse, features, k, scratch.x, scratch.image)
                combine(memory.sums[stage], scratch.image, scratch.buffer)
                estimates[k] = median(scratch.buffer, 0, self.plays)

    def tally(self, state: MedianMemory) -> Tally:
        stored = 0
        for stage in range(state.stages.counts.shape[0]):
            stored += update_count(region_of(state.stages, stage))
        return Tally(stored, 0, 0)
