"""The database of a ledger: a SQLite file with transactions, for one process.

Before a fork every agent finishes its call; the child releases all ledgers untouched, because
closing one would remove what its parent has written. The operating system must provide an `fsync`
that flushes, `flock`, and a local disk whose folders have a modification time.
"""

import ctypes
import os
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from .._utils.errors import LedgerError
from .store import Dialect

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: only SQLite's own lock
    fcntl = None  # type: ignore[assignment]

Statement = tuple[str, tuple[Any, ...]]

STATE_FILE = b"PK"  # first bytes of a state file
DATABASE = b"SQLite format 3\0"
FAILURES = (sqlite3.Error, UnicodeDecodeError)  # the latter if a message quotes a damaged page
STABLE = 10**8  # nanoseconds; a folder changed twice in less may show one time for both
LOG_PAGES = 250  # pages in the log before SQLite copies them into the database
LOG_BYTES = 1 << 20  # a little more than these pages take
FORKED = "was opened before a fork: open it in the child instead"


@dataclass
class Group:
    """If writes are collected in one transaction, and if one of them has failed."""

    open: bool = False
    writing: bool = False
    failed: str = ""


class Database:
    """A SQLite file for one writer. Every failure is a LedgerError that names the file.

    Messages about a copy name the original.
    """

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, copy_of: Path | None = None) -> None:
        self.path, self._names = copy_of or path, (str(path), f"{path}-wal")
        self._place = str(path.parent)
        self._process = os.getpid()
        self._files: list[tuple[int, int]] | None = None
        self._folder: tuple[int, ...] | None = None  # when the files were last checked
        self._why = "has been closed by this agent: open a new Agent on it"
        self._connection: sqlite3.Connection | None = None
        self._group = Group()
        try:
            self._connection = self._connect()
        except FAILURES as error:
            self.fail(error)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._names[0], timeout=1.0, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "fullfsync = ON"):
                connection.execute(f"PRAGMA {pragma}")
            if fcntl is None:  # pragma: no cover - only SQLite's lock
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def prepare(self) -> None:
        """Set up a write-ahead log that is flushed at every commit."""
        try:
            for setting in (
                "journal_mode = WAL",
                "synchronous = FULL",
                f"wal_autocheckpoint = {LOG_PAGES}",
            ):
                self.rows(f"PRAGMA {setting}")
            for step in ("BEGIN IMMEDIATE", "COMMIT"):
                self.rows(step)
        except BaseException:
            self.close()
            raise

    # ---- reading and writing

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a statement finds."""
        try:
            return self._open().execute(statement, values).fetchall()
        except FAILURES as error:
            self.fail(error)

    def stream(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a statement finds."""
        try:
            yield from self._open().execute(statement, values)
        except FAILURES as error:
            self.fail(error)

    def write(self, statements: list[Statement]) -> None:
        """Execute all of it in one transaction, or none of it and raise LedgerError.

        A transaction that an interrupt left open is rolled back first. In a group, all writes
        are one transaction, which `end_group` commits.
        """
        if self._group.open:
            self._write_in_group(statements)
            return
        database, steps = self._open(), statements
        if database.in_transaction:
            self.roll_back()
        if len(statements) > 1:  # a single one is a transaction
            steps = [("BEGIN IMMEDIATE", ()), *statements, ("COMMIT", ())]
        try:
            for statement, values in steps:
                database.execute(statement, values)
        except FAILURES as error:
            last = statement == "COMMIT" or len(statements) == 1
            self._undo(doubtful=last and _code(error) == sqlite3.SQLITE_IOERR)
            self.fail(error)
        self._check_files()

    def roll_back(self) -> None:
        """Roll back a write that an interrupt left open."""
        if self._group.open:
            if self._group.writing:
                self.rows("ROLLBACK TO one_write")
                self._group.writing = False
        elif self._open().in_transaction:
            self.rows("ROLLBACK")

    # ---- many writes in one transaction

    @property
    def in_group(self) -> bool:
        """Return True between `begin_group` and `end_group`."""
        return self._group.open

    def begin_group(self) -> None:
        """Make everything that is written until `end_group` one transaction."""
        self.roll_back()
        self._group = Group(open=True)

    def _write_in_group(self, statements: list[Statement]) -> None:
        """Execute all of it, or none of it; if SQLite fails, the group has failed."""
        database, group = self._open(), self._group
        if group.failed:
            raise LedgerError(f"{self.path}: {group.failed}")
        self.roll_back()
        try:
            if not database.in_transaction:
                database.execute("BEGIN IMMEDIATE")
            if len(statements) == 1:  # is complete, or has no effect
                database.execute(*statements[0])
                return
            database.execute("SAVEPOINT one_write")
            group.writing = True
            for statement, values in statements:
                database.execute(statement, values)
            database.execute("RELEASE one_write")
            group.writing = False
        except FAILURES as error:
            group.failed, group.writing = str(error), False
            self._undo(doubtful=False)
            self.fail(error)

    def end_group(self) -> None:
        """Commit the writes of the group, or none of them and raise LedgerError.

        Calling it again after an interrupt completes it.
        """
        group, database = self._group, self._open()
        self.roll_back()
        try:
            if database.in_transaction:
                database.execute("COMMIT")
        except FAILURES as error:
            self._group = Group()
            self._undo(doubtful=_code(error) == sqlite3.SQLITE_IOERR)
            self.fail(error)
        self._group = Group()
        if group.failed:
            raise LedgerError(f"{self.path}: {group.failed}")
        self._check_files()

    def _undo(self, doubtful: bool) -> None:
        """Make sure that a failed transaction is not on the disk.

        If the last flush failed, the log may contain all of it, and it would come back after a
        crash: then another transaction overwrites it.
        """
        database = self._open()
        try:
            if database.in_transaction:
                database.execute("ROLLBACK")
            if doubtful:
                database.execute("UPDATE about SET value = value + 1 WHERE name = 'failures'")
        except FAILURES as error:
            self.leak("could not be written, and whether it was is not known: open it again")
            raise LedgerError(f"{self.path} {self._why}") from error

    def checkpoint(self, mode: str) -> None:
        """Copy the write-ahead log into the database."""
        self.rows(f"PRAGMA wal_checkpoint({mode})")

    def reserve(self) -> None:
        """Fill an empty log with zeros, so that a commit overwrites and does not lengthen it.

        A file that grows has its new length flushed as well, which takes as long as the commit.
        For SQLite a log that begins with zeros is empty. A log is not empty after a checkpoint if
        another program reads it: then it contains events, and is left as it is.
        """
        log = self._names[1]
        if not os.path.exists(log) or os.path.getsize(log) > 0:
            return
        try:
            with open(log, "r+b") as file:
                file.write(bytes(LOG_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError:  # perhaps a full disk: leave the space to the events
            with suppress(OSError):
                os.truncate(log, 0)

    def _check_files(self) -> None:
        """Raise LedgerError if the open files were moved or removed: commits would be lost."""
        if self._folder_is_unchanged():
            return
        try:
            found = [(at.st_ino, at.st_dev) for at in map(os.stat, self._names)]
        except FileNotFoundError:
            found = []
        if self._files is None:
            self._files = found
        if self._files != found:
            self.leak("was moved, removed or replaced while it was open: open it again")
            self._open()

    def _folder_is_unchanged(self) -> bool:
        """Return True if nothing was moved, removed or created in the folder since the last check.

        To check the file at each commit would cost more than to check the folder: a file whose
        times were read must update them at the next write, and flush them too.
        """
        try:
            at = os.stat(self._place)
        except FileNotFoundError:
            return False
        before, now = self._folder, (at.st_ino, at.st_dev, at.st_mtime_ns)
        self._folder = now if time.time_ns() - at.st_mtime_ns > STABLE else None
        return before == now

    # ---- closing

    def close(self) -> None:
        """Close it. In a process that did not open it, do nothing."""
        if self._connection is not None and os.getpid() == self._process:
            connection, self._connection = self._connection, None
            connection.close()

    def leak(self, why: str) -> None:
        """Never close it: closing would write to, and remove, files of another process."""
        if self._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection, self._why = None, why

    def _open(self) -> sqlite3.Connection:
        if os.getpid() != self._process:
            raise LedgerError(f"{self.path} {FORKED}")
        if self._connection is None:
            raise LedgerError(f"{self.path} {self._why}")
        return self._connection

    def fail(self, error: Exception) -> NoReturn:
        """Raise the LedgerError for an error of SQLite."""
        if _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerError(f"{self.path} is being written by another program") from error
        raise LedgerError(f"{self.path}: {error} ({room(self.path.parent)})") from error


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def check_database(path: Path) -> None:
    """Raise LedgerError if the file exists and is not a ledger. The caller must have the lock:
    closing a database file drops the locks of the agent that has it open in this process."""
    start = b""
    if path.exists():
        with path.open("rb") as file:
            start = file.read(len(DATABASE))
    if start.startswith(STATE_FILE):
        raise LedgerError(f"{path} is a state file: Agent.load({str(path)!r}) opens it")
    if start and start != DATABASE:
        raise LedgerError(f"{path}: file is not a database: choose another name")


def room(folder: Path) -> str:
    """Return the free space of a folder, for messages."""
    if not folder.is_dir():
        return "there is no such folder"
    if not os.access(folder, os.W_OK):
        return "the folder is read-only"
    return f"{shutil.disk_usage(folder).free} bytes free"


# ---- forks

_locks: "weakref.WeakSet[Any]" = weakref.WeakSet()
_ledgers: "weakref.WeakSet[Any]" = weakref.WeakSet()
_held: list[Any] = []
_forking = threading.RLock()  # two threads that fork would clear each other's list

hold_at_fork = _locks.add  # no fork while a thread has this lock
leak_at_fork = _ledgers.add  # a child calls `ledger.leak()`


def _before() -> None:
    _forking.acquire()
    _held[:] = list(_locks)
    for lock in _held:
        lock.acquire()


def _after() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


def _in_child() -> None:
    for ledger in list(_ledgers):
        ledger.leak()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
