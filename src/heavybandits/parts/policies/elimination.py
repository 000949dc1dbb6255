"""Policies for finite arm sets over a base routine: greedy, or the master with stages."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import NonNegative
from ...core.arm_buffer import ArmBuffer, mark_stale, take
from ...core.arrays import Floats, Integers
from ...core.dispatch import arm_width, estimate_arms, remember, tally
from ...core.jit import jitable
from ...core.linalg import clamp
from ...core.protocols import ArmSet, PerArmEstimator, Tally

HAIR = 1.0 - 1e-12  # an arm chosen for its width is stored, whatever the rounding


class StagesState(NamedTuple):
    """State of `PerArmUCB` and `StagedElimination`: the base state and the decision count."""

    memory: Any
    learned: Integers
    scratch: Floats  # one arm: alive, its estimate and its width


def make_state(base: PerArmEstimator) -> StagesState:
    return StagesState(base.init(), np.zeros(1, np.int64), np.zeros((3, 1)))


@jitable
def estimate_arm_at(
    base: PerArmEstimator, state: StagesState, stage: int, x: Floats
) -> tuple[float, float]:
    """Return mean and width of one arm from the data of a stage."""
    features, alive = x.reshape((x.size, 1)), state.scratch[0]
    estimate, width = state.scratch[1], state.scratch[2]
    alive[0] = 1.0
    estimate_arms(base, state.memory, stage, features, alive, estimate, width)
    return estimate[0], width[0]


@jitable
def take_best(buffer: ArmBuffer, alive: Floats) -> int:
    """Lowest living arm of the largest mean + width."""
    arm, best = -1, -math.inf
    for k in range(alive.size):
        if alive[k] > 0.0 and (arm < 0 or buffer.scores[k] + buffer.widths[k] > best):
            arm, best = k, buffer.scores[k] + buffer.widths[k]
    take(buffer, arm)
    return arm


@jitable
def mark_offered(buffer: ArmBuffer) -> None:
    """Available arms are alive, 1; masked ones and padding are not, 0. Kept in buffer.squares."""
    for k in range(buffer.squares.size):
        buffer.squares[k] = 1.0 if buffer.penalty[k] == 0.0 else 0.0
    mark_stale(buffer)


@jitable
def widest(buffer: ArmBuffer, alive: Floats) -> int:
    """Lowest living arm of the largest width."""
    arm, best = -1, -math.inf
    for k in range(alive.size):
        if alive[k] > 0.0 and (arm < 0 or buffer.widths[k] > best):
            arm, best = k, buffer.widths[k]
    return arm


@jitable
def eliminate(buffer: ArmBuffer, alive: Floats, margin: float) -> None:
    """Only arms whose mean + width is within the margin of the best stay alive."""
    best = -math.inf
    for k in range(alive.size):
        if alive[k] > 0.0:
            best = max(best, buffer.scores[k] + buffer.widths[k])
    for k in range(alive.size):
        if buffer.scores[k] + buffer.widths[k] < best - margin:
            alive[k] = 0.0


class PerArmUCB(NamedTuple):
    """Play the arm with the largest mean + width of a per-arm estimator.

    The estimator uses the whole history, as one stage.

    Parameters
    ----------
    base : PerArmEstimator
        Estimates the mean and the width of every arm.

    Examples
    --------
    >>> from heavybandits import btc
    >>> type(btc(dim=2, horizon=100, arms=4, raw_moment=1.0)).__name__
    'PerArmUCB'
    """

    base: PerArmEstimator

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    @property
    def plays(self) -> int:
        return self.base.plays

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def finite_only(self) -> bool:
        return True

    @property
    def choice_writes(self) -> tuple[str, ...]:
        """The arrays of the state in which a choice leaves something that matters later."""
        return ()

    def init(self) -> StagesState:
        return make_state(self.base)

    def choose(self, state: StagesState, arms: ArmSet, buffer: ArmBuffer) -> int:
        mark_offered(buffer)
        alive = buffer.squares
        estimate_arms(
            self.base, state.memory, 0, buffer.features, alive, buffer.scores, buffer.widths
        )
        return take_best(buffer, alive)

    def learn(self, state: StagesState, x: Floats, rewards: Floats) -> None:
        clamp(rewards)
        state.learned[0] += 1
        remember(self.base, state.memory, 0, x, rewards)

    def estimate_arm(self, state: StagesState, x: Floats) -> tuple[float, float]:
        return estimate_arm_at(self.base, state, 0, x)

    def tally(self, state: StagesState) -> Tally:
        return Tally(state.learned[0], 0, tally(self.base, state.memory).truncated)


class StagedElimination(NamedTuple):
    """Eliminate arms in stages: the master of SupBTC and SupBMM (Xue et al. 2020).

    It is SupLinUCB (Chu et al. 2011) with another estimator. From stage s = 1 on, with mean and
    width from the data of stage s alone: if all widths are at most `target`, play the largest mean
    + width; if all are at most 2^-s, drop the arms whose mean + width is 2^{1-s} below the best and
    continue with the next stage; else play the widest arm.

    Rewards may come late. The policy finds the stage of a reward when the reward arrives: the first
    stage whose width for this arm is above max(2^-s, target); beyond the last stage the reward is
    dropped. Without delay it is the stage in which the arm was chosen (a play of the first kind,
    which the paper drops, may belong to a deeper stage). The stage is a function of the features
    alone. It is never above the stage whose rewards led to the choice as long as widths shrink
    (epsilon = 1). So rewards within a stage stay independent, which the proof needs.

    Parameters
    ----------
    base : PerArmEstimator
        Estimates the mean and the width of every arm in each stage.
    target : float
        Width at which an arm is known well enough; 1/sqrt(T) in the papers.

    Examples
    --------
    >>> from heavybandits import supbtc
    >>> supbtc(dim=2, horizon=10**6, arms=20, raw_moment=1.0).base.stages
    13
    """

    base: PerArmEstimator
    target: NonNegative

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    @property
    def plays(self) -> int:
        return self.base.plays

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def finite_only(self) -> bool:
        return True

    @property
    def choice_writes(self) -> tuple[str, ...]:
        """The arrays of the state in which a choice leaves something that matters later."""
        return ()

    def init(self) -> StagesState:
        return make_state(self.base)

    def choose(self, state: StagesState, arms: ArmSet, buffer: ArmBuffer) -> int:
        mark_offered(buffer)
        alive = buffer.squares
        threshold = 1.0
        for stage in range(self.base.stages):
            threshold *= 0.5
            estimate_arms(
                self.base, state.memory, stage, buffer.features, alive, buffer.scores, buffer.widths
            )
            arm = widest(buffer, alive)
            if buffer.widths[arm] <= self.target:
                break
            if buffer.widths[arm] > threshold:
                take(buffer, arm)
                return arm
            eliminate(buffer, alive, 2.0 * threshold)
        return take_best(buffer, alive)

    def learn(self, state: StagesState, x: Floats, rewards: Floats) -> None:
        clamp(rewards)
        state.learned[0] += 1
        threshold = 1.0
        for stage in range(self.base.stages):
            threshold *= 0.5
            width = arm_width(self.base, state.memory, stage, x)
            if width > max(threshold, self.target) * HAIR:
                remember(self.base, state.memory, stage, x, rewards)
                break

    def estimate_arm(self, state: StagesState, x: Floats) -> tuple[float, float]:
        """From the stage that knows this arm best."""
        best, least = 0, math.inf
        for stage in range(self.base.stages):
            width = arm_width(self.base, state.memory, stage, x)
            if width < least:
                best, least = stage, width
        return estimate_arm_at(self.base, state, best, x)

    def tally(self, state: StagesState) -> Tally:
        return Tally(state.learned[0], 0, tally(self.base, state.memory).truncated)
