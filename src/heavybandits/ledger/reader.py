"""What can be read from a ledger: its plays one by one, by action, and for an evaluation.

A `LedgerReader` reads the ledger of another process while its agent works on it.
"""

import json
import sqlite3
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .._utils.errors import LedgerError
from .._utils.validation import whole
from ..features import FeatureMap
from ..offline.log import Log
from .address import Address, locate
from .feedback import read_feedback
from .head import End, Record, check_ours, read_head
from .integrity import check_present, damaged, verify
from .postgres import PostgresTables, open_tables
from .sqlite_file import FAILURES, room
from .store import Dialect, Source, first_value
from .tables import EXPORTED, about, check_format

T = TypeVar("T")
_PAGE = 1000  # events that are read at once

PLAYS = (
    *("ticket", "time", "arm", "action", "expected", "width", "propensity"),
    *("outcome", "reward", "settled", "first_reward"),
)


def read_history(database: Source) -> list[dict[str, Any]]:
    """Return one row per play, with the columns PLAYS.

    `reward` is the one in force, `first_reward` that before any revision.
    """
    rows = database.rows(f"SELECT {', '.join(PLAYS)} FROM plays ORDER BY ticket")
    return [dict(zip(PLAYS, row, strict=True)) for row in rows]


def read_marks(database: Source) -> dict[str, int]:
    """Return the last event before each named mark, by name."""
    marks = database.rows("SELECT name, event FROM events WHERE kind = 'mark' ORDER BY event")
    return {name: event - 1 for name, event in marks}


def read_action_counts(database: Source) -> list[dict[str, Any]]:
    """Return one row per action, or per arm without a name: plays, rewards and their sum."""
    rows = database.rows(
        "SELECT action, CASE WHEN action IS NULL THEN arm END AS number, "
        "count(*), count(reward), sum(reward) FROM plays GROUP BY action, number"
    )
    names = ("action", "plays", "rewards", "total")
    counts = [
        dict(zip(names, (number if action is None else action, *sums), strict=True))
        for action, number, *sums in rows
    ]
    return sorted(counts, key=lambda row: (isinstance(row["action"], str), row["action"]))


def _read_events(database: Source, after: int) -> list[dict[str, Any]]:
    """Return the next events after a number, a page of them at most."""
    names = (*EXPORTED, "features")
    query = f"SELECT {', '.join(names)} FROM events WHERE event > ? ORDER BY event LIMIT {_PAGE}"
    rows = [dict(zip(names, row, strict=True)) for row in database.rows(query, after)]
    for row in rows:
        row["features"] = None if row["features"] is None else np.frombuffer(row["features"])
    return rows


