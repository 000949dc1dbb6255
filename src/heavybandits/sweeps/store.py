"""The store: one file for each finished cell, complete or not there, validated when it is read.

folder/cells/<key>.npz contains what the cell computed, and the same cell gives the same bytes on
every machine. What differs from run to run, the seconds, is in folder/timings/<key>.json.
"""

import contextlib
import functools
import hashlib
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from .._utils import files
from .._utils.errors import CellError, InvalidInputError, SweepError
from ..core.sources import digest_of
from .cell import Cell

try:
    import fcntl
except ImportError:  # Windows: leftovers stay
    fcntl = None  # type: ignore[assignment]

FORMAT = files.Format("cell")
SECONDS = "seconds"  # results whose names end so are timings
IMPORTED = "imported"  # among the timings: files of the user's that no key knows of
OPAQUE = "opaque"  # in place of the hash of such a file: it runs a text or another file
UNFINISHED = re.compile(r"\.[0-9a-f]{64}\.(npz|json)\.[0-9a-f]{16}")  # as `files` names them
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
HEADER = 10  # bytes of an npy file up to its header: magic, version, and the length of the header


def cell_path(folder: str | Path, cell: Cell) -> Path:
    return Path(folder) / "cells" / f"{cell.key}.npz"


def timing_path(folder: str | Path, cell: Cell) -> Path:
    return Path(folder) / "timings" / f"{cell.key}.json"


def versions() -> dict[str, str]:
    """Return the versions below us that a number can depend on; our own code is in the key."""
    return {"numba": numba.__version__, "numpy": np.__version__}


# ---- the folder: made, held while a sweep runs, cleared of what a kill left behind


@contextlib.contextmanager
def hold(folder: str | Path) -> Iterator[None]:
    """Make the folder, and clear it if no other sweep is at work in it."""
    folder = check_folder(folder)
    try:
        for name in ("cells", "timings"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        files.check_file(folder / ".lock")
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | NO_LINKS, 0o666)
    except OSError as error:
        raise SweepError(files.write_failure(error.filename or folder, error)) from error
    except InvalidInputError as error:
        raise SweepError(str(error)) from error
    try:
        if fcntl is not None:
            _clear(folder, handle)
        yield
    finally:
        os.close(handle)


def check_folder(folder: Any) -> Path:
    """Return the folder of a sweep as a path.

    >>> check_folder(3)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: folder must be a str or a Path, got 3
    """
    if not isinstance(folder, str | os.PathLike) or isinstance(os.fspath(folder), bytes):
        raise InvalidInputError(f"folder must be a str or a Path, got {folder!r}")
    if not os.fspath(folder) or "\0" in os.fspath(folder):
        raise InvalidInputError(f"folder must be the name of a folder, got {folder!r}")
    return Path(folder)


