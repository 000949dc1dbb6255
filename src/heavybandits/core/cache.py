"""Keep compiled kernels on disk, under a stamp of their sources, in files that are checked.

A stamp is a hash of all that can change what a kernel computes: see sources.py and reach.py.

Machine code that has lost a bit crashes the process or, worse, computes something else; and a
cached kernel is a pickle, which runs any code that it contains. So each kernel has one file, the
file begins with a SHA-256 of its key and of all its bytes, and it is read only if no other user
could have written it.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import config, types

from .._utils.errors import InvalidInputError
from .._utils.files import replace_atomically
from .._utils.progress import announce_compilation
from .numba_internals import class_of, require_reliable

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
        versions = (sys.version, numba.__version__, llvmlite.__version__, config.BOUNDSCHECK)
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
