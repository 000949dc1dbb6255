"""The database of a ledger: opened with care, written whole or not at all, left alone by children.

What the operating system must provide: `fsync` that means it, `flock`, and a local disk.
"""

import ctypes
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from ..support.errors import LedgerError
from .head import HAS_LOCK

Statement = tuple[str, tuple[Any, ...]]

STATE_FILE = b"PK"  # how a state file begins
DATABASE = b"SQLite format 3\0"


class Database:
    """A SQLite file for one writer. Every failure is a LedgerError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path, self.wal = path, Path(f"{path}-wal")
        self.had_wal = self.wal.exists()
        self._process = os.getpid()
        self._files: tuple[int, ...] | None = None
        self._why = "has been closed by this agent: open a new Agent on it"
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = self._connect()
        except sqlite3.Error as error:
            self.fail(error)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=1.0, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "fullfsync = ON"):
                connection.execute(f"PRAGMA {pragma}")
            if not HAS_LOCK:  # pragma: no cover - then SQLite's has to do
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def prepare(self) -> None:
        """Ready for writing: a write-ahead log, flushed at every commit."""
        try:
            self.rows("PRAGMA journal_mode = WAL")
            self.rows("PRAGMA synchronous = FULL")
            self.rows("BEGIN IMMEDIATE")
            self.rows("COMMIT")
        except BaseException:
            self.close()
            raise

    # ---- reading and writing

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._open().execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.fail(error)

    def one(self, statement: str, *values: Any) -> Any:
        """The first column of the first row; None if there is none."""
        found = self.rows(statement, *values)
        return found[0][0] if found else None

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows one by one."""
        try:
            yield from self._open().execute(statement)
        except sqlite3.Error as error:
            self.fail(error)

    def write(self, statements: list[Statement]) -> None:
        """All of it on the disk, or none of it and a LedgerError."""
        database, committing = self._open(), False
        try:
            database.execute("BEGIN IMMEDIATE")
            for statement, values in statements:
                database.execute(statement, values)
            committing = True
            database.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo(committing and _code(error) == sqlite3.SQLITE_IOERR)
            self.fail(error)
        self._check_files()

    def roll_back(self) -> None:
        """Give up a transaction that an interrupt has left open."""
        if self._open().in_transaction:
            self.rows("ROLLBACK")

    def _undo(self, doubtful: bool) -> None:
        """Make sure that a failed transaction is not on the disk.

        If the last flush failed, the log may hold all of it, and would bring it back after a crash:
        then another transaction is written over it.
        """
        database = self._open()
        try:
            if database.in_transaction:
                database.execute("ROLLBACK")
            if doubtful:
                database.execute("UPDATE about SET value = value + 1 WHERE name = 'failures'")
        except sqlite3.Error as error:
            self.leak("could not be written, and whether it was is not known: open it again")
            raise LedgerError(f"{self.path} {self._why}") from error

    def checkpoint(self, mode: str) -> None:
        """Bring the write-ahead log into the database itself."""
        self.rows(f"PRAGMA wal_checkpoint({mode})")

    def _check_files(self) -> None:
        """Whether the names still lead to the files that are open: else a commit goes nowhere."""
        try:
            one, two = os.stat(self.path), os.stat(self.wal)
            found = one.st_ino, one.st_dev, two.st_ino, two.st_dev
        except FileNotFoundError:
            found = None
        if self._files is None:
            self._files = found
        if self._files != found:
            self.leak("was moved, removed or replaced while it was open: open it again")
            self._open()

    # ---- letting go

    def close(self) -> None:
        """Close it. In a process that did not open it, leave it alone."""
        if self._connection is not None and os.getpid() == self._process:
            connection, self._connection = self._connection, None
            connection.close()

    def leak(self, why: str) -> None:
        """Never close it: closing would write into, and remove, what belongs to somebody else."""
        if self._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection, self._why = None, why

    def _open(self) -> sqlite3.Connection:
        if os.getpid() != self._process:
            raise LedgerError(f"{self.path} was opened before a fork: open it in the child instead")
        if self._connection is None:
            raise LedgerError(f"{self.path} {self._why}")
        return self._connection

    def fail(self, error: sqlite3.Error) -> NoReturn:
        if _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerError(f"{self.path} is being written by another program") from error
        raise LedgerError(f"{self.path}: {error} ({room(self.path.parent)})") from error


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def check_file(path: Path) -> None:
    """Refuse what is there and is no ledger. Only for who has the lock: closing a database file
    in any way takes SQLite's locks from the agent that has it open in this process."""
    start = b""
    if path.exists():
        with path.open("rb") as file:
            start = file.read(len(DATABASE))
    if start.startswith(STATE_FILE):
        raise LedgerError(f"{path} is a state file: load({str(path)!r}) opens it")
    if start and start != DATABASE:
        raise LedgerError(f"{path}: file is not a database: choose another name")


def room(folder: Path) -> str:
    """How a folder stands, for messages."""
    if not folder.is_dir():
        return "there is no such folder"
    if not os.access(folder, os.W_OK):
        return "the folder is read-only"
    return f"{shutil.disk_usage(folder).free} bytes free"
