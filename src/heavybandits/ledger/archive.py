"""Archives: old events of a ledger, moved to Parquet files from which it can still be rebuilt.

The chain of hashes continues: the ledger records the last archived event and its link, and a
rebuild follows the chain through the files into the ledger.
"""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError, LedgerError, optional
from .._utils.files import canonical, replace_atomically
from ..agents.events import SETTLING, CancelledAll, Reset, Selected
from ..agents.raw_inputs import RawInputs
from .address import Address, locate
from .head import End, Head
from .inputs import read_inputs
from .integrity import (
    base_of,
    chain,
    check_present,
    first_end,
    linked_rows,
    newest_sealed,
    verify,
)
from .moment import Moment, last_event
from .sqlite_file import Database, check_database, room
from .store import BLOBS, TEXTS, WHOLE, Row, Source, first_value
from .tables import ARCHIVED, check_format

SEGMENT = 250_000  # events of one file
_INPUTS = RawInputs._fields


class Compacted(NamedTuple):
    """What was moved out of a ledger: how many events, and the files that have them now."""

    events: int
    files: tuple[Path, ...]


def compact(path: str | Path, archive: str | Path, before: Moment | None = None) -> Compacted:
    """Move the old events of a closed ledger to Parquet files, and shrink the ledger.

    An agent continues as before. Events from the oldest waiting ticket on always stay, and so does
    what came after the newest snapshot. Needs the extra `lab`.

    Parameters
    ----------
    path : path
        The ledger. No agent may have it open.
    archive : path
        The folder of the files; created if it does not exist. Its absolute path is stored in the
        ledger, because a rebuild reads the files.
    before : int, float, datetime or str, optional
        Move the events until then: the number of an event, a time, or a mark. None for as many as
        possible.

    Raises
    ------
    LedgerError
        The ledger is damaged or in use, or the files could not be written. Nothing has changed.
    InvalidInputError
        There is no such ledger or moment, or the ledger is on a server.
    """
    place, folder = locate(path), Path(archive).absolute()
    if isinstance(place, Address):
        raise InvalidInputError("compact moves the events of a ledger in a file, not of a server")
    path = place.absolute()
    if not path.exists():
        raise InvalidInputError(f"{path} is not a file: a ledger is needed")
    with closing(Head(path)) as head:
        check_database(path)
        check_present(path, head.read())
        with closing(Database(path)) as database:
            check_format(database)
            verify(database, head.read())
            first, last = base_of(database).end.events, _last_movable(database, before)
            if last <= first:
                return Compacted(0, ())
            try:
                folder.mkdir(parents=True, exist_ok=True)
                files = tuple(_write_segments(database, first, last, folder))
            except OSError as error:
                where = room(folder.parent)
                raise LedgerError(f"{folder}: {error.strerror} ({where})") from error
            _forget(database, last, folder)
    return Compacted(last - first, files)


def _last_movable(database: Database, before: Moment | None) -> int:
    """Return the last event that an agent does not need in the ledger."""
    sealed = newest_sealed(database)
    last = 0 if sealed is None else sealed.events
    if before is not None:
        last = min(last, last_event(database, before))
    clears = f"('{CancelledAll.kind}', '{Reset.kind}')"
    settled = ", ".join(map(repr, SETTLING))
    waiting = first_value(
        database,
        f"SELECT min(event) FROM events ask WHERE kind = '{Selected.kind}' AND event > "
        f"(SELECT coalesce(max(event), 0) FROM events WHERE kind IN {clears}) AND NOT EXISTS "
        f"(SELECT 1 FROM events WHERE ticket = ask.ticket AND kind IN ({settled}))",
    )
    return last if waiting is None else min(last, int(waiting) - 1)


def _write_segments(database: Database, first: int, last: int, folder: Path) -> Iterator[Path]:
    """Write these events and their raw inputs to files, and yield each file."""
    write = optional("pyarrow.parquet", "lab").write_table
    inputs = dict(read_inputs(database, last))
    with closing(linked_rows(database, base_of(database).end)) as rows:
        for start in range(first, last, SEGMENT):
            end = min(start + SEGMENT, last)
            part, path = list(islice(rows, end - start)), folder / _name(start + 1, end)
            table = _to_table(part, [inputs.get(row.event) for row, _ in part])
            replace_atomically(path, partial(write, table))
            yield path


