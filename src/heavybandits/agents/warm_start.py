"""Warm starts: rows and rewards of the past that a policy learns without decisions."""

from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from .._utils.validation import bounded_array, finite_array
from ..features.tables import Table, is_frame, records
from .events import Lesson, WarmStarted
from .inputs import raw_rows
from .state import AgentState, Plan, make_plan

MOST_ROWS = 1 << 16  # rows of one event in a ledger

RowsLike: TypeAlias = "ArrayLike | Table"
NamedRows = list[Any]  # as they were given


def read_lesson(
    state: AgentState, rows: RowsLike, rewards: ArrayLike, *, log: bool
) -> tuple[Lesson, NamedRows | None]:
    """Validate rows and rewards; also return the named rows if they are to be logged."""
    policy, encoder, named = state.policy, state.encoder, None
    if encoder is not None and not isinstance(rows, np.ndarray):
        given, rows = rows, encoder.encode_rows(cast(Table, rows))
        named = _named_rows(given) if log else None
    x = bounded_array("rows", rows, (None, policy.dim))
    shape = (len(x),) if policy.plays == 1 else (len(x), policy.plays)
    paid = finite_array("rewards", rewards, shape).reshape(len(x), policy.plays)
    return Lesson(x, paid + 0.0), named


def _named_rows(rows: Any) -> NamedRows | None:
    """Return the rows as a list, if a ledger can log them."""
    if isinstance(rows, list | tuple):
        return list(rows)
    return records(rows) if is_frame(rows) or isinstance(rows, str | Path) else None


def plan_warm_start(
    state: AgentState, lesson: Lesson, now: float, *, named: NamedRows | None
) -> Plan:
    """Plan a warm start, in pieces that fit into a ledger."""
    pieces = [slice(i, i + MOST_ROWS) for i in range(0, len(lesson.rows), MOST_ROWS)]
    return make_plan(
        state,
        [
            WarmStarted(
                state.tickets.issued,
                now,
                Lesson(lesson.rows[piece], lesson.rewards[piece]),
                None if named is None else raw_rows(named[piece]),
            )
            for piece in pieces
        ],
    )
