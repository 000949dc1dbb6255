"""The one check that every reader of a ledger makes: agents, `rebuild`, `LedgerReader`, `check`.

The link of a row is a hash of the link before it and of all columns of the row: a row that is
missing, altered or out of place breaks the chain. The head next to the ledger says where the chain
ended. `survey` reports everything that is wrong, `verify` raises it.
"""

import hashlib
import json
import marshal
import shlex
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError, LedgerError, printable
from .head import End, Record
from .sqlite_file import Database
from .store import Row, RowCheck, Source, UnreachableError, first_value
from .tables import ARCHIVED, COLUMNS, SCHEMA, SEALED, about

Visit = Callable[[Row, bytes], object]
_NOT_CLOSED = "it was not closed, or copied while it was open"


class Survey(NamedTuple):
    """What is intact in a ledger: the longest prefix of its events, and what is wrong after it."""

    end: End
    links: dict[int, bytes]  # at the events after which a state was stored
    kinds: dict[str, int]
    last_time: float | None
    problems: list[str]


def check_present(ledger: Path, head: Record) -> None:
    """Raise an error if there is no ledger to read: LedgerError where its head is left."""
    if ledger.exists() and ledger.stat().st_size > 0:
        return
    if head.end is not None and head.end.events > 0:
        raise damaged(ledger, f"it is empty, but {head.end.events} events were written")
    if not ledger.exists():
        raise InvalidInputError(f"{ledger} is not a file: a ledger is needed")
    raise damaged(ledger, "it is empty")


def damaged(ledger: Path | str, why: str) -> LedgerError:
    """Return the error of a damaged ledger, with the next step."""
    state = "may be incomplete" if why.startswith(_NOT_CLOSED) else "is damaged"
    return LedgerError(
        f"{ledger} {state}: {why}; to save the events that are intact, run "
        f"`heavybandits ledger repair {shlex.quote(str(ledger))} new.db`"
    )


def verify(
    database: Source, head: Record, since: End | None = None, visit: Visit | None = None
) -> Survey:
    """Return the survey of an intact ledger; raise LedgerError if anything is wrong with it."""
    found = survey(database, head, since, visit)
    for why in found.problems:
        raise damaged(database.path, why)
    return found


def survey(
    database: Source, head: Record, since: End | None = None, visit: Visit | None = None
) -> Survey:
    """Return what is intact in a ledger, and all that is not.

    Without `since` that is every page and every event.

    Parameters
    ----------
    database : Source
        The ledger, or a copy of it.
    head : Record
        What its head said before the database was read.
    since : End, optional
        An earlier end, of a snapshot or of a survey of the same open file: only the events after
        it are checked.
    visit : function, optional
        Called with each intact row and its link.
    """
    problems = list(_table_problems(database))
    if since is None:
        problems += _page_problems(database)
    links: dict[int, bytes] = {}
    kinds: dict[str, int] = {}
    end, last_time, stored = since or End(0, b""), None, []
    try:
        stored = [event for (event,) in database.rows("SELECT event FROM states")]
        place = -1 if head.end is None else head.end.events
        places, end = {*stored, place}, since or base_of(database).end
        links |= {0: first_end(database).link, end.events: end.link}
        if 0 <= place < end.events:  # the head is older than what is checked
            links[place] = read_link(database, place) or b""
        for row, link in linked_rows(database, end):
            end = End(row.event, link)
            kinds[row.kind] = kinds.get(row.kind, 0) + 1
            last_time = row.time
            if row.event in places:
                links[row.event] = link
            if visit is not None:
                visit(row, link)
    except UnreachableError:
        raise
    except LedgerError as error:
        problems.append(reason(error, database))
    problems += _end_problems(database, head, end, links)
    if any(event > end.events for event in stored):
        problems.append(f"it ends at event {end.events}, but has the state after {max(stored)}")
    return Survey(end, links, kinds, last_time, list(dict.fromkeys(problems)))


def reason(error: LedgerError, database: Source) -> str:
    """Return the message without the name of the file."""
    return str(error).removeprefix(printable(f"{database.path}: "))


# ---- the pages


def _table_problems(database: Source) -> Iterator[str]:
    """Yield what is wrong with the tables as such; a server checks its own."""
    if database.dialect != "sqlite":
        return
    try:
        schema = database.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        if {sql for (sql,) in schema} != set(SCHEMA):
            yield "its tables are not those of a ledger"
    except LedgerError as error:
        yield reason(error, database)


