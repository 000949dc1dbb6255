"""Compiled kernels on disk: under a stamp of the sources they were made of, and never unseen.

A stamp is a hash of all sources that can change what a part computes: its module, and all that it
takes from others of the same top-level package or folder, and from this package. Another library's
version is not ours to watch.

Machine code that has lost a bit crashes the process or, worse, computes something else; and a
cached kernel is a pickle, which runs whatever it says. So there is one file for each, it begins
with a SHA-256 of what it is for and of all its bytes, and it is read only if nobody else could have
written it.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import os
import pickle
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import numba
from numba.core import config, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from .._utils.files import replace_atomically
from .._utils.progress import announce_compilation

_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time_ns()
# What cannot change a number: checks, files, figures, and the making of these very hashes.
_HARMLESS = (
    f"{_PACKAGE}._utils.",
    f"{_PACKAGE}.core.cache",
    f"{_PACKAGE}.core.compile",
    f"{_PACKAGE}.simulation.result",
    f"{_PACKAGE}.simulation.figures",
)


def source_file(module: str) -> Path | None:
    """The .py file of a module that was imported; None if it has none, inside a zip for example."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file and file.endswith(".py") and Path(file).is_file() else None


@functools.cache
def _neighbours(module: str) -> frozenset[str]:
    """The modules that the names of a module come from.

    What another process need not find there does not count: the modules of a package, which are in
    it once somebody has imported them, and what in a module of the library is not the library's.
    """
    found: set[str] = set()
    for value in vars(sys.modules[module]).values():
        if not isinstance(value, ModuleType):
            found.add(str(getattr(value, "__module__", "")))
        elif not value.__name__.startswith(f"{module}."):
            found.add(value.__name__)
    if module.startswith(f"{_PACKAGE}."):
        return frozenset(name for name in found if name.startswith(f"{_PACKAGE}."))
    return frozenset(found | _imported(module))


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

    >>> names = closure(frozenset({"heavybandits.parts.estimators.one_pass"}))
    >>> "heavybandits.core.linalg" in names, "heavybandits.agents.agent" in names
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


# ---- files that are believed

_DIGEST = hashlib.sha256().digest_size
_HOME = Path(__file__).parent.parent


class Refused(Exception):
    """A folder or file that others could have written."""


def spell(kind: Any) -> str:
    """A type of compiled code, its parts with the modules they come from.

    >>> from heavybandits.links import Logistic
    >>> spell(numba.typeof((Logistic(), 1.0)))
    'tuple(heavybandits.parts.links.Logistic(), float64)'
    """
    if not isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        return str(kind)
    part = getattr(kind, "instance_class", tuple)
    name = "tuple" if part is tuple else f"{part.__module__}.{part.__qualname__}"
    return f"{name}({', '.join(map(spell, kind))})"


def check_owner(place: Path, status: os.stat_result) -> None:
    """Refuse what belongs to somebody else (but root) or can be written by others."""
    if not hasattr(os, "geteuid"):  # Windows: a user's folders are the user's
        return
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise Refused(place)


def folders() -> Iterator[Path]:
    """Where kernels may lie: the folder the user names alone, else the package's, else home's."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR) / "heavybandits"
        return
    yield _HOME / "__pycache__" / "kernels"
    yield Path(os.path.expanduser("~/.cache/heavybandits"))


def check_folder(folder: Path) -> None:
    """Refuse a folder that others can write, or exchange for one of theirs."""
    check_owner(folder, folder.lstat())
    status = folder.parent.stat()
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise Refused(folder.parent)


def read_checked(path: Path, key: bytes) -> bytes | None:
    """What `write_checked` wrote for this key; None, and no file, if it is damaged."""
    check_folder(path.parent)
    with path.open("rb") as file:
        check_owner(path, os.fstat(file.fileno()))
        data = file.read()
    digest, content = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(key + content).digest() == digest:
        return content
    path.unlink()
    return None


def write_checked(path: Path, key: bytes, content: bytes) -> None:
    """Write a file for this key that nobody else can write."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_folder(path.parent)
    digest = hashlib.sha256(key + content).digest()
    replace_atomically(path, lambda target: target.write_bytes(digest + content), mode=0o600)


class KernelCache(_Cache):  # type: ignore[misc]
    """What numba asks for and hands to a cache, for one function. No failure of it is an error."""

    def __init__(self, function: Any, stamp: str) -> None:
        self._name, self._stamp = function.__name__.removesuffix(f"_{stamp[:16]}"), stamp
        self.refused: Path | None = None

    def _place(self, signature: Any, codegen: Any) -> tuple[str, bytes]:
        """The name of the file and the key that it is written for."""
        versions = (sys.version, numba.__version__, llvmlite.__version__)
        kinds = [spell(kind) for kind in signature]
        key = repr((self._name, self._stamp, versions, codegen.magic_tuple(), kinds)).encode()
        return f"{self._name}-{hashlib.sha256(key).hexdigest()[:24]}.nbc", key

    def load_overload(self, signature: Any, context: Any) -> Any:
        context.refresh()
        name, key = self._place(signature, context.codegen())
        for folder in folders():
            try:
                content = read_checked(folder / name, key)
            except OSError:
                continue
            except Refused as refused:
                self.refused = refused.args[0]
                return None
            if content is not None:
                return CompileResult._rebuild(context, *pickle.loads(content))
        announce_compilation()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        if self.refused or result.library.has_dynamic_globals:
            return
        name, key = self._place(signature, result.codegen)
        content = dumps(result._reduce())
        for folder in folders():
            try:
                return write_checked(folder / name, key, content)
            except OSError:
                continue
            except Refused as refused:
                self.refused = refused.args[0]
                return

    cache_path = None

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def flush(self) -> None:
        pass
