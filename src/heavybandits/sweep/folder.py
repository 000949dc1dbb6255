"""The folder of a sweep: made, held while the sweep runs, cleared of what a kill left behind."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..support.container import canonical
from ..support.errors import SweepError
from ..support.files import replace_atomically
from .cells import Cell
from .worker import refusal

try:
    import fcntl
except ImportError:  # Windows: leftovers stay
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def hold(folder: str | Path) -> Iterator[None]:
    """Make the folder, and clear it if no other sweep is at work in it."""
    folder = Path(folder)
    try:
        for name in ("cells", "timings"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise SweepError(refusal(error.filename or folder, error)) from error
    try:
        if fcntl is not None:
            _clear(folder, handle)
        yield
    finally:
        os.close(handle)


def _clear(folder: Path, handle: int) -> None:
    """Remove unfinished files; with another sweep here they may be its own, and stay."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for leftover in [*folder.glob("cells/.*.npz.*"), *folder.glob("timings/.*.json.*")]:
            leftover.unlink(missing_ok=True)
    except OSError:
        pass
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_SH)


def failure_path(folder: Path, cell: Cell) -> Path:
    return folder / "failed" / f"{cell.key}.json"


def note_failure(folder: Path, cell: Cell, error: str) -> None:
    """Leave a note about a cell that was given up; the next run tries it again all the same."""
    path = failure_path(folder, cell)
    note = {"label": cell.label, "function": cell.function, "settings": cell.settings}
    text = canonical(note | {"code": cell.code, "error": error}).encode()
    try:
        path.parent.mkdir(exist_ok=True)
        replace_atomically(path, lambda temporary: temporary.write_bytes(text))
    except OSError as problem:
        raise SweepError(refusal(path, problem)) from problem


def forget_failure(folder: Path, cell: Cell) -> None:
    """The cell was computed after all."""
    failure_path(folder, cell).unlink(missing_ok=True)
