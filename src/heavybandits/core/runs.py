"""Many runs in one compiled call, with no Python between repetitions.

The noise is drawn by another call, so that the loop is compiled once for all noises.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .arm_buffer import ArmBuffer
from .arrays import Floats, Integers
from .confidence_region import Region, fallbacks_of_many
from .jit import jitable
from .loop import Episode, Trace, draw_noise, play
from .part import walk
from .protocols import ArmSet, Link, Noise, Observer, Policy
from .world import World

# Places in Runs.places. Only the functions of this module use them.
_RUN, _DONE, _USED = 0, 1, 2


class Runs(NamedTuple):
    """Repetitions that are played one after the other, in the same memory."""

    arm_keys: Any  # uint64, one per run
    noise_keys: Any
    horizon: int  # plays per run
    memory: tuple[Integers, ...]  # all arrays that a run changes, flat, 8 bytes per number
    fresh: Integers  # what they contain before the first play, one after the other
    regions: Integers  # which of them are the counts of a confidence region
    places: Integers  # the current run, its plays so far, and 1 if the memory is in use


def make_runs(arm_keys: Any, noise_keys: Any, horizon: int, *changing: Any) -> Runs:
    """Make runs that begin with these values, NamedTuples of arrays.

    The arrays are not copied: a run writes into them, and before the next run they are restored.
    """
    regions = {id(part.counts) for part in walk(changing) if isinstance(part, Region)}
    arrays = list(_arrays(changing))
    memory = tuple(array.reshape(-1).view(np.int64) for array in arrays)
    marks = np.array([id(array) in regions for array in arrays], np.int64)
    fresh = np.concatenate(memory)
    return Runs(arm_keys, noise_keys, horizon, memory, fresh, marks, np.zeros(3, np.int64))


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    else:
        for field in value:
            yield from _arrays(field)


def next_play(runs: Runs) -> tuple[int, int]:
    """Return the run of the next play, and the plays of this run so far."""
    return int(runs.places[_RUN]), int(runs.places[_DONE])


def plays_left(runs: Runs) -> int:
    """Return how many plays all runs still have."""
    run, done = next_play(runs)
    return int((runs.arm_keys.size - run) * runs.horizon - done)


@jitable
def restore(runs: Runs) -> None:
    """Write into the memory what it contained before the first play."""
    start = 0
    for array in runs.memory:
        for i in range(array.size):
            array[i] = runs.fresh[start + i]
        start += array.size


@jitable
def sum_fallbacks(runs: Runs) -> int:
    """Return the updates of a run in which V^-1 was computed again because of rounding."""
    total = 0
    for i in range(len(runs.memory)):
        if runs.regions[i] == 1:
            total += fallbacks_of_many(runs.memory[i])
    return total


@jitable
def trace_of(traces: Trace, run: int) -> Trace:
    """Return the trace of one run: its row of every array but the checkpoints, which all share."""
    return Trace(
        traces.plays,
        traces.regret[run],
        traces.updates[run],
        traces.projections[run],
        traces.truncated[run],
        traces.fallbacks[run],
    )


@jitable
def draw_runs(law: Noise, keys: Any, horizon: int, run: int, done: int, out: Floats) -> None:
    """Draw the noise of the next plays: the rest of a run, and the runs after it.

    keys: `Runs.noise_keys`; run, done: the `next_play`.
    """
    start = 0
    while start < out.size:
        size = min(out.size - start, horizon - done)
        draw_noise(law, keys[run], done, out[start : start + size])
        start, run, done = start + size, run + 1, 0


@jitable
def play_runs(
    policy: Policy,
    state: Any,
    arms: ArmSet,
    link: Link,
    theta: Floats,
    buffer: ArmBuffer,
    noise: Floats,
    episode: Episode,
    traces: Trace,
    observer: Observer,
    world: World,
    runs: Runs,
) -> None:
    """Continue the runs for as many plays as there is noise, which `draw_runs` has drawn."""
    run, done, used = runs.places[_RUN], runs.places[_DONE], runs.places[_USED]
    start = 0
    while start < noise.size:
        if done == 0 and used == 1:
            restore(runs)
        used = 1
        size = min(noise.size - start, runs.horizon - done)
        piece, key, trace = noise[start : start + size], runs.arm_keys[run], trace_of(traces, run)
        play(policy, state, arms, link, theta, buffer, key, piece, episode, trace, observer, world)
        start += size
        done += size
        if done == runs.horizon:
            trace.fallbacks[:] = sum_fallbacks(runs)
            run, done = run + 1, 0
    runs.places[_RUN], runs.places[_DONE], runs.places[_USED] = run, done, used
