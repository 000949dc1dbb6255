"""Policies that draw their arm and know how likely it was: what an evaluation from logs needs."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import Fraction, Index, Positive
from ...core.arm_buffer import ArmBuffer, mark_stale, take
from ...core.arrays import Floats, Integers
from ...core.dispatch import choose, estimate_arm, learn, tally
from ...core.jit import jitable
from ...core.protocols import ArmSet, Policy, Tally
from ...core.rng import uniform

_DRAWS, _LEARNED = 0, 1  # places in the counts of a state


class RandomisedState(NamedTuple):
    """State of `EpsilonGreedy` and `SquareCB`: that of the policy inside, draws made and decisions
    learned from, and the probability of the last choice."""

    inner: Any
    counts: Integers
    propensity: Floats


def make_state(policy: Policy) -> RandomisedState:
    return RandomisedState(policy.init(), np.zeros(2, np.int64), np.ones(1))


@jitable
def next_draw(state: Any) -> int:
    """Return the number of draws so far, and count one more."""
    draws = state.counts[_DRAWS]
    state.counts[_DRAWS] += 1
    return draws


@jitable
def learned_count(state: Any) -> int:
    """Return the number of decisions learned from."""
    return state.counts[_LEARNED]


@jitable
def count_learned(state: Any) -> None:
    """Count a decision learned from."""
    state.counts[_LEARNED] += 1


@jitable
def count_offered(buffer: ArmBuffer) -> int:
    """Return the number of available arms."""
    offered = 0
    for k in range(buffer.penalty.size):
        if buffer.penalty[k] == 0.0:
            offered += 1
    return offered


@jitable
def offered_at(buffer: ArmBuffer, place: int) -> int:
    """Return the arm at this place among the available arms."""
    left, arm = place, 0
    for k in range(buffer.penalty.size):
        if buffer.penalty[k] == 0.0:
            if left == 0:
                arm = k
            left -= 1
    return arm


class EpsilonGreedy(NamedTuple):
    """Follow a policy, but play a uniformly drawn arm with probability epsilon.

        p(a) = epsilon / K + (1 - epsilon) 1{a is the choice of the policy},    K arms available

    The propensity of every decision is exact and at least epsilon / K, for any policy, so the log
    can be evaluated afterwards. If the policy draws its choice itself, the propensity is
    conditional on that choice: inverse propensity weights stay unbiased. Decision n uses number n
    of the random stream of the seed. In agents, `simulate`, `replay` and `evaluate` the inner
    policy has another stream, even if the seeds are equal.

    Parameters
    ----------
    policy : Policy
        The policy to follow.
    epsilon : float, default 0.1
        Probability of uniform exploration, in (0, 1).
    seed : int, default 0
        Seed of the random draws.

    Examples
    --------
    >>> from heavybandits import linucb
    >>> mixed = EpsilonGreedy(linucb(dim=2, radius=1.0), epsilon=0.1)
    >>> mixed.dim, mixed.plays, mixed.propensity(mixed.init())
    (2, 1, 1.0)
    """

    policy: Policy
    epsilon: Fraction = 0.1
    seed: Index = 0

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    @property
    def dim(self) -> int:
        return self.policy.dim

    @property
    def plays(self) -> int:
        return self.policy.plays

    @property
    def finite_only(self) -> bool:
        return True

    @property
    def choice_writes(self) -> tuple[str, ...]:
        return ("counts", "propensity")

    def is_valid(self, state: RandomisedState) -> bool:
        return bool(0.0 < state.propensity[0] <= 1.0)

    def init(self) -> RandomisedState:
        return make_state(self.policy)

    def choose(self, state: RandomisedState, arms: ArmSet, buffer: ArmBuffer) -> int:
        best = choose(self.policy, state.inner, arms, buffer)
        offered = count_offered(buffer)
        number = uniform(np.uint64(self.seed), next_draw(state))
        arm = best
        if number < self.epsilon:  # then number / epsilon is uniform itself
            arm = offered_at(buffer, min(int(number / self.epsilon * offered), offered - 1))
            take(buffer, arm)
        by_chance = self.epsilon / offered
        state.propensity[0] = by_chance + 1.0 - self.epsilon if arm == best else by_chance
        return arm

    def learn(self, state: RandomisedState, x: Floats, rewards: Floats) -> None:
        count_learned(state)
        learn(self.policy, state.inner, x, rewards)

    def estimate_arm(self, state: RandomisedState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: RandomisedState) -> Tally:
        return tally(self.policy, state.inner)

    def propensity(self, state: RandomisedState) -> float:
        """Return the probability with which the last choice was made."""
        return float(state.propensity[0])


class SquareCB(NamedTuple):
    """Draw an arm with a probability that falls with its gap: inverse gap weighting.

        p(a) = 1 / (K + gamma (m_best - m_a)),    gamma = radius_scale sqrt(K t / (d ln(1 + t)))

    for all but the best of the K available arms, which has the remaining probability (Foster and
    Rakhlin 2020). m is the mean reward that the inner policy predicts, and t the number of
    decisions it has learned from. With a robust inner policy, heavy tails do not move m; the
    theorem is for light tails. gamma is in units of one over the reward: rewards should have a size
    of about one.

    Parameters
    ----------
    policy : Policy
        The policy that predicts the mean rewards.
    radius_scale : float, default 1.0
        Multiplier of gamma. A larger number explores less.
    seed : int, default 0
        Seed of the random draws.

    Examples
    --------
    >>> from heavybandits import filters, linucb
    >>> robust = linucb(dim=2, radius=1.0, filter=filters.AdaptiveClip())
    >>> SquareCB(robust, radius_scale=2.0).plays
    1
    """

    policy: Policy
    radius_scale: Positive = 1.0
    seed: Index = 0

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    @property
    def dim(self) -> int:
        return self.policy.dim

    @property
    def plays(self) -> int:
        return self.policy.plays

    @property
    def finite_only(self) -> bool:
        return True

    @property
    def choice_writes(self) -> tuple[str, ...]:
        return ("counts", "propensity")

    def is_valid(self, state: RandomisedState) -> bool:
        return bool(0.0 < state.propensity[0] <= 1.0)

    def init(self) -> RandomisedState:
        return make_state(self.policy)

    def choose(self, state: RandomisedState, arms: ArmSet, buffer: ArmBuffer) -> int:
        best, top = -1, -math.inf
        for k in range(buffer.penalty.size):
            if buffer.penalty[k] == 0.0:
                take(buffer, k)
                buffer.scores[k] = estimate_arm(self.policy, state.inner, buffer.chosen)[0]
                if best < 0 or buffer.scores[k] > top:
                    best, top = k, buffer.scores[k]
        mark_stale(buffer)  # scores are means now, not what the policy inside keeps there
        offered, dim, t = count_offered(buffer), buffer.chosen.size, learned_count(state)
        growth = math.sqrt(offered * t / (dim * math.log(1.0 + t))) if t > 0 else 0.0
        number = uniform(np.uint64(self.seed), next_draw(state))
        arm, rest, chance = best, 1.0, 0.0
        for k in range(buffer.penalty.size):
            if buffer.penalty[k] == 0.0 and k != best:
                part = 1.0 / (offered + self.radius_scale * growth * (top - buffer.scores[k]))
                if number < rest and number >= rest - part:
                    arm, chance = k, part
                rest -= part
        take(buffer, arm)
        state.propensity[0] = rest if arm == best else chance
        return arm

    def learn(self, state: RandomisedState, x: Floats, rewards: Floats) -> None:
        count_learned(state)
        learn(self.policy, state.inner, x, rewards)

    def estimate_arm(self, state: RandomisedState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: RandomisedState) -> Tally:
        return tally(self.policy, state.inner)

    def propensity(self, state: RandomisedState) -> float:
        """Return the probability with which the last choice was made."""
        return float(state.propensity[0])
