"""How an experiment gets the results of its cells: computed, or only read back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..sweep import Cell, read_cell, run_cells
from .cells import Result


class CellsFailed(RuntimeError):
    """Some cells could not be computed (or are not stored); the others are safe on the disk."""

    def __init__(self, failures: Sequence[tuple[Cell, str]]) -> None:
        self.failures = [(cell, text.strip().splitlines()[-1][:300]) for cell, text in failures]
        shown = "; ".join(f"{cell.label or cell.key}: {error}" for cell, error in self.failures[:3])
        more = f"; and {len(failures) - 3} more" if len(failures) > 3 else ""
        super().__init__(f"{len(failures)} cells failed: {shown}{more}")


class Runner:
    """Computes cells in a folder, reusing those that are there."""

    def __init__(
        self,
        folder: str | Path,
        *,
        jobs: int | None = None,
        backend: str = "loky",
        address: str | None = None,
        quiet: bool = False,
    ) -> None:
        self.folder, self.quiet = Path(folder), quiet
        self.where: dict[str, Any] = {"jobs": jobs, "backend": backend, "address": address}
        self.computed = self.reused = 0

    def __call__(self, cells: Sequence[Cell], alone: bool = False) -> list[Result]:
        """The results in the order of the cells. `alone`: one after the other, for timing."""
        where = {"jobs": 1, "backend": "sequential"} if alone else self.where
        outcome = run_cells(cells, self.folder, quiet=self.quiet, **where)
        self.computed += outcome.computed
        self.reused += outcome.reused
        if outcome.failed:
            raise CellsFailed(outcome.failed)
        return [outcome.results[cell.key] for cell in cells]


class Stored:
    """Reads cells that were computed before, and computes nothing."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.computed = self.reused = 0

    def __call__(self, cells: Sequence[Cell], alone: bool = False) -> list[Result]:
        found = [read_cell(self.folder, cell) for cell in cells]
        missing = [
            (cell, "not stored by this version of the code: run reproduce")
            for cell, got in zip(cells, found, strict=True)
            if got is None
        ]
        if missing:
            raise CellsFailed(missing)
        self.reused += len(found)
        return [got for got in found if got is not None]
