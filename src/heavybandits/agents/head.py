"""The head of a ledger: a small file beside it with its lock and the end of its log.

A log that is cut off at a commit looks whole; the head, written after every commit, says how far it
went. The lock is one of our own (flock): SQLite's are lost when anything in the process closes the
database file, a copy of it for instance.
"""

import hashlib
import os
import struct
from pathlib import Path
from typing import NamedTuple

from ..support.errors import LedgerError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # pragma: no cover - Windows: there SQLite's own lock has to do
    flock = None  # type: ignore[assignment]

HAS_LOCK = flock is not None

_LAYOUT = struct.Struct("<8sQ16s")
_MAGIC = b"HBHEAD1\n"


class End(NamedTuple):
    """Where a log ends: its number of events, and the last link of their chain."""

    events: int
    link: bytes


def _seal(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


class Head:
    """The lock and the end of a ledger, in a file beside it."""

    def __init__(self, ledger: Path) -> None:
        self._path = f"{ledger}-head"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if HAS_LOCK:
                flock(self._file, LOCK_EX | LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise LedgerError(
                f"{ledger} is in use by another agent, here or in another process; "
                "a ledger has one at a time"
            ) from error

    def read(self) -> End | None:
        """The end that was written last; None if there is none that is whole."""
        os.lseek(self._file, 0, os.SEEK_SET)
        data = os.read(self._file, _LAYOUT.size + 8)
        if len(data) < _LAYOUT.size + 8 or _seal(data[: _LAYOUT.size]) != data[_LAYOUT.size :]:
            return None
        magic, events, link = _LAYOUT.unpack_from(data)
        return End(events, link) if magic == _MAGIC else None

    def write(self, end: End) -> None:
        """Not flushed: it may be older than the log after a power cut, never newer."""
        data = _LAYOUT.pack(_MAGIC, *end)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, data + _seal(data))

    def discard(self) -> None:
        """Close it, and leave no trace of a ledger that never was."""
        if self.read() is None:
            os.unlink(self._path)
        self.close()

    def close(self) -> None:
        """Let the lock go; in a forked child, where it is shared, leave it to the parent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
