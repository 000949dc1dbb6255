"""The one runner of cells: sweeps, tuning and the experiments all compute their cells here.

What is stored is not computed again, and what fails is tried again.
"""

import contextlib
import functools
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.errors import (
    CellError,
    InvalidInputError,
    ReuseWarning,
    SweepError,
    warn_caller,
)
from .._utils.progress import Progress
from .._utils.threads import available_cores
from .._utils.validation import one_of, whole
from ..core.compile import compile_seconds
from ..simulation.run import DEVICES
from . import backends
from .backends import CRASHED, DONE, HALTED, RAISED, Backend, Report, check_backend
from .cell import MAIN, Cell, schedule, stamp
from .gpu_cells import Twins, play_portion, portions
from .store import (
    cell_path,
    check_files,
    check_folder,
    check_room,
    forget_failure,
    hold,
    load_cell,
    note_failure,
    read_cell,
)

CellResult = dict[str, Any]  # what the function of a cell returned
OnProgress = Callable[[int, int], None]  # called with the cells done and the cells in all

HERE = ("sequential", "threads")  # backends that compute in this very process
WATCHED = 10  # seconds without a sign of workers that are gone
UNNOTICED = "the worker died, and its pool did not notice"
SHOWN = 3  # failed cells that a message names


@dataclass
class Outcome:
    """Store the results of a run of cells.

    Attributes
    ----------
    results : dict of str to dict
        Results by key, as read back from the disk.
    failed : list of (Cell, str)
        Cells that failed `retries` times, and why.
    damaged : list of (Cell, str)
        Cells whose files were not intact and that were computed again, and why.
    computed : int, default 0
        Number of cells computed.
    reused : int, default 0
        Number of cells read from the folder.
    """

    results: dict[str, CellResult] = field(default_factory=dict)
    failed: list[tuple[Cell, str]] = field(default_factory=list)
    damaged: list[tuple[Cell, str]] = field(default_factory=list)
    computed: int = 0
    reused: int = 0


def run_cells(
    cells: Iterable[Cell],
    folder: str | Path,
    *,
    jobs: int | None = None,
    backend: str = "loky",
    address: str | None = None,
    retries: int = 3,
    progress: bool | None = True,
    on_progress: OnProgress | None = None,
    kept: bool = True,
) -> Outcome:
    """Compute the cells that the folder does not contain yet, and return all of them.

    The results depend on the cells alone: not on their order, the workers, the backend, nor on how
    often the run was killed and started again. A cell that raises, or kills its worker, `retries`
    times is listed in `failed`; the others finish.

    Parameters
    ----------
    cells : iterable of Cell
        The cells.
    folder : str or Path
        Folder of the results; with a cluster, one that all its machines share.
    jobs : int, optional
        Workers. None for all cores, or for all of the cluster.
    backend : str, default "loky"
        "loky" (processes), "sequential", "threads", "dask" or "ray".
    address : str, optional
        Address of a Dask or Ray cluster that is already running.
    retries : int, default 3
        Attempts before a cell fails.
    progress : bool or None, default True
        True shows a bar on stderr, and lines where there is no terminal; None the bar alone; False
        only what failed.
    on_progress : function, optional
        Receives the number of finished cells and the number of all cells.
    kept : bool, default True
        False if the folder is temporary; changes only the text of an interrupted run.

    Returns
    -------
    Outcome
        Results by key, and the cells that failed.

    Examples
    --------
    >>> import tempfile
    >>> cells = [Cell("builtins:dict", {"number": number}) for number in (1, 2, 3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_cells(cells, folder, backend="sequential", progress=False)
    >>> outcome.computed, outcome.results[cells[2].key]["number"]
    (3, 3)
    """
    unique = {cell.key: cell for cell in cells}
    whole("retries", retries)
    check_backend(backend, jobs, address)
    outcome = Outcome()
    with hold(folder):
        for cell in unique.values():
            check_files(folder, cell)
        missing = [cell for cell in unique.values() if not _reuse(folder, cell, outcome)]
        check_room(folder, len(missing))
        threads = available_cores() if jobs is None else jobs
        weight = sum(cell.weight for cell in missing)
        with Progress(weight, progress, lambda: compile_seconds() / threads) as display:
            for cell, reason in outcome.damaged:
                display.say(f"{cell.name}: {cell_path(folder, cell)} {reason}; computed again")
            if not missing and outcome.reused:
                display.text = f"{outcome.reused} cells, all of them reused"
            there = [cell for cell in missing if cell.on_device]
            here = [cell for cell in missing if not cell.on_device]
            if there:
                _play(there, Path(folder), outcome, display, on_progress)
            if here:
                with _started(backend, jobs, address, kept) as workers:
                    queue = Queue(workers, Path(folder), retries, outcome, display, on_progress)
                    queue.run(schedule(here))
        outcome.failed.sort(key=lambda failure: failure[0].key)
    return outcome


