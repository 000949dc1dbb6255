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

from .._utils.errors import LedgerError
from .._utils.files import canonical, too_new
from .._utils.validation import bounded_array, finite_array, finite_number, positive, whole
from .._utils.version import __version__
from ..agents.events import COUNTED, Event, Kind, Lesson, Revision
from ..agents.state import LARGEST_NUMBER, AgentState
from ..agents.state_file import describe_encoder, make_decision
from ..core.arrays import Floats
from ..core.capabilities import takes_noise_scale
from ..core.part import describe
from .sqlite import Database, End, Source, Statement

COLUMNS = "event, kind, ticket, time, reward, arm, estimate, width, features, changes, offer, raw"
INSERT = f"INSERT INTO events ({COLUMNS}, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
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
    kind, ticket, time, reward, chosen, changes, noise_scale, lesson, raw, _ = event
    row = (number, kind.value, ticket, time, reward)
    if chosen is not None:
        x, arm, offer = chosen.features.tobytes(), chosen.arm, chosen.offer
        return (*row, arm, chosen.estimate, chosen.width, x, changes, offer, raw)
    if lesson is None:
        told = None if noise_scale is None else canonical({"noise_scale": noise_scale})
        return (*row, None, None, None, None, told, None, None)
    if isinstance(lesson, Revision):
        told = canonical({"before": lesson.before})
        return (*row, None, None, None, lesson.features.tobytes(), told, None, None)
    rows = np.hstack([lesson.rows, lesson.rewards])
    return (*row, None, None, None, rows.tobytes(), None, None, raw)


def to_event(row: Row, state: AgentState) -> Event:
    """The event in a row, if it can happen to this state. Nothing in a row is believed."""
    _, kind, ticket, time, reward, arm, estimate, width, features, changes, offer, raw = row
    if not all(text is None or isinstance(text, str) for text in (changes, offer, raw)):
        raise LedgerError("the changes, the offer or what was offered is not text")
    dim, decision = state.policy.dim, None
    lesson: Lesson | Revision | None = None
    if kind == Kind.SELECT:
        x, likely = _read_arm(features, dim), propensity_of(changes)
        decision = make_decision(state.policy, arm, x, estimate, width, likely, offer)
    elif (arm, estimate, width, offer) != (None,) * 4:
        raise LedgerError(f"a {kind} has no decision")
    elif kind == Kind.LEARN:
        lesson = _read_lesson(_read_floats(features, dim + state.policy.plays), dim)
    elif kind == Kind.REVISE:
        before = finite_number("before", json.loads(changes or "{}")["before"])
        lesson = Revision(bounded_array("features", _read_arm(features, dim), (dim,)), before)
    elif features is not None:
        raise LedgerError(f"a {kind} has no features")
    reward = None if reward is None else finite_number("reward", reward)
    number, moment = whole("ticket", ticket, least=0), finite_number("time", time)
    event = Event(Kind(kind), number, moment, reward, decision, lesson=lesson, raw=raw)
    _check_fits(event, state)
    if kind in (Kind.SELECT, Kind.LEARN, Kind.REVISE):
        return event._replace(changes=changes if kind == Kind.SELECT else None)
    return event._replace(noise_scale=_check_noise_scale(kind, changes, state))


def _read_floats(blob: Any, width: int) -> Floats:
    """The rows of so many numbers that are in a row of the table."""
    if not isinstance(blob, bytes) or not blob or len(blob) % (8 * width):
        raise LedgerError("the features are not those of arms")
    return np.frombuffer(blob, np.float64).reshape(-1, width)


def _read_arm(blob: Any, dim: int) -> Floats:
    rows = _read_floats(blob, dim)
    if len(rows) != 1:
        raise LedgerError("the features are not those of one arm")
    return rows[0]


def _read_lesson(rows: Floats, dim: int) -> Lesson:
    x = bounded_array("features", rows[:, :dim].copy(), (None, dim))
    rewards = finite_array("rewards", rows[:, dim:].copy(), (None, rows.shape[1] - dim))
    return Lesson(x, rewards)


def propensity_of(changes: str | None) -> Any:
    """How likely a choice was, from what it changed; 1 if it was not drawn.

    >>> propensity_of('{"propensity":0.25}'), propensity_of(None)
    (0.25, 1.0)
    """
    return 1.0 if changes is None else json.loads(changes).get("propensity", 1.0)


