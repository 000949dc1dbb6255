"""The ledger of an agent in a SQLite file, with everything that detects damage to its contents.

An event is on the disk before the agent applies it (write-ahead log, synchronous=FULL), and the
whole state is stored now and then: opening a ledger reads the last state and repeats the events
after it. Nothing in the file is used before it is validated. The link of a row is a hash of the
link before it and of all columns of the row: a row that is missing, altered or out of place breaks
the chain. A head file next to the database says where the chain ended.
"""

import hashlib
import json
import marshal
import secrets
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError, LedgerError, StateError
from .._utils.files import canonical, sync_folder, too_new
from .._utils.version import __version__
from ..agents.events import SETTLING, Event
from ..agents.rewards import Given, Outcome
from ..agents.state import AgentState, Learner
from ..agents.state_file import describe_encoder, pack, restore_encoder, unpack
from ..core.arrays import Floats
from ..core.part import describe
from ..core.protocols import Policy
from ..features import FeatureMap
from .sqlite_file import FORKED, Database, End, Head, Statement, check_file, leak_at_fork, room
from .store import COLUMNS_OF, Row, Source, first_value, repeat_events, to_row

# ---- the tables

APPLICATION = 0x48424C47  # "HBLG" in the header of the database: never write into another program's
FORMAT = 1
COLUMNS = ", ".join(Row._fields)
SETTLED = f"({', '.join(repr(kind) for kind in SETTLING)})"

SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE states (event INTEGER PRIMARY KEY, seal BLOB NOT NULL, data BLOB NOT NULL)",
    """CREATE TABLE events (
    event INTEGER PRIMARY KEY, kind TEXT NOT NULL, ticket INTEGER NOT NULL, time REAL NOT NULL,
    reward REAL, noise_scale REAL, previous_reward REAL,
    arm INTEGER, action TEXT, expected REAL, width REAL, propensity REAL,
    features BLOB, rewards BLOB, arrays TEXT, generator TEXT, inputs TEXT, link BLOB NOT NULL
)""",
    f"CREATE UNIQUE INDEX settled ON events (ticket) WHERE kind IN {SETTLED}",
    "CREATE INDEX revised ON events (ticket) WHERE kind = 'revise'",
    f"""CREATE VIEW plays AS
    SELECT ask.ticket, ask.time, ask.arm, ask.action, ask.expected, ask.width, ask.propensity,
           end.kind AS outcome,
           CASE WHEN last.event > end.event THEN last.reward ELSE end.reward END AS reward,
           end.time AS settled, end.reward AS first_reward, ask.features, ask.inputs
    FROM events ask
    LEFT JOIN events end ON end.ticket = ask.ticket AND end.kind IN {SETTLED}
    LEFT JOIN events last ON last.event =
      (SELECT max(event) FROM events WHERE ticket = ask.ticket AND kind = 'revise')
    WHERE ask.kind = 'select'""",
)
SNAPSHOT = "INSERT OR REPLACE INTO states (event, seal, data) VALUES (?, ?, ?)"
MARK_OPEN = "UPDATE about SET value = ? WHERE name = 'open'"
SEALED = ("name", "policy", "encoder")  # entries of `about` from which the chain starts


class Insert(NamedTuple):
    """The statement that stores some columns of a row, and what takes them from the row."""

    statement: str
    values: Callable[[Row], tuple[Any, ...]]


def make_insert(columns: Collection[str]) -> Insert:
    """Return the statement for these columns; the others are NULL."""
    names = [name for name in Row._fields if name in columns]
    statement = f"INSERT INTO events ({', '.join(names)}, link) VALUES ({'?, ' * len(names)}?)"
    return Insert(statement, itemgetter(*map(Row._fields.index, names)))


INSERT = make_insert(Row._fields).statement
INSERT_OF = {kind: make_insert(names) for kind, names in COLUMNS_OF.items()}  # NULLs take time too


def new_tables(about: dict[str, str]) -> list[Statement]:
    """Return the statements that make an empty ledger with these entries about itself."""
    statements: list[Statement] = [(part, ()) for part in SCHEMA]
    statements += [
        (f"PRAGMA application_id = {APPLICATION}", ()),
        (f"PRAGMA user_version = {FORMAT}", ()),
        *(("INSERT INTO about VALUES (?, ?)", pair) for pair in about.items()),
    ]
    return statements


def about(database: Source, name: str) -> str:
    """Return an entry of a ledger about itself."""
    return str(first_value(database, "SELECT value FROM about WHERE name = ?", name))


