"""Play runs on the device.

The first states are made on the device, the runs are played in pieces, and the results at the
checkpoints are copied back to the host.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import cuda

from ..core.confidence_region import fallbacks_of_many
from ..core.loop import Unobserved
from ..core.part import is_part
from ..core.rng import ARMS, NOISE
from ..core.stream_keys import stream_keys
from .batches import Job
from .compile import kernel_of
from .layout import FAR, OWN, PASSING, POOLED, Layout, numbers_of, state_leaves, world_leaves
from .numba_cuda_internals import NumbaPerformanceWarning
from .storage import spreader
from .worlds import check_delay

THREADS = 128  # per block of a kernel for which the number does not matter


def varying(jobs: Sequence[Job]) -> list[bool]:
    """Return a list with True for each constant that differs between jobs of one kind."""
    return [
        isinstance(values[0], float) and any(value != values[0] for value in values)
        for values in zip(*(numbers_of(job.parts) for job in jobs), strict=True)
    ]


def configured(kernel: Any, *grid: Any) -> Any:
    """Return kernel[grid], without the warning that few blocks leave the device idle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        return kernel[grid]


def on_device(part: Any) -> Any:
    """Return the part with its arrays copied to the device."""
    if is_part(part):
        return type(part)(*map(on_device, part))
    return cuda.to_device(part) if isinstance(part, np.ndarray) else part


def first_states(jobs: Sequence[Job], layout: Layout) -> dict[str, Any]:
    """Return the tables of the states before the first play, with one row per job."""
    same = {leaf.name: leaf.array.ravel() for leaf in layout.leaves}
    rows = []
    for job in jobs:
        own = [*state_leaves(job.policy), *world_leaves(job.problem, job.policy.plays)]
        rows.append(same | {leaf.name: leaf.array.ravel() for leaf in own})

    def table(names: list[str], kind: Any) -> Any:
        empty = [np.zeros(0, kind)]
        return np.array([np.concatenate(empty + [row[n] for n in names]) for row in rows], kind)

    far = {leaf.name: table([leaf.name], leaf.array.dtype) for leaf in layout.all(FAR)}
    if layout.lanes == 1:
        return far
    own = layout.all(OWN)
    floats = [leaf.name for leaf in own if leaf.array.dtype == np.float64]
    integers = [leaf.name for leaf in own if leaf.array.dtype == np.int64]
    return {
        "common": table([leaf.name for leaf in layout.all(*POOLED)], np.float64),
        "floats": table(floats, np.float64),
        "integers": table(integers, np.int64),
        **far,
    }


def room_of(job: Job, layout: Layout) -> int:
    """Return the number of bytes of device memory that a run takes."""
    kept = sum(leaf.array.nbytes for leaf in layout.leaves if leaf.place != PASSING)
    return kept + 40 * len(job.checkpoints)


