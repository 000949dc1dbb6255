"""Check, repair and export ledgers that may be damaged.

The functions read copies of the files, so that the ledger itself never changes. What counts is the
longest intact prefix: the events from the first on, as far as the chain of hashes is valid.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError, LedgerError
from .._utils.files import (
    HEAD,
    LEDGER_FILES,
    check_target,
    place_new,
    replace_atomically,
    sync_folder,
)
from .._utils.tables import to_csv, write_parquet
from ..agents.events import Revised, Selected
from ..agents.raw_inputs import RawInputs
from .address import Address, locate
from .head import Head, Record, unused
from .inputs import read_inputs
from .integrity import Survey, chain, check_present, reason, survey
from .postgres import open_tables
from .resume import read_owners
from .sqlite_file import Database, Statement, check_database, room
from .store import Row, Source, UnreachableError, first_value
from .tables import (
    ARCHIVED,
    EXPORTED,
    FORMAT,
    INSERT,
    INSERT_INPUTS,
    INSERT_OWNER,
    SEALED,
    SNAPSHOT,
    about,
    check_format,
    new_tables,
)

PRIVATE = 0o600  # mode of files whose source has none


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


def examine(path: str | Path | Address) -> Findings:
    """Report what is intact in a ledger that no agent has open. Nothing is written.

    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
    ...         _ = agent.update(agent.select([[1.0, 0.0]]), 0.5)
    ...     found = examine(f"{folder}/agent.db")
    >>> found.intact, found.events, found.kinds
    (True, 2, {'select': 1, 'reward': 1})
    """
    path = locate(path)
    with copied(path) as (database, head):
        return _describe(path, database, head, survey(database, head))


def _describe(path: Path | Address, database: Source, head: Record, found: Survey) -> Findings:
    snapshots = [event for event, _, _ in intact_states(database, found)]
    log = None if isinstance(path, Address) else Path(f"{path}-wal")
    return Findings(
        path=str(path),
        format=FORMAT,
        version=_entry(database, "heavybandits"),
        policy=_entry(database, "policy"),
        events=found.end.events,
        kinds=found.kinds,
        last_time=found.last_time,
        snapshots=snapshots,
        wal_bytes=log.stat().st_size if log is not None and log.exists() else None,
        head_events=None if head.end is None else head.end.events,
        problems=found.problems + _lost_states(database, snapshots) + _altered_inputs(database),
    )


def _lost_states(database: Source, intact: list[int]) -> list[str]:
    """Return what is wrong with the snapshots, of which these are intact."""
    try:
        stored = [event for (event,) in database.rows("SELECT event FROM states")]
    except UnreachableError:
        raise
    except LedgerError as error:
        return [reason(error, database)]
    lost = [f"the state after event {n} is not intact" for n in stored if n not in intact]
    return lost if intact else [*lost, "it contains no intact state"]


def _altered_inputs(database: Source) -> list[str]:
    """Return what is wrong with the raw inputs; those that are missing were erased."""
    try:
        for _ in read_inputs(database):
            pass
    except UnreachableError:
        raise
    except LedgerError as error:
        return [reason(error, database)]
    return []


def new_ledger(output: str | Path) -> Path:
    """Return the path of a new ledger; raise InvalidInputError if one is, or was, there."""
    path = Path(output).absolute()
    if not path.parent.is_dir():
        raise InvalidInputError(f"output must be in a folder that exists, got {output}")
    for taken in (f"{path}{ending}" for ending in ("", *LEDGER_FILES)):
        if os.path.lexists(taken):
            raise InvalidInputError(f"output must be a new file, and {taken} is there already")
    return path


class Repaired(NamedTuple):
    """What was found in a ledger, and in the new one that was made of it."""

    before: Findings
    after: Findings


def repair(path: str | Path | Address, output: str | Path) -> Repaired:
    """Save the longest intact prefix of a ledger into a new one, and examine both.

    The new ledger has the same policy, and an agent continues from its last event; rewards that
    came later must be sent again. The old ledger does not change.
    """
    path, output = locate(path), new_ledger(output)
    with copied(path) as (source, head), working_folder(output.name, output.parent) as folder:
        made = folder / output.name
        before = _rewrite(path, source, head, made)
        place_ledger(made, output, mode_of(path))
    return Repaired(before, examine(output))


def mode_of(ledger: Path | Address) -> int:
    """Return the mode of the file of a ledger; of one on a server, that of a private file."""
    return PRIVATE if isinstance(ledger, Address) else stat.S_IMODE(ledger.stat().st_mode)


def place_ledger(made: Path, output: Path, mode: int) -> None:
    """Give a ledger and its head their names, and the mode of the ledger that they come from."""
    mode |= stat.S_IWUSR
    for ending in ("", HEAD):
        with open(f"{made}{ending}", "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(f"{made}{ending}", mode)
    try:
        place_new(made, output)
        try:
            place_new(f"{made}{HEAD}", f"{output}{HEAD}")
        except BaseException:
            output.unlink()
            raise
    except FileExistsError as error:
        raise InvalidInputError(f"output must be a new file, got {output}: {error}") from error
    sync_folder(output.parent)


def _rewrite(path: Path | Address, source: Source, head: Record, made: Path) -> Findings:
    """Write a ledger of what is intact in the source, and its head; return what was found."""
    rows: list[tuple[Row, bytes]] = []
    found = survey(source, head, visit=lambda row, link: rows.append((row, link)))
    snapshots = list(intact_states(source, found))
    if not snapshots:
        raise LedgerError(
            f"{source.path} contains no intact state: its events can be exported, not repaired"
        )
    entries = {name: about(source, name) for name in (*SEALED, "heavybandits")}
    archived = first_value(source, "SELECT value FROM about WHERE name = ?", ARCHIVED)
    entries |= {} if archived is None else {ARCHIVED: archived}
    statements: list[Statement] = new_tables(entries | {"failures": "0", "open": "0"})
    statements += [(INSERT_OWNER, (owner.first, owner.agent)) for owner in read_owners(source)]
    statements += [(SNAPSHOT, snapshot) for snapshot in snapshots]
    statements += [(INSERT, (*row, link)) for row, link in rows]
    statements += [(INSERT_INPUTS, (n, *inputs)) for n, inputs in _intact_inputs(source, found)]
    with closing(Database(made)) as database:
        database.prepare()
        database.write(statements)
        database.checkpoint("TRUNCATE")
    with closing(Head(made)) as new:
        new.start(found.end)
    return _describe(path, source, head, found)


def export(path: str | Path | Address, output: str | Path) -> Findings:
    """Write the intact events of a ledger to a table: CSV if `output` ends in .csv, else Parquet.

    One row per event: its number, kind, ticket, time, reward, the noise scale given with it and the
    reward before a revision; for a decision also the caller's event id, the group, the version of
    the agent, the arm, the action, the mean reward expected, the width, the propensity, what was
    available and the features x0, x1, ...

    In CSV, text that a spreadsheet would run as a formula (it starts with =, +, - or @) gets an
    apostrophe in front. `Log` and `Encoder` remove the apostrophe again; Parquet has none.
    """
    path, output, rows = locate(path), check_target(output), []
    with copied(path) as (database, head):
        found = survey(database, head, visit=lambda row, _: rows.append(row))
        findings = _describe(path, database, head, found)
    columns, mode = _columns(rows), mode_of(path)
    if output.suffix == ".csv":
        names, values = list(columns), zip(*columns.values(), strict=True)
        data = to_csv([dict(zip(names, row, strict=True)) for row in values], names).encode()
        replace_atomically(output, lambda target: target.write_bytes(data), mode)
    else:
        write_parquet(columns, output, mode)
    return findings


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
def copied(path: Path | Address) -> Iterator[tuple[Source, Record]]:
    """Open a copy of a ledger that no agent has open; yield it and what its head says.

    A server shows one moment of a ledger, also while others write to it.
    """
    if isinstance(path, Address):
        with closing(open_tables(path)) as tables, tables.moment():
            yield tables, tables.head()
        return
    with working_folder(path.name) as folder:
        copy = folder / path.name
        with unused(path) as head:
            check_present(path, head)
            check_database(path)
            for ending in ("", "-wal", "-journal"):
                if os.path.exists(f"{path}{ending}"):
                    shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
        with closing(Database(copy, copy_of=path)) as database:
            check_format(database)
            yield database, head


@contextmanager
def working_folder(ledger: str, parent: Path | None = None) -> Iterator[Path]:
    """Yield a folder in which a ledger is made or copied. A full disk raises LedgerError.

    Its name says what it is for, because a process that is killed does not remove it. Without
    `parent` it is where temporary files are.
    """
    place, hint = parent, ""
    if place is None:
        place, hint = Path(tempfile.gettempdir()), "; TMPDIR names another folder"
    try:
        with tempfile.TemporaryDirectory(prefix=f"{ledger}-unfinished-", dir=place) as folder:
            yield Path(folder)
    except OSError as error:
        raise LedgerError(f"{place}: {error.strerror} ({room(place)}{hint})") from error


def intact_states(database: Source, found: Survey) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the intact states that were stored within the prefix."""
    with suppress(LedgerError):
        for event, seal, data in database.rows("SELECT event, seal, data FROM states"):
            if event in found.links and seal == chain(found.links[event], data):
                yield event, seal, data


def _intact_inputs(database: Source, found: Survey) -> Iterator[tuple[int, RawInputs]]:
    """Yield the raw inputs of the prefix, up to the first that were altered."""
    with suppress(LedgerError):
        yield from read_inputs(database, found.end.events)


def _entry(database: Source, name: str) -> str:
    try:
        return about(database, name)
    except LedgerError:
        return "unknown"
