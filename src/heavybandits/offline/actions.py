"""The actions of a log: their names, which were available, and the features of each."""

import itertools
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import EncodingError, InvalidInputError
from .._utils.validation import SMALLEST, finite_array
from ..core.arrays import Floats
from ..features import Encoder, FeatureMap
from ..features import tables as frames
from ..features.encoder import read_column
from ..features.values import ColumnValues, Lookup, is_missing, plain, read_text

if TYPE_CHECKING:
    from .log import Log

UNIFORM = "uniform"  # instead of a column: all available actions had the same propensity
SEPARATOR = "|"  # between the names of actions in a cell of text

Bools: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.int64]
Name: TypeAlias = Hashable  # of an action: text or a number
Frame: TypeAlias = frames.Frame
Cells: TypeAlias = list[Mapping[Name, Any]]  # what is known of each action, row by row


def take(cells: ColumnValues, kept: Bools) -> Any:
    """Return the cells of a column in the rows that are kept.

    >>> take(["a", "b"], np.array([False, True]))
    ['b']
    """
    return cells[kept] if isinstance(cells, np.ndarray) else list(itertools.compress(cells, kept))


# ---- names


def read_names(frame: Frame, action: str, kept: Bools) -> list[Name]:
    """Return the names of the actions taken, in the rows that are kept, text less the space around.

    >>> read_names({"action": ["b", "a"]}, "action", np.array([True, False]))
    ['b']
    """
    names = [plain(v) for v in frames.column(frame, action, "action", exact=True)[kept]]
    for row, name in zip(np.flatnonzero(kept), names, strict=True):
        if not isinstance(name, Hashable):
            raise InvalidInputError(
                f"action must be one text or number per row, got {name!r:.80} in row {row}"
            )
    return [name.strip() if isinstance(name, str) else name for name in names]


class NameLookup:
    """Find the names of actions, also by their text: 1, 1.0 and "1" are one name.

    >>> known = NameLookup([True, 2.5])
    >>> known.find("true"), known.find("2.50"), known.find("x")
    (0, 1, None)
    """

    def __init__(self, names: Sequence[Name]) -> None:
        self.names: dict[Name, int] = {}
        self.shown: dict[str, int] = {}
        for place, name in enumerate(names):
            self.names.setdefault(name, place)
            self.shown.setdefault(str(name), place)
        self.texts = Lookup(map(_text, names))

    def find(self, name: object) -> int | None:
        """Return the place of a name, or None."""
        if not isinstance(name, Hashable):
            return None
        for known in (self.names, self.shown):
            if name in known:
                return known[name]  # type: ignore[index]
        return None if is_missing(name) else self.texts.find(_text(name))


def _text(name: object) -> str:
    try:
        return read_text(name)
    except EncodingError:  # such as a pair, or a float that has lost digits
        return repr(name)


def read_actions(
    chosen: Sequence[Name], lists: Iterable[object] | None, known: Sequence[Name] = ()
) -> tuple[tuple[Name, ...], Places, Bools]:
    """Return the names of the actions, the place of each one taken, and which were available.

    The `known` actions come first, in their order, then the others, sorted.

    >>> names, taken, available = read_actions(["b", "a"], ["b", "a|b"])
    >>> names, taken.tolist(), available.tolist()
    (('a', 'b'), [1, 0], [[False, True], [True, True]])
    """
    first = list(dict.fromkeys((*known, *chosen)))
    written = NameLookup(first)  # text may name a number
    shown = None
    if lists is not None:
        shown = [_names(cell, row, first, written) for row, cell in enumerate(lists)]
    others = {*chosen, *(name for cell in shown or () for name in cell)} - set(known)
    actions = (*known, *sorted(others, key=lambda name: (str(type(name)), name)))
    places = {name: place for place, name in enumerate(actions)}
    taken = np.array([places[name] for name in chosen], np.int64)
    available = np.ones((len(chosen), len(actions)), np.bool_)
    if shown is not None:
        available[:] = False
        for row, cell in enumerate(shown):
            available[row, [places[name] for name in cell]] = True
    away = np.flatnonzero(~available[np.arange(taken.size), taken])
    if away.size:
        raise InvalidInputError(
            f"available must contain the action taken, got {chosen[away[0]]!r} taken in row "
            f"{away[0]}, where only {shown[away[0]] if shown else ()} were available"
        )
    return actions, taken, available


