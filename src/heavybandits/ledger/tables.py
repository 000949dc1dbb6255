"""The tables of a ledger in SQLite, and the statements that fill them."""

from collections.abc import Callable, Collection
from operator import itemgetter
from typing import Any, NamedTuple

from .._utils.errors import LedgerError
from .._utils.files import too_new
from ..agents.events import SETTLING
from ..agents.raw_inputs import RawInputs
from .sqlite_file import Statement
from .store import COLUMNS_OF, Row, Source, first_value

APPLICATION = 0x48424C47  # "HBLG" in the header of the database: never write into another program's
FORMAT = 1
COLUMNS = ", ".join(Row._fields)
SETTLED = f"({', '.join(repr(kind) for kind in SETTLING)})"

SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE owners (first INTEGER PRIMARY KEY, agent TEXT NOT NULL)",
    "CREATE TABLE states (event INTEGER PRIMARY KEY, seal BLOB NOT NULL, data BLOB NOT NULL)",
    """CREATE TABLE events (
    event INTEGER PRIMARY KEY, kind TEXT NOT NULL, ticket INTEGER NOT NULL, time REAL NOT NULL,
    event_id TEXT, decision_group TEXT, version INTEGER,
    reward REAL, noise_scale REAL, previous_reward REAL, lesson INTEGER,
    arm INTEGER, action TEXT, expected REAL, width REAL, propensity REAL, available TEXT,
    features BLOB, rewards BLOB, arrays TEXT, generator TEXT, inputs_hash BLOB, name TEXT,
    link BLOB NOT NULL
)""",
    """CREATE TABLE inputs (
    event INTEGER PRIMARY KEY, salt BLOB NOT NULL, context TEXT, actions TEXT, arms BLOB, rows TEXT
)""",
    "CREATE UNIQUE INDEX event_ids ON events (event_id) WHERE event_id IS NOT NULL",
    f"CREATE UNIQUE INDEX settled ON events (ticket) WHERE kind IN {SETTLED}",
    "CREATE UNIQUE INDEX marks ON events (name) WHERE kind = 'mark'",
    "CREATE INDEX revised ON events (ticket) WHERE kind = 'revise'",
    f"""CREATE VIEW plays AS
    SELECT ask.ticket, ask.time, ask.event_id, ask.decision_group, ask.version,
           ask.arm, ask.action, ask.expected, ask.width, ask.propensity, ask.available,
           end.kind AS outcome,
           CASE WHEN last.event > end.event THEN last.reward ELSE end.reward END AS reward,
           end.time AS settled, end.reward AS first_reward, ask.features,
           raw.context, raw.actions, raw.arms, ask.event
    FROM events ask
    LEFT JOIN inputs raw ON raw.event = ask.event
    LEFT JOIN events end ON end.ticket = ask.ticket AND end.kind IN {SETTLED}
    LEFT JOIN events last ON last.event =
      (SELECT max(event) FROM events WHERE ticket = ask.ticket AND kind = 'revise')
    WHERE ask.kind = 'select'""",
)
# Columns of an event that are exported; of arrays there are the features, apart from these.
EXPORTED = (
    *("event", "kind", "ticket", "time", "event_id", "decision_group", "version"),
    *("reward", "noise_scale", "previous_reward"),
    *("arm", "action", "expected", "width", "propensity", "available", "name"),
)

INPUTS = ("event", *RawInputs._fields)
INSERT_INPUTS = f"INSERT INTO inputs ({', '.join(INPUTS)}) VALUES (?, ?, ?, ?, ?, ?)"
INSERT_OWNER = "INSERT OR REPLACE INTO owners (first, agent) VALUES (?, ?)"
SNAPSHOT = "INSERT OR REPLACE INTO states (event, seal, data) VALUES (?, ?, ?)"
MARK_OPEN = "UPDATE about SET value = ? WHERE name = 'open'"
ARCHIVED = "archived"  # entry of `about`: the events that were moved to files
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
