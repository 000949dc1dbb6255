"""The run of a sweep: what is stored is not computed again, what fails is tried again."""

import contextlib
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._utils.errors import CellError, SweepError
from .._utils.progress import Progress
from .._utils.validation import whole
from .backends import BACKENDS, Backend, check_backend
from .cell import Cell, schedule
from .gpu_cells import play_portion, portions
from .store import cell_path, check_room, forget_failure, hold, load_cell, note_failure
from .worker import CRASHED, DONE, HALTED, RAISED, Report, compute


@dataclass
class Outcome:
    """What came of a sweep.

    `results` are by key, as read back from the disk; `failed` are the cells given up and why;
    `damaged` those whose files could not be trusted and were computed again.
    """

    results: dict[str, dict[str, Any]] = field(default_factory=dict)
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
    progress: Callable[[int, int], None] | None = None,
    quiet: bool | None = False,
    kept: bool = True,
) -> Outcome:
    """Compute the cells that the folder does not hold yet, and return all of them.

    The results depend on the cells alone: not on their order, the workers, the backend, nor on how
    often the run was killed and started again. A cell that raises, or kills its worker, `retries`
    times is given up and named in `failed`; the others finish.

    Parameters
    ----------
    folder : where results are kept; with a cluster, one that all its machines share.
    jobs : workers; None for all cores, or for all of the cluster.
    backend : "loky" (processes), "sequential", "threads", "dask" or "ray".
    address : of a Dask or Ray cluster that is already there.
    progress : called with the cells done and the cells in all.
    quiet : nothing on stderr but what went wrong; None for a bar, where there is a terminal.

    >>> import tempfile
    >>> cells = [Cell("builtins:dict", {"number": number}) for number in (1, 2, 3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_cells(cells, folder, backend="sequential", quiet=True)
    >>> outcome.computed, outcome.results[cells[2].key]["number"]
    (3, 3)
    """
    unique = {cell.key: cell for cell in cells}
    whole("retries", retries)
    check_backend(backend, jobs, address)
    outcome = Outcome()
    with hold(folder):
        missing = [cell for cell in unique.values() if not _reuse(folder, cell, outcome)]
        check_room(folder, len(missing))
        show = None if quiet is None else not quiet
        with Progress(sum(cell.weight for cell in missing), show) as display:
            for cell, reason in outcome.damaged:
                display.say(f"{cell.name}: {cell_path(folder, cell)} {reason}; computed again")
            if not missing and outcome.reused:
                display.text = f"{outcome.reused} cells, all of them reused"
            there = [cell for cell in missing if cell.on_device]
            here = [cell for cell in missing if not cell.on_device]
            if there:
                _play(there, Path(folder), outcome, display, progress)
            if here:
                with _started(backend, jobs, address, kept) as workers:
                    sweep = Sweep(workers, Path(folder), retries, outcome, display, progress)
                    sweep.run(schedule(here))
        outcome.failed.sort(key=lambda failure: failure[0].key)
    return outcome


def _reuse(folder: str | Path, cell: Cell, outcome: Outcome) -> bool:
    """Take the result that is stored, if there is one that can be trusted."""
    try:
        result = load_cell(folder, cell, same_versions=True)
    except CellError as error:
        outcome.damaged.append((cell, str(error)))
        return False
    if result is None:
        return False
    outcome.results[cell.key] = result
    outcome.reused += 1
    return True


def _play(
    cells: list[Cell],
    folder: Path,
    outcome: Outcome,
    display: Progress,
    progress: Callable[[int, int], None] | None,
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
            if progress is not None:
                progress(len(outcome.results), total)


@contextlib.contextmanager
def _started(backend: str, jobs: int | None, address: str | None, kept: bool) -> Iterator[Backend]:
    """The backend, killed with all it is at if anything goes wrong."""
    workers = BACKENDS[backend](jobs, address)
    try:
        yield workers
    except BaseException as error:
        workers.close(kill=True)
        if isinstance(error, KeyboardInterrupt):
            rest = "Run the same command again to go on from here." if kept else "Nothing is kept."
            print(f"Interrupted. {rest}", file=sys.stderr)
        raise
    workers.close(kill=False)


class Sweep:
    """Cells on their way: tried, tried again, given up.

    When a worker is killed, the cells in flight are suspects. They are tried again one by one, when
    nothing else runs, so that the one that kills is found and the others are not blamed for it.
    """

    def __init__(
        self,
        workers: Backend,
        folder: Path,
        retries: int,
        outcome: Outcome,
        display: Progress,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.workers, self.folder, self.retries = workers, folder, retries
        self.outcome, self.display, self.progress = outcome, display, progress
        self.attempts: Counter[str] = Counter()
        self.total = 0

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
        while waiting or running:
            while waiting and len(running) < window:
                cell = waiting.popleft()
                running[self.workers.submit(compute, cell, str(self.folder))] = cell
            finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            self.display.tick()
            for future in finished:
                yield running.pop(future), _report(future)

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
        if self.progress is not None:
            self.progress(done, self.total)


def _report(future: "Future[Any]") -> Report:
    """What the worker said, or how it died."""
    try:
        report: Report = future.result()
        return report
    except (Exception, CancelledError) as error:
        first_line = str(error).partition("\n")[0]
        return Report(CRASHED, f"the worker died: {type(error).__name__}: {first_line}")