class ReadOnlyDatabase:
    """A SQLite file that is only read. Every failure is a LedgerError that names the file."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        address = f"file:{urllib.parse.quote(str(path))}?mode=ro"
        try:
            self._connection = sqlite3.connect(
                address, uri=True, timeout=5.0, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA cell_size_check = ON")
        except FAILURES as error:
            raise LedgerError(f"{path}: {error}") from error

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a statement finds."""
        return list(self.stream(statement, *values))

    def stream(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a statement finds."""
        try:
            yield from self._connection.execute(statement, values)
        except FAILURES as error:
            raise LedgerError(f"{self.path}: {error}") from error

    @contextmanager
    def moment(self) -> Iterator[None]:
        """All that is read meanwhile is of one moment, whatever an agent writes."""
        self.rows("BEGIN")
        try:
            yield
        finally:
            self.rows("ROLLBACK")

    def head(self) -> Record:
        """Return what the head next to the file says."""
        return read_head(self.path)

    def copy(self, output: Path) -> None:
        """Write all of it, as of one moment, to a new file."""
        try:
            with closing(sqlite3.connect(output)) as target:
                self._connection.backup(target)
        except FAILURES as error:
            raise LedgerError(f"{output}: {error} ({room(output.parent)})") from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def open_source(ledger: str | Path) -> ReadOnlyDatabase | PostgresTables:
    """Open a ledger to read it, in a file or on a server."""
    place = locate(ledger)
    if isinstance(place, Address):
        return open_tables(place)
    path = place.absolute()
    check_ours(path)
    check_present(path, read_head(path))
    database = ReadOnlyDatabase(path)
    try:
        check_format(database)
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def live(path: Path) -> Iterator[tuple[ReadOnlyDatabase, Record]]:
    """Open a ledger on which an agent may work; yield one moment of it, and what its head says."""
    check_ours(path)
    head = read_head(path)  # before the events: it may be older, not newer
    check_present(path, head)
    with closing(ReadOnlyDatabase(path)) as database:
        check_format(database)
        with database.moment():
            yield database, head


class LedgerReader:
    """Read a ledger, in any process, also while its agent writes to it.

    It sees what the agent has acknowledged at that moment, takes no lock for which an agent would
    wait, and writes no event. It checks the complete ledger when it
    opens it, and the newer events before each call.

    Parameters
    ----------
    path : path or str
        The ledger: a file, or an address `postgresql://user@host/database?agent=NAME`.

    Raises
    ------
    LedgerError
        The ledger is damaged: a page, an event, or the end that its head records.
    InvalidInputError
        There is no such file.

    Examples
    --------
    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
    ...         _ = agent.update(agent.select([[1.0, 0.0]]), 0.5)
    ...         with LedgerReader(f"{folder}/agent.db") as reader:
    ...             print(reader.events, reader.history()[0]["reward"])
    2 0.5
    """

    def __init__(self, path: str | Path) -> None:
        self._end: End | None = None
        self.database = open_source(path)
        try:
            self.read(lambda _: None)
        except BaseException:
            self.close()
            raise

    def read(self, query: Callable[[Source], T]) -> T:
        """Return what a query finds, after all events up to that moment have been checked.

        Parameters
        ----------
        query : function of a Source
            Reads the tables, of one moment.

        Returns
        -------
        object
            What the query returns.

        Raises
        ------
        LedgerError
            The ledger is damaged, or the query met values that no agent has written.
        """
        head = self.database.head()  # before the events: it may be older, not newer
        with self.database.moment():
            self._end = verify(self.database, head, self._end).end
            try:
                return query(self.database)
            except (TypeError, ValueError) as error:  # of values that no agent has written
                raise damaged(self.database.path, str(error)) from error

    @property
    def events(self) -> int:
        """Return the number of events."""
        count = "SELECT count(*) FROM events"
        return self.read(lambda database: int(first_value(database, count)))

    @property
    def pending(self) -> list[int]:
        """Return the tickets without an outcome, the oldest first, including those that
        `cancel_all` or `reset` dropped."""
        waiting = "SELECT ticket FROM plays WHERE outcome IS NULL ORDER BY ticket"
        return self.read(lambda database: [ticket for (ticket,) in database.rows(waiting)])

    @property
    def policy(self) -> dict[str, Any]:
        """Return the description of the policy."""
        return self.read(lambda database: json.loads(about(database, "policy")))

    @property
    def encoder(self) -> dict[str, Any] | None:
        """Return the description of the encoder; None if the agent has none."""
        return self.read(lambda database: json.loads(about(database, "encoder")))

    def history(self) -> list[dict[str, Any]]:
        """Return the plays, one row each, as `Agent.history` does.

        Returns
        -------
        list of dict
            One dictionary per play.
        """
        return self.read(read_history)

    def feedback(self, encoder: FeatureMap | None = None) -> Log:
        """Return the decisions that have a reward as a log, as `Agent.feedback` does.

        Parameters
        ----------
        encoder : features.FeatureMap, optional
            The encoder of the log. Default: that of the ledger, which has every `Encoder`.

        Returns
        -------
        Log
            The log, for `evaluate`, `replay` and `diagnose`.
        """
        return self.read(lambda database: read_feedback(database, encoder))

    @property
    def marks(self) -> dict[str, int]:
        """Return the last event before each mark, by the name of the mark."""
        return self.read(read_marks)

    def follow(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the events after a number, one row each, up to the newest.

        To follow an agent, call it again with the number of the last event, as often as you like.

        Parameters
        ----------
        after : int, default 0
            The number of the last event that you have.

        Yields
        ------
        dict
            The columns of the event; those that its kind does not have are None, `features` is
            an array.

        Examples
        --------
        >>> import heavybandits as hb, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
        ...         _ = agent.update(agent.select([[1.0, 0.0]]), 0.5)
        ...     with LedgerReader(f"{folder}/agent.db") as reader:
        ...         [(row["event"], row["kind"]) for row in reader.follow(after=1)]
        [(2, 'reward')]
        """
        last = whole("after", after, least=0)
        while rows := self.read(partial(_read_events, after=last)):
            yield from rows
            last = rows[-1]["event"]

    def action_counts(self) -> list[dict[str, Any]]:
        """Return one row per action, or per arm without a name: plays, rewards and their total.

        Returns
        -------
        list of dict
            One dictionary per action.
        """
        return self.read(read_action_counts)

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def __enter__(self) -> "LedgerReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
