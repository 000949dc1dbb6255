"""Policies that draw their arm and know how likely it was: what an evaluation from logs needs."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._utils.validation import Fraction, Index, Positive
from ...core.arm_buffer import View, take
from ...core.arrays import Floats, Integers
from ...core.dispatch import choose, estimate_arm, learn, tally
from ...core.jit import jitable
from ...core.protocols import ArmSet, Policy, Tally
from ...core.rng import uniform

DRAWS, LEARNED = 0, 1  # places in RandomisedState.counts


class RandomisedState(NamedTuple):
    """State of `EpsilonGreedy` and `SquareCB`: that of the policy inside, draws made and decisions
    learned from, and the probability of the last choice."""

    inner: Any
    counts: Integers
    propensity: Floats


def make_state(policy: Policy) -> RandomisedState:
    return RandomisedState(policy.init(), np.zeros(2, np.int64), np.ones(1))


@jitable
def count_offered(view: View) -> int:
    """How many arms are on offer."""
    offered = 0
    for k in range(view.penalty.size):
        if view.penalty[k] == 0.0:
            offered += 1
    return offered


@jitable
def offered_at(view: View, place: int) -> int:
    """The arm at this place among those on offer."""
    left, arm = place, 0
    for k in range(view.penalty.size):
        if view.penalty[k] == 0.0:
            if left == 0:
                arm = k
            left -= 1
    return arm


class EpsilonGreedy(NamedTuple):
    """A policy that gives a share of its decisions to chance, all arms being as likely.

        p(a) = share / K + (1 - share) 1{a is the choice of the policy},    K arms on offer

    The propensity of every decision is exact and at least share / K, whatever the policy, so the
    log can be evaluated afterwards. Decision n takes number n of the stream of the seed.

    >>> from heavybandits import linucb
    >>> mixed = EpsilonGreedy(linucb(dim=2, radius=1.0), share=0.1)
    >>> mixed.dim, mixed.plays, mixed.propensity(mixed.init())
    (2, 1, 1.0)
    """

    policy: Policy
    share: Fraction = 0.1
    seed: Index = 0

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

    def sound(self, state: RandomisedState) -> bool:
        return bool(0.0 < state.propensity[0] <= 1.0)

    def init(self) -> RandomisedState:
        return make_state(self.policy)

    def choose(self, state: RandomisedState, arms: ArmSet, view: View) -> int:
        best = choose(self.policy, state.inner, arms, view)
        offered = count_offered(view)
        number = uniform(np.uint64(self.seed), state.counts[DRAWS])
        state.counts[DRAWS] += 1
        arm = best
        if number < self.share:  # then number / share is uniform itself
            arm = offered_at(view, min(int(number / self.share * offered), offered - 1))
            take(view, arm)
        by_chance = self.share / offered
        state.propensity[0] = by_chance + 1.0 - self.share if arm == best else by_chance
        return arm

    def learn(self, state: RandomisedState, x: Floats, rewards: Floats) -> None:
        state.counts[LEARNED] += 1
        learn(self.policy, state.inner, x, rewards)

    def estimate_arm(self, state: RandomisedState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: RandomisedState) -> Tally:
        return tally(self.policy, state.inner)

    def propensity(self, state: RandomisedState) -> float:
        """The probability with which the last choice was made."""
        return float(state.propensity[0])


class SquareCB(NamedTuple):
    """SquareCB (Foster and Rakhlin 2020): the further an arm falls behind, the rarer it is drawn.

        p(a) = 1 / (K + gamma (m_best - m_a)),    gamma = radius_scale sqrt(K t / (d ln(1 + t)))

    for all but the best of the K arms on offer, which has the rest; m is the mean reward that the
    policy inside predicts, and t the decisions it has learned from. With a robust policy inside
    heavy tails do not move m; the theorem is for light ones. gamma counts in units of one over the
    reward: rewards should have a size of about one.

    >>> from heavybandits import filters, linucb
    >>> robust = linucb(dim=2, radius=1.0, filter=filters.AdaptiveClip())
    >>> SquareCB(robust, radius_scale=2.0).plays
    1
    """

    policy: Policy
    radius_scale: Positive = 1.0
    seed: Index = 0

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

    def sound(self, state: RandomisedState) -> bool:
        return bool(0.0 < state.propensity[0] <= 1.0)

    def init(self) -> RandomisedState:
        return make_state(self.policy)

    def choose(self, state: RandomisedState, arms: ArmSet, view: View) -> int:
        best, top = -1, -math.inf
        for k in range(view.penalty.size):
            if view.penalty[k] == 0.0:
                take(view, k)
                view.scores[k] = estimate_arm(self.policy, state.inner, view.chosen)[0]
                if best < 0 or view.scores[k] > top:
                    best, top = k, view.scores[k]
        view.synced[0] = -1  # scores are means now, not what the policy inside keeps there
        offered, dim, t = count_offered(view), view.chosen.size, state.counts[LEARNED]
        growth = math.sqrt(offered * t / (dim * math.log(1.0 + t))) if t > 0 else 0.0
        number = uniform(np.uint64(self.seed), state.counts[DRAWS])
        state.counts[DRAWS] += 1
        arm, rest, chance = best, 1.0, 0.0
        for k in range(view.penalty.size):
            if view.penalty[k] == 0.0 and k != best:
                part = 1.0 / (offered + self.radius_scale * growth * (top - view.scores[k]))
                if number < rest and number >= rest - part:
                    arm, chance = k, part
                rest -= part
        take(view, arm)
        state.propensity[0] = rest if arm == best else chance
        return arm

    def learn(self, state: RandomisedState, x: Floats, rewards: Floats) -> None:
        state.counts[LEARNED] += 1
        learn(self.policy, state.inner, x, rewards)

    def estimate_arm(self, state: RandomisedState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: RandomisedState) -> Tally:
        return tally(self.policy, state.inner)

    def propensity(self, state: RandomisedState) -> float:
        """The probability with which the last choice was made."""
        return float(state.propensity[0])
