"""Play jobs on a device: group their runs, divide them into pieces and report the progress."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from .batches import Job, Piece, groups, pieces
from .compile import NUMBA_ERRORS, kernel_of
from .launch import Launch, room_of, varying
from .layout import Layout, make_layout
from .precompile import compile_all
from .supported import no_form

SHARE = 0.7  # fraction of the free memory that runs may take
PIECE = 1024  # plays of the first piece of a run
# Shortest duration of a piece: long compared with a launch, and short compared with the time
# between two looks at the progress.
SECONDS = 0.3


class Batch(NamedTuple):
    """Store runs that are in device memory together and that one kernel plays."""

    jobs: Piece
    layout: Layout
    room: int  # bytes of memory per run

    @property
    def size(self) -> int:
        return self.room * sum(job.size for _, job in self.jobs)


def prepare(jobs: Sequence[Job], layout: Layout) -> None:
    """Compile the kernel before anything runs, or raise an error that names the parts at fault."""
    try:
        kernel_of(jobs[0].parts, varying(jobs), layout)
    except NUMBA_ERRORS as error:
        raise no_form(error, jobs[0].policy, jobs[0].problem) from error


def play_jobs(jobs: Sequence[Job], advance: Callable[[float], None]) -> list[dict[str, Any]]:
    """Return the results of every job: arrays with one row per run, as in a cell of a sweep."""
    together = [([jobs[place] for place in places], places) for places in groups(jobs)]
    free = int(SHARE * cuda.current_context().get_memory_info()[0])
    runs = sum(job.size for alike, _ in together if has_teams(alike[0]) for job in alike)
    layouts = [layout_of(alike, runs) for alike, _ in together]
    compile_all([(alike, layout) for (alike, _), layout in zip(together, layouts, strict=True)])
    waiting: deque[Batch] = deque()
    for (alike, places), layout in zip(together, layouts, strict=True):
        prepare(alike, layout)
        room = room_of(alike[0], layout)
        parts = pieces(list(zip(places, alike, strict=True)), room, free)
        waiting.extend(Batch(part, layout, room) for part in parts)
    found: list[list[dict[str, Any]]] = [[] for _ in jobs]
    while waiting:
        play_some(next_batches(waiting, free), found, advance)
    return [joined(parts) for parts in found]


def has_teams(job: Job) -> bool:
    return make_layout(job.policy, job.problem.arms, problem=job.problem).lanes > 1


def layout_of(alike: Sequence[Job], runs: int) -> Layout:
    """Return the layout of jobs that one kernel plays, while teams play `runs` runs in total."""
    own, job = sum(job.size for job in alike), alike[0]
    return make_layout(job.policy, job.problem.arms, max(own, runs), job.problem)


def next_batches(waiting: deque[Batch], free: int) -> list[Batch]:
    """Remove the next batches that fit into the free memory together, at least one; return them."""
    batches = [waiting.popleft()]
    while waiting and sum(batch.size for batch in (*batches, waiting[0])) <= free:
        batches.append(waiting.popleft())
    return batches


def play_some(
    batches: Sequence[Batch], found: list[list[dict[str, Any]]], advance: Callable[[float], None]
) -> None:
    """Play batches at the same time, and append their results to those in `found`."""
    launches = [Launch([job for _, job in batch.jobs], batch.layout) for batch in batches]
    seconds = play_together(launches, advance) / sum(launch.size for launch in launches)
    for batch, launch in zip(batches, launches, strict=True):
        for (place, _), outcome in zip(batch.jobs, launch.outcomes(seconds), strict=True):
            found[place].append(outcome)


def play_together(launches: Sequence[Launch], advance: Callable[[float], None]) -> float:
    """Play launches at the same time, piece by piece; return the seconds that this took."""
    started, start, plays = time.perf_counter(), 0, PIECE
    horizon = max(launch.horizon for launch in launches)
    streams = [cuda.stream() for _ in launches]
    costs = [float(launch.size) for launch in launches]
    while start < horizon:
        stop, before = min(start + plays, horizon), time.perf_counter()
        costs = play_piece(launches, start, stop, streams, costs)
        advance(sum(launch.plays_between(start, stop) for launch in launches))
        if time.perf_counter() - before < SECONDS:
            plays *= 2
        start = stop
    return time.perf_counter() - started


def play_piece(
    launches: Sequence[Launch],
    start: int,
    stop: int,
    streams: Sequence[Any],
    costs: Sequence[float],
) -> list[float]:
    """Play from `start` to `stop`, the slowest launches first; return the milliseconds of each.

    The timers are stopped after all launches are queued. Streams share a few queues. A command that
    follows a kernel and waits for its end, such as the stop of a timer, delays its whole queue.
    """
    order = sorted(range(len(launches)), key=lambda place: -costs[place])
    timers = {place: launches[place].play(start, stop, streams[place]) for place in order}
    for timer in timers.values():
        timer.stop()
    cuda.synchronize()
    return [timers[place].milliseconds() for place in range(len(launches))]


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of all pieces of one job as one result."""
    if len(parts) == 1:
        return parts[0]
    rows = [name for name in parts[0] if name != "play"]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in rows}
    return {"play": parts[0]["play"]} | whole
