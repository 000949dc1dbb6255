"""Cells on a GPU: many of them in a few launches, so that a grid of constants fills the device.

A cell function that a device can replace has a twin next to it, "<name>_on_device", made by
`on_device`. What is played there is a cell of its own, with a key of its own: `exp` and `log` of a
GPU differ from the CPU's in the last place.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._utils.errors import InvalidInputError
from ..gpu.batches import Job
from ..gpu.supported import check_supported, play_on_device
from .backends import HALTED, Report, other_sources, store
from .cell import ON_DEVICE, Cell, kind, resolve

PORTION = 200_000  # runs that are played before the cells they belong to are stored

Jobs = Callable[..., list[Job]]  # the jobs of a cell with these settings
# Its result, of its jobs and of what each of them left.
Assemble = Callable[[list[Job], list[dict[str, Any]]], dict[str, Any]]


def on_device(jobs: Jobs, assemble: Assemble) -> Any:
    """Return a cell function that plays on a device, its cells together where there are many."""

    def compute(**settings: Any) -> dict[str, Any]:
        made = jobs(**settings)
        return assemble(made, play_on_device(made))

    compute.__module__ = jobs.__module__  # whose sources are part of the key
    vars(compute).update(jobs=jobs, assemble=assemble)
    return compute


class Twins:
    """The cells that a device plays in place of others; None for one that it cannot play.

    `reasons` says why not, by the name of the cell.
    """

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self._known: dict[str, str] = {}  # the reason of every kind of cell, or nothing
        self._found: dict[Cell, Cell] = {}

    def find(self, cell: Cell) -> Cell | None:
        if cell in self._found:
            return self._found[cell]
        alike = kind(cell)
        if alike not in self._known:
            self._known[alike] = unsupported(cell)
        if self._known[alike]:
            self.reasons.setdefault(cell.name, self._known[alike])
            return None
        twin = Cell(cell.function + ON_DEVICE, cell.settings, cell.code, cell.label, cell.weight)
        return self._found.setdefault(cell, twin)

    def require(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return those of all cells; InvalidInputError, with the reason, if one has none."""
        found = []
        for cell in cells:
            made = self.find(cell)
            if made is None:
                raise InvalidInputError(f"{cell.name}: {self.reasons[cell.name]}")
            found.append(made)
        return found


def unsupported(cell: Cell) -> str:
    """Return why a device cannot play a cell; an empty text if it can."""
    try:
        twin: Any = resolve(cell.function + ON_DEVICE)
    except InvalidInputError:
        return f"device='cuda' has no form of {cell.function.partition(':')[2]}"
    try:
        for job in twin.jobs(**cell.settings):
            check_supported({"policy": job.policy}, job.problem.arms)
    except InvalidInputError as error:
        return str(error)
    return ""


def portions(cells: Sequence[Cell]) -> Iterator[list[tuple[Cell, list[Job]]]]:
    """Yield cells with their jobs, as many at a time as are stored together."""
    portion: list[tuple[Cell, list[Job]]] = []
    runs = 0
    for cell in cells:
        twin: Any = resolve(cell.function)
        jobs: list[Job] = twin.jobs(**cell.settings)
        portion.append((cell, jobs))
        runs += sum(job.size for job in jobs)
        if runs >= PORTION:
            yield portion
            portion, runs = [], 0
    if portion:
        yield portion


def play_portion(
    portion: Sequence[tuple[Cell, list[Job]]], folder: str, advance: Callable[[float], None]
) -> Iterator[tuple[Cell, Report]]:
    """Play the jobs of cells together, and store every cell.

    advance: called with the fraction of the weight of these cells that is done.
    """
    stale = [(cell, text) for cell, _ in portion if (text := other_sources(cell))]
    if stale:
        yield stale[0][0], Report(HALTED, stale[0][1])
        return
    jobs = [job for _, mine in portion for job in mine]
    plays = sum(job.size * job.horizon for job in jobs)
    left = iter(play_on_device(jobs, lambda done: advance(done / plays)))
    for cell, mine in portion:
        twin: Any = resolve(cell.function)
        found = [next(left) for _ in mine]
        seconds = float(sum(one["cpu_seconds"].sum() for one in found))
        yield cell, store(cell, folder, twin.assemble(mine, found), seconds)
