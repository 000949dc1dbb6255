"""Fault injection, SQLite's way: every call that touches the disk fails once, the k-th of them.

    total = calls_of(lambda: save(path))
    for k in range(total):
        with Failing(k, errno.EIO) as failing:
            ...

Only the functions below are replaced, where Python code looks them up, and the `write` of files
that are opened meanwhile; what the interpreter does by itself, such as closing a file, never fails.
"""

import builtins
import io
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

CALLS = (
    [(os, name) for name in ("open", "write", "fsync", "replace", "rename", "chmod", "mkdir")]
    + [(os, name) for name in ("close", "stat", "lstat", "unlink", "read")]
    + [(builtins, "open"), (io, "open")]
)


class Written:
    """An open file whose `write` can fail."""

    def __init__(self, file: Any, write: Callable[..., Any]) -> None:
        self._file, self.write = file, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "Written":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


class Failing:
    """While it is entered, call number `k` raises OSError(code); -1 fails none, and counts them.

    With `lasting` all later ones fail too. A call that fails is not made, other than `unlink` and
    `close`: a disk that keeps names for ever is another fault than one that takes no more.
    """

    def __init__(self, k: int, code: int, lasting: bool = False) -> None:
        self.k, self.code, self.lasting, self.count = k, code, lasting, 0
        self._kept: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> "Failing":
        for module, name in CALLS:
            real = getattr(module, name)
            self._kept.append((module, name, real))
            setattr(module, name, self._wrapped(real, name))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for module, name, real in self._kept:
            setattr(module, name, real)

    def _wrapped(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            fails = self.count == self.k or (self.lasting and 0 <= self.k < self.count)
            self.count += 1
            if not fails or name in ("unlink", "close"):
                answer = real(*arguments, **options)
            if fails:
                raise OSError(self.code, os.strerror(self.code), name)
            if hasattr(answer, "writable") and answer.writable():
                return Written(answer, self._wrapped(answer.write, "write"))
            return answer

        return call


def calls_of(action: Callable[[], object]) -> int:
    """How many calls an action makes that can fail."""
    with Failing(-1, 0) as counter:
        action()
    return counter.count
