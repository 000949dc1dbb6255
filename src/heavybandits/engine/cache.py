"""Compiled kernels on disk: one file for each, and no file is believed before it is checked.

Machine code that has lost a bit crashes the process or, worse, computes something else; and a
cached kernel is a pickle, which runs whatever it says. So each file begins with a SHA-256 of what
it is for and of all its bytes, and is read only if nobody else could have written it.
"""

import hashlib
import os
import pickle
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from ..support.files import replace_atomically
from ..support.progress import tell_compiling

_DIGEST = hashlib.sha256().digest_size
_PACKAGE = Path(__file__).parent.parent


class Refused(Exception):
    """A folder or file that others could have written."""


def spell(kind: Any) -> str:
    """A type of compiled code, its parts with the modules they come from.

    >>> from heavybandits.links import Logistic
    >>> spell(numba.typeof((Logistic(), 1.0)))
    'tuple(heavybandits.links.Logistic(), float64)'
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
    yield _PACKAGE / "__pycache__" / "kernels"
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


def share() -> list[Path]:
    """Let everybody read what this user has compiled; the folders it lies in."""
    found = [place for place in folders() if place.is_dir() and os.access(place, os.W_OK)]
    for folder in found:
        check_folder(folder)
        folder.chmod(0o755)
        for file in folder.glob("*.nbc"):
            file.chmod(0o644)
    return found


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
        tell_compiling()
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
