"""Ledgers: what happened to an agent, in order, so that it can be made again.

A `Ledger` is a SQLite database. An event is on the disk before the agent acts on it (write-ahead
log, synchronous=FULL), and the whole state is kept now and then, so that reopening reads the last
state and repeats the events after it: killed at any moment, the agent comes back bit for bit.
`NoLedger` stands in its place for an agent that lives in memory.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..engine.identity import classes_of, describe
from ..support.errors import LedgerError, StateError
from ..support.files import sync_folder
from . import state as state_file
from .changes import differences, install
from .tickets import Decision, Event, Kind

if TYPE_CHECKING:
    from .agent import Agent

APPLICATION = 0x48424C47  # "HBLG" in the database's header: never write into somebody else's
FORMAT = 1
MOST_EXPIRED = 100_000  # expired tickets that an agent in memory still knows by name

COLUMNS = "kind, ticket, time, reward, arm, estimate, width, features, changes"
SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE states (event INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE events (
    event INTEGER PRIMARY KEY, kind TEXT NOT NULL, ticket INTEGER, time REAL NOT NULL, reward REAL,
    arm INTEGER, estimate REAL, width REAL, features BLOB, changes TEXT
);
CREATE UNIQUE INDEX asked ON events (ticket) WHERE kind = 'select';
CREATE UNIQUE INDEX settled ON events (ticket) WHERE kind IN ('reward', 'cancel', 'expire');
CREATE VIEW plays AS
    SELECT ask.ticket, ask.time, ask.arm, ask.estimate, ask.width,
           end.kind AS outcome, end.reward, end.time AS settled
    FROM events ask LEFT JOIN events end
      ON end.ticket = ask.ticket AND end.kind IN ('reward', 'cancel', 'expire')
    WHERE ask.kind = 'select';
"""


Statement = tuple[str, tuple[Any, ...]]


