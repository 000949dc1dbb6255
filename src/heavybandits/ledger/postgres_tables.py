"""The tables of ledgers on a PostgreSQL server, and the statements that read and fill them.

All ledgers of a database share its tables, in the schema `heavybandits`. A statement for the tables
of one ledger gets common table expressions of the same names in front, which the server inlines.
"""

import re
from collections.abc import Collection, Sequence
from importlib import resources
from typing import Any

from .._utils.errors import LedgerError
from .._utils.files import too_new
from .address import Address, parse_server, split_agent
from .postgres_server import Server
from .store import BLOBS, TEXTS, WHOLE, Row
from .tables import INPUTS, SETTLED

SCHEMA = "heavybandits"
_OF_LEDGER = ("events", "inputs", "states", "owners")
LINKED = (*Row._fields, "link")
TABLE_NAMES = re.compile(r"\b(about|owners|states|events|inputs|plays)\b")
TYPES = {
    **{name: "bigint" if name in WHOLE else "float8" for name in Row._fields},
    **dict.fromkeys((*TEXTS, "kind", "context", "actions", "rows"), "text"),
    **dict.fromkeys((*BLOBS, "link", "salt", "arms"), "bytea"),
}

Unsent = tuple[Sequence[tuple[Any, ...]], Sequence[tuple[Any, ...]]]  # rows of events, of inputs
NOTHING: Unsent = ((), ())

ABOUT = f"""SELECT entry.name, entry.value FROM {SCHEMA}.agents one, LATERAL (VALUES
    ('name', one.chain), ('policy', one.policy), ('encoder', one.encoder),
    ('heavybandits', one.library), ('open', '0')) AS entry (name, value) WHERE one.id = {{id}}"""
PLAYS = f"""SELECT ask.ticket, ask.time, ask.event_id, ask.decision_group, ask.version,
    ask.arm, ask.action, ask.expected, ask.width, ask.propensity, ask.available,
    done.kind AS outcome,
    CASE WHEN last.event > done.event THEN last.reward ELSE done.reward END AS reward,
    done.time AS settled, done.reward AS first_reward, ask.features,
    raw.context, raw.actions, raw.arms, ask.event
FROM events ask
LEFT JOIN inputs raw ON raw.event = ask.event
LEFT JOIN events done ON done.ticket = ask.ticket AND done.kind IN {SETTLED}
LEFT JOIN events last ON last.event =
  (SELECT max(event) FROM events WHERE ticket = ask.ticket AND kind = 'revise')
WHERE ask.kind = 'select'"""


def scope(
    statement: str, ledger: int, values: Sequence[Any], unsent: Unsent = NOTHING
) -> tuple[str, tuple[Any, ...]]:
    """Return a statement about the tables of one ledger, and its values; ? is a placeholder.

    Rows that are not sent yet count as rows of the tables.
    """
    named = set(TABLE_NAMES.findall(statement))
    if "plays" in named:
        named |= {"events", "inputs"}
    views: list[str] = []
    first: list[Any] = []
    plain = {"owners": ("first", "agent"), "states": ("event", "seal", "data")}
    whole = {name: _own(name, columns, ledger) for name, columns in plain.items()}
    for name, text in (whole | {"about": ABOUT.format(id=ledger)}).items():
        if name in named:
            views.append(f"{name} AS NOT MATERIALIZED ({text})")
    parts = (("inputs", INPUTS, unsent[1]), ("events", LINKED, unsent[0]))
    for name, columns, rows in parts:
        if name in named:
            text = _own(name, columns, ledger)
            if rows:
                text += f" UNION ALL SELECT * FROM {unnest(columns)}"
                first += to_columns(rows)
            views.append(f"{name} AS NOT MATERIALIZED ({text})")
    if "plays" in named:
        views.append(f"plays AS NOT MATERIALIZED ({PLAYS})")
    body = statement.replace("%", "%%").replace("?", "%s")
    return (f"WITH {', '.join(views)} {body}" if views else body), (*first, *values)


def _own(table: str, columns: Sequence[str], ledger: int) -> str:
    """Return what selects the rows of one ledger."""
    return f"SELECT {', '.join(columns)} FROM {SCHEMA}.{table} WHERE ledger = {ledger}"


def unnest(columns: Sequence[str]) -> str:
    """Return a table of one array for each column."""
    return f"unnest({', '.join(f'%s::{TYPES[name]}[]' for name in columns)})"


def to_columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Return one list for each column."""
    return [list(column) for column in zip(*rows, strict=True)]


# ---- opening

FIND = f"SELECT id, writer FROM {SCHEMA}.agents WHERE name = %s"
CREATE = f"""WITH made AS (
    INSERT INTO {SCHEMA}.agents
        (name, chain, policy, encoder, library, epoch, writer, end_event, end_link)
    VALUES (%s, %s, %s, %s, %s, 1, %s, 0, %s)
    ON CONFLICT (name) DO NOTHING RETURNING id),
owned AS (INSERT INTO {SCHEMA}.owners (ledger, first, agent)
    SELECT made.id, one.* FROM made, unnest(%s::bigint[], %s::text[]) AS one)