def _names(cell: object, row: int, first: Sequence[Name], written: NameLookup) -> list[Name]:
    """Return the names in a cell: a list of them, or text with bars between them."""
    if isinstance(cell, str):
        texts = [name.strip() for name in cell.split(SEPARATOR) if name.strip()]
        places = [written.find(text) for text in texts]
        return [t if p is None else first[p] for t, p in zip(texts, places, strict=True)]
    if isinstance(cell, Sequence | np.ndarray | set | frozenset):
        return [plain(name) for name in cell]
    raise InvalidInputError(
        f"available must contain lists of names, or text such as 'a{SEPARATOR}b', "
        f"got {cell!r} in row {row}"
    )


def read_propensities(values: Floats, propensity: str, available: Bools) -> Floats:
    """Return the probability of every action taken.

    >>> read_propensities(np.zeros(1), "uniform", np.ones((1, 4), bool))
    array([0.25])
    """
    if propensity == UNIFORM:
        return np.asarray(1.0 / available.sum(axis=1))
    wrong = np.flatnonzero(~((values >= SMALLEST) & (values <= 1.0)))
    if wrong.size:
        raise InvalidInputError(
            f"propensity must be in (0, 1], got {values[wrong[0]]:g} in row {wrong[0]} (the "
            f"smallest that is allowed is {SMALLEST:g})"
        )
    return values.copy()


# ---- what is known of the actions of each row


def read_cells(log: "Log") -> Cells:
    """Return what the column `action_features` says of each action, row by row.

    >>> from heavybandits.offline.log import Log
    >>> Log({"seen": ['{"tea": {"price": 4}}', None]}, action_features="seen").cells
    [{'tea': {'price': 4}}, {}]
    """
    found = frames.values(log.frame, str(log.action_features), "action_features")
    return [_read_cell(cell, row) for row, cell in enumerate(found)]


def _read_cell(cell: Any, row: int) -> Mapping[Name, Any]:
    """Return a cell as values by action; {} if it is missing, which leaves its row out."""
    if isinstance(cell, str) and cell.strip():
        with suppress(ValueError):
            cell = json.loads(cell)
    if isinstance(cell, Mapping) and all(isinstance(own, Mapping) for own in cell.values()):
        return cell
    if isinstance(cell, np.ndarray) and cell.ndim == 2:
        return dict(enumerate(cell))
    if is_missing(cell):
        return {}
    raise InvalidInputError(
        "action_features must be a column of dictionaries {action: {column: value}} or of arrays "
        f"(K, d), got {cell!r:.80} in row {row}"
    )


def has_features(cells: Cells) -> bool:
    """Return True if the cells are the features of actions that have no names.

    >>> has_features([{}, {0: np.ones(2)}]), has_features([{"tea": {"price": 4}}])
    (True, False)
    """
    return any(isinstance(own, np.ndarray) for cell in cells for own in cell.values())


# ---- the features of every action


def read_action_rows(
    log: "Log", names: Sequence[Name], action: str, kept: Bools, cells: Cells | None
) -> Floats | None:
    """Return the features of every action in the rows that are kept, (n, A, d); None if no encoder
    makes them and the log does not have them."""
    if cells is not None and has_features(cells):
        return _stack(names, cells)
    if log.encoder is None:
        return None
    if cells is None:
        return encode_actions(log, log.encoder, names, action)[kept]
    return encode_cells(log, log.encoder, names, action, kept, cells)


