"""Load what a team needs from device memory before it plays, and store it there afterwards."""

import functools
from typing import Any

from numba import cuda

from ..core.dispatch import draw
from ..core.jit import jitable
from ..core.protocols import Noise
from .team import lane, sync, writable


@jitable
def load_common(pool: Any, start: int, table: Any, size: int, lanes: int) -> None:
    i = lane(lanes)
    while i < size:
        pool[start + i] = table[i]
        i += lanes
    sync(lanes)


@jitable
def store_common(pool: Any, start: int, table: Any, size: int, lanes: int) -> None:
    sync(lanes)
    i = lane(lanes)
    while i < size:
        table[i] = pool[start + i]
        i += lanes


@jitable
def due(plays: Any, upcoming: int, stop: int) -> int:
    """Return how many checkpoints to compare with up to play `stop`.

    They are all checkpoints, or none if the next checkpoint is later. Reading the next checkpoint
    before every play would take time.
    """
    return plays.size if upcoming < plays.size and plays[upcoming] <= stop else 0


@jitable
def draw_together(noise: Noise, key: Any, start: int, out: Any, lanes: int) -> None:
    """Draw the noise of the plays start, start + 1, ..., one play per lane."""
    drawn = writable(out)
    sync(lanes)
    i = lane(lanes)
    while i < out.size:
        drawn[i] = draw(noise, key, start + i)
        i += lanes
    sync(lanes)


@functools.cache
def spreader() -> Any:
    """Return the kernel that makes the first states."""
    return cuda.jit(spread)


def spread(table: Any, first: Any, which: Any, by_rows: bool) -> None:
    """Write the first state of every run into one row or one column of the table per run."""
    place = cuda.grid(1)
    if place < table.size:
        run, i = place // first.shape[1], place % first.shape[1]
        if by_rows:
            table[run, i] = first[which[run], i]
        else:
            table[i, run] = first[which[run], i]