def _reuse(folder: str | Path, cell: Cell, outcome: Outcome) -> bool:
    """Take the stored result, if there is one that can be trusted."""
    opaque = stamp(cell.function, cell.settings, again=False).opaque
    if opaque is not None:
        _warn_opaque(cell.function, opaque)
        return False
    try:
        result = load_cell(folder, cell, same_versions=True, same_imports=True)
    except CellError as error:
        outcome.damaged.append((cell, str(error)))
        return False
    if result is None:
        return False
    outcome.results[cell.key] = result
    outcome.reused += 1
    return True


@functools.cache
def _warn_opaque(function: str, why: str) -> None:
    warn_caller(
        f"results of {function} are computed again every time, because {why}, and an edit of what "
        "runs there could not be noticed: import that code instead",
        ReuseWarning,
    )


def _play(
    cells: list[Cell],
    folder: Path,
    outcome: Outcome,
    display: Progress,
    on_progress: OnProgress | None,
) -> None:
    """Compute cells on a GPU, portion by portion; what fails there fails the sweep."""
    total = len(outcome.results) + len(cells)
    for portion in portions(cells):
        weight = sum(cell.weight for cell, _ in portion)

        def advance(share: float, weight: float = weight) -> None:
            display.advance(share * weight)

        for cell, report in play_portion(portion, str(folder), advance):
            result = load_cell(folder, cell, same_versions=True) if report.status == DONE else None
            if result is None:
                raise SweepError(f"{cell.name}: {report.text}")
            outcome.results[cell.key] = result
            outcome.computed += 1
            if on_progress is not None:
                on_progress(len(outcome.results), total)


@contextlib.contextmanager
def _started(backend: str, jobs: int | None, address: str | None, kept: bool) -> Iterator[Backend]:
    """Start the backend; kill it and its running cells if anything goes wrong."""
    workers = backends.BACKENDS[backend](jobs, address)
    try:
        yield workers
    except BaseException as error:
        workers.close(True)
        if isinstance(error, KeyboardInterrupt):
            rest = "Run the same command again to resume from here." if kept else "Nothing is kept."
            print(f"Interrupted. {rest}", file=sys.stderr)
        raise
    workers.close(False)


