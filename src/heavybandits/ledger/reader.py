"""What can be read in a ledger: the plays, one by one, by offer, and for an evaluation.

A `LedgerReader` reads a ledger that belongs to somebody else, while its agent works on it.
"""

import json
import sqlite3
import urllib.parse
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.errors import LedgerError
from .rows import about, check_format, propensity_of
from .sqlite import FAILURES, Source

PLAYS = (
    *("ticket", "time", "arm", "offer", "estimate", "width"),
    *("outcome", "reward", "settled", "first_reward"),
)


class Reports:
    """What a ledger tells."""

    database: Source

    def history(self) -> list[dict[str, Any]]:
        """One row per play: when, which arm or offer, what was expected, what became of it.

        `reward` is the one in force, `first_reward` what it was before any revision.
        """
        rows = self.database.rows(f"SELECT {', '.join(PLAYS)}, changes FROM plays ORDER BY ticket")
        return [
            dict(zip(PLAYS, row, strict=False)) | {"propensity": propensity_of(row[-1])}
            for row in rows
        ]

    def feedback(self) -> dict[str, Any]:
        """The plays that have a reward, by Open Bandit Pipeline's names; `offer` their names.

        The propensity of a play that was one of a list is nan: there is none. `context_of` says
        that the context is that of the arm: a model of the rewards must not learn from it.
        """
        rows = self.database.rows(
            "SELECT arm, reward, features, changes, offer FROM plays "
            "WHERE reward IS NOT NULL ORDER BY ticket"
        )
        arms, chances = [row[0] for row in rows], [propensity_of(row[3]) for row in rows]
        return {
            "n_rounds": len(rows),
            "n_actions": max(arms, default=-1) + 1,
            "context": np.array([np.frombuffer(row[2], np.float64) for row in rows]),
            "action": np.array(arms, np.int64),
            "reward": np.array([row[1] for row in rows], np.float64),
            "pscore": np.array([np.nan if p is None else p for p in chances]),
            "position": None,
            "context_of": "arm",
            **({"offer": [row[4] for row in rows]} if any(row[4] for row in rows) else {}),
        }

    def offers(self) -> list[dict[str, Any]]:
        """One row per offer, or per arm without a name: plays, rewards and their sum so far."""
        rows = self.database.rows(
            "SELECT COALESCE(offer, arm) AS name, count(*), count(reward), sum(reward) "
            "FROM plays GROUP BY name ORDER BY name"
        )
        names = ("offer", "plays", "rewards", "total")
        return [dict(zip(names, row, strict=True)) for row in rows]


class ReadOnly:
    """A SQLite file that is only read. Every failure is a LedgerError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise LedgerError(f"{path} is not a file")
        address = f"file:{urllib.parse.quote(str(path))}?mode=ro"
        try:
            self._connection = sqlite3.connect(
                address, uri=True, timeout=5.0, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA trusted_schema = OFF")
        except FAILURES as error:
            raise LedgerError(f"{path}: {error}") from error

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except FAILURES as error:
            raise LedgerError(f"{self.path}: {error}") from error

    def one(self, statement: str, *values: Any) -> Any:
        found = self.rows(statement, *values)
        return found[0][0] if found else None

    def close(self) -> None:
        self._connection.close()


class LedgerReader(Reports):
    """A ledger to be read, here or in another process, also while its agent works on it.

    It sees what the agent has acknowledged when it asks, takes no lock that an agent would wait
    for, and writes nothing.

    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
    ...         agent.update(agent.select([[1.0, 0.0]]), 0.5)
    ...         with LedgerReader(f"{folder}/agent.db") as monitor:
    ...             print(monitor.events, monitor.history()[0]["reward"])
    2 0.5
    """

    def __init__(self, path: str | Path) -> None:
        self.database: ReadOnly = ReadOnly(Path(path).absolute())
        try:
            check_format(self.database)
        except BaseException:
            self.close()
            raise

    @property
    def events(self) -> int:
        """How many events there are."""
        return int(self.database.one("SELECT count(*) FROM events"))

    @property
    def pending(self) -> list[int]:
        """The tickets without an outcome, the oldest first. Those that were given up by `abandon`
        or `reset` are among them."""
        asked = "SELECT ticket FROM plays WHERE outcome IS NULL ORDER BY ticket"
        return [ticket for (ticket,) in self.database.rows(asked)]

    @property
    def policy(self) -> dict[str, Any]:
        """The policy, described."""
        described: dict[str, Any] = json.loads(about(self.database, "policy"))
        return described

    @property
    def encoder(self) -> dict[str, Any] | None:
        """The encoder, described; None if the agent has none."""
        described: dict[str, Any] | None = json.loads(about(self.database, "encoder"))
        return described

    def close(self) -> None:
        """Let the file go."""
        self.database.close()

    def __enter__(self) -> "LedgerReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