def check_format(database: Source) -> None:
    """Raise LedgerError unless this is a ledger of the format that this version knows."""
    if first_value(database, "PRAGMA application_id") != APPLICATION:
        raise LedgerError(f"{database.path} is a database, but not a ledger: choose another name")
    found = first_value(database, "PRAGMA user_version")
    if found != FORMAT:
        version = about(database, "heavybandits")
        raise LedgerError(f"{database.path} {too_new(found, FORMAT, version)}")


def check_pages(database: Database) -> None:
    """Raise LedgerError unless the tables are those of a ledger and SQLite finds them intact."""
    schema = database.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if {sql for (sql,) in schema} != set(SCHEMA):
        raise damaged(database, "its tables are not those of a ledger")
    problem = first_value(database, "PRAGMA quick_check(1)")
    if problem != "ok":
        raise damaged(database, str(problem))


def check_free_pages(database: Database) -> None:
    """Raise LedgerError unless the free pages can be used: SQLite's own check trusts their list.

    All of them are taken in a transaction that is rolled back: nothing is written.
    """
    count, page = (first_value(database, f"PRAGMA {n}") for n in ("freelist_count", "page_size"))
    try:
        for step in ("BEGIN IMMEDIATE", "CREATE TABLE trial (data BLOB)"):
            database.rows(step)
        database.rows("INSERT INTO trial VALUES (zeroblob(?))", count * page)
    finally:
        database.roll_back()


def damaged(database: Database, why: str) -> LedgerError:
    """Return the error of a damaged ledger."""
    return LedgerError(f"{database.path} is damaged: {why}")


# ---- the chain of hashes


def chain(previous: bytes, *contents: Any) -> bytes:
    """Return the link after `previous` for these contents.

    >>> chain(b"", 1, "reward", 0.5) == chain(b"", 1, "reward", 0.25)
    False
    """
    data = marshal.dumps(contents, 2)  # this version gives equal bytes in every Python
    return hashlib.blake2b(previous + data, digest_size=16).digest()


def first_end(database: Database) -> End:
    """Return the end of the chain before any event."""
    return End(0, chain(b"", *(about(database, name) for name in SEALED)))


def linked_rows(database: Database) -> Iterator[tuple[Row, End]]:
    """Yield the rows from the first on, each with the end of the chain there; raise LedgerError at
    the first row that is not as it was written."""
    end = first_end(database)
    for *values, link in database.stream(f"SELECT {COLUMNS}, link FROM events ORDER BY event"):
        row = Row._make(values)
        end = End(end.events + 1, chain(end.link, *values))
        if row.event != end.events or link != end.link:
            raise damaged(database, f"event {end.events} is missing or altered")
        yield row, end


def follow_chain(
    database: Database, head: End | None, places: Collection[int]
) -> tuple[End, dict[int, bytes]]:
    """Return the end of the chain, and the links at these places; raise LedgerError if an event is
    not as it was written."""
    if head is None and about(database, "open") == "1" and not database.had_wal:
        raise damaged(database, "it was not closed, and its -wal file is missing")
    end = first_end(database)
    links = {0: end.link}
    for _, end in linked_rows(database):
        if end.events in places or (head is not None and end.events == head.events):
            links[end.events] = end.link
    if head is not None and head.events > end.events:
        missing = f"it ends at event {end.events}, but {head.events} were written"
        raise damaged(database, missing)
    if head is not None and links[head.events] != head.link:
        raise damaged(database, "it is not the ledger that its -head file belongs to")
    return end, links


# ---- the ledger