@dataclass
class Queue:
    """Cells that are computed: tried, tried again, failed.

    When a worker is killed, the cells in flight are suspects. They are tried again one by one, when
    nothing else runs, so that the one that kills is found and the others are not blamed for it.
    """

    workers: Backend
    folder: Path
    retries: int
    outcome: Outcome
    display: Progress
    on_progress: OnProgress | None = None
    attempts: Counter[str] = field(default_factory=Counter)
    total: int = 0

    def run(self, cells: list[Cell]) -> None:
        self.total = len(self.outcome.results) + len(cells)
        queue, suspects = cells, list[Cell]()
        while queue or suspects:
            batch, window = (queue, 2 * self.workers.workers) if queue else ([suspects.pop()], 1)
            queue = []
            for cell, report in self.tried(batch, window):
                if report.status == DONE:
                    report = self.collect(cell)
                if report.status == HALTED:
                    raise SweepError(report.text)
                if report.status != DONE and not self.given_up(cell, report, len(batch) == 1):
                    (suspects if report.status == CRASHED else queue).append(cell)

    def tried(self, cells: list[Cell], window: int) -> Iterator[tuple[Cell, Report]]:
        """Every cell and how it went, as they finish, at most `window` of them in flight."""
        waiting, running = deque(cells), dict[Future[Any], Cell]()
        lost = 0  # seconds in a row in which workers were missing and nothing finished
        while waiting or running:
            while waiting and len(running) < window:
                cell = waiting.popleft()
                running[self.workers.submit(backends.compute, cell, str(self.folder))] = cell
            finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            self.display.tick()
            for future in finished:
                yield running.pop(future), _report(future)
            lost = lost + 1 if not finished and self.workers.is_lost() else 0
            if lost >= WATCHED:
                self.workers.discard()
                yield from [(cell, Report(CRASHED, UNNOTICED)) for cell in running.values()]
                running, lost = {}, 0

    def collect(self, cell: Cell) -> Report:
        """Read back what the worker wrote."""
        try:
            result = load_cell(self.folder, cell, same_versions=True)
        except CellError as error:
            return Report(RAISED, f"{cell_path(self.folder, cell)} {error}")
        if result is None:
            path = cell_path(self.folder, cell)
            return Report(RAISED, f"{path} is not here: do all workers share this folder?")
        self.outcome.results[cell.key] = result
        self.outcome.computed += 1
        forget_failure(self.folder, cell)
        self.advance(cell)
        return Report(DONE)

    def given_up(self, cell: Cell, report: Report, alone: bool) -> bool:
        """Count a failure; True if it was the last that we allow. A suspect is not yet guilty."""
        self.attempts[cell.key] += 1
        if self.attempts[cell.key] < self.retries or (report.status == CRASHED and not alone):
            return False
        self.outcome.failed.append((cell, report.text))
        note_failure(self.folder, cell, report.text)
        self.advance(cell)
        last_line = report.text.strip().splitlines()[-1]
        self.display.say(f"{cell.name} failed {self.attempts[cell.key]} times: {last_line}")
        return True

    def advance(self, cell: Cell) -> None:
        """A cell is finished, one way or the other."""
        done, reused = len(self.outcome.results) + len(self.outcome.failed), self.outcome.reused
        text = f"{done}/{self.total} cells" + (f", {reused} reused" if reused else "")
        self.display.advance(cell.weight, text)
        if self.on_progress is not None:
            self.on_progress(done, self.total)


def _report(future: "Future[Any]") -> Report:
    """Return the report of the worker, or how it died."""
    try:
        return future.result()
    except (Exception, CancelledError) as error:
        first_line = str(error).partition("\n")[0]
        return Report(CRASHED, f"the worker died: {type(error).__name__}: {first_line}")


# ---- the runner


