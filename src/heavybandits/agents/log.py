"""The log of a ledger: events as rows of a table, each linked to the one before it.

The link of a row is a hash of the link before it and of all that the row holds: a row that is
missing, altered or out of place breaks the chain.
"""

import hashlib
import json
import marshal
import secrets
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from ..engine.identity import describe
from ..support.container import canonical, too_new
from ..support.errors import LedgerError
from ..support.validation import finite_number, positive, whole
from ..support.version import __version__
from .book import COUNTED, Event, Kind
from .database import Database, End, Statement
from .kernels import takes_spread
from .state import LARGEST_NUMBER, AgentState
from .state_file import make_decision

COLUMNS = "event, kind, ticket, time, reward, arm, estimate, width, features, changes"
INSERT = f"INSERT INTO events ({COLUMNS}, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SNAPSHOT = "INSERT OR REPLACE INTO states VALUES (?, ?, ?)"
Row = tuple[Any, ...]


def chain(previous: bytes, *contents: Any) -> bytes:
    """The link after `previous` for these contents.

    >>> chain(b"", 1, "reward", 0.5) == chain(b"", 1, "reward", 0.25)
    False
    """
    told = marshal.dumps(contents, 2)  # of this version: equal bytes from every Python
    return hashlib.blake2b(previous + told, digest_size=16).digest()


def to_row(number: int, event: Event) -> Row:
    """An event as a row, numbered."""
    kind, ticket, time, reward, chosen, changes, spread = event
    if chosen is None:
        told = None if spread is None else canonical({"spread": spread})
        return (number, kind.value, ticket, time, reward, None, None, None, None, told)
    x, estimate, width = chosen.features.tobytes(), chosen.estimate, chosen.width
    return (number, kind.value, ticket, time, reward, chosen.arm, estimate, width, x, changes)


def to_event(row: Row, state: AgentState) -> Event:
    """The event in a row, if it can happen to this state. Nothing in a row is believed."""
    _, kind, ticket, time, reward, arm, estimate, width, features, changes = row
    if changes is not None and not isinstance(changes, str):
        raise LedgerError("the changes are not text")
    decision = None
    if kind == Kind.SELECT:
        if not isinstance(features, bytes) or len(features) != 8 * state.policy.dim:
            raise LedgerError("the features are not those of one arm")
        x = np.frombuffer(features, np.float64)
        decision = make_decision(state.policy, arm, x, estimate, width, propensity_of(changes))
    elif (arm, estimate, width, features) != (None,) * 4:
        raise LedgerError(f"a {kind} has no decision")
    reward = None if reward is None else finite_number("reward", reward)
    number, moment = whole("ticket", ticket, least=0), finite_number("time", time)
    event = Event(Kind(kind), number, moment, reward, decision)
    _check_fits(event, state)
    if kind == Kind.SELECT:
        return event._replace(changes=changes)
    return event._replace(spread=_check_spread(kind, changes, state))


def propensity_of(changes: str | None) -> Any:
    """How likely a choice was, from what it changed; 1 if it was not drawn.

    >>> propensity_of('{"propensity":0.25}'), propensity_of(None)
    (0.25, 1.0)
    """
    return 1.0 if changes is None else json.loads(changes).get("propensity", 1.0)


def spread_of(changes: str | None) -> float | None:
    """The spread that came with a reward.

    >>> spread_of('{"spread":0.5}'), spread_of(None)
    (0.5, None)
    """
    return None if changes is None else positive("spread", json.loads(changes)["spread"])


def _check_spread(kind: str, changes: str | None, state: AgentState) -> float | None:
    if changes is not None and (kind != Kind.REWARD or not takes_spread(*state[:2])):
        raise LedgerError(f"a {kind} of this policy has no spread")
    return spread_of(changes)


def _check_fits(event: Event, state: AgentState) -> None:
    kind, ticket, book = event.kind, event.ticket, state.book
    if ticket >= LARGEST_NUMBER:
        raise LedgerError(f"ticket {ticket} cannot be")
    if kind in COUNTED and ticket not in book.pending:
        raise LedgerError(f"ticket {ticket} does not wait for a reward")
    if kind not in COUNTED and ticket != book.issued:
        raise LedgerError(f"ticket {ticket} comes after ticket {book.issued - 1}")
    allowed = {Kind.REWARD: (True,), Kind.EXPIRE: (True, False)}.get(kind, (False,))
    if (event.reward is not None) not in allowed:
        raise LedgerError(f"a {kind} cannot have the reward {event.reward}")