def _clear(folder: Path, handle: int) -> None:
    """Remove unfinished files; with another sweep here they may be its own, and stay."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in ("cells", "timings"):
            for leftover in (folder / name).iterdir():
                if UNFINISHED.fullmatch(leftover.name) and not leftover.is_symlink():
                    leftover.unlink(missing_ok=True)
    except OSError:
        pass
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_SH)


def check_room(folder: str | Path, missing: int, assumed: int = 16_384) -> None:
    """Raise an error if the disk has no room for a sweep, judging by the cells that are there.

    `missing` cells are to come, each `assumed` bytes if there is none yet to go by.
    """
    sizes = [path.lstat().st_size for path in (Path(folder) / "cells").glob("*.npz")]
    mean = math.fsum(sizes) / len(sizes) if sizes else assumed
    needed = missing * (4096 * math.ceil(mean / 4096) + 4096)
    free = files.free_bytes(folder)
    if free < needed:
        raise SweepError(
            f"{folder}: {missing} cells need about {needed} bytes, and {free} bytes are free"
        )


# ---- writing


def write_cell(folder: str | Path, cell: Cell, result: dict[str, Any], **timings: Any) -> None:
    """Store what the cell computed; the timings first, so that a result never lacks them.

    Nothing waits for the disk: what a power cut damages is found by its digest, and computed again.
    """
    clocks = {name: value for name, value in result.items() if name.endswith(SECONDS)}
    rest = {name: value for name, value in result.items() if name not in clocks}
    data = pack(cell, rest, sorted(clocks))
    seconds = {name: np.asarray(value, float).tolist() for name, value in clocks.items()}
    text = files.canonical(timings | seconds).encode()
    _write(timing_path(folder, cell), text)
    _write(cell_path(folder, cell), data)


def _write(path: Path, data: bytes) -> None:
    try:
        files.replace_atomically(path, lambda target: target.write_bytes(data), lasting=False)
    except InvalidInputError as error:  # a link or a folder is there
        raise SweepError(str(error)) from error


def pack(cell: Cell, result: dict[str, Any], clocks: list[str]) -> bytes:
    """The bytes of the file of a cell: an uncompressed npz with a header, nothing pickled."""
    arrays = {name: as_array(name, result[name]) for name in sorted(result)}
    body = {
        "cell": cell.content,
        "scalars": [name for name in arrays if not isinstance(result[name], np.ndarray)],
        "timings": clocks,
        "versions": versions(),
    }
    return files.write_container(
        FORMAT, body, {f"{name}.npy": _npy(a) for name, a in arrays.items()}
    )


def as_array(name: Any, value: Any) -> NDArray[Any]:
    """Return a result as an array that needs no pickle.

    >>> as_array("regret", {})
    Traceback (most recent call last):
    heavybandits.InvalidInputError: result 'regret' must be an array, a number or a
    string, got dict
    >>> as_array("regret", np.ma.array([1.0, 2.0], mask=[True, False]))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: result 'regret' must have no masked values; fill them first
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidInputError(f"a result must have an identifier as its name, got {name!r}")
    if np.ma.is_masked(value):
        raise InvalidInputError(f"result {name!r} must have no masked values; fill them first")
    array = np.asarray(value, order="C")
    if not isinstance(value, np.ndarray | np.generic | str | int | float) or array.dtype.hasobject:
        given = type(value).__name__
        raise InvalidInputError(
            f"result {name!r} must be an array, a number or a string, got {given}"
        )
    return array


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


# ---- reading


def read_cell(folder: str | Path, cell: Cell) -> dict[str, Any] | None:
    """Return the stored result of a cell with its timings.

    Parameters
    ----------
    folder : str or Path
        Folder of the results.
    cell : Cell
        The cell.

    Returns
    -------
    dict or None
        The result; None if there is no intact file.

    Examples
    --------
    >>> read_cell("nowhere", Cell("math:sqrt", {"x": 2.0})) is None
    True
    """
    try:
        return load_cell(folder, cell)
    except CellError:
        return None


def load_cell(
    folder: str | Path, cell: Cell, same_versions: bool = False, same_imports: bool = False
) -> dict[str, Any] | None:
    """Return the stored result as `read_cell` does, or raise a CellError if it is damaged.

    With `same_versions`, also raise if it was made with other versions of numpy or numba; with
    `same_imports`, if a module has changed that the cell imported and its key does not know.
    """
    path = cell_path(folder, cell)
    data = _read(path)
    if data is None:
        return None
    body, blobs = unpack(data, cell)
    timings = _load_timings(timing_path(folder, cell), body["timings"])
    if same_versions:
        _check_versions(body["versions"])
    if same_imports:
        _check_imported(timings[IMPORTED])
    result = {}
    for name, blob in blobs.items():
        array = _from_npy(blob)
        name = name.removesuffix(".npy")
        result[name] = array[()].item() if name in body["scalars"] else array
    return result | {name: value for name, value in timings.items() if name != IMPORTED}


def check_files(folder: str | Path, cell: Cell) -> None:
    """Raise a SweepError if a link or a folder is where a file of this cell is to be written."""
    try:
        for path in (cell_path(folder, cell), timing_path(folder, cell)):
            files.check_file(path)
    except InvalidInputError as error:
        raise SweepError(str(error)) from error
    except OSError as error:
        raise SweepError(files.write_failure(error.filename or folder, error)) from error


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file, None if there is none; a link is not followed."""
    try:
        if files.check_file(path) is None:
            return None
        handle = os.open(path, os.O_RDONLY | NO_LINKS)
        with open(handle, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, InvalidInputError) as error:
        raise CellError(f"cannot be read: {error}") from error


def unpack(data: bytes, cell: Cell) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays of a file if it is intact and belongs to this cell."""
    try:
        body, blobs = files.read_container(FORMAT, data)
        found = body["cell"]
    except files.ContainerError as error:
        raise CellError(str(error)) from error
    except Exception as error:  # a made-up file can fail in any way, and all mean the same
        raise CellError(f"is damaged: {error!r}") from error
    if found != cell.content:
        raise CellError("is that of another cell")
    return body, blobs


