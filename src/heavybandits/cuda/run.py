"""`simulate` on a device: which runs go together, in how many pieces, and how far they are."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numba import cuda

from ..engine.loop import Trace
from ..support.progress import Progress
from .batches import Run, groups, pieces
from .compiling import NUMBA_ERRORS, kernel_of
from .door import no_form
from .kernels import make_layout
from .launch import Launch, room_of, varying

SHARE = 0.7  # of the free memory that runs may take
PIECE = 1024  # plays of the first piece of a run
SECONDS = 0.3  # that a piece should last: long beside a launch, short beside a look at progress


class Batch(NamedTuple):
    """Runs that are in device memory together, of policies that one kernel plays."""

    names: list[str]
    runs: Sequence[Run]
    room: int  # bytes per run

    @property
    def size(self) -> int:
        return self.room * len(self.runs)

    def launch(self, policies: Mapping[str, Any], problem: Any, seed: int, plays: Any) -> Launch:
        runs = [(self.names.index(name), repetition) for name, repetition in self.runs]
        return Launch([policies[name] for name in self.names], problem, runs, seed, plays)


def prepare(policies: Sequence[Any], problem: Any) -> None:
    """Compile the kernel before anything runs, or say which part stands in the way."""
    layout = make_layout(policies[0], problem.arms)
    try:
        kernel_of(policies[0], varying(policies), problem, layout)
    except NUMBA_ERRORS as error:
        raise no_form(error, policies[0], problem) from error


def play_all(
    policies: Mapping[str, Any],
    problem: Any,
    runs: Sequence[Run],
    horizon: int,
    checkpoints: Any,
    seed: int,
    bar: Progress,
) -> dict[Run, tuple[Trace, float]]:
    """The trace of every run, and its share of the seconds that the device took."""
    free = int(SHARE * cuda.current_context().get_memory_info()[0])
    waiting: deque[Batch] = deque()
    for names in groups(policies):
        together = [policies[name] for name in names]
        prepare(together, problem)
        room = room_of(together[0], problem.arms) + 40 * checkpoints.size
        mine = [run for run in runs if run[0] in names]
        waiting.extend(Batch(names, piece, room) for piece in pieces(mine, room, free))
    outcomes: dict[Run, tuple[Trace, float]] = {}
    while waiting:
        batches = [waiting.popleft()]
        while waiting and sum(batch.size for batch in (*batches, waiting[0])) <= free:
            batches.append(waiting.popleft())
        launches = [batch.launch(policies, problem, seed, checkpoints) for batch in batches]
        seconds = play_together(launches, horizon, bar) / sum(len(b.runs) for b in batches)
        for batch, launch in zip(batches, launches, strict=True):
            for run, trace in zip(batch.runs, launch.traces(), strict=True):
                outcomes[run] = trace, seconds
    return outcomes


def play_together(launches: Sequence[Launch], horizon: int, bar: Progress) -> float:
    """Play launches side by side, piece by piece; the seconds it took."""
    started, start, plays = time.perf_counter(), 0, PIECE
    runs = sum(len(launch.runs) for launch in launches)
    while start < horizon:
        stop, before = min(start + plays, horizon), time.perf_counter()
        for launch in launches:
            launch.play(start, stop)
        cuda.synchronize()
        bar.advance(runs * (stop - start))
        if time.perf_counter() - before < SECONDS:
            plays *= 2
        start = stop
    return time.perf_counter() - started
