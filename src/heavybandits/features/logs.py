"""Logs with an encoder: the rows as they are, and every offer in the context of every row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from ..core.arrays import Floats
from . import tables as frames
from .encoder import Encoder
from .feature_map import FeatureMap
from .values import ColumnValues, is_missing, plain, read_text


def encode_log(frame: Any, features: FeatureMap) -> Floats:
    """The features of the rows of a log, (n, d); what else the log has is left aside."""
    return features.encode_rows({name: _values(frame, name, features) for name in features.columns})


def _values(frame: Any, name: str, features: FeatureMap) -> ColumnValues:
    """Return a column as the encoder reads it: categories of a CSV file as they are written."""
    typed: set[str] = set()
    if isinstance(features, Encoder):
        both = (*features.context_columns, *features.action_columns)
        typed = {column.name for column in both if not column.as_written}
    elif isinstance(features, FeatureMap):
        typed = set(features.columns)
    return frames.values(frame, name, as_written=name not in typed)


def encode_offers(
    frame: Any, features: FeatureMap, names: Sequence[Any], action: str, actions: Any = None
) -> Floats:
    """The features of every offer in the context of every row, (n, A, d).

    What belongs to an offer is in `actions`, by name; None finds it in the log, if it never
    changes there. All else is taken from the row.
    """
    named = {action, getattr(features, "action", None) or action}  # columns that hold the name
    known = _find_offers(frame, features, names, action, named) if actions is None else actions
    if not isinstance(known, Mapping):
        raise InvalidInputError(f"actions must be a dictionary by name of offer, got {known!r:.80}")
    table = {read_text(name): own for name, own in known.items()}
    count = frames.length(frame)
    out = np.empty((count, len(names), features.dim))
    for place, name in enumerate(names):
        if read_text(name) not in table:
            raise InvalidInputError(
                f"actions must have all offers of the log, got none for {name!r}"
            )
        own = {**table[read_text(name)], **dict.fromkeys(named, name)}
        rows = {
            column: [own[column]] * count if column in own else _values(frame, column, features)
            for column in features.columns
        }
        out[:, place] = features.encode_rows(rows)
    return out


def _find_offers(
    frame: Any, features: FeatureMap, names: Sequence[Any], action: str, named: set[str]
) -> dict[str, dict[str, Any]]:
    """The columns of each offer, which must be the same wherever it was taken."""
    if not isinstance(features, Encoder):
        raise InvalidInputError(
            "actions must say what belongs to each offer, {name: {column: value}}: a transformer "
            "does not know which of its columns do"
        )
    found: dict[str, dict[str, Any]] = {read_text(name): {} for name in names}
    taken = [read_text(name) for name in frames.values(frame, action, "action", as_written=True)]
    for column in (column.name for column in features.action_columns if column.name not in named):
        for name, value in zip(taken, _values(frame, column, features), strict=True):
            if name not in found:  # only in rows that are left out
                continue
            first = found[name].setdefault(column, value)
            if first != value and not (is_missing(first) and is_missing(value)):
                raise InvalidInputError(
                    f"actions must say what {column!r} is for every offer: in the log it is "
                    f"{plain(first)!r} and {plain(value)!r} for {name!r}"
                )
    return found
