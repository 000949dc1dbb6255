"""The one loop: a policy plays a problem. Compiled or not, its text gives the same bits."""

from typing import Any, NamedTuple

import numpy as np

from .arm_buffer import View
from .arrays import Floats, Integers, Key
from .dispatch import choose, draw, learn, mean, observe, refresh, tally, top
from .jit import jitable
from .linalg import dot
from .protocols import ArmSet, Link, Noise, Observer, Policy

REGRET, MEAN, BEST = 0, 1, 2  # places in Episode.numbers
PLAY, PENDING, NEXT = 0, 1, 2  # places in Episode.counts


class Episode(NamedTuple):
    """Where a run stands between two calls of `play`."""

    rewards: Floats  # of the decision under way
    numbers: Floats  # regret so far; mean of the arm under way and of the best arm
    counts: Integers  # plays so far, plays of the decision under way, next checkpoint


def make_episode(plays: int) -> Episode:
    return Episode(np.zeros(plays), np.zeros(3), np.zeros(3, np.int64))


class Trace(NamedTuple):
    """What a run leaves at its checkpoints: one entry per checkpoint in every array."""

    plays: Integers  # the checkpoints themselves
    regret: Floats  # pseudo-regret up to there; the rest is the policy's `Tally`
    updates: Integers
    projections: Integers
    truncated: Integers
    fallbacks: Integers  # of the whole run, when it is over (see `parts.fallbacks_of`)


def make_trace(plays: Integers) -> Trace:
    """Room for what happens at these plays.

    >>> make_trace(np.array([10, 20])).updates.tolist()
    [0, 0]
    """
    return Trace(plays, np.full(plays.size, np.nan), *np.zeros((4, plays.size), np.int64))


class Unobserved(NamedTuple):
    """The observer of a run that nobody watches: compiled, it is nothing at all."""

    def observe(self, policy: Policy, state: Any, theta: Floats) -> None:
        pass


@jitable
def draw_noise(noise: Noise, key: Key, start: int, out: Floats) -> None:
    """The noise of the plays start, start + 1, ... of a stream."""
    for i in range(out.size):
        out[i] = draw(noise, key, start + i)


@jitable
def play(
    policy: Policy,
    state: Any,
    arms: ArmSet,
    link: Link,
    theta: Floats,
    view: View,
    key: Key,
    noise: Floats,
    episode: Episode,
    trace: Trace,
    observer: Observer,
) -> None:
    """Go on for as many plays as there is noise; at each checkpoint note regret and tally.

    A decision lasts as many plays as the policy asks for; what is unfinished at the end of the
    run has been played, and is not learned from. The observer looks after every decision that is.
    """
    rewards, numbers, counts = episode
    # Kept in registers: through the arrays, every play would wait for the stores of the last.
    regret, expected, best = numbers[REGRET], numbers[MEAN], numbers[BEST]
    done, pending, upcoming = counts[PLAY], counts[PENDING], counts[NEXT]
    gap = best - expected
    for i in range(noise.size):
        if pending == 0:
            if refresh(arms, view, key, done):
                best = mean(link, top(arms, view, theta))
            choose(policy, state, arms, view)
            expected = mean(link, dot(view.chosen, theta))
            gap = best - expected
        rewards[pending] = expected + noise[i]
        regret += gap
        pending += 1
        done += 1
        if pending == rewards.size:
            learn(policy, state, view.chosen, rewards)
            observe(observer, policy, state, theta)
            pending = 0
        if upcoming < trace.plays.size and done == trace.plays[upcoming]:
            updates, projections, truncated = tally(policy, state)
            trace.regret[upcoming] = regret
            trace.updates[upcoming] = updates
            trace.projections[upcoming] = projections
            trace.truncated[upcoming] = truncated
            upcoming += 1
    numbers[REGRET], numbers[MEAN], numbers[BEST] = regret, expected, best
    counts[PLAY], counts[PENDING], counts[NEXT] = done, pending, upcoming