def _stack(names: Sequence[Name], cells: Cells) -> Floats:
    """Return the features in the cells; those of an absent action are 0."""
    dims = {own.shape for cell in cells for own in cell.values()}
    if len(dims) > 1:
        raise InvalidInputError(
            f"action_features must be arrays of one width, got {sorted(dims)[:5]}"
        )
    places = {name: place for place, name in enumerate(names)}
    out = np.zeros((len(cells), len(names), *dims.pop()))
    for row, cell in enumerate(cells):
        for name, own in cell.items():
            out[row, places[name]] = own
    return finite_array("action_features", out, out.shape)


def encode_cells(
    log: "Log",
    encoder: FeatureMap,
    names: Sequence[Name],
    action: str,
    kept: Bools,
    cells: Cells,
) -> Floats:
    """Return the features of the actions of every row, whose columns are in its cell, (n, A, d);
    those of an absent action are 0.

    All other columns are those of the row.
    """
    named = {action, getattr(encoder, "action", None) or action}  # columns that hold the name
    lookup = NameLookup(names)
    places = [(row, name, lookup.find(name)) for row, cell in enumerate(cells) for name in cell]
    places = [one for one in places if one[2] is not None]  # an action that no row had available
    rows = np.array([row for row, _, _ in places], np.int64)
    own_columns = named.union(*(own for cell in cells for own in cell.values()))
    table: dict[str, Any] = {}
    for column in encoder.columns:
        if column in named:
            table[column] = [name for _, name, _ in places]
        elif column in own_columns:
            table[column] = [cells[row][name].get(column) for row, name, _ in places]
        else:
            found = take(read_column(log.frame, column, encoder), kept)
            table[column] = (
                found[rows] if isinstance(found, np.ndarray) else [found[row] for row in rows]
            )
    out = np.zeros((len(cells), len(names), encoder.dim))
    out[rows, np.array([place for _, _, place in places], np.int64)] = encoder.encode_rows(table)
    return out


def encode_actions(log: "Log", encoder: FeatureMap, names: Sequence[Name], action: str) -> Floats:
    """Return the features of every action in the context of every row, (n, A, d).

    The columns of an action are in `action_features`, or in the log if they never change there. All
    other columns are those of the row.
    """
    named = {action, getattr(encoder, "action", None) or action}  # columns that hold the name
    known = log.action_features
    if known is None:
        known = _find_action_columns(log.frame, encoder, names, action, named)
    if not isinstance(known, Mapping):
        raise InvalidInputError(
            f"action_features must be a dictionary by name of action, got {known!r:.80}"
        )
    table = {read_text(name): own for name, own in known.items()}
    count = frames.length(log.frame)
    out = np.empty((count, len(names), encoder.dim))
    for place, name in enumerate(names):
        if read_text(name) not in table:
            raise InvalidInputError(
                f"action_features must have all actions of the log, got none for {name!r}"
            )
        own = {**table[read_text(name)], **dict.fromkeys(named, name)}
        rows = {
            each: [own[each]] * count if each in own else read_column(log.frame, each, encoder)
            for each in encoder.columns
        }
        out[:, place] = encoder.encode_rows(rows)
    return out


def _find_action_columns(
    frame: Frame, encoder: FeatureMap, names: Sequence[Name], action: str, named: set[str]
) -> dict[str, dict[str, Any]]:
    """Return the columns of each action, which must be the same in all rows that took it."""
    if not isinstance(encoder, Encoder):
        raise InvalidInputError(
            "action_features must have the columns of each action, {name: {column: value}}: a "
            "transformer does not know which of its columns they are"
        )
    found: dict[str, dict[str, Any]] = {read_text(name): {} for name in names}
    cells = frames.column(frame, action, "action", exact=True)
    taken = ["" if is_missing(name) else read_text(name) for name in cells]
    for column in (column.name for column in encoder.action_columns if column.name not in named):
        for name, value in zip(taken, read_column(frame, column, encoder), strict=True):
            if name not in found:  # only in rows that are left out
                continue
            first = found[name].setdefault(column, value)
            if first != value and not (is_missing(first) and is_missing(value)):
                raise InvalidInputError(
                    f"action_features must say what {column!r} is for every action: in the log it "
                    f"is {plain(first)!r} and {plain(value)!r} for {name!r}"
                )
    return found
