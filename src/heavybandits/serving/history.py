"""Decisions and rewards in the ledger of an agent, in pages: read next to the writer."""

import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.agent import Agent
from ..core.arrays import Floats
from ..ledger.reader import ReadOnlyDatabase
from ..ledger.store import Source
from .problems import ProblemError

MOST_HISTORY = 1000  # decisions of one page
MOST_EVENTS = 100_000  # decisions of one Parquet file
COLUMNS = (
    *("ticket", "time", "event_id", "decision_group", "version", "arm", "action"),
    *("expected", "width", "propensity", "available", "context", "actions"),
    *("outcome", "reward", "settled", "first_reward"),
)


@contextmanager
def _read(agent: Agent) -> Iterator[Source]:
    """Open the ledger of an agent to read what is on the disk."""
    if agent.ledger is None:
        raise ProblemError(409, "this needs an agent with a ledger")
    path = agent.ledger.path
    if not isinstance(path, Path):
        yield agent.ledger.database
        return
    with closing(ReadOnlyDatabase(path)) as database:
        yield database


def _pages(database: Source, after: int, most: int) -> list[tuple[Any, ...]]:
    statement = f"SELECT {', '.join(COLUMNS)} FROM plays WHERE ticket > ? ORDER BY ticket LIMIT ?"
    return database.rows(statement, after, most)


def read_page(agent: Agent, after: int) -> dict[str, Any]:
    """Return up to 1,000 decisions after a ticket number, with their rewards."""
    with _read(agent) as database:
        rows = _pages(database, after, MOST_HISTORY + 1)
    found = [dict(zip(COLUMNS, row, strict=True)) for row in rows[:MOST_HISTORY]]
    return {"decisions": found, "more": len(rows) > MOST_HISTORY}


def write_parquet(agent: Agent, after: int) -> bytes:
    """Return up to 100,000 decisions after a ticket number, with their rewards, as Parquet."""
    import pyarrow
    from pyarrow import parquet

    with _read(agent) as database:
        rows = _pages(database, after, MOST_EVENTS)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
    table = pyarrow.table(dict(zip(COLUMNS, map(list, columns), strict=True)))
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


SETTLED = """FROM events ask JOIN events end ON end.ticket = ask.ticket
AND end.kind IN ('reward', 'expire') WHERE ask.kind = 'select' AND end.reward IS NOT NULL
AND end.event <= ?"""


def read_lessons(agent: Agent, events: int) -> tuple[Floats, list[float]]:
    """Return features and rewards of all decisions that have one, in the order of the rewards.

    Only what is in the first so many events.
    """
    with _read(agent) as database:
        lessons = f"SELECT ask.features, end.reward {SETTLED} ORDER BY end.event"
        rows = database.rows(lessons, events)
    features = [np.frombuffer(blob, np.float64) for blob, _ in rows]
    return np.array(features), [float(reward) for _, reward in rows]


def read_group_rewards(agent: Agent, since: int, events: int) -> list[tuple[str, float]]:
    """Return group and reward of the decisions from a ticket number on, in the order of rewards.

    Only what is in the first so many events.
    """
    groups = f"SELECT ask.decision_group, end.reward {SETTLED} AND ask.ticket >= ?"
    with _read(agent) as database:
        rows = database.rows(f"{groups} ORDER BY end.event", events, since)
    return [(str(group), float(reward)) for group, reward in rows]
