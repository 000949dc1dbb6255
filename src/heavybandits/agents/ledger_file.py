"""The file of a ledger: its tables, its format, and whether it is whole."""

import secrets
from collections.abc import Callable, Collection
from typing import Any

from ..engine.identity import describe
from ..support.container import canonical, too_new
from ..support.errors import LedgerError
from ..support.version import __version__
from .database import Database, Statement
from .head import End
from .log import COLUMNS, chain

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
    "CREATE UNIQUE INDEX asked ON events (ticket) WHERE kind = 'select'",
    """CREATE UNIQUE INDEX settled ON events (ticket)
    WHERE kind IN ('reward', 'cancel', 'expire')""",
    """CREATE VIEW plays AS
    SELECT ask.ticket, ask.time, ask.arm, ask.estimate, ask.width,
           end.kind AS outcome, end.reward, end.time AS settled
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
    statements: list[Statement] = [(part, ()) for part in SCHEMA]
    statements += [
        (f"PRAGMA application_id = {APPLICATION}", ()),
        (f"PRAGMA user_version = {FORMAT}", ()),
        *(("INSERT INTO about VALUES (?, ?)", pair) for pair in about.items()),
    ]
    return statements, End(0, chain(b"", about["name"], about["policy"]))


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


def follow_chain(
    database: Database, head: End | None, places: Collection[int]
) -> tuple[End, dict[int, bytes]]:
    """Where the log ends and the links at these places, if every event is as it was written."""
    if head is None and about(database, "open") == "1" and not database.had_wal:
        raise damaged(database, "it was not closed, and its -wal file is missing")
    end = End(0, chain(b"", about(database, "name"), about(database, "policy")))
    links = {0: end.link}
    for *row, link in database.stream(f"SELECT {COLUMNS}, link FROM events ORDER BY event"):
        end = End(end.events + 1, chain(end.link, *row))
        if row[0] != end.events or link != end.link:
            raise damaged(database, f"event {end.events} is missing or altered")
        if end.events in places or (head is not None and end.events == head.events):
            links[end.events] = link
    if head is not None and head.events > end.events:
        missing = f"it ends at event {end.events}, but {head.events} were written"
        raise damaged(database, missing)
    if head is not None and links[head.events] != head.link:
        raise damaged(database, "it is not the ledger that its -head file belongs to")
    return end, links


def damaged(database: Database, why: str) -> LedgerError:
    return LedgerError(f"{database.path} is damaged: {why}")
