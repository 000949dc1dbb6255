"""Compiling, in one guarded place.

numba's disk cache does not see an edit in another file, so a compiled entry closes over a stamp: a
hash of our sources and of the modules of the parts it is called with. A cache that cannot be read
or written must never stop a user, so any failure of it falls back to compiling in memory.
"""

import functools
import hashlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import config, njit, typeof

Function = Callable[..., Any]

_PACKAGE = Path(__file__).parent
_NEVER_COMPILED = {"agent", "cli", "state", "results", "theory", "validation", "__init__"}


@functools.cache
def _digest(path: str, changed: int) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


def _file_digest(path: Path) -> bytes:
    return _digest(str(path), path.stat().st_mtime_ns)


def parts_of(value: Any) -> set[type]:
    """The classes of a part and of all the parts inside it."""
    if not isinstance(value, tuple):
        return set()
    return {type(value)}.union(*(parts_of(field) for field in value))


def module_files(parts: set[type]) -> list[Path]:
    """The source files of these classes and of what they inherit from."""
    modules = {base.__module__ for part in parts for base in part.__mro__}
    files = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    return sorted({Path(file) for file in files if file and Path(file).suffix == ".py"})


@functools.cache
def _stamp(parts: frozenset[type], _edits: tuple[int, ...]) -> str:
    own = [path for path in sorted(_PACKAGE.glob("*.py")) if path.stem not in _NEVER_COMPILED]
    digest = hashlib.sha256()
    for path in [*own, *module_files(set(parts))]:
        digest.update(path.name.encode() + _file_digest(path))
    return digest.hexdigest()


def stamp(*values: Any) -> str:
    """A hash of all the sources that can change what these parts compute."""
    parts = frozenset().union(*(parts_of(value) for value in values))
    edits = tuple(path.stat().st_mtime_ns for path in module_files(set(parts)))
    return _stamp(parts, edits)


Factory = Callable[[str], Function]


def _guarded(function: Function, signature: tuple[Any, ...]) -> Function:
    """`function` compiled for this signature, through the disk cache if that works."""
    try:
        entry = njit(cache=True, nogil=True)(function)
        entry.compile(signature)
    except Exception:  # unreadable, unwritable, full or corrupt: none of it is the user's concern
        entry = njit(nogil=True)(function)
        entry.compile(signature)
    return entry


_entries: dict[tuple[Factory, str, tuple[Any, ...]], Function] = {}
_lock = threading.Lock()


def compiled(factory: Factory, *arguments: Any) -> Function:
    """The function that factory(stamp) makes, compiled for arguments of these types.

    The function must name `stamp`, so that the stamp becomes a closure cell. With numba switched
    off (NUMBA_DISABLE_JIT=1) it is returned as it is.
    """
    mark = stamp(*arguments)
    if config.DISABLE_JIT:
        return factory(mark)
    signature = tuple(typeof(argument) for argument in arguments)
    key = (factory, mark, signature)
    with _lock:
        if key not in _entries:
            _entries[key] = _guarded(factory(mark), signature)
        return _entries[key]