class Timer:
    """Measure the time in which a stream does the work queued between the start and `stop`."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._start, self._end = stream, cuda.event(), cuda.event()
        self._start.record(stream)

    def stop(self) -> None:
        self._end.record(self._stream)

    def milliseconds(self) -> float:
        """Return the time. Call this after the stream has done its work."""
        return float(cuda.event_elapsed_time(self._start, self._end))


class Launch:
    """Play the runs of jobs that differ only in real numbers, seeds and repetitions."""

    def __init__(self, jobs: Sequence[Job], layout: Layout) -> None:
        self.jobs, self.layout, self.horizon = jobs, layout, jobs[0].horizon
        plays, problem, differs = np.array(jobs[0].checkpoints), jobs[0].problem, varying(jobs)
        self.kernel = kernel_of(jobs[0].parts, differs, layout)
        sizes = [job.size for job in jobs]
        self.size, which = sum(sizes), cuda.to_device(np.repeat(np.arange(len(jobs)), sizes))
        self.head = (
            *map(on_device, jobs[0].parts),
            cuda.to_device(_constants(jobs, differs)),
            which,
            cuda.to_device(problem.theta),
            *(cuda.to_device(_keys(jobs, stream)) for stream in (ARMS, NOISE)),
            Unobserved(),
        )
        shape = (self.size, plays.size)
        self.out = {"regret": cuda.to_device(np.full(shape, np.nan))}
        for name in ("updates", "projections", "truncated"):
            self.out[name] = cuda.to_device(np.zeros(shape, np.int64))
        self.plays, self.plays_there = plays, cuda.to_device(plays)
        self.tables = self._tables(first_states(jobs, layout), which)
        cuda.synchronize()  # the copies above are on another stream than the runs

    def _tables(self, first: dict[str, Any], which: Any) -> dict[str, Any]:
        size, by_rows = self.size, self.layout.lanes > 1
        made: dict[str, Any] = {}
        for name, rows in first.items():
            width = rows.shape[1]
            table = cuda.device_array((size, width) if by_rows else (width, size), rows.dtype)
            blocks = -(-size * width // THREADS)
            if blocks:
                fill = configured(spreader(), blocks, THREADS)
                fill(table, cuda.to_device(rows), which, by_rows)
            made[name] = table
        for leaf in self.layout.all(FAR):
            shape = leaf.array.shape
            whole = (size, *shape) if by_rows else (*shape, size)
            made[leaf.name] = made[leaf.name].reshape(*whole)
        return made

    def play(self, start: int, stop: int, stream: Any) -> Timer:
        """Start the plays from `start` to `stop` and return the running timer.

        This does not wait until the plays are done.
        """
        layout, stop, timer = self.layout, min(stop, self.horizon), Timer(stream)
        if start < stop:
            blocks, threads = -(-self.size // layout.teams), layout.teams * layout.lanes
            launch = configured(self.kernel, blocks, threads, stream, 8 * layout.pool)
            tables = (*self.out.values(), *self.tables.values())
            launch(*self.head, start, stop, self.plays_there, *tables)
        return timer

    def plays_between(self, start: int, stop: int) -> int:
        """Return the number of plays of all runs together."""
        return self.size * max(min(stop, self.horizon) - start, 0)

    def outcomes(self, seconds: float) -> list[dict[str, Any]]:
        """Return the results of every job at its checkpoints, with one row per run."""
        found = {name: array.copy_to_host() for name, array in self.out.items()}
        if "world_counts" in self.tables:
            check_delay(self.jobs[0].problem, self.tables["world_counts"].copy_to_host())
        found["fallbacks"] = np.repeat(self._fallbacks()[:, None], self.plays.size, axis=1)
        found["cpu_seconds"] = np.full(self.size, seconds)
        ends = np.cumsum([job.size for job in self.jobs])
        return [
            {"play": self.plays} | {n: a[end - job.size : end] for n, a in found.items()}
            for job, end in zip(self.jobs, ends.tolist(), strict=True)
        ]

    def _fallbacks(self) -> Any:
        """Return the result of `part.fallbacks_of` for every state."""
        total, place = np.zeros(self.size, np.int64), 0
        for name, array, where in self.layout.leaves:
            counts = name.endswith(("_region_counts", "_sizes_counts"))
            if counts and where == FAR:
                total += fallbacks_of_many(self.tables[name].copy_to_host())
            elif counts:
                integers = self.tables["integers"].copy_to_host()
                total += fallbacks_of_many(integers[:, place : place + array.size].T)
            place += array.size if where == OWN and array.dtype == np.int64 else 0
        return total


def _constants(jobs: Sequence[Job], differs: list[bool]) -> Any:
    rows = [
        [number for number, mine in zip(numbers_of(job.parts), differs, strict=True) if mine]
        for job in jobs
    ]
    return np.array(rows, np.float64).reshape(len(jobs), sum(differs))


def _keys(jobs: Sequence[Job], stream: int) -> Any:
    """Return the keys of all runs. Jobs with equal seeds and repetitions share their keys."""
    spans = [(job.seed, job.first, job.last) for job in jobs]
    made = {
        (seed, first, last): stream_keys(seed, np.arange(first, last), stream)
        for seed, first, last in dict.fromkeys(spans)
    }
    return np.concatenate([made[span] for span in spans])
