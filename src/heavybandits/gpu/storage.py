"""What a team takes from device memory before it plays, and leaves there."""

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
    """How many checkpoints to look at up to play `stop`: all, or none if the next comes later. To
    read it before every play would take a while."""
    return plays.size if upcoming < plays.size and plays[upcoming] <= stop else 0


@jitable
def draw_together(noise: Noise, key: Any, start: int, out: Any, lanes: int) -> None:
    """The noise of the plays start, start + 1, ..., a lane each."""
    drawn = writable(out)
    sync(lanes)
    i = lane(lanes)
    while i < out.size:
        drawn[i] = draw(noise, key, start + i)
        i += lanes
    sync(lanes)


@functools.cache
def spreader() -> Any:
    """The kernel that makes the first states."""
    return cuda.jit(spread)


def spread(table: Any, first: Any, which: Any, by_rows: bool) -> None:
    """The first state of every run, in one row of the table per run or in one column."""
    place = cuda.grid(1)
    if place < table.size:
        run, i = place // first.shape[1], place % first.shape[1]
        if by_rows:
            table[run, i] = first[which[run], i]
        else:
            table[i, run] = first[which[run], i]
