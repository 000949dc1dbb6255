"""Jobs on a device: which runs go together, in how many pieces, and how far they are."""

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

SHARE = 0.7  # of the free memory that runs may take
PIECE = 1024  # plays of the first piece of a run
SECONDS = 0.3  # that a piece should last: long beside a launch, short beside a look at progress


class Batch(NamedTuple):
    """Runs that are in device memory together and that one kernel plays."""

    jobs: Piece
    layout: Layout
    room: int  # bytes per run

    @property
    def size(self) -> int:
        return self.room * sum(job.size for _, job in self.jobs)


def prepare(jobs: Sequence[Job], layout: Layout) -> None:
    """Compile the kernel before anything runs, or say which part prevents it."""
    try:
        kernel_of(jobs[0].parts, varying(jobs), layout)
    except NUMBA_ERRORS as error:
        raise no_form(error, jobs[0].policy, jobs[0].problem) from error


def play_jobs(jobs: Sequence[Job], advance: Callable[[float], None]) -> list[dict[str, Any]]:
    """What the runs of every job leave: arrays with one row per run, as those of a sweep's cell."""
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
    """The layout of jobs that one kernel plays, next to so many runs that teams play."""
    own, job = sum(job.size for job in alike), alike[0]
    return make_layout(job.policy, job.problem.arms, max(own, runs), job.problem)


def next_batches(waiting: deque[Batch], free: int) -> list[Batch]:
    """As many as fit together; at least one."""
    batches = [waiting.popleft()]
    while waiting and sum(batch.size for batch in (*batches, waiting[0])) <= free:
        batches.append(waiting.popleft())
    return batches


def play_some(
    batches: Sequence[Batch], found: list[list[dict[str, Any]]], advance: Callable[[float], None]
) -> None:
    """Play batches side by side, and add what they leave to what was found."""
    launches = [Launch([job for _, job in batch.jobs], batch.layout) for batch in batches]
    seconds = play_together(launches, advance) / sum(launch.size for launch in launches)
    for batch, launch in zip(batches, launches, strict=True):
        for (place, _), outcome in zip(batch.jobs, launch.outcomes(seconds), strict=True):
            found[place].append(outcome)


def play_together(launches: Sequence[Launch], advance: Callable[[float], None]) -> float:
    """Play launches side by side, piece by piece; the seconds it took."""
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
    """Play from `start` to `stop`, the costliest launches first; the milliseconds each took.

    Clocks are stopped when all have been sent off. Streams share a few queues, and what is sent
    after a kernel and waits for its end, as the stop of a clock does, delays its whole queue.
    """
    order = sorted(range(len(launches)), key=lambda place: -costs[place])
    timers = {place: launches[place].play(start, stop, streams[place]) for place in order}
    for timer in timers.values():
        timer.stop()
    cuda.synchronize()
    return [timers[place].milliseconds() for place in range(len(launches))]


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The pieces of one job as a whole."""
    if len(parts) == 1:
        return parts[0]
    rows = [name for name in parts[0] if name != "play"]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in rows}
    return {"play": parts[0]["play"]} | whole