def _from_npy(blob: memoryview) -> NDArray[Any]:
    """Return the array of an npy file. Its header sizes nothing that the file cannot fill."""
    start = HEADER + int.from_bytes(blob[HEADER - 2 : HEADER], "little")
    shape, fortran, dtype = _header(bytes(blob[:start]))
    data = blob[start:]
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data):
        raise CellError("is damaged: an array is not as long as it says")
    array = np.ndarray(shape, dtype, data, order="F" if fortran else "C")
    return array.copy(order="C")


@functools.cache
def _header(text: bytes) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, order and type of an array; most cells of a sweep have the same."""
    stream = io.BytesIO(text)
    np.lib.format.read_magic(stream)
    return np.lib.format.read_array_header_1_0(stream)


def _check_versions(made: dict[str, str]) -> None:
    for name, here in versions().items():
        if made[name] != here:
            raise CellError(f"was made with {name} {made[name]}, this is {here}")


def _check_imported(files_then: dict[str, str]) -> None:
    """Raise if a file that the cell imported while it ran is not the same any more."""
    for file, then in files_then.items():
        if then == OPAQUE:
            raise CellError(f"imported {file}, which runs a text or a file that may have changed")
        if digest_of(file) != then:
            raise CellError(f"imported {file} when it was computed, which has changed")


def _load_timings(path: Path, names: list[str]) -> dict[str, Any]:
    try:
        found = json.loads(_read(path) or b"")
        clocks = {name: found[name] for name in dict.fromkeys(("cpu_seconds", *names))}
        clocks = {n: np.array(v, float) if isinstance(v, list) else v for n, v in clocks.items()}
        return clocks | {IMPORTED: dict(found.get(IMPORTED, {}))}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CellError(f"has lost its timings ({path.name}): {error!r}") from error


def digest(folder: str | Path, cells: Iterable[Cell]) -> str:
    """Return one SHA-256 over the results of these cells, in any order and without timings.

    Parameters
    ----------
    folder : str or Path
        Folder of the results.
    cells : iterable of Cell
        The cells.

    Returns
    -------
    str
        The hash, 64 hexadecimal digits.

    Raises
    ------
    SweepError
        A cell has no result in the folder.
    """
    total = hashlib.sha256()
    for cell in sorted(set(cells), key=lambda cell: cell.key):
        data = _read(cell_path(folder, cell))
        if data is None:
            raise SweepError(f"{cell.name} has no result in {folder}")
        _, blobs = unpack(data, cell)
        total.update(f"{cell.key}:{files.digest('', blobs)};".encode())
    return total.hexdigest()


# ---- cells that were given up


def failure_path(folder: Path, cell: Cell) -> Path:
    return folder / "failed" / f"{cell.key}.json"


def note_failure(folder: Path, cell: Cell, error: str) -> None:
    """Leave a note about a cell that failed; the next run tries it again all the same."""
    path = failure_path(folder, cell)
    note = {"label": cell.label, "function": cell.function, "settings": cell.settings}
    text = files.canonical(note | {"code": cell.content[2], "error": error}).encode()
    try:
        path.parent.mkdir(exist_ok=True)
        files.replace_atomically(path, lambda temporary: temporary.write_bytes(text))
    except OSError as problem:
        raise SweepError(files.write_failure(path, problem)) from problem
    except InvalidInputError as problem:
        raise SweepError(str(problem)) from problem


def forget_failure(folder: Path, cell: Cell) -> None:
    """The cell was computed after all."""
    with contextlib.suppress(OSError, InvalidInputError):  # a note that is not ours stays
        if files.check_file(failure_path(folder, cell)) is not None:
            failure_path(folder, cell).unlink(missing_ok=True)
