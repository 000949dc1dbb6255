"""UCB: the arm that is best under the most favourable theta of a region."""

import math
from typing import NamedTuple

from ..._utils.errors import InvalidInputError
from ...core.arm_buffer import View
from ...core.arrays import Floats
from ...core.blocked import combine
from ...core.confidence_region import CUTS, EXPECTED, PROJECTIONS, UPDATES, measure
from ...core.dispatch import clean, maximise, predict, radius, update
from ...core.linalg import bounded, clamp, dot
from ...core.part import check_reads
from ...core.protocols import ArmSet, Counted, Estimate, Estimator, Filter, Radius, Tally
from ..filters.truncation import CUT


class UCBState(NamedTuple):
    """State of `UCB`: that of the estimator and that of the filter."""

    estimate: Estimate
    memory: Counted


class UCB(NamedTuple):
    """Play the arm that is best under the most favourable theta of the confidence region.

    x = argmax_x x.centre + radius ||x||_{V^-1}. The link is increasing: it never enters the index.

    >>> from heavybandits import crtm
    >>> type(crtm(dim=10, horizon=1000, moment=3.5)).__name__
    'UCB'
    """

    estimator: Estimator
    filter: Filter
    radius: Radius

    def check(self) -> None:
        check_reads(self.radius, self.estimator)
        wanted = getattr(self.estimator, "plays", self.plays)
        if wanted != self.plays:
            raise InvalidInputError(
                f"UCB.filter must have plays = {wanted}, as {type(self.estimator).__name__} "
                f"learns from so many, got {self.plays}"
            )

    @property
    def plays(self) -> int:
        """Plays of one arm per decision."""
        return self.filter.plays

    @property
    def dim(self) -> int:
        return self.estimator.dim

    @property
    def choice_writes(self) -> tuple[str, ...]:
        """The arrays of the state in which a choice leaves something that matters later."""
        return ()

    def init(self) -> UCBState:
        return UCBState(self.estimator.init(), self.filter.init())

    def choose(self, state: UCBState, arms: ArmSet, view: View) -> int:
        region = state.estimate.region
        width = bounded(radius(self.radius, state.estimate, region.counts[UPDATES]))
        return maximise(arms, view, region, width)

    def learn(self, state: UCBState, x: Floats, rewards: Floats) -> None:
        region = state.estimate.region
        clamp(rewards)
        norm = measure(region, x)
        expected = bounded(predict(self.estimator, state.estimate, dot(x, region.centre)))
        region.numbers[EXPECTED] = expected
        reward = clean(self.filter, state.memory, rewards, norm, expected)
        update(self.estimator, state.estimate, x, reward, rewards)

    def estimate_arm(self, state: UCBState, x: Floats) -> tuple[float, float]:
        region = state.estimate.region
        width = bounded(radius(self.radius, state.estimate, region.counts[UPDATES]))
        image = region.scratch[0]
        combine(region.inverse, x, image)
        expected = predict(self.estimator, state.estimate, dot(x, region.centre))
        return expected, width * math.sqrt(max(dot(x, image), 0.0))

    def tally(self, state: UCBState) -> Tally:
        counts = state.estimate.region.counts
        cut = state.memory.counts[CUT] + counts[CUTS]
        return Tally(counts[UPDATES], counts[PROJECTIONS], cut)