INSERT INTO {SCHEMA}.states (ledger, event, seal, data) SELECT id, 0, %s, %s FROM made"""
OPEN = f"""UPDATE {SCHEMA}.agents SET epoch = epoch + 1, writer = %s, opened = now()
WHERE id = %s RETURNING epoch, end_event, end_link"""
OWN = f"""INSERT INTO {SCHEMA}.owners (ledger, first, agent)
SELECT id, %s, %s FROM {SCHEMA}.agents WHERE id = %s AND epoch = %s AND writer = %s
ON CONFLICT (ledger, first) DO UPDATE SET agent = excluded.agent"""
CLAIM = f"""UPDATE {SCHEMA}.agents SET epoch = epoch + 1
WHERE id = %s AND writer = %s RETURNING epoch, end_event, end_link"""
STATUS = f"SELECT epoch, writer, end_event, end_link FROM {SCHEMA}.agents WHERE id = %s"
WAIT = "SELECT set_config('lock_timeout', '15s', true)"  # for a writer in the middle of a commit

# ---- writing

_FENCE = f"""UPDATE {SCHEMA}.agents SET end_event = %s, end_link = %s
WHERE id = %s AND epoch = %s AND end_event = %s AND writer = %s RETURNING id"""
# The server gives up a transaction whose writer is silent, so that another may take over.
FENCE = f"{_FENCE}, set_config('idle_in_transaction_session_timeout', '10s', true)"
SNAPSHOT = f"""WITH fence AS (SELECT id FROM {SCHEMA}.agents
    WHERE id = %s AND epoch = %s AND end_event = %s AND writer = %s FOR UPDATE),
old AS (DELETE FROM {SCHEMA}.states WHERE ledger IN (SELECT id FROM fence) AND event NOT IN (0, %s))
INSERT INTO {SCHEMA}.states (ledger, event, seal, data) SELECT id, %s, %s, %s FROM fence
ON CONFLICT (ledger, event) DO UPDATE SET seal = excluded.seal, data = excluded.data"""
ERASE = f"DELETE FROM {SCHEMA}.inputs WHERE ledger = %s AND event = ANY(%s) RETURNING event"
RENAME = f"UPDATE {SCHEMA}.agents SET name = %s WHERE id = %s"
DELETE = (
    *(f"DELETE FROM {SCHEMA}.{name} WHERE ledger = %s" for name in _OF_LEDGER),
    f"DELETE FROM {SCHEMA}.agents WHERE id = %s",
)


def insert_few(inputs: bool) -> str:
    """Return one statement that stores events, and inputs, if the fence is intact."""
    added = ""
    if inputs:
        added = f"""raw AS (INSERT INTO {SCHEMA}.inputs (ledger, {", ".join(INPUTS)})
            SELECT fence.id, one.* FROM fence, {unnest(INPUTS)} AS one), """
    return f"""WITH fence AS ({_FENCE}), {added}
        stored AS (INSERT INTO {SCHEMA}.events (ledger, {", ".join(LINKED)})
            SELECT fence.id, one.* FROM fence, {unnest(LINKED)} AS one)
        SELECT id FROM fence"""


def copy_into(table: str, columns: Collection[str]) -> str:
    """Return the statement that takes many rows."""
    return f"COPY {SCHEMA}.{table} (ledger, {', '.join(columns)}) FROM STDIN"


# ---- migrations

_VERSION = f"SELECT max(number) FROM {SCHEMA}.migrations"
_START = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}",
    f"""CREATE TABLE IF NOT EXISTS {SCHEMA}.migrations
        (number integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())""",
    f"LOCK TABLE {SCHEMA}.migrations IN EXCLUSIVE MODE",
)


def read_migrations() -> dict[int, str]:
    """Return the SQL files of this version by number."""
    folder = resources.files(__package__) / "migrations"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return {int(name[:3]): (folder / name).read_text() for name in files}


def migrate_database(address: str) -> list[int]:
    """Apply the migrations that a database does not have; return their numbers.

    Parameters
    ----------
    address : str
        Of the database, or of a ledger in it.
    """
    text, agents = split_agent(address)
    parameters = parse_server(text)
    server = Server(parameters, str(Address((*agents, "all")[0], parameters)).partition("?")[0])
    try:
        return _migrate(server)
    finally:
        server.close()


def _migrate(server: Server) -> list[int]:
    known = read_migrations()
    with server.transaction() as connection:
        for statement in _START:
            server.execute(connection, statement)
        ((applied,),) = server.execute(connection, _VERSION)
        _check_known(applied or 0)
        missing = [number for number in known if number > (applied or 0)]
        for number in missing:
            server.run_script(connection, known[number])
            insert = f"INSERT INTO {SCHEMA}.migrations (number) VALUES (%s)"
            server.execute(connection, insert, (number,))
    return missing


def check_migrated(server: Server, name: str) -> None:
    """Raise LedgerError unless the database has the tables of this version."""
    ((there,),) = server.rows(f"SELECT to_regclass('{SCHEMA}.migrations') IS NOT NULL")
    applied = server.rows(_VERSION)[0][0] if there else 0
    _check_known(applied or 0)
    if (applied or 0) < max(read_migrations()):
        raise LedgerError(
            f"{name}: the database lacks tables of this version: run `heavybandits ledger "
            f"migrate '{name.partition('?')[0]}'` once, as a user who may create them"
        )


def _check_known(applied: int) -> None:
    newest = max(read_migrations())
    if applied > newest:
        raise LedgerError(f"the tables {too_new(applied, newest, 'unknown')}")
