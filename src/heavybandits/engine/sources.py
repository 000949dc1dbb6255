"""Which sources can change what a part computes: its module, and all that it takes from others.

Only modules of the same top-level package or folder count, and this package's. Another library's
version is not ours to watch.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time_ns()
# What cannot change a number: checks, files, figures, and the making of these very hashes.
_HARMLESS = (
    f"{_PACKAGE}.support.",
    f"{_PACKAGE}.engine.sources",
    f"{_PACKAGE}.engine.compiling",
    f"{_PACKAGE}.simulation.results",
    f"{_PACKAGE}.simulation.figures",
)


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
    found = {name for name in names if isinstance(name, str)}
    return frozenset(found if module.startswith(f"{_PACKAGE}.") else found | _imported(module))


def _imported(module: str) -> set[str]:
    """The modules that a module names in its imports: a number knows not where it came from."""
    path = source_file(module)
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes() if path else b"")):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = getattr(sys.modules[module], "__package__", None) or ""
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


@functools.cache
def closure(modules: frozenset[str]) -> tuple[str, ...]:
    """These modules and all they take from their own packages and folders, directly or not.

    >>> names = closure(frozenset({"heavybandits.estimators.one_pass"}))
    >>> "heavybandits.engine.linalg" in names, "heavybandits.agents.agent" in names
    (True, False)
    """
    packages = {name.partition(".")[0] for name in modules} | {_PACKAGE}
    folders = {path.parent for name in modules if (path := source_file(name))}

    def counts(name: str) -> bool:
        path = source_file(name)
        return name.partition(".")[0] in packages or (path is not None and path.parent in folders)

    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        harmless = module == _PACKAGE or module.startswith(_HARMLESS)
        if module in seen or harmless or source_file(module) is None:
            continue
        seen.add(module)
        waiting += filter(counts, _neighbours(module))
    return tuple(sorted(seen))


def digest(modules: Iterable[str]) -> str:
    """A hash of the sources of these modules and of all they build on."""
    names = closure(frozenset(modules))
    return _digest(names, tuple(_changed(str(sys.modules[name].__file__)) for name in names))


def _changed(file: str) -> int | None:
    """When a file was last written; None if it was deleted since it was imported."""
    try:
        return os.stat(file).st_mtime_ns
    except FileNotFoundError:
        return None


@functools.cache
def _digest(names: tuple[str, ...], changed: tuple[int | None, ...]) -> str:
    total = hashlib.sha256()
    for name, when in zip(names, changed, strict=True):
        with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
            if when is not None:
                total.update(name.encode() + _file_digest(str(sys.modules[name].__file__), when))
    return total.hexdigest()


@functools.cache
def _file_digest(file: str, _changed: int) -> bytes:
    return hashlib.sha256(Path(file).read_bytes()).digest()


def is_edited(module: str) -> bool:
    """Whether the source is younger than this process, which may run the older one."""
    file = source_file(module)
    return file is None or file.stat().st_mtime_ns > _STARTED


def edited(modules: Iterable[str]) -> bool:
    """Whether one of these sources is younger than this process.

    Then the stamp is that of the file, the code is not: such a kernel must not be kept.
    """
    return any(map(is_edited, closure(frozenset(modules))))
