"""The files next to a ledger: which of them are ours, where the ledger ends, who has it open.

The head `agent.db-head` records the end of the ledger `agent.db`: a write-ahead log that ends early
at a commit looks intact without it. The head is also the lock: SQLite's locks are lost when
anything in the process closes the database file, for example to copy it.
"""

import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .._utils.errors import InvalidInputError, LedgerError
from .._utils.files import (
    HEAD,
    LEDGER_FILES,
    check_file,
    check_one_name,
    open_in_place,
    sync_folder,
)

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: only SQLite's own lock
    fcntl = None  # type: ignore[assignment]

_LAYOUT = struct.Struct("<8sQ16s")
_MAGIC = b"HBHEAD1\n"
_SIZE = _LAYOUT.size + 8

# First bytes of the files next to a ledger; zeros or nothing before anything is written.
_STARTS = {
    HEAD: (_MAGIC,),
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-journal": (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", bytes(12)),  # zeros until it is flushed
}
_SHARED = "-shm"  # opening it would drop SQLite's locks: known by its size
_SHARED_BLOCK = 1 << 12  # SQLite lengthens the file in such steps, of which a disk may have few
_SHARED_STARTS = (0, 3)  # SQLite cuts the file to three bytes when it is opened first


class InUseError(LedgerError):
    """An agent has the ledger open."""


class End(NamedTuple):
    """The end of a ledger: its number of events, and the last link of their chain."""

    events: int
    link: bytes


class Record(NamedTuple):
    """What the head of a ledger says: the end, or why there is none."""

    end: End | None
    flaw: str = ""  # "missing", "damaged" or "not the head of a ledger"


def _seal(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def _parse(data: bytes) -> Record:
    if len(data) == _SIZE and _seal(data[: _LAYOUT.size]) == data[_LAYOUT.size :]:
        magic, events, link = _LAYOUT.unpack_from(data)
        if magic == _MAGIC:
            return Record(End(events, link))
    ours = data.startswith(_MAGIC) or not data.strip(b"\0")
    return Record(None, "damaged" if ours else "not the head of a ledger")


def read_head(ledger: Path) -> Record:
    """Return what the head next to a ledger says."""
    try:
        with open(f"{ledger}{HEAD}", "rb") as file:
            return _parse(file.read(_SIZE + 1))
    except FileNotFoundError:
        return Record(None, "missing")
    except OSError as error:
        raise LedgerError(f"{ledger}{HEAD}: {error.strerror}") from error


# ---- which files are ours


def check_kinds(ledger: Path) -> None:
    """Raise LedgerError if a file of a ledger is a link, a folder or a pipe.

    The head and the log of a ledger are those next to the file itself, not next to a link to it.
    """
    _check_each(ledger, check_file)


def check_ours(ledger: Path) -> None:
    """Raise LedgerError if a file of a ledger that would be written is not ours.

    SQLite empties and removes whatever has the names of its files.
    """
    _check_each(ledger, check_one_name)
    for ending, starts in _STARTS.items():
        start = _read_start(f"{ledger}{ending}")
        if start.strip(b"\0") and not start.startswith(starts):
            raise _foreign(ledger, ending)
    with suppress(FileNotFoundError):
        if os.lstat(f"{ledger}{_SHARED}").st_size % _SHARED_BLOCK not in _SHARED_STARTS:
            raise _foreign(ledger, _SHARED)


def _check_each(ledger: Path, check: Callable[[str], object]) -> None:
    for ending in ("", *LEDGER_FILES):
        try:
            check(f"{ledger}{ending}")
        except InvalidInputError as error:
            raise LedgerError(str(error)) from error
        except OSError as error:
            raise LedgerError(f"{ledger}{ending}: {error.strerror}") from error


def _read_start(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_SIZE)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror}") from error


def _foreign(ledger: Path, ending: str) -> LedgerError:
    return LedgerError(
        f"{ledger}{ending} is damaged, or not a file of the ledger {ledger.name}, which would "
        "overwrite it: move it away, or choose another name for the ledger"
    )


def holds_log(ledger: Path) -> bool:
    """Return True if there is a log that is not empty."""
    return bool(_read_start(f"{ledger}-wal").strip(b"\0"))


# ---- the lock


class Head:
    """The head of a ledger that is written: the lock, and the end."""

    def __init__(self, ledger: Path) -> None:
        check_kinds(ledger)
        self._path, self._mode = f"{ledger}{HEAD}", _mode_of(ledger)
        self._is_new = not os.path.lexists(self._path)
        self._file = self._open(ledger)
        while not _has_name(self._file, self._path):  # another agent has just discarded it
            os.close(self._file)
            self._file = self._open(ledger)
        try:
            check_ours(ledger)  # not before: an agent that has the lock may be writing its files
        except BaseException:
            self.discard()
            raise

    def _open(self, ledger: Path) -> int:
        try:
            file = open_in_place(self._path, self._mode)
        except InvalidInputError as error:
            raise LedgerError(str(error)) from error
        try:
            _lock(file, ledger, exclusive=True)
        except BaseException:
            os.close(file)
            raise
        return file

    def read(self) -> Record:
        """Return what was written last."""
        os.lseek(self._file, 0, os.SEEK_SET)
        data = os.read(self._file, _SIZE + 1)
        return Record(None, "missing") if self._is_new and not data else _parse(data)

    def write(self, end: End) -> None:
        """Write the end, without a flush: it may be older than the log, never newer."""
        try:
            self._write(end)
        except OSError:
            pass

    def _write(self, end: End) -> None:
        data = _LAYOUT.pack(_MAGIC, *end)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, data + _seal(data))

    def start(self, end: End) -> None:
        """Write the first end of a session, and flush it: later ones overwrite it in place."""
        self._write(end)
        os.ftruncate(self._file, _SIZE)
        os.fsync(self._file)
        sync_folder(Path(self._path).parent)

    def discard(self) -> None:
        """Close it, and remove it if it was created for a ledger that was not."""
        if self._is_new and self._file >= 0 and os.fstat(self._file).st_size == 0:
            os.unlink(self._path)
        self.close()

    def close(self) -> None:
        """Release the lock; in a forked child, where it is shared, leave it to the parent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _has_name(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def _mode_of(ledger: Path) -> int:
    """Return the mode of a ledger, which its head shares."""
    try:
        return os.lstat(ledger).st_mode & 0o666
    except FileNotFoundError:
        return 0o644


def _lock(file: int, ledger: Path, exclusive: bool) -> None:
    """Lock a head; raise LedgerError if an agent has the lock."""
    if fcntl is None:  # pragma: no cover - only SQLite's lock
        return
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        raise InUseError(
            f"{ledger} is in use by another agent, here or in another process; "
            "a ledger has one at a time"
        ) from error


@contextmanager
def unused(ledger: Path) -> Iterator[Record]:
    """Keep agents from opening a ledger meanwhile; yield what its head says. Nothing is written."""
    check_kinds(ledger)
    try:
        file = os.open(f"{ledger}{HEAD}", os.O_RDONLY)
    except FileNotFoundError:
        yield Record(None, "missing")
        if os.path.lexists(f"{ledger}{HEAD}"):
            raise LedgerError(f"{ledger} was opened by an agent meanwhile: try again") from None
        return
    except OSError as error:
        raise LedgerError(f"{ledger}{HEAD}: {error.strerror}") from error
    try:
        _lock(file, ledger, exclusive=False)
        yield _parse(os.read(file, _SIZE + 1))
    finally:
        os.close(file)
