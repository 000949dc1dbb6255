"""What is whole in a ledger, and how to save it: `examine`, `repair` and `export`.

They read copies of the files, so that nothing happens to the ledger itself, whatever state it is
in. What counts is the longest true prefix: the events from the first on, as far as each carries the
hash of all before it.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError, LedgerError
from .._utils.files import replace_atomically, sync_folder
from .._utils.tables import to_csv, write_parquet
from ..agents.events import Kind
from .rows import (
    FORMAT,
    INSERT,
    SEALED,
    SNAPSHOT,
    Row,
    about,
    chain,
    check_format,
    check_pages,
    first_end,
    linked_rows,
    make_tables,
    migrate,
    noise_scale_of,
    propensity_of,
)
from .sqlite import Database, End, Head, Statement, check_file, read_end, spare_ledger


class Findings(NamedTuple):
    """What was found in a ledger. `trouble` is empty if all of it is whole."""

    path: str
    format: int
    version: str
    policy: str
    events: int  # of the longest true prefix, and so the number of the last good event
    kinds: dict[str, int]
    last_time: float | None
    snapshots: list[int]  # the events after which a state was kept that is whole
    wal_bytes: int | None
    head_events: int | None  # None if there is no head that is whole
    trouble: list[str]

    @property
    def whole(self) -> bool:
        return not self.trouble


def examine(path: str | Path) -> Findings:
    """Say what is whole in a ledger that no agent has open. Nothing is written beside it.

    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
    ...         agent.update(agent.select([[1.0, 0.0]]), 0.5)
    ...     found = examine(f"{folder}/agent.db")
    >>> found.whole, found.events, found.kinds
    (True, 2, {'select': 1, 'reward': 1})
    """
    with copied(Path(path)) as (database, end):
        return _examine(Path(path), database, end)


def _examine(path: Path, database: Database, head: End | None) -> Findings:
    kinds: Counter[str] = Counter()
    trouble, last, time = _trouble(database, head), End(0, b""), None
    try:
        last = first_end(database)
        for row, end in linked_rows(database):
            last, time = end, row[3]
            kinds[str(row[1])] += 1
    except LedgerError as error:
        trouble.append(_reason(error))
    if head is not None and head.events > last.events:
        trouble.append(f"it ends at event {last.events}, but {head.events} were written")
    snapshots = [event for event, _, _ in _snapshots(database, last.events)]
    trouble += _lost_states(database, snapshots)
    return Findings(
        path=str(path),
        format=FORMAT,
        version=_told(database, "heavybandits"),
        policy=_told(database, "policy"),
        events=last.events,
        kinds=dict(kinds),
        last_time=time,
        snapshots=snapshots,
        wal_bytes=Path(f"{path}-wal").stat().st_size if Path(f"{path}-wal").exists() else None,
        head_events=None if head is None else head.events,
        trouble=list(dict.fromkeys(trouble)),
    )


def _trouble(database: Database, head: End | None) -> list[str]:
    """What is wrong with the files as such."""
    found = []
    try:
        check_pages(database)
    except LedgerError as error:
        found.append(_reason(error))
    if head is None and _told(database, "open") == "1" and not database.had_wal:
        found.append("it was not closed, and its -wal file is missing")
    return found


def _lost_states(database: Database, whole: list[int]) -> list[str]:
    """What is wrong with the snapshots, of which these are whole."""
    try:
        kept = [event for (event,) in database.rows("SELECT event FROM states")]
    except LedgerError as error:
        return [_reason(error)]
    lost = [f"the state after event {event} is not whole" for event in kept if event not in whole]
    return lost if whole else [*lost, "it holds no state that is whole"]


def new_ledger(output: str | Path) -> Path:
    """Where a new ledger is to be; refused if there is one, or what one has left there."""
    path = Path(output).absolute()
    if not path.parent.is_dir():
        raise InvalidInputError(f"output must be in a folder that exists, got {output}")
    for taken in (path, Path(f"{path}-wal"), Path(f"{path}-head")):
        if os.path.lexists(taken):
            raise InvalidInputError(f"output must be a new file, and {taken} is there already")
    return path


def repair(path: str | Path, output: str | Path) -> Findings:
    """Save the longest true prefix of a ledger into a new one, which is then examined.

    The new ledger is of the same policy, and an agent goes on from its last event; rewards that
    came later must be sent again. The old one is left as it is.
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
    """A ledger of what is true in the source."""
    rows, end = _true_rows(source)
    snapshots = list(_snapshots(source, end.events))
    if not snapshots:
        raise LedgerError(
            f"{path} holds no state that is whole: its events can be exported, not repaired"
        )
    told = {name: about(source, name) for name in (*SEALED, "heavybandits")}
    statements: list[Statement] = make_tables(told | {"failures": "0", "open": "0"})
    statements += [(SNAPSHOT, snapshot) for snapshot in snapshots]
    statements += [(INSERT, row) for row in rows]
    with closing(Database(made)) as database:
        database.prepare()
        database.write(statements)
        database.checkpoint("TRUNCATE")
    return end


