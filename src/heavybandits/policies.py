"""Policies: how the parts play together."""

import math
from typing import Any, NamedTuple

from numba.extending import register_jitable

from .filters import CUT, Memory
from .linalg import dot, multiply
from .regions import PROJECTIONS, UPDATES, measure
from .verbs import clean, maximise, predict, radius, update

LARGEST = (
    1e100  # any finite reward is legal; beyond this it counts as this, so that no sum overflows
)


class OptimismState(NamedTuple):
    """State of `Optimism`: that of the estimator and that of the filter."""

    estimate: Any
    memory: Memory


@register_jitable
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
        predicted = predict(self.estimator, state.estimate, dot(x, region.centre))
        reward = clean(self.filter, state.memory, rewards, norm, predicted)
        update(self.estimator, state.estimate, x, reward, rewards)

    def appraise(self, state: Any, x: Any) -> tuple[float, float]:
        region = state.estimate.region
        width = radius(self.radius, state.estimate, region.counts[UPDATES])
        image = region.scratch[0]
        multiply(region.inverse, x, image)
        expected = predict(self.estimator, state.estimate, dot(x, region.centre))
        return expected, width * math.sqrt(max(dot(x, image), 0.0))

    def tally(self, state: Any) -> tuple[int, int, int]:
        counts = state.estimate.region.counts
        return counts[UPDATES], counts[PROJECTIONS], state.memory.counts[CUT]