def noise_scale_of(changes: str | None) -> float | None:
    """The noise_scale that came with a reward.

    >>> noise_scale_of('{"noise_scale":0.5}'), noise_scale_of(None)
    (0.5, None)
    """
    return None if changes is None else positive("noise_scale", json.loads(changes)["noise_scale"])


def _check_noise_scale(kind: str, changes: str | None, state: AgentState) -> float | None:
    if changes is not None and (kind != Kind.REWARD or not takes_noise_scale(state.policy)):
        raise LedgerError(f"a {kind} of this policy has no noise scale")
    return noise_scale_of(changes)


ALLOWED_REWARDS = {Kind.REWARD: (True,), Kind.REVISE: (True,), Kind.EXPIRE: (True, False)}


def _check_fits(event: Event, state: AgentState) -> None:
    kind, ticket, book = event.kind, event.ticket, state.book
    if ticket >= LARGEST_NUMBER:
        raise LedgerError(f"ticket {ticket} cannot be")
    if kind in COUNTED and ticket not in book.pending:
        raise LedgerError(f"ticket {ticket} does not wait for a reward")
    if kind == Kind.REVISE and (ticket >= book.issued or ticket in book.pending):
        raise LedgerError(f"ticket {ticket} has no reward that could be revised")
    if kind not in COUNTED and kind != Kind.REVISE and ticket != book.issued:
        raise LedgerError(f"ticket {ticket} comes after ticket {book.issued - 1}")
    allowed = ALLOWED_REWARDS.get(kind, (False,))
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
    offer TEXT, raw TEXT, link BLOB NOT NULL
)""",
    """CREATE UNIQUE INDEX settled ON events (ticket)
    WHERE kind IN ('reward', 'cancel', 'expire')""",
    "CREATE INDEX revised ON events (ticket) WHERE kind = 'revise'",
    """CREATE VIEW plays AS
    SELECT ask.ticket, ask.time, ask.arm, ask.offer, ask.estimate, ask.width,
           end.kind AS outcome,
           CASE WHEN last.event > end.event THEN last.reward ELSE end.reward END AS reward,
           end.time AS settled, end.reward AS first_reward, ask.features, ask.changes, ask.raw
    FROM events ask
    LEFT JOIN events end
      ON end.ticket = ask.ticket AND end.kind IN ('reward', 'cancel', 'expire')
    LEFT JOIN events last ON last.event =
      (SELECT max(event) FROM events WHERE ticket = ask.ticket AND kind = 'revise')
    WHERE ask.kind = 'select'""",
)


SEALED = ("name", "policy", "encoder")  # of what a ledger says about itself


def begin(policy: Any, encoder: Any) -> tuple[list[Statement], End]:
    """The statements that make an empty ledger of this policy, and the start of its chain."""
    about = {
        "policy": canonical(describe(policy)),
        "encoder": canonical(describe_encoder(encoder)),
        "name": secrets.token_hex(16),  # two ledgers of one policy have different chains
        "heavybandits": __version__,
        "failures": "0",
        "open": "1",
    }
    return make_tables(about), End(0, chain(b"", *(about[name] for name in SEALED)))


def make_tables(about: dict[str, str]) -> list[Statement]:
    """The statements that make an empty ledger which says this about itself."""
    statements: list[Statement] = [(part, ()) for part in SCHEMA]
    statements += [
        (f"PRAGMA application_id = {APPLICATION}", ()),
        (f"PRAGMA user_version = {FORMAT}", ()),
        *(("INSERT INTO about VALUES (?, ?)", pair) for pair in about.items()),
    ]
    return statements


def about(database: Source, name: str) -> str:
    """What a ledger says about itself."""
    return str(database.one("SELECT value FROM about WHERE name = ?", name))


def check_format(database: Source) -> None:
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


def check_free_pages(database: Database) -> None:
    """Whether the pages that are free can be taken: SQLite's check believes the list of them.

    So they are taken, all of them, and given back: nothing of it is written.
    """
    size = database.one("PRAGMA freelist_count") * database.one("PRAGMA page_size")
    try:
        for step in ("BEGIN IMMEDIATE", "CREATE TABLE trial (data BLOB)"):
            database.rows(step)
        database.rows("INSERT INTO trial VALUES (zeroblob(?))", size)
    finally:
        database.roll_back()


def first_end(database: Database) -> End:
    """Where the log of a ledger ends before any event."""
    return End(0, chain(b"", *(about(database, name) for name in SEALED)))


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
