"""Which sources can change what a part computes: its module, and all that it takes from others.

Only modules of the same top-level package count, and this package's. Another library's version is
not ours to watch.
"""

import functools
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

_PACKAGE = __name__.partition(".")[0]
_HARMLESS = {"validation", "sources", "compiling", "results", "progress", "figures", "files"}
_SKIPPED = {_PACKAGE} | {f"{_PACKAGE}.{name}" for name in _HARMLESS}  # cannot change a number


def source_file(module: str) -> Path | None:
    """The .py file of a module that was imported; None if it has none, inside a zip for example."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file and file.endswith(".py") and Path(file).is_file() else None


@functools.cache
def _neighbours(module: str) -> frozenset[str]:
    """The modules that the names of a module come from."""
    values = vars(sys.modules[module]).values()
    names = {
        v.__name__ if isinstance(v, ModuleType) else getattr(v, "__module__", None) for v in values
    }
    return frozenset(name for name in names if isinstance(name, str))


@functools.cache
def closure(modules: frozenset[str]) -> tuple[str, ...]:
    """These modules and all they take from their own packages, directly or not.

    >>> names = closure(frozenset({"heavybandits.estimators"}))
    >>> "heavybandits.linalg" in names, "heavybandits.agent" in names
    (True, False)
    """
    packages = {name.partition(".")[0] for name in modules} | {_PACKAGE}
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module in seen or module in _SKIPPED or source_file(module) is None:
            continue
        seen.add(module)
        waiting += [n for n in _neighbours(module) if n.partition(".")[0] in packages]
    return tuple(sorted(seen))


@functools.cache
def _file_digest(path: Path, _changed: int) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def digest(modules: Iterable[str]) -> str:
    """A hash of the sources of these modules and of all they build on."""
    total = hashlib.sha256()
    for name in closure(frozenset(modules)):
        path = source_file(name)
        if path is not None:
            total.update(name.encode() + _file_digest(path, path.stat().st_mtime_ns))
    return total.hexdigest()