def _name(first: int, last: int) -> str:
    return f"events-{first:012}-{last:012}.parquet"


def _to_table(rows: list[tuple[Row, bytes]], inputs: list[RawInputs | None]) -> Any:
    arrow = optional("pyarrow", "lab")

    def column(name: str, values: list[Any]) -> Any:
        if name in BLOBS:
            return arrow.array(values, arrow.binary())
        if name in WHOLE:
            return arrow.array(values, arrow.int64())
        text = name in TEXTS or name == "kind"
        return arrow.array(values, arrow.string() if text else arrow.float64())

    columns = {n: column(n, [getattr(row, n) for row, _ in rows]) for n in Row._fields}
    columns["link"] = arrow.array([link for _, link in rows], arrow.binary())
    for name in _INPUTS:
        kind = arrow.binary() if name in ("salt", "arms") else arrow.string()
        values = [None if raw is None else getattr(raw, name) for raw in inputs]
        columns[f"raw_{name}"] = arrow.array(values, kind)
    return arrow.table(columns)


def _forget(database: Database, last: int, folder: Path) -> None:
    """Delete the events that were moved, and record where they are, in one transaction."""
    link = first_value(database, "SELECT link FROM events WHERE event = ?", last)
    about = canonical({"events": last, "link": link.hex(), "folder": str(folder)})
    database.write(
        [
            ("DELETE FROM inputs WHERE event <= ?", (last,)),
            ("DELETE FROM events WHERE event <= ?", (last,)),
            ("INSERT OR REPLACE INTO about VALUES (?, ?)", (ARCHIVED, about)),
        ]
    )
    with suppress(LedgerError):  # without room for a copy the file keeps its size, as free pages
        database.rows("VACUUM")
    database.checkpoint("TRUNCATE")


# ---- reading


def read_archive(database: Source) -> Iterator[tuple[Row, RawInputs | None]]:
    """Yield the archived events of a ledger in order, if there are any.

    Raises LedgerError if a file is missing or was altered.
    """
    base, end = base_of(database), first_end(database)
    while end.events < base.end.events:
        path = _find_segment(database, Path(base.folder), end.events + 1, base.end.events)
        for row, link, raw in _read_segment(path):
            expected = chain(end.link, *row)
            if (row.event, link) != (end.events + 1, expected):
                raise LedgerError(
                    f"{path} is damaged: event {end.events + 1} is missing or altered"
                )
            end = End(row.event, link)
            yield row, raw
    if end != base.end:
        raise LedgerError(f"{base.folder} has other events than those of {database.path}")


def _find_segment(database: Source, folder: Path, first: int, last: int) -> Path:
    """Return the longest file from this event on; one beyond the last event was never used."""
    paths = folder.glob(f"{_name(first, last)[:20]}*.parquet")
    found = sorted(path for path in paths if path.name <= _name(first, last))
    if not found:
        raise LedgerError(
            f"the events of {database.path} from event {first} on were archived in {folder}, and "
            "are not there: put the files back. An agent does not need them, a rebuild does"
        )
    return found[-1]


def _read_segment(path: Path) -> Iterator[tuple[Row, bytes, RawInputs | None]]:
    arrow, parquet = optional("pyarrow", "lab"), optional("pyarrow.parquet", "lab")
    try:
        rows = parquet.ParquetFile(path).read().to_pylist()
        for values in rows:
            raw = RawInputs(*(values[f"raw_{name}"] for name in _INPUTS))
            row = Row(*(values[name] for name in Row._fields))
            yield row, values["link"], raw if raw.salt is not None else None
    except (OSError, KeyError, TypeError, ValueError, arrow.ArrowException) as error:
        raise LedgerError(f"{os.fspath(path)} is damaged: {error}") from error
