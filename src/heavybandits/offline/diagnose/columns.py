"""Columns of a log as `diagnose` looks at them: their numbers or groups, and the action taken."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import InvalidInputError
from ..._utils.validation import finite_array
from ...core.arrays import Floats
from ...features import Encoder, Number
from ...features import tables as frames
from ...features.encoder import read_column
from ...features.values import is_missing
from ..actions import take
from ..log import Log, as_log, read_rows

RAW = 1e3  # clip of an encoder's number with which its raw values are read
ROWS_PER_ACTION = 5  # of a log whose actions can be compared
MISSING = "(missing)"


class Groups(NamedTuple):
    """The rows of a log by a column of texts: `names`, and the place of each row among them."""

    column: str
    names: list[str]
    places: NDArray[np.int64]


class Numbers(NamedTuple):
    """A column of numbers; `of_action` is None if it is unknown whether it describes the action."""

    column: str
    values: Floats
    of_action: bool | None


class Sample(NamedTuple):
    """Rewards, features (n, d) if there are any, the columns behind them, and the action taken.

    `encoded` is True if an encoder made the features. `groups` has the columns of categories.
    """

    rewards: Floats
    features: Floats | None
    encoded: bool
    numbers: list[Numbers]
    groups: list[Groups]
    action: Groups | None


def read_sample(data: Any, features: Any, reward: Any, action: Any, drop_missing: bool) -> Sample:
    """Read what `diagnose` was given: a table, a file, a log, or arrays."""
    if isinstance(data, str | Path | Log) or frames.is_frame(data):
        return _read_log(as_log(data, features, reward, drop_missing), action)
    given = {"features": features, "action": action}
    if drop_missing:
        data, given = _drop(data, given)
    rewards = finite_array("data", data, (None,))
    taken = None
    if given["action"] is not None:
        taken = _repeated(_read_actions(given["action"], rewards.size))
    if features is None:
        return Sample(rewards, None, False, [], [], taken)
    matrix = finite_array("features", given["features"], (rewards.size, None))
    numbers = [Numbers(f"feature {j}", column, None) for j, column in enumerate(matrix.T)]
    return Sample(rewards, matrix, False, numbers, [], taken)


def group_rows(column: str, cells: Iterable[object]) -> Groups:
    """Number the different texts of a column in the order in which they come.

    >>> group_rows("kind", ["b", "a", "b"]).places.tolist()
    [0, 1, 0]
    """
    known: dict[object, int] = {}
    try:
        places = np.array([known.setdefault(cell, len(known)) for cell in cells], np.int64)
    except TypeError:
        raise InvalidInputError(f"{column} must have one text or number per row") from None
    names: dict[str, int] = {}
    shown = [MISSING if is_missing(cell) else str(cell) for cell in known]
    merged = np.array([names.setdefault(name, len(names)) for name in shown], np.int64)
    return Groups(column, list(names), merged[places])


def _drop(data: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return rewards and columns without the rows in which any of them is None or nan."""
    rewards = list(data)
    columns = {name: list(column) for name, column in given.items() if column is not None}
    for name, column in columns.items():
        if len(column) != len(rewards):
            raise InvalidInputError(
                f"{name} must have {len(rewards)} rows like data, got {len(column)}"
            )
    every = zip(rewards, *columns.values(), strict=True)
    kept = [
        row
        for row, cells in enumerate(every)
        if not any(is_missing(v) for cell in cells for v in np.ravel(np.array(cell, object)))
    ]
    left = {name: [column[row] for row in kept] for name, column in columns.items()}
    return [rewards[row] for row in kept], given | left


def _read_actions(action: Any, rows: int) -> Groups:
    if isinstance(action, str) or np.ndim(action) != 1 or len(action) != rows:
        raise InvalidInputError(
            f"action must have {rows} names, one per reward, if data is an array, got "
            f"{action!r:.80}; a name of a column needs a table"
        )
    return group_rows("action", np.asarray(action, object).tolist())


def _repeated(action: Groups) -> Groups | None:
    """Return the actions, or None if most of them were taken once, as the names of visits are."""
    return action if ROWS_PER_ACTION * len(action.names) <= action.places.size else None


def _read_log(log: Log, action: Any) -> Sample:
    rows = read_rows(log)
    name = _action_column(log, action)
    taken = None if name is None else _repeated(_read_groups(log, name, rows.kept, "action"))
    encoder = log.encoder
    if isinstance(encoder, Encoder):
        numbers, groups = _read_encoded(log, encoder, rows.kept)
    else:
        matrix = np.empty((rows.rewards.size, 0)) if rows.features is None else rows.features
        names: Sequence[str] = [f"feature {j}" for j in range(matrix.shape[1])]
        names = log.columns or names if encoder is None else encoder.names
        numbers = [Numbers(*each, None) for each in zip(names, matrix.T, strict=True)]
        groups = []
    return Sample(rows.rewards, rows.features, encoder is not None, numbers, groups, taken)


def _action_column(log: Log, action: Any) -> str | None:
    """Return the column of the actions: as given, as the log or encoder says, or by its name."""
    if action is not None and not isinstance(action, str):
        raise InvalidInputError(
            f"action must be the name of a column if data is a table, got {action!r:.80}"
        )
    if action is not None and log.action not in (None, action):
        raise InvalidInputError(
            f"action must be given once, got {action!r} and Log(action={log.action!r})"
        )
    given = action or log.action or getattr(log.encoder, "action", None)
    if given is not None:
        return str(given)
    known = frames.column_names(log.frame)
    return "action" if "action" in known else None


def _read_groups(log: Log, name: str, kept: Any, label: str = "column") -> Groups:
    return group_rows(name, frames.column(log.frame, name, label)[kept].tolist())


def _read_encoded(log: Log, encoder: Encoder, kept: Any) -> tuple[list[Numbers], list[Groups]]:
    """Return the columns of an encoder before it scales and clips them; dates are left out."""
    numbers, groups = [], []
    sides = ((False, encoder.context_columns), (True, encoder.action_columns))
    for of_action, column in ((of_action, c) for of_action, side in sides for c in side):
        if isinstance(column, Number):
            cells = read_column(log.frame, column.name, encoder)
            read = replace(column, clip=RAW).read_many(take(cells, kept))[:, 0]
            values = column.centre + column.scale * read
            numbers.append(Numbers(column.name, values, of_action))
        elif column.type == "category" and of_action:
            groups.append(_read_groups(log, column.name, kept))
    return numbers, groups