class NoLedger:
    """Keeps nothing but the names of the tickets that expired last, to tell late from twice."""

    durable = False

    def __init__(self) -> None:
        self.expired: dict[int, None] = {}

    def write(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind == Kind.EXPIRE and event.ticket is not None:
                self.expired[event.ticket] = None
        while len(self.expired) > MOST_EXPIRED:
            del self.expired[next(iter(self.expired))]

    def outcome(self, ticket: int) -> tuple[Kind | None, float | None]:
        return (Kind.EXPIRE if ticket in self.expired else None), None

    def rest(self, agent: "Agent") -> None:
        pass

    def drop(self) -> None:
        pass

    def close(self, agent: "Agent") -> None:
        pass


class Ledger:
    """A ledger in a file, for one agent in one process.

    Parameters
    ----------
    path : the database; made if it is not there, continued if it is this policy's.
    agent : brought to where the ledger ends.
    snapshot_every : events between two snapshots, and so the most that reopening repeats.
    """

    durable = True

    def __init__(self, path: str | Path, agent: "Agent", snapshot_every: int) -> None:
        self.path = Path(path).absolute()
        self.expired: dict[int, None] = {}  # stays empty: the events know them
        self._every, self._since = snapshot_every, 0
        self._process = os.getpid()
        self._database: sqlite3.Connection | None = self._connect()
        try:
            self._resume(agent)
        except BaseException:
            self._database.close()
            raise

    # ---- opening

    def _connect(self) -> sqlite3.Connection:
        try:
            database = sqlite3.connect(
                self.path, timeout=1.0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            self._fail(error)
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._check_ours(database)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.executescript("BEGIN IMMEDIATE; COMMIT")  # takes the lock, and keeps it
        except sqlite3.Error as error:
            database.close()
            self._fail(error)
        except LedgerError:
            database.close()
            raise
        return database

    def _check_ours(self, database: sqlite3.Connection) -> None:
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        mark = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if tables and mark != APPLICATION:
            raise LedgerError(f"{self.path} is a database, but not a ledger: choose another name")
        if tables and version != FORMAT:
            raise LedgerError(
                f"{self.path} has format {version}, this version reads {FORMAT}: "
                "update heavybandits"
            )

    def _resume(self, agent: "Agent") -> None:
        """Bring the agent to where the ledger ends; begin the ledger if it is new."""
        if not self._rows("SELECT 1 FROM sqlite_master LIMIT 1"):
            self._begin(agent)
            return
        self._check_policy(agent)
        start = self._restore(agent)
        tail = self._rows(f"SELECT {COLUMNS} FROM events WHERE event > ? ORDER BY event", start)
        try:
            for row in tail:
                self._repeat(agent, row)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise LedgerError(f"{self.path} is damaged: its events do not fit: {error}") from error
        self._since = len(tail)

    def _begin(self, agent: "Agent") -> None:
        policy = json.dumps(describe(agent.policy), sort_keys=True)
        statements: list[Statement] = [(part, ()) for part in SCHEMA.split(";") if part.strip()]
        statements += [
            (f"PRAGMA application_id = {APPLICATION}", ()),
            (f"PRAGMA user_version = {FORMAT}", ()),
            ("INSERT INTO about VALUES ('policy', ?)", (policy,)),
            ("INSERT INTO states VALUES (0, ?)", (state_file.pack(agent),)),
        ]
        self._transaction(statements)
        sync_folder(self.path.parent)

    def _check_policy(self, agent: "Agent") -> None:
        stored = json.loads(self._rows("SELECT value FROM about WHERE name = 'policy'")[0][0])
        given = json.loads(json.dumps(describe(agent.policy)))
        different = list(differences(stored, given))
        if different:
            raise LedgerError(
                f"{self.path} belongs to another policy: {'; '.join(different)}. "
                "Open it with that policy, or begin a ledger with another name"
            )

    def _restore(self, agent: "Agent") -> int:
        """Take over the last state that is whole; the event it was taken after."""
        parts = classes_of(agent.policy)
        trouble: Exception | None = None
        for event, data in self._rows("SELECT event, data FROM states ORDER BY event DESC"):
            try:
                agent._take_over(state_file.unpack(data, parts))
                return int(event)
            except StateError as error:
                trouble = error
        raise LedgerError(f"{self.path} is damaged: it holds no state that is whole") from trouble

    def _repeat(self, agent: "Agent", row: tuple[Any, ...]) -> None:
        kind, ticket, time, reward, arm, estimate, width, features, changes = row
        decision = None
        if kind == Kind.SELECT:
            x = np.frombuffer(features, np.float64).copy()
            decision = Decision(arm, x, estimate, width, agent.policy.plays)
        if changes is not None:
            install(agent, json.loads(changes))
        agent._apply(Event(Kind(kind), ticket, time, reward, decision))

    # ---- writing

    def write(self, events: Iterable[Event]) -> None:
        """All of these events on the disk, or none of them and a LedgerError."""
        statement = f"INSERT INTO events ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        rows = [(statement, _row(event)) for event in events]
        self._transaction(rows)
        self._since += len(rows)

    def rest(self, agent: "Agent") -> None:
        """Keep a snapshot if one is due. If that fails, the events are still there: later, then."""
        if self._since >= self._every:
            try:
                self.snapshot(agent)
            except LedgerError:
                pass

    def snapshot(self, agent: "Agent") -> None:
        """Keep the state of the agent, so that reopening starts from here."""
        latest = "(SELECT coalesce(max(event), 0) FROM events)"
        self._transaction(
            [
                (f"INSERT OR REPLACE INTO states VALUES ({latest}, ?)", (state_file.pack(agent),)),
                (f"DELETE FROM states WHERE event NOT IN (0, {latest})", ()),
            ]
        )
        self._since = 0

    def close(self, agent: "Agent") -> None:
        """Snapshot, and let the file go."""
        if self._database is not None and os.getpid() == self._process:
            try:
                self.snapshot(agent)
            finally:
                self.drop()

    def drop(self) -> None:
        """Let the file go as it is: what is in memory cannot be trusted to be what is in it."""
        if self._database is not None:
            self._database.close()
            self._database = None

    # ---- reading

    def outcome(self, ticket: int) -> tuple[Kind | None, float | None]:
        """What became of a ticket, and its reward if it has one."""
        found = self._rows(
            "SELECT kind, reward FROM events "
            "WHERE ticket = ? AND kind IN ('reward', 'cancel', 'expire')",
            ticket,
        )
        if not found:  # abandoned, or from before a reset
            return None, None
        return Kind(found[0][0]), found[0][1]

    def history(self) -> list[dict[str, Any]]:
        """A row a play: when, which arm, what was expected of it, and what became of it."""
        names = ("ticket", "time", "arm", "estimate", "width", "outcome", "reward", "settled")
        rows = self._rows(f"SELECT {', '.join(names)} FROM plays ORDER BY ticket")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._open().execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self._fail(error)

    def _transaction(self, statements: list[Statement]) -> None:
        database = self._open()
        try:
            database.execute("BEGIN IMMEDIATE")
            for statement, values in statements:
                database.execute(statement, values)
            database.execute("COMMIT")
        except sqlite3.Error as error:
            if database.in_transaction:
                database.execute("ROLLBACK")
            self._fail(error)
        except BaseException:  # an interrupt: nobody knows whether this was written
            self.drop()
            raise

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            raise LedgerError(f"{self.path} has been closed by this agent: open a new Agent on it")
        if os.getpid() != self._process:
            raise LedgerError(f"{self.path} was opened before a fork: open it in the child instead")
        return self._database

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerError(
                f"{self.path} is in use by another agent, here or in another process; "
                "a ledger has one at a time"
            ) from error
        raise LedgerError(f"{self.path}: {error} ({_room(self.path.parent)})") from error


def _room(folder: Path) -> str:
    if not folder.is_dir():
        return "there is no such folder"
    if not os.access(folder, os.W_OK):
        return "the folder is read-only"
    return f"{shutil.disk_usage(folder).free} bytes free"


def _row(event: Event) -> tuple[Any, ...]:
    row = (event.kind, event.ticket, event.time, event.reward)
    if event.decision is None:
        return (*row, None, None, None, None, None)
    chosen = event.decision
    x = chosen.features.tobytes()
    return (*row, chosen.arm, chosen.estimate, chosen.width, x, event.changes)
