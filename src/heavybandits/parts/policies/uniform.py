"""Uniformly random play, the reference of every comparison."""

from typing import NamedTuple

import numpy as np

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import Count, Index
from ...core.arm_buffer import ArmBuffer, take
from ...core.arrays import Floats, Integers
from ...core.linalg import clamp
from ...core.protocols import ArmSet, Tally
from ...core.rng import uniform
from .randomised import count_learned, count_offered, learned_count, next_draw, offered_at


class UniformState(NamedTuple):
    """State of `Uniform`: decisions made, decisions learned from, and the sum of their rewards; and
    the probability of the last choice."""

    counts: Integers
    total: Floats
    propensity: Floats


class Uniform(NamedTuple):
    """Play an arm at random, all equally likely: the baseline for every algorithm.

    Decision n uses number n of the random stream of the seed, so a run can be repeated.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    seed : int, default 0
        Seed of the random draws.

    Examples
    --------
    >>> Uniform(dim=3, seed=1).plays
    1
    """

    dim: Count
    seed: Index = 0

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    @property
    def plays(self) -> int:
        return 1

    @property
    def finite_only(self) -> bool:
        return True

    @property
    def any_norm(self) -> bool:
        return True

    @property
    def choice_writes(self) -> tuple[str, ...]:
        """The arrays of the state in which a choice leaves something that matters later."""
        return ("counts", "propensity")

    def is_valid(self, state: UniformState) -> bool:
        return bool(0.0 < state.propensity[0] <= 1.0)

    def init(self) -> UniformState:
        return UniformState(np.zeros(2, np.int64), np.zeros(1), np.ones(1))

    def choose(self, state: UniformState, arms: ArmSet, buffer: ArmBuffer) -> int:
        offered = count_offered(buffer)
        arm = offered_at(buffer, int(uniform(np.uint64(self.seed), next_draw(state)) * offered))
        state.propensity[0] = 1.0 / offered
        take(buffer, arm)
        return arm

    def propensity(self, state: UniformState) -> float:
        """Return the probability of the last choice."""
        return float(state.propensity[0])

    def learn(self, state: UniformState, x: Floats, rewards: Floats) -> None:
        clamp(rewards)
        count_learned(state)
        state.total[0] += rewards[0]

    def estimate_arm(self, state: UniformState, x: Floats) -> tuple[float, float]:
        """Return the mean of all rewards so far, whatever the arm."""
        return state.total[0] / max(learned_count(state), 1), 0.0

    def tally(self, state: UniformState) -> Tally:
        return Tally(learned_count(state), 0, 0)
