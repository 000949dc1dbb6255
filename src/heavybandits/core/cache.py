"""Keep compiled kernels on disk, under a stamp of their sources, in files that are checked.

A stamp is a hash of all sources that can change what a part computes: its module, and all that it
takes from others of the same top-level package or folder, and from this package. The versions of
other libraries are not watched.

Machine code that has lost a bit crashes the process or, worse, computes something else; and a
cached kernel is a pickle, which runs any code that it contains. So each kernel has one file, the
file begins with a SHA-256 of its key and of all its bytes, and it is read only if no other user
could have written it.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import numba
from numba import config, types

from .._utils.errors import InvalidInputError
from .._utils.files import replace_atomically
from .._utils.progress import announce_compilation
from .numba_internals import class_of, require_reliable

_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time_ns()
# Modules that cannot change a number: checks, files, figures, and the code of these hashes.
_HARMLESS = (
    f"{_PACKAGE}._utils.",
    f"{_PACKAGE}.core.cache",
    f"{_PACKAGE}.core.compile",
    f"{_PACKAGE}.simulation.result",
    f"{_PACKAGE}.simulation.figures",
)


def source_file(module: str) -> Path | None:
    """Return the .py file of an imported module; None if it has none, inside a zip for example."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file and file.endswith(".py") and Path(file).is_file() else None


@functools.cache
def _neighbours(module: str) -> frozenset[str]:
    """Return the modules that the names of a module come from.

    Names that another process may not find there do not count: the submodules of a package, which
    appear once they are imported, and objects of other libraries in a module of this library.
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
    """Return the modules that a module imports: a number does not know which one it came from."""
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
    """Return these modules and all they take from their packages and folders, directly or not.

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
    """Return a hash of the sources of these modules and of all they build on."""
    names = closure(frozenset(modules))
    return _digest(names, tuple(_changed(str(sys.modules[name].__file__)) for name in names))


def _changed(file: str) -> int | None:
    """Return when a file was last written; None if it was deleted since it was imported."""
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
    """Return True if the source is newer than this process, which may run the older one."""
    file = source_file(module)
    return file is None or file.stat().st_mtime_ns > _STARTED


def edited(modules: Iterable[str]) -> bool:
    """Return True if one of these sources is newer than this process.

    Then the stamp belongs to the file and not to the running code: the kernel must not be kept.
    """
    return any(map(is_edited, closure(frozenset(modules))))


# ---- checked files

_DIGEST = hashlib.sha256().digest_size
_HOME = Path(__file__).parent.parent


class UnsafePlaceError(Exception):
    """A folder or file that others could have written."""


def spell(kind: Any) -> str:
    """Return the name of a type of compiled code, its parts with their modules.

    >>> from heavybandits.links import Logistic
    >>> spell(numba.typeof((Logistic(), 1.0)))
    'tuple(heavybandits.parts.links.Logistic(), float64)'
    """
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    part = class_of(kind)
    name = "tuple" if part is tuple else f"{part.__module__}.{part.__qualname__}"
    return f"{name}({', '.join(map(spell, kind))})"


def check_owner(place: Path, status: os.stat_result) -> None:
    """Raise if a file or folder belongs to another user (but root) or others can write it."""
    if not hasattr(os, "geteuid"):  # Windows: a user's folders are the user's
        return
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise UnsafePlaceError(place)


def folders() -> Iterator[Path]:
    """Yield the folders for kernels: NUMBA_CACHE_DIR alone, or the package's and then home's."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR) / "heavybandits"
        return
    yield _HOME / "__pycache__" / "kernels"
    yield Path(os.path.expanduser("~/.cache/heavybandits"))


def check_folder(folder: Path) -> None:
    """Raise if others can write a folder, or replace it."""
    check_owner(folder, folder.lstat())
    status = folder.parent.stat()
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise UnsafePlaceError(folder.parent)


def read_checked(path: Path, key: bytes) -> bytes | None:
    """Return what `write_checked` wrote for this key; if it is damaged, delete it, return None."""
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
    """Write a file for this key that no other user can write."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_folder(path.parent)
    digest = hashlib.sha256(key + content).digest()
    replace_atomically(path, lambda target: target.write_bytes(digest + content), mode=0o600)


class KernelCache:
    """Files of one kernel, by the types of its arguments. No failure to read or write raises."""

    def __init__(self, function: Any, stamp: str) -> None:
        self._name, self._stamp = function.__name__.removesuffix(f"_{stamp[:16]}"), stamp
        self.unsafe: Path | None = None  # a file or folder that others could have written
        self.found = False  # whether the kernel was loaded

    def _place(self, signature: Any, target: Any) -> tuple[str, bytes]:
        """Return the name of the file and the key that it is written for."""
        versions = (sys.version, numba.__version__, llvmlite.__version__)
        kinds = [spell(kind) for kind in signature]
        key = repr((self._name, self._stamp, versions, target, kinds)).encode()
        return f"{self._name}-{hashlib.sha256(key).hexdigest()[:24]}.nbc", key

    def load(self, signature: Any, target: Any) -> bytes | None:
        """Return the bytes of the kernel; None if it must be compiled."""
        name, key = self._place(signature, target)
        for folder in folders():
            try:
                content = read_checked(folder / name, key)
            except OSError:
                continue
            except UnsafePlaceError as error:
                self.unsafe = error.args[0]
                return None
            if content is not None:
                self.found = True
                return content
        require_reliable()
        announce_compilation()
        return None

    def save(self, signature: Any, target: Any, content: bytes) -> None:
        """Write the kernel to the first folder that can be written."""
        if self.unsafe:
            return
        name, key = self._place(signature, target)
        for folder in folders():
            try:
                return write_checked(folder / name, key, content)
            except (OSError, InvalidInputError):  # the latter if it is a link or a folder
                continue
            except UnsafePlaceError as error:
                self.unsafe = error.args[0]
                return