# ---- its tables

APPLICATION = 0x48424C47  # "HBLG" in the database's header: never write into somebody else's
FORMAT = 1
MIGRATIONS: dict[int, Callable[[Database], list[Statement]]] = {}  # from each older format up

SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE states (event INTEGER PRIMARY KEY, seal BLOB NOT NULL, data BLOB NOT NULL)",
    """CREATE TABLE events (
    event INTEGER PRIMARY KEY, kind TEXT NOT NULL, ticket INTEGER NOT NULL, time REAL NOT NULL,
    reward REAL, arm INTEGER, estimate REAL, width REAL, features BLOB, changes TEXT,
    link BLOB NOT NULL
)""",
    """CREATE UNIQUE INDEX settled ON events (ticket)
    WHERE kind IN ('reward', 'cancel', 'expire')""",
    """CREATE VIEW plays AS
    SELECT ask.ticket, ask.time, ask.arm, ask.estimate, ask.width,
           end.kind AS outcome, end.reward, end.time AS settled, ask.features, ask.changes
    FROM events ask LEFT JOIN events end
      ON end.ticket = ask.ticket AND end.kind IN ('reward', 'cancel', 'expire')
    WHERE ask.kind = 'select'""",
)


def begin(policy: Any) -> tuple[list[Statement], End]:
    """The statements that make an empty ledger of this policy, and the start of its chain."""
    about = {
        "policy": canonical(describe(policy)),
        "name": secrets.token_hex(16),  # two ledgers of one policy have different chains
        "heavybandits": __version__,
        "failures": "0",
        "open": "1",
    }
    return make_tables(about), End(0, chain(b"", about["name"], about["policy"]))


def make_tables(about: dict[str, str]) -> list[Statement]:
    """The statements that make an empty ledger which says this about itself."""
    statements: list[Statement] = [(part, ()) for part in SCHEMA]
    statements += [
        (f"PRAGMA application_id = {APPLICATION}", ()),
        (f"PRAGMA user_version = {FORMAT}", ()),
        *(("INSERT INTO about VALUES (?, ?)", pair) for pair in about.items()),
    ]
    return statements


def about(database: Database, name: str) -> str:
    """What a ledger says about itself."""
    return str(database.one("SELECT value FROM about WHERE name = ?", name))


def check_format(database: Database) -> None:
    """Whether this is a ledger, of a format that this version knows."""
    if database.one("PRAGMA application_id") != APPLICATION:
        raise LedgerError(f"{database.path} is a database, but not a ledger: choose another name")
    found = database.one("PRAGMA user_version")
    if found != FORMAT and found not in MIGRATIONS:
        version = about(database, "heavybandits")
        raise LedgerError(f"{database.path} {too_new(found, FORMAT, version)}")


def migrate(database: Database) -> None:
    """Bring an older format up to date."""
    while (found := database.one("PRAGMA user_version")) != FORMAT:
        steps = MIGRATIONS[found](database)
        database.write([*steps, (f"PRAGMA user_version = {found + 1}", ())])


def check_pages(database: Database) -> None:
    """Whether the tables are those of a ledger, and SQLite finds nothing wrong with them."""
    schema = database.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if {sql for (sql,) in schema} != set(SCHEMA):
        raise damaged(database, "its tables are not those of a ledger")
    trouble = database.one("PRAGMA quick_check(1)")
    if trouble != "ok":
        raise damaged(database, str(trouble))


def first_end(database: Database) -> End:
    """Where the log of a ledger ends before any event."""
    return End(0, chain(b"", about(database, "name"), about(database, "policy")))


def linked_rows(database: Database) -> Iterator[tuple[Row, End]]:
    """The rows from the first on, and where the log ends with each; a LedgerError at the first
    that is not as it was written."""
    end = first_end(database)
    for *row, link in database.stream(f"SELECT {COLUMNS}, link FROM events ORDER BY event"):
        end = End(end.events + 1, chain(end.link, *row))
        if row[0] != end.events or link != end.link:
            raise damaged(database, f"event {end.events} is missing or altered")
        yield tuple(row), end


def follow_chain(
    database: Database, head: End | None, places: Collection[int]
) -> tuple[End, dict[int, bytes]]:
    """Where the log ends and the links at these places, if every event is as it was written."""
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


def damaged(database: Database, why: str) -> LedgerError:
    return LedgerError(f"{database.path} is damaged: {why}")


def differences(stored: Any, given: Any, name: str = "policy") -> Iterator[str]:
    """Where two described policies differ, in words.

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