@dataclass(frozen=True)
class Runner:
    """Compute cells, or read them from a folder; the results have the order of the cells.

    Parameters
    ----------
    folder : str, Path or None
        Folder of the results. None stores nothing.
    jobs : int, optional
        Workers. None for all cores, or for all of the cluster.
    backend : str, default "threads"
        "threads" of this process, which compiled policies do not block; "loky" for processes,
        "dask", "ray", or "sequential".
    address : str, optional
        Address of a Dask or Ray cluster that is already running.
    retries : int, default 3
        Attempts before a cell fails.
    progress : bool, optional
        True shows a bar on stderr, and lines where there is no terminal. None shows the bar alone.
    device : str, default "cpu"
        "cpu", or "cuda" for a GPU, which plays all policies and problems together; then `jobs` and
        `backend` have no effect.
    fallback : bool, default False
        Compute on the CPU what the device cannot play, instead of raising an error; `twins.reasons`
        then has the cells and the reasons.
    stored : bool, default False
        Only read what the folder contains; a cell that is not there has failed.
    twins : Twins, optional
        Cells that a device plays in place of others. Made by the runner.
    played : dict, optional
        Results of a device in this process, by key. Made by the runner.
    seconds : dict, optional
        CPU seconds of every cell, by key. Made by the runner.
    """

    folder: str | Path | None
    jobs: int | None = None
    backend: str = "threads"
    address: str | None = None
    retries: int = 3
    progress: bool | None = None
    device: str = "cpu"
    fallback: bool = False
    stored: bool = False
    twins: Twins = field(default_factory=Twins, compare=False)
    played: dict[str, CellResult] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_backend(self.backend, self.jobs, self.address)
        one_of("device", self.device, DEVICES)
        if self.folder is not None:
            check_folder(self.folder)

    def place(self, cells: Sequence[Cell], alone: bool = False) -> Sequence[Cell]:
        """Return the cells that the device computes in place of these.

        Parameters
        ----------
        cells : sequence of Cell
            The cells to compute.
        alone : bool, default False
            Compute them on the CPU.

        Returns
        -------
        sequence of Cell
            The same cells on the CPU, other cells on a device.
        """
        if self.device == "cpu" or alone:
            return cells
        if self.fallback:
            return [self.twins.find(cell) or cell for cell in cells]
        return self.twins.require(cells)

    def __call__(self, cells: Sequence[Cell], alone: bool = False) -> list[CellResult]:
        """Return the result of every cell.

        alone: one cell after the other, on the CPU, for timing.

        Raises
        ------
        SweepError
            Some cells could not be computed; the others are stored.
        """
        cells = self.place(cells, alone)
        results = self._read(cells) if self.stored else self._compute(cells, alone)
        for cell in cells:
            self.seconds[cell.key] = float(np.sum(results[cell.key]["cpu_seconds"]))
        return [results[cell.key] for cell in cells]

    def _compute(self, cells: Sequence[Cell], alone: bool) -> dict[str, CellResult]:
        backend, jobs = ("sequential", 1) if alone else (self.backend, self.jobs)
        if backend not in HERE:
            check_importable(cells)
        with _folder(self.folder) as folder:
            outcome = run_cells(
                [cell for cell in cells if cell.key not in self.played],
                folder,
                jobs=jobs,
                backend=backend,
                address=None if alone else self.address,
                retries=self.retries,
                progress=self.progress,
                kept=self.folder is not None,
            )
        if outcome.failed:
            message = describe_failures(outcome.failed, len(cells), self.folder is not None)
            raise SweepError(message, outcome.failed)
        if self.device != "cpu":
            self.played.update(outcome.results)
        return self.played | outcome.results

    def _read(self, cells: Sequence[Cell]) -> dict[str, CellResult]:
        found = {cell.key: read_cell(self.folder or "", cell) for cell in cells}
        why = "not stored by this version of the code: run reproduce"
        missing = [(cell, why) for cell in cells if found[cell.key] is None]
        if missing:
            raise SweepError(describe_failures(missing, len(cells), True), missing)
        return {key: result for key, result in found.items() if result is not None}


@contextlib.contextmanager
def _folder(folder: str | Path | None) -> Iterator[str | Path]:
    if folder is not None:
        yield folder
    else:
        with tempfile.TemporaryDirectory() as place:
            yield place


def describe_failures(failed: Sequence[tuple[Cell, str]], size: int, kept: bool) -> str:
    """Describe a run with failed cells in a few lines."""
    lines = [f"{cell.name}: {text.strip().splitlines()[-1]}" for cell, text in failed[:SHOWN]]
    if len(failed) > SHOWN:
        lines.append(f"and {len(failed) - SHOWN} more")
    rest = "the others are kept, and not computed again" if kept else "nothing is kept"
    return "\n".join([f"{len(failed)} of {size} cells failed; {rest}", *lines])


def check_importable(cells: Sequence[Cell]) -> None:
    """Reject functions and parts of the script itself: other processes cannot import them."""
    for cell in cells:
        names = [cell.function, *cell.settings.get("parts", [])]
        lost = [str(name) for name in names if str(name).startswith(f"{MAIN}:")]
        if lost:
            raise InvalidInputError(
                f"{lost[0].partition(':')[2]} is defined in the script itself, where other "
                "processes do not find it: move it to a module, or use backend='threads'"
            )
