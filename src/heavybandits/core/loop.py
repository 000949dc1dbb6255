"""The loop: a policy plays a problem. Compiled and uncompiled, it gives the same bits."""

from typing import Any, NamedTuple

import numpy as np

from .arm_buffer import ArmBuffer
from .arrays import Floats, Integers, Key
from .dispatch import choose, draw, learn, mark, mean, move, observe, refresh, tally, top
from .jit import jitable
from .linalg import dot
from .protocols import ArmSet, Link, Noise, Observer, Policy
from .world import World, drift_key, is_due, post, receive, see

# Places in Episode.numbers and in Episode.counts. Only the functions of this module use them.
_REGRET, _EXPECTED, _BEST = 0, 1, 2
_DONE, _PENDING, _UPCOMING = 0, 1, 2


class Episode(NamedTuple):
    """The state of a run between two calls of `play`."""

    rewards: Floats  # of the current decision
    numbers: Floats  # the floats of `Progress`
    counts: Integers  # the integers of `Progress`


class Progress(NamedTuple):
    """The numbers of an episode by name."""

    regret: float
    expected: float  # mean reward of the current arm
    best: float  # mean reward of the best arm
    done: int  # plays so far
    pending: int  # plays of the current decision so far
    upcoming: int  # index of the next checkpoint


def make_episode(plays: int) -> Episode:
    """Make the episode of a run before its first play."""
    return Episode(np.zeros(plays), np.zeros(3), np.zeros(3, np.int64))


@jitable
def load_progress(episode: Episode) -> Progress:
    """Read the numbers of an episode."""
    _, numbers, counts = episode
    return Progress(
        numbers[_REGRET],
        numbers[_EXPECTED],
        numbers[_BEST],
        counts[_DONE],
        counts[_PENDING],
        counts[_UPCOMING],
    )


@jitable
def store_progress(episode: Episode, progress: Progress) -> None:
    """Write the numbers of an episode."""
    _, numbers, counts = episode
    numbers[_REGRET] = progress.regret
    numbers[_EXPECTED], numbers[_BEST] = progress.expected, progress.best
    counts[_DONE] = progress.done
    counts[_PENDING], counts[_UPCOMING] = progress.pending, progress.upcoming


@jitable
def begin_decision(episode: Episode) -> None:
    """Note that no play of the current decision has been made."""
    episode.counts[_PENDING] = 0


class Trace(NamedTuple):
    """The results of a run: one entry per checkpoint in every array."""

    plays: Integers  # the checkpoints themselves
    regret: Floats  # pseudo-regret up to there; the rest is the policy's `Tally`
    updates: Integers
    projections: Integers
    truncated: Integers
    fallbacks: Integers  # of the whole run, when it is over (see `part.fallbacks_of`)


def make_trace(plays: Integers) -> Trace:
    """Make the trace of a run with these checkpoints.

    >>> make_trace(np.array([10, 20])).updates.tolist()
    [0, 0]
    """
    return Trace(plays, np.full(plays.size, np.nan), *np.zeros((4, plays.size), np.int64))


def make_traces(plays: Integers, runs: int) -> Trace:
    """Make the traces of some runs in one: a row of every array but `plays` for each run.

    >>> make_traces(np.array([10, 20]), 3).updates.shape
    (3, 2)
    """
    shape = (runs, plays.size)
    return Trace(plays, np.full(shape, np.nan), *np.zeros((4, *shape), np.int64))


class Unobserved(NamedTuple):
    """The observer of a run that is not observed: compiled, it is no code at all."""

    def observe(self, policy: Policy, state: Any, theta: Floats) -> None:
        pass


@jitable
def draw_noise(noise: Noise, key: Key, start: int, out: Floats) -> None:
    """Draw the noise of the plays start, start + 1, ... of a stream."""
    for i in range(out.size):
        out[i] = draw(noise, key, start + i)


@jitable
def play(
    policy: Policy,
    state: Any,
    arms: ArmSet,
    link: Link,
    theta: Floats,
    buffer: ArmBuffer,
    key: Key,
    noise: Floats,
    episode: Episode,
    trace: Trace,
    observer: Observer,
    world: World,
) -> None:
    """Make as many plays as there is noise; at each checkpoint record regret and tally.

    A decision lasts as many plays as the policy asks for. The policy does not learn from a decision
    that is unfinished at the end of the run. The observer is called whenever the policy has learned
    from one, and at checkpoints. Regret is that against the best arm under theta of the play. In
    `STILL`, a world without drift, delay and adversary, their lines compile to nothing.
    """
    rewards = episode.rewards
    # Kept in registers: through the arrays, every play would wait for the stores of the last.
    regret, expected, best, done, pending, upcoming = load_progress(episode)
    gap = best - expected
    for i in range(noise.size):
        moved = move(world.drift, theta, world.start, drift_key(key), done)
        if (pending == 0 and refresh(arms, buffer, key, done)) or moved:
            best = mean(link, top(arms, buffer, theta))
        if pending == 0:
            choose(policy, state, arms, buffer)
        if pending == 0 or moved:
            expected = mean(link, dot(buffer.chosen, theta))
            gap = best - expected
        rewards[pending] = see(world, expected, best, buffer.chosen, noise[i], key, done)
        regret += gap
        pending += 1
        done += 1
        if pending == rewards.size:
            arrived = post(world.mail, buffer.chosen, rewards, key, done)
            while arrived:
                x, seen = receive(world.mail, buffer.chosen, rewards)
                learn(policy, state, x, seen)
                observe(observer, policy, state, theta)
                arrived = is_due(world.mail, done)
            pending = 0
        if upcoming < trace.plays.size and done == trace.plays[upcoming]:
            updates, projections, truncated = tally(policy, state)
            trace.regret[upcoming] = regret
            trace.updates[upcoming] = updates
            trace.projections[upcoming] = projections
            trace.truncated[upcoming] = truncated
            mark(observer, policy, state, theta, buffer, rewards[pending - 1])
            upcoming += 1
    store_progress(episode, Progress(regret, expected, best, done, pending, upcoming))