def _page_problems(database: Source) -> Iterator[str]:
    """Yield what is wrong with the pages, of the indexes too; a server checks its own."""
    if database.dialect != "sqlite":
        return
    try:
        found = first_value(database, "PRAGMA integrity_check(1)")
        if found != "ok":
            yield str(found)
        if isinstance(database, Database):
            try_free_pages(database)
    except LedgerError as error:
        yield reason(error, database)


def try_free_pages(database: Database) -> None:
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


# ---- the chain of hashes


def chain(previous: bytes, *contents: Any) -> bytes:
    """Return the link after `previous` for these contents.

    >>> chain(b"", 1, "reward", 0.5) == chain(b"", 1, "reward", 0.25)
    False
    """
    return _link(previous, contents)


def _link(previous: bytes, contents: tuple[Any, ...]) -> bytes:
    data = marshal.dumps(contents, 2)  # this version gives equal bytes in every Python
    return hashlib.blake2b(previous + data, digest_size=16).digest()


def first_end(database: Source) -> End:
    """Return the end of the chain before any event."""
    return End(0, chain(b"", *(about(database, name) for name in SEALED)))


class Base(NamedTuple):
    """The end before the first event that a ledger has itself, and the folder of those before."""

    end: End
    folder: str = ""


def base_of(database: Source) -> Base:
    """Return where the events of a ledger begin: at the first, unless old ones were archived."""
    found = first_value(database, "SELECT value FROM about WHERE name = ?", ARCHIVED)
    if found is None:
        return Base(first_end(database))
    try:
        about = json.loads(found)
        return Base(End(int(about["events"]), bytes.fromhex(about["link"])), str(about["folder"]))
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError(f"{database.path}: its archive is not well formed: {error}") from error


def read_link(database: Source, event: int) -> bytes | None:
    """Return the link that is stored with an event; None if there is no such event."""
    if event == 0:
        return first_end(database).link
    base = base_of(database).end
    if event == base.events:
        return base.link
    found = first_value(database, "SELECT link FROM events WHERE event = ?", event)
    return found if isinstance(found, bytes) else None


def newest_sealed(database: Source) -> End | None:
    """Return the end after which the newest intact snapshot was stored; None if there is none."""
    for event, seal in database.rows("SELECT event, seal FROM states ORDER BY event DESC"):
        data = first_value(database, "SELECT data FROM states WHERE event = ?", event)
        link = read_link(database, event)
        if link is not None and seal == chain(link, data):
            return End(event, link)
    return None


def linked_rows(database: Source, end: End) -> Generator[tuple[Row, bytes], None, None]:
    """Yield the rows after this end, each with its link; raise LedgerError at the first row that is
    not as it was written."""
    check, (number, before) = RowCheck(), end
    first = number == base_of(database).end.events
    lowest = -(1 << 63) if first else number + 1  # none may come before the first either
    query = f"SELECT {COLUMNS}, link FROM events WHERE event >= ? ORDER BY event"
    for values in database.stream(query, lowest):
        row, link = Row._make(values[:-1]), values[-1]
        number, before = number + 1, _link(before, values[:-1])
        if row.event != number or link != before:
            raise LedgerError(f"{database.path}: event {number} is missing or altered")
        try:
            check(row)
        except LedgerError as error:
            raise LedgerError(f"{database.path}: event {number} does not fit: {error}") from error
        yield row, link


def _end_problems(
    database: Source, head: Record, end: End, links: dict[int, bytes]
) -> Iterator[str]:
    """Yield what is wrong with the end of the chain, which the head knows.

    A ledger that was closed is complete without its head. A copy of one that was open is not:
    the copy of a database has fewer events than its log.
    """
    if head.flaw == "not the head of a ledger":
        yield f"its -head file is {head.flaw}"
    if head.end is None:
        try:
            closed = about(database, "open") == "0"
        except LedgerError as error:
            yield reason(error, database)
        else:
            if not closed:
                yield (
                    f"{_NOT_CLOSED}, and its -head file is "
                    f"{head.flaw}: it has {end.events} events, and later ones may be missing"
                )
    elif head.end.events > end.events:
        yield f"it ends at event {end.events}, but {head.end.events} were written"
    elif links.get(head.end.events, head.end.link) != head.end.link:
        yield "it is not the ledger that its -head file belongs to"
