"""Policies: how the parts play together."""

import math
from typing import Any, NamedTuple

import numpy as np

from .arms import take
from .filters import CUT, Memory
from .jitable import jitable
from .linalg import combine, dot
from .regions import CUTS, EXPECTED, PROJECTIONS, UPDATES, measure
from .streams import uniform
from .verbs import clean, maximise, predict, radius, update

# Any finite reward is legal; beyond this it counts as this, so that no sum overflows.
LARGEST = 1e100


class OptimismState(NamedTuple):
    """State of `Optimism`: that of the estimator and that of the filter."""

    estimate: Any
    memory: Memory


@jitable
def restrain(rewards: Any) -> None:
    """Keep |reward| <= LARGEST."""
    for i in range(rewards.size):
        rewards[i] = min(max(rewards[i], -LARGEST), LARGEST)


class Optimism(NamedTuple):
    """Play the arm that is best under the most favourable theta of the confidence region.

    x = argmax_x x.centre + radius ||x||_{V^-1}. The link is increasing: it never enters the index.

    >>> from heavybandits import crtm
    >>> type(crtm(dim=10, horizon=1000, moment=3.5)).__name__
    'Optimism'
    """

    estimator: Any
    filter: Any
    radius: Any

    @property
    def plays(self) -> int:
        """Plays of one arm a decision."""
        return int(self.filter.plays)

    @property
    def dim(self) -> int:
        return int(self.estimator.dim)

    @property
    def capacity(self) -> int | None:
        """Decisions there is room for, if the estimator keeps them; None for no limit."""
        return getattr(self.estimator, "capacity", None)

    def init(self) -> OptimismState:
        return OptimismState(self.estimator.init(), self.filter.init())

    def choose(self, state: Any, arms: Any, view: Any) -> int:
        region = state.estimate.region
        width = radius(self.radius, state.estimate, region.counts[UPDATES])
        return maximise(arms, view, region, width)

    def learn(self, state: Any, x: Any, rewards: Any) -> None:
        region = state.estimate.region
        restrain(rewards)
        norm = measure(region, x)
        expected = predict(self.estimator, state.estimate, dot(x, region.centre))
        region.numbers[EXPECTED] = expected
        reward = clean(self.filter, state.memory, rewards, norm, expected)
        update(self.estimator, state.estimate, x, reward, rewards)

    def appraise(self, state: Any, x: Any) -> tuple[float, float]:
        region = state.estimate.region
        width = radius(self.radius, state.estimate, region.counts[UPDATES])
        image = region.scratch[0]
        combine(region.inverse, x, image)
        expected = predict(self.estimator, state.estimate, dot(x, region.centre))
        return expected, width * math.sqrt(max(dot(x, image), 0.0))

    def tally(self, state: Any) -> tuple[int, int, int]:
        counts = state.estimate.region.counts
        cut = state.memory.counts[CUT] + counts[CUTS]
        return counts[UPDATES], counts[PROJECTIONS], cut


class UniformState(NamedTuple):
    """State of `Uniform`: decisions made, decisions learned from, and the sum of their rewards."""

    counts: Any
    total: Any


class Uniform(NamedTuple):
    """An arm at random, each as likely as the other: what every algorithm has to beat.

    Decision n takes number n of the stream of the seed, so a run can be repeated.

    >>> Uniform(dim=3, seed=1).plays
    1
    """

    dim: int
    seed: int = 0

    @property
    def plays(self) -> int:
        return 1

    @property
    def finite_only(self) -> bool:
        return True

    def init(self) -> UniformState:
        return UniformState(np.zeros(2, np.int64), np.zeros(1))

    def choose(self, state: Any, arms: Any, view: Any) -> int:
        offered = 0
        for k in range(view.penalty.size):
            if view.penalty[k] == 0.0:
                offered += 1
        left = int(uniform(np.uint64(self.seed), state.counts[0]) * offered)
        state.counts[0] += 1
        arm = 0
        for k in range(view.penalty.size):
            if view.penalty[k] == 0.0:
                if left == 0:
                    arm = k
                left -= 1
        take(view, arm)
        return arm

    def learn(self, state: Any, x: Any, rewards: Any) -> None:
        restrain(rewards)
        state.counts[1] += 1
        state.total[0] += rewards[0]

    def appraise(self, state: Any, x: Any) -> tuple[float, float]:
        """The mean of all rewards so far, whatever the arm."""
        return state.total[0] / max(state.counts[1], 1), 0.0

    def tally(self, state: Any) -> tuple[int, int, int]:
        return state.counts[1], 0, 0