def export(path: str | Path, output: str | Path) -> Findings:
    """Write the true events of a ledger to a table: CSV if `output` ends so, else Parquet.

    One row per event: its number, kind, ticket, time, reward and the noise scale given with it, and
    for a decision the arm, the mean expected of it, its width, how likely it was and its features
    x0, x1, ...
    """
    path, output = Path(path), Path(output)
    spare_ledger(output)
    with copied(path) as (database, head):
        found = _examine(path, database, head)
        columns = _columns(_true_rows(database)[0])
    if output.suffix == ".csv":
        names, values = list(columns), zip(*columns.values(), strict=True)
        text = to_csv([dict(zip(names, row, strict=True)) for row in values])
        text = text or ",".join(names) + "\n"
        replace_atomically(output, lambda target: target.write_text(text))
    else:
        write_parquet(columns, output)
    return found


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    names = ("event", "kind", "ticket", "time", "reward", "arm", "estimate", "width")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    columns["offer"] = [row[10] for row in rows]
    columns["noise_scale"] = [
        noise_scale_of(row[9]) if row[1] == Kind.REWARD else None for row in rows
    ]
    columns["propensity"] = [
        propensity_of(row[9]) if row[1] == Kind.SELECT else None for row in rows
    ]
    chosen = [row[8] if row[1] in (Kind.SELECT, Kind.REVISE) else None for row in rows]
    arms = [None if x is None else np.frombuffer(x).tolist() for x in chosen]
    dim = max((len(arm) for arm in arms if arm is not None), default=0)
    for i in range(dim):
        columns[f"x{i}"] = [None if arm is None else arm[i] for arm in arms]
    return columns


# ---- reading what may be damaged


@contextmanager
def copied(path: Path) -> Iterator[tuple[Database, End | None]]:
    """A copy of a ledger, and what its head says; a LedgerError if that is not possible."""
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
                check_format(database)
                migrate(database)
                yield database, head
        except LedgerError as error:
            raise LedgerError(str(error).replace(str(copy), str(path))) from error


def _true_rows(database: Database) -> tuple[list[Row], End]:
    """The rows of the longest true prefix, with their links, and where it ends."""
    rows: list[Row] = []
    end = first_end(database)
    try:
        for row, end in linked_rows(database):
            rows.append((*row, end.link))
    except LedgerError:
        pass
    return rows, end


def _snapshots(database: Database, last: int) -> Iterator[tuple[int, bytes, bytes]]:
    """The states that are whole and were taken within the prefix."""
    links = {}
    try:
        links = {0: first_end(database).link}
        links |= {row[0]: end.link for row, end in linked_rows(database)}
    except LedgerError:
        pass
    try:
        for event, seal, data in database.rows("SELECT event, seal, data FROM states"):
            if event in links and event <= last and seal == chain(links[event], data):
                yield event, seal, data
    except LedgerError:
        pass


def _told(database: Database, name: str) -> str:
    try:
        return about(database, name)
    except LedgerError:
        return "unknown"


def _reason(error: LedgerError) -> str:
    """Why, without the name of the file."""
    return str(error).partition(": ")[2].removeprefix("is damaged: ") or str(error)
