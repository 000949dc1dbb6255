"""Check, repair and export ledgers that may be damaged.

The functions read copies of the files, so that the ledger itself never changes. What counts is the
longest intact prefix: the events from the first on, as far as the chain of hashes holds.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError, LedgerError
from .._utils.files import replace_atomically, sync_folder
from .._utils.tables import to_csv, write_parquet
from ..agents.events import Revised, Selected
from . import sqlite
from .sqlite_file import Database, End, Head, Statement, check_file, read_end
from .store import Row


class Findings(NamedTuple):
    """What was found in a ledger. `problems` is empty if all of it is intact."""

    path: str
    format: int
    version: str
    policy: str
    events: int  # in the longest intact prefix, and so the number of the last good event
    kinds: dict[str, int]
    last_time: float | None
    snapshots: list[int]  # events after which an intact state was stored
    wal_bytes: int | None
    head_events: int | None  # None if there is no intact head
    problems: list[str]

    @property
    def intact(self) -> bool:
        """Return True if no problem was found."""
        return not self.problems


def examine(path: str | Path) -> Findings:
    """Report what is intact in a ledger that no agent has open. Nothing is written.

    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
    ...         agent.update(agent.select([[1.0, 0.0]]), 0.5)
    ...     found = examine(f"{folder}/agent.db")
    >>> found.intact, found.events, found.kinds
    (True, 2, {'select': 1, 'reward': 1})
    """
    with copied(Path(path)) as (database, end):
        return _examine(Path(path), database, end)


def _examine(path: Path, database: Database, head: End | None) -> Findings:
    kinds: Counter[str] = Counter()
    problems, last, time = _file_problems(database, head), End(0, b""), None
    try:
        last = sqlite.first_end(database)
        for row, end in sqlite.linked_rows(database):
            last, time = end, row.time
            kinds[str(row.kind)] += 1
    except LedgerError as error:
        problems.append(_reason(error))
    if head is not None and head.events > last.events:
        problems.append(f"it ends at event {last.events}, but {head.events} were written")
    snapshots = [event for event, _, _ in _snapshots(database, last.events)]
    problems += _lost_states(database, snapshots)
    return Findings(
        path=str(path),
        format=sqlite.FORMAT,
        version=_entry(database, "heavybandits"),
        policy=_entry(database, "policy"),
        events=last.events,
        kinds=dict(kinds),
        last_time=time,
        snapshots=snapshots,
        wal_bytes=Path(f"{path}-wal").stat().st_size if Path(f"{path}-wal").exists() else None,
        head_events=None if head is None else head.events,
        problems=list(dict.fromkeys(problems)),
    )


def _file_problems(database: Database, head: End | None) -> list[str]:
    """Return what is wrong with the files as such."""
    found = []
    try:
        sqlite.check_pages(database)
    except LedgerError as error:
        found.append(_reason(error))
    if head is None and _entry(database, "open") == "1" and not database.had_wal:
        found.append("it was not closed, and its -wal file is missing")
    return found


def _lost_states(database: Database, intact: list[int]) -> list[str]:
    """Return what is wrong with the snapshots, of which these are intact."""
    try:
        stored = [event for (event,) in database.rows("SELECT event FROM states")]
    except LedgerError as error:
        return [_reason(error)]
    lost = [f"the state after event {n} is not intact" for n in stored if n not in intact]
    return lost if intact else [*lost, "it holds no intact state"]


def new_ledger(output: str | Path) -> Path:
    """Return the path of a new ledger; raise InvalidInputError if one is, or was, there."""
    path = Path(output).absolute()
    if not path.parent.is_dir():
        raise InvalidInputError(f"output must be in a folder that exists, got {output}")
    for taken in (path, Path(f"{path}-wal"), Path(f"{path}-head")):
        if os.path.lexists(taken):
            raise InvalidInputError(f"output must be a new file, and {taken} is there already")
    return path


def repair(path: str | Path, output: str | Path) -> Findings:
    """Save the longest intact prefix of a ledger into a new one, and examine that.

    The new ledger has the same policy, and an agent continues from its last event; rewards that
    came later must be sent again. The old ledger does not change.
    """
    path, output = Path(path), new_ledger(output)
    with copied(path) as (source, _), tempfile.TemporaryDirectory(dir=output.parent) as folder:
        made = Path(folder) / output.name
        end = _rewrite(source, made, path)
        with made.open("rb+") as file:
            os.fsync(file.fileno())
        os.rename(made, output)
    head = Head(output)
    head.write(end)
    head.close()
    sync_folder(output.parent)
    return examine(output)


def _rewrite(source: Database, made: Path, path: Path) -> End:
    """Write a ledger of what is intact in the source."""
    rows, end = _intact_rows(source)
    snapshots = list(_snapshots(source, end.events))
    if not snapshots:
        raise LedgerError(f"{path} holds no intact state: its events can be exported, not repaired")
    entries = {name: sqlite.about(source, name) for name in (*sqlite.SEALED, "heavybandits")}
    statements: list[Statement] = sqlite.new_tables(entries | {"failures": "0", "open": "0"})
    statements += [(sqlite.SNAPSHOT, snapshot) for snapshot in snapshots]
    statements += [(sqlite.INSERT, (*row, link)) for row, link in rows]
    with closing(Database(made)) as database:
        database.prepare()
        database.write(statements)
        database.checkpoint("TRUNCATE")
    return end


def export(path: str | Path, output: str | Path) -> Findings:
    """Write the intact events of a ledger to a table: CSV if `output` ends in .csv, else Parquet.

    One row per event: its number, kind, ticket, time, reward, the noise scale given with it and the
    reward before a revision; for a decision also the arm, the action, the mean reward expected,
    the width, the propensity and the features x0, x1, ...
    """
    path, output = Path(path), Path(output)
    with copied(path) as (database, head):
        found = _examine(path, database, head)
        columns = _columns([row for row, _ in _intact_rows(database)[0]])
    if output.suffix == ".csv":
        names, values = list(columns), zip(*columns.values(), strict=True)
        text = to_csv([dict(zip(names, row, strict=True)) for row in values])
        text = text or ",".join(names) + "\n"
        replace_atomically(output, lambda target: target.write_text(text))
    else:
        write_parquet(columns, output)
    return found


EXPORTED = (
    *("event", "kind", "ticket", "time", "reward", "noise_scale", "previous_reward"),
    *("arm", "action", "expected", "width", "propensity"),
)


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    columns = {name: [getattr(row, name) for row in rows] for name in EXPORTED}
    chosen = [row.features if row.kind in (Selected.kind, Revised.kind) else None for row in rows]
    arms = [None if x is None else np.frombuffer(x).tolist() for x in chosen]
    dim = max((len(arm) for arm in arms if arm is not None), default=0)
    for i in range(dim):
        columns[f"x{i}"] = [None if arm is None else arm[i] for arm in arms]
    return columns


# ---- reading what may be damaged


@contextmanager
def copied(path: Path) -> Iterator[tuple[Database, End | None]]:
    """Open a copy of a ledger; yield it and the end in its head."""
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a file")
    check_file(path)
    Head.check_free(path)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        for ending in ("", "-wal"):
            if Path(f"{path}{ending}").exists():
                shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
        beside = Path(f"{path}-head")
        head = read_end(beside.read_bytes()) if beside.is_file() else None
        try:
            with closing(Database(copy)) as database:
                if not database.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
                    raise LedgerError(f"{copy} is damaged: it holds no table")
                sqlite.check_format(database)
                yield database, head
        except LedgerError as error:
            raise LedgerError(str(error).replace(str(copy), str(path))) from error


def _intact_rows(database: Database) -> tuple[list[tuple[Row, bytes]], End]:
    """Return the rows of the longest intact prefix, each with its link, and its end."""
    rows: list[tuple[Row, bytes]] = []
    end = sqlite.first_end(database)
    with suppress(LedgerError):  # where the prefix ends
        for row, end in sqlite.linked_rows(database):
            rows.append((row, end.link))
    return rows, end


def _snapshots(database: Database, last: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the intact states that were stored within the prefix."""
    links = {}
    with suppress(LedgerError):
        links = {0: sqlite.first_end(database).link}
        links |= {row.event: end.link for row, end in sqlite.linked_rows(database)}
    with suppress(LedgerError):
        for event, seal, data in database.rows("SELECT event, seal, data FROM states"):
            if event in links and event <= last and seal == sqlite.chain(links[event], data):
                yield event, seal, data


def _entry(database: Database, name: str) -> str:
    try:
        return sqlite.about(database, name)
    except LedgerError:
        return "unknown"


def _reason(error: LedgerError) -> str:
    """Return the message without the name of the file."""
    return str(error).partition(": ")[2].removeprefix("is damaged: ") or str(error)
