"""UCB: the arm that is best under the most favourable theta of a region."""

from typing import NamedTuple

from ..._utils.display import show_part, show_part_html
from ..._utils.errors import InvalidInputError
from ...core.arm_buffer import ArmBuffer
from ...core.arrays import Floats
from ...core.confidence_region import clipped_count, projection_count, update_count
from ...core.dispatch import (
    apply,
    arm_norm,
    best_arm,
    measure_arm,
    predict,
    radius,
    score_arm,
    update,
)
from ...core.linalg import bounded, clamp
from ...core.part import check_reads
from ...core.protocols import (
    ArmSet,
    Counted,
    Estimate,
    Estimator,
    Filter,
    Observation,
    Radius,
    Tally,
)
from ..filters.memory import truncated_count


class UCBState(NamedTuple):
    """State of `UCB`: that of the estimator and that of the filter."""

    estimate: Estimate
    memory: Counted


class UCB(NamedTuple):
    """Play the arm that is best under the most favourable theta of the confidence region.

        x = argmax_x x.centre + radius ||x||_{V^-1}

    The link is increasing, so it does not enter this index.

    Parameters
    ----------
    estimator : Estimator
        Estimates theta and its design matrix V.
    filter : Filter
        Turns the rewards of one decision into one number.
    radius : Radius
        Size of the confidence region.

    Examples
    --------
    >>> from heavybandits import crtm
    >>> type(crtm(dim=10, horizon=1000, raw_moment=3.5)).__name__
    'UCB'
    """

    estimator: Estimator
    filter: Filter
    radius: Radius

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

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

    def choose(self, state: UCBState, arms: ArmSet, buffer: ArmBuffer) -> int:
        region = state.estimate.region
        width = bounded(radius(self.radius, state.estimate, update_count(region)))
        return best_arm(self.estimator, state.estimate, arms, buffer, width)

    def learn(self, state: UCBState, x: Floats, rewards: Floats) -> None:
        clamp(rewards)
        norm = measure_arm(self.estimator, state.estimate, x)
        z = score_arm(self.estimator, state.estimate, x)
        predicted = bounded(predict(self.estimator, state.estimate, z))
        reward = apply(self.filter, state.memory, rewards, norm, predicted)
        observation = Observation(x, reward, rewards, predicted, norm)
        update(self.estimator, state.estimate, observation)

    def estimate_arm(self, state: UCBState, x: Floats) -> tuple[float, float]:
        region = state.estimate.region
        width = bounded(radius(self.radius, state.estimate, update_count(region)))
        z = score_arm(self.estimator, state.estimate, x)
        expected = predict(self.estimator, state.estimate, z)
        return expected, width * arm_norm(self.estimator, state.estimate, x)

    def tally(self, state: UCBState) -> Tally:
        region = state.estimate.region
        truncated = truncated_count(state.memory) + clipped_count(region)
        return Tally(update_count(region), projection_count(region), truncated)
