"""Parts that only the experiments need: noises, an arm set and an estimator."""

import math
from typing import Annotated, NamedTuple

from .._utils.validation import Count, Interval, Positive
from ..core.arm_buffer import ArmBuffer, best_score, entries, make_arm_buffer, measure_all, pick
from ..core.arrays import Floats, Key
from ..core.confidence_region import Region, update_count
from ..core.dispatch import draw, predict, update
from ..core.jit import jitable
from ..core.protocols import Estimator, KnownNoise, Observation, Redraw
from ..core.rng import uniform
from ..parts.arms.finite import draw_features
from ..parts.estimators.huber import HuberEstimate
from ..parts.noises.moments import central_moment

Rare = Annotated[float, Interval(0.0, 1.0, "()")]


class TwoPoint(NamedTuple):
    """`size` with probability `share`, else -size share / (1 - share): centred, skewed, bounded.

    No noise with the same moment E|noise|^p can be large more often, so that a theorem which needs
    no more than this moment meets its worst case.

    >>> TwoPoint(share=0.2, size=4.0).location(), TwoPoint(share=0.2, size=4.0).moment(2.0)
    (0.0, 4.0)
    """

    share: Rare
    size: Positive = 1.0

    def draw(self, key: Key, play: int) -> float:
        if uniform(key, 4 * play) < self.share:
            return self.size
        return -self.size * self.share / (1.0 - self.share)

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        low = self.size * self.share / (1.0 - self.share)
        often = (1.0 - self.share) * abs(shift - low) ** order
        return float(self.share * abs(shift + self.size) ** order + often)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return self.share == 0.5

    def tail_index(self) -> float:
        return math.inf


def saturating(share: float, order: float) -> TwoPoint:
    """Return the two-point noise with E|noise|^order = 1.

    >>> round(saturating(0.01, 1.3).moment(1.3), 12)
    1.0
    """
    return TwoPoint(share, TwoPoint(share).moment(order) ** (-1.0 / order))


class Alternating(NamedTuple):
    """The noise of `base`, every second play `ratio` times as large.

    Its moments are those of the louder plays: the ones to give to an
    algorithm that does not receive the scale of every reward.

    >>> from heavybandits.noises import Gaussian
    >>> round(Alternating(Gaussian(), 10.0).moment(2.0), 6)
    100.0
    """

    base: KnownNoise
    ratio: Positive

    def draw(self, key: Key, play: int) -> float:
        return draw(self.base, key, play) * (self.ratio if play % 2 == 1 else 1.0)

    def location(self) -> float:
        return self.base.location() * self.ratio

    def moment(self, order: float, shift: float = 0.0) -> float:
        loud = self.ratio**order * self.base.moment(order, shift / self.ratio)
        return max(self.base.moment(order, shift), float(loud))

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return self.base.symmetric()

    def tail_index(self) -> float:
        return self.base.tail_index()


class GivenScale(NamedTuple):
    """`HuberNewton` under `Alternating` noise, given the scale of every reward.

    >>> from heavybandits import crhl
    >>> GivenScale(crhl(dim=3, noise_scale=1.0, radius_scale=0.01).estimator, 1.0, 10.0).dim
    3
    """

    step: Estimator
    noise_scale: Positive
    ratio: Positive

    @property
    def dim(self) -> int:
        return self.step.dim

    def init(self) -> HuberEstimate:
        made: HuberEstimate = self.step.init()  # type: ignore[assignment]
        return made

    def predict(self, estimate: HuberEstimate, z: float) -> float:
        return predict(self.step, estimate, z)

    def update(self, estimate: HuberEstimate, observation: Observation) -> None:
        loud = update_count(estimate.region) % 2 == 1
        estimate.noise_scale[0] = self.noise_scale * (self.ratio if loud else 1.0)
        update(self.step, estimate, observation)


@jitable
def set_intercept(buffer: ArmBuffer, weight: float) -> None:
    """Every unit arm with `weight` as its last component, and the others scaled to length one."""
    last = buffer.features.shape[0] - 1
    for k in range(buffer.widths.size):
        rest = 1.0 - buffer.features[last, k] * buffer.features[last, k]
        buffer.widths[k] = math.sqrt((1.0 - weight * weight) / max(rest, 1e-12))
    for i in range(last):
        for k in range(buffer.widths.size):
            buffer.features[i, k] *= buffer.widths[k]
    for k in range(buffer.widths.size):
        buffer.features[last, k] = weight


class Offers(NamedTuple):
    """Unit vectors of any sign, new at every decision; with an intercept, their last component.

    Without one (0) these are the sets of `PerDecision(size, dim, -1.0)`.

    >>> Offers(20, 10, intercept=0.7).redraw
    'decision'
    """

    size: Count
    dim: Count
    intercept: Annotated[float, Interval(0.0, 1.0, "[)")] = 0.0

    @property
    def redraw(self) -> Redraw:
        return "decision"

    @property
    def arm_by_arm(self) -> bool:
        """Return True: arms are written independently, so lanes of a GPU may share them out."""
        return True

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(self.dim, self.size)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        draw_features(buffer, key, play * entries(buffer), -1.0)
        if self.intercept > 0.0:
            set_intercept(buffer, self.intercept)
        return True

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        measure_all(buffer, region)
        return pick(buffer, width)