class SqliteLedger:
    """A ledger in a SQLite file, for one agent in one process.

    Parameters
    ----------
    path : path
        The database; created if it does not exist, continued if it belongs to this policy.
    snapshot_every : int
        Events between two snapshots, and so the most that opening repeats.
    """

    def __init__(self, path: str | Path, snapshot_every: int) -> None:
        self.path = Path(path).absolute()
        self._every, self._since = snapshot_every, 0
        self._end = End(0, b"")
        if self.path.is_dir():
            raise LedgerError(f"{self.path} is a folder: a ledger is a file")
        try:
            self._head = Head(self.path)
            try:
                check_file(self.path)
                if not self.path.exists() or self.path.stat().st_size == 0:
                    self._check_new()  # before SQLite finds and deletes a log without a database
                self.database: Database = Database(self.path)
            except BaseException:
                self._head.discard()
                raise
        except OSError as error:
            where = room(self.path.parent)
            raise LedgerError(f"{self.path}: {error.strerror} ({where})") from error
        self._close_files = weakref.finalize(self, _close, self.database, self._head)
        leak_at_fork(self)

    # ---- opening

    def resume(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event; a new ledger starts with the one given."""
        try:
            if self.database.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
                check_format(self.database)
                self.database.prepare()
                state = self._continue(state, learner)
                self.database.write([(MARK_OPEN, ("1",))])
            else:
                self._check_new()
                self.database.prepare()
                self._create(state)
            self.database.checkpoint("TRUNCATE")
            self.database.reserve()
            self._head.write(self._end)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self.drop()
            raise damaged(self.database, str(error)) from error
        except BaseException:
            self.drop()
            raise
        return state

    def _check_new(self) -> None:
        """Raise LedgerError where a ledger was: its head may be all that is left of it."""
        end = self._head.read()
        if end is not None and end.events > 0:
            raise LedgerError(
                f"{self.path} is damaged: it is empty, but {end.events} events were written; to "
                f"start a new ledger, remove {self.path.name}-head and {self.path.name}-wal as well"
            )

    def _create(self, state: AgentState) -> None:
        entries = {
            "policy": canonical(describe(state.policy)),
            "encoder": canonical(describe_encoder(state.encoder)),
            "name": secrets.token_hex(16),  # two ledgers of one policy have different chains
            "heavybandits": __version__,
            "failures": "0",
            "open": "1",
        }
        self._end = End(0, chain(b"", *(entries[name] for name in SEALED)))
        self.database.write([*new_tables(entries), self._snapshot(state)])
        sync_folder(self.path.parent)

    def _continue(self, state: AgentState, learner: Learner) -> AgentState:
        check_pages(self.database)
        check_free_pages(self.database)
        self._check_policy(state.policy)
        state = state._replace(encoder=self._check_encoder(state.encoder))
        seals = dict(self.database.rows("SELECT event, seal FROM states ORDER BY event DESC"))
        self._end, links = follow_chain(self.database, self._head.read(), seals)
        start, state = self._restore(state, seals, links)
        tail = f"SELECT {COLUMNS} FROM events WHERE event > ? ORDER BY event"
        rows = [Row._make(values) for values in self.database.rows(tail, start)]
        self._since = len(rows)
        try:
            return repeat_events(state, rows, learner)
        except LedgerError as error:
            raise damaged(self.database, str(error)) from error

    def _check_policy(self, policy: Policy) -> None:
        stored = json.loads(about(self.database, "policy"))
        different = list(differences(stored, json.loads(canonical(describe(policy)))))
        if different:
            raise LedgerError(
                f"{self.path} belongs to another policy: {'; '.join(different)}. "
                "Open it with that policy, or start a ledger with another name"
            )

    def _check_encoder(self, given: FeatureMap | None) -> FeatureMap | None:
        """Return the encoder of this ledger."""
        try:
            return restore_encoder(json.loads(about(self.database, "encoder")), given)
        except StateError as error:
            raise LedgerError(f"{self.path}: {error}") from error

    def _restore(
        self, state: AgentState, seals: dict[int, bytes], links: dict[int, bytes]
    ) -> tuple[int, AgentState]:
        """Return the newest intact state, and the event after which it was stored."""
        problem: Exception | None = None
        for event, seal in seals.items():
            data = first_value(self.database, "SELECT data FROM states WHERE event = ?", event)
            try:
                if seal != chain(links.get(event, b""), data):
                    raise StateError("the snapshot is not the one that was stored here")
                found = unpack(data, policy=state.policy, encoder=state.encoder)
                return event, found._replace(limits=state.limits)
            except StateError as error:
                problem = error
        raise damaged(self.database, "it holds no intact state") from problem

    # ---- writing

    @property
    def length(self) -> int:
        """Return the number of events."""
        return self._end.events

    def write(self, events: Sequence[Event]) -> None:
        """Store all of these events, or none of them and raise LedgerError."""
        length, link = self._end
        statements: list[Statement] = []
        for number, event in enumerate(events, length + 1):
            row = to_row(number, event)
            link = chain(link, *row)
            statement, values = INSERT_OF[row.kind]
            statements.append((statement, (*values(row), link)))
        self.database.write(statements)
        self._end = End(length + len(statements), link)
        self._since += len(statements)
        self._head.write(self._end)

    def wrote_since(self, length: int) -> bool:
        """Return True if events that were being written at this length are stored."""
        self.database.roll_back()
        last = "SELECT event, link FROM events ORDER BY event DESC LIMIT 1"
        for found in self.database.rows(last):
            self._end = End(*found)
            self._head.write(self._end)
        return self.length > length

    def snapshot_if_due(self, state: AgentState) -> None:
        """Store the state if it is due. If that fails, the events are stored, and it is due
        again after the next one."""
        if self._since >= self._every:
            with suppress(LedgerError):
                self.snapshot(state)

    def snapshot(self, state: AgentState) -> None:
        """Store the state, so that opening starts from here."""
        old = ("DELETE FROM states WHERE event NOT IN (0, ?)", (self.length,))
        self.database.write([self._snapshot(state), old])
        self._since = 0
        self.database.checkpoint("PASSIVE")

    def _snapshot(self, state: AgentState) -> Statement:
        data = pack(state)
        return SNAPSHOT, (self._end.events, chain(self._end.link, data), data)

    # ---- reading

    def outcome(self, ticket: int) -> Outcome:
        """Return how a ticket was settled, and the reward given for it."""
        found = self.database.rows(
            f"SELECT kind, reward, noise_scale FROM events WHERE ticket = ? AND kind IN {SETTLED}",
            ticket,
        )
        if not found:  # by cancel_all, or before a reset
            return Outcome()
        kind, reward, noise_scale = found[0]
        return Outcome(kind, None if reward is None else Given(reward, noise_scale))

    def learned_from(self, ticket: int) -> tuple[Floats, float]:
        """Return the features of a settled ticket and the reward in force."""
        found = self.database.rows(
            f"SELECT event, reward FROM events WHERE ticket = ? AND kind IN {SETTLED}", ticket
        )
        settled, reward = found[0] if found else (0, None)
        if reward is None:
            raise InvalidInputError(f"ticket {ticket} has no reward that could be revised")
        reset = first_value(self.database, "SELECT max(event) FROM events WHERE kind = 'reset'")
        if reset is not None and reset > settled:
            raise InvalidInputError(
                f"ticket {ticket} had its reward before a reset: it is forgotten"
            )
        last = "SELECT reward FROM events WHERE ticket = ? AND kind = 'revise' ORDER BY event DESC"
        revised = first_value(self.database, f"{last} LIMIT 1", ticket)
        features = "SELECT features FROM events WHERE event = ?"
        x = np.frombuffer(first_value(self.database, features, self._selected(ticket)), np.float64)
        return x, reward if revised is None else revised

    def _selected(self, ticket: int) -> int:
        """Return the event that issued a ticket, by bisection: tickets are issued in order."""
        low, high = 1, self.length
        first = "SELECT event, ticket FROM events WHERE event >= ? AND kind = 'select' LIMIT 1"
        while low < high:
            middle = (low + high) // 2
            rows = self.database.rows(first, middle)
            earlier = [event for event, number in rows if number < ticket]
            low, high = (int(earlier[0]) + 1, high) if earlier else (low, middle)
        return int(first_value(self.database, first, low))

    # ---- closing

    def close(self, state: AgentState) -> None:
        """Store the state and close the file."""
        if self._close_files.alive:
            try:
                self.snapshot(state)
            finally:
                self._close_files()

    def drop(self) -> None:
        """Close the file as it is: the state in memory may differ from it."""
        self._close_files.detach()
        self.database.close()
        self._head.close()

    def leak(self) -> None:
        """In a forked child, release everything without touching the file."""
        self._close_files.detach()
        self.database.leak(FORKED)
        self._head.close()


def _close(database: Database, head: Head) -> None:
    """Close a ledger properly, also when its agent is garbage or the program ends."""
    try:
        database.write([(MARK_OPEN, ("0",))])
        database.checkpoint("TRUNCATE")
    except LedgerError:
        pass  # all events are stored: the next agent finds them
    finally:
        database.close()
        head.close()


def differences(stored: Any, given: Any, name: str = "policy") -> Iterator[str]:
    """Yield in words where two described policies differ.

    >>> list(differences({"level": 1.0, "plays": 1}, {"level": 2.0, "plays": 1}))
    ['policy.level is 1.0 in the ledger, 2.0 here']
    """
    if isinstance(stored, dict) and isinstance(given, dict) and set(stored) == set(given):
        if stored.get("part") != given.get("part"):
            yield f"{name} is a {stored['part']} in the ledger, a {given['part']} here"
            return
        for key in stored:
            label = name if key == "fields" else f"{name}.{key}"
            yield from differences(stored[key], given[key], label)
    elif stored != given:
        yield f"{name} is {stored} in the ledger, {given} here"
