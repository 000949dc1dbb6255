"""Logs: which columns of a table to read, and the arrays that they become."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.display import Card, show_html, show_text
from .._utils.errors import EncodingError, InvalidInputError
from .._utils.validation import SMALLEST, finite_array
from ..core.arrays import Floats
from ..features import Encoder, FeatureMap
from ..features import tables as frames
from ..features.encoder import read_column
from ..features.values import Lookup, is_missing, plain, read_text

UNIFORM = "uniform"  # instead of a column: all available actions had the same propensity
ACTION_NAMES = "action_name"  # key of the names in the feedback of an agent
AVAILABLE = "available"  # key of the available actions in the row that a policy sees
SEPARATOR = "|"  # between the names of actions in a cell of text

Bools: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.int64]
Name: TypeAlias = Hashable  # of an action: text or a number
Frame: TypeAlias = frames.Frame
FeatureColumns: TypeAlias = Sequence[str] | FeatureMap
ActionFeatures: TypeAlias = Mapping[str, frames.Row] | ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """A table and the names of its columns, for `evaluate`, `replay` and `diagnose`.

    The table is read once, when it is first needed, so that many policies can be evaluated on one
    log.

    Parameters
    ----------
    data : mapping of columns, list of dict, pandas, polars, pyarrow, str or Path
        One decision per row; a str or Path is a CSV or Parquet file. The dictionary of the Open
        Bandit Pipeline, which `Agent.feedback()` returns, is also a log.
    features : sequence of str or FeatureMap, default ()
        Columns of numbers, or an `Encoder` that makes the features from other columns.
    reward : str, default "reward"
        Column of the rewards.
    action : str, optional
        Column of the action taken, text or numbers. Default "action"; for the feedback of an agent
        whose actions have names, the column of the names.
    propensity : str, optional
        Column of the probability with which the action was taken, or "uniform" if all available
        actions had the same. Default "propensity"; for the dictionary of the Open Bandit Pipeline
        "pscore".
    available : str, optional
        Column of the actions that were available: lists, or text such as "a|b". Default: all
        actions in every row.
    action_features : mapping of str to dict, or array of shape (A, a), optional
        With an encoder: the columns of each action, {name: {column: value}}; needed only if they
        are not in the log or change there. Without one: the features of the actions 0 to A - 1,
        used by the estimator "rejection"; default one-hot.
    drop_missing : bool, default False
        Leave out rows with a missing value instead of raising an error. With an encoder, which
        encodes gaps, only a missing reward, propensity or action counts.

    Examples
    --------
    >>> log = Log({"action": ["a", "b"], "reward": [1.0, 2.0]}, propensity="uniform")
    >>> log.decisions.actions, log.decisions.propensities.tolist(), log.dim
    (('a', 'b'), [0.5, 0.5], 2)
    """

    data: frames.Table
    _: KW_ONLY
    features: FeatureColumns = ()
    reward: str = "reward"
    action: str | None = None
    propensity: str | None = None
    available: str | None = None
    action_features: ActionFeatures | None = None
    drop_missing: bool = False

    __repr__, _repr_html_ = show_text, show_html

    def _card(self) -> Card:
        return describe_log(self)

    def __post_init__(self) -> None:
        if isinstance(self.features, FeatureMap):
            return
        listed = isinstance(self.features, Iterable) and not isinstance(self.features, str)
        if not listed or not all(isinstance(name, str) for name in self.features):
            raise InvalidInputError(
                f"features must be a list of columns, got {self.features!r:.80}"
            )

    @property
    def encoder(self) -> FeatureMap | None:
        """The encoder, if there is one."""
        return self.features if isinstance(self.features, FeatureMap) else None

    @property
    def columns(self) -> list[str]:
        """The columns of numbers that are features; none with an encoder."""
        return [] if isinstance(self.features, FeatureMap) else list(self.features)

    @cached_property
    def frame(self) -> Frame:
        """The columns of the data."""
        return frames.read_frame(_flatten(self.data))

    @cached_property
    def decisions(self) -> "Decisions":
        """The arrays of the log."""
        return read_decisions(self)

    @property
    def dim(self) -> int:
        """The dimension of a policy that learns from this log: that of the encoder, or the features
        with an intercept for each action."""
        if self.encoder is not None:
            return self.encoder.dim
        own = self.action_vectors
        per_action = len(self.decisions.actions) if own is None else own.shape[1]
        return self.decisions.width * per_action

    @cached_property
    def action_vectors(self) -> Floats | None:
        """The features of the actions, (A, a), scaled so that the longest has norm 1; None if they
        were not given or belong to an encoder."""
        given = self.action_features
        given = _feedback(self.data).get("action_context") if given is None else given
        if given is None or self.encoder or isinstance(given, Mapping):
            return None
        known = finite_array("action_features", given, (None, None))
        longest = float(np.sqrt((known * known).sum(axis=1).max())) or 1.0
        return np.ascontiguousarray(known / longest)


LogLike: TypeAlias = "frames.Table | Log"


def describe_log(log: Log) -> Card:
    """Return what the log is, without reading a table that was not read yet.

    >>> describe_log(Log({"reward": [1.0]})).title
    'Log: dict, not read yet'
    """
    data = str(log.data) if isinstance(log.data, str | Path) else type(log.data).__name__
    facts: dict[str, Any] = {
        "features": ", ".join(log.columns) if log.encoder is None else f"encoder, dim {log.dim}",
        "reward": log.reward,
        "action": log.action,
        "propensity": log.propensity,
        "available": log.available,
    }
    if "decisions" not in vars(log):
        return Card(f"Log: {data}, not read yet", facts)
    d = log.decisions
    facts["rewards"] = (
        f"mean {d.rewards.mean():.4g}, {d.rewards.min():.4g} to {d.rewards.max():.4g}"
    )
    facts["propensities"] = f"{d.propensities.min():.4g} to {d.propensities.max():.4g}"
    facts["rows left out"] = d.dropped or None
    return Card(f"Log: {d.rewards.size:,} decisions, {len(d.actions):,} actions ({data})", facts)


def as_log(
    data: LogLike,
    features: FeatureColumns | None = None,
    reward: str | None = None,
    drop_missing: bool = False,
) -> Log:
    """Return the log itself, or the log of a table with these columns.

    >>> as_log({"pay": [1.0]}, reward="pay").reward
    'pay'
    """
    given = {"features": features, "reward": reward, "drop_missing": drop_missing or None}
    given = {name: value for name, value in given.items() if value is not None}
    if not isinstance(data, Log):
        return Log(data, **given)  # type: ignore[arg-type]
    if given:
        raise InvalidInputError(
            f"{', '.join(given)} must be given to Log(...) if data is a Log, not a second time"
        )
    return data


# ---- rows whose rewards are all known


class Rows(NamedTuple):
    """FeatureMap (n, p) and rewards (n,) of the rows of a table that are `kept`."""

    features: Floats | None
    rewards: Floats
    kept: Bools


def read_rows(log: Log, named: Mapping[str, str] = {}) -> Rows:
    """Read features and rewards; rows with a gap in the columns `named` by their role also count as
    rows with a missing value.

    >>> read_rows(Log({"x": [1, 2], "reward": [3, 4]}, features=["x"])).features.tolist()
    [[1.0], [2.0]]
    """
    columns = [*log.columns, log.reward]
    values, kept = frames.table(log.frame, columns, drop_missing=log.drop_missing, named=named)
    features = values[:, :-1].copy() if log.columns else None
    if log.encoder is not None:
        features = encode_rows(log.frame, log.encoder)[kept]
    return Rows(features, values[:, -1].copy(), kept)


def encode_rows(frame: Frame, encoder: FeatureMap) -> Floats:
    """Return the features of the rows of a table, (n, d); the encoder sees its own columns only."""
    return encoder.encode_rows({n: read_column(frame, n, encoder) for n in encoder.columns})


# ---- decisions of which one reward is known


class Decisions(NamedTuple):
    """Logged decisions, one per row; columns of (n, A) arrays are the `actions`."""

    columns: dict[str, NDArray[Any]]  # the features as they were given, for policies of the user
    contexts: Floats  # scaled, with an intercept
    actions: tuple[Name, ...]
    taken: Places  # places in `actions`
    rewards: Floats
    propensities: Floats  # of the action taken
    available: Bools  # (n, A)
    kept: Bools  # rows of the table that are here: the others have a missing value
    rows: Floats | None = None  # (n, A, d): the features of every action, if there is an encoder

    @property
    def dropped(self) -> int:
        """The number of rows that were left out."""
        return int(self.kept.size - self.kept.sum())

    @property
    def width(self) -> int:
        """The dimension of a model of the rewards."""
        return int(self.contexts.shape[1] if self.rows is None else self.rows.shape[2])

    def row(self, number: int) -> dict[str, Any]:
        """Return a row as the policy of a user sees it: its features, and `available`."""
        if AVAILABLE in self.columns:
            raise InvalidInputError(
                f"features must not have a column called {AVAILABLE!r} if policy is a function: "
                "the function receives the available actions under this name; rename the column"
            )
        shown = {name: plain(values[number]) for name, values in self.columns.items()}
        return shown | {AVAILABLE: self.names_available(number)}

    def names_available(self, number: int) -> list[Name]:
        """Return the names of the actions that were available in a row."""
        return [a for a, on in zip(self.actions, self.available[number], strict=True) if on]


def read_decisions(log: Log, *, every_action: bool = False) -> Decisions:
    """Read the decisions of a log.

    With `every_action` the actions are all those in `action_features`, also if the log never took
    them.
    """
    frame, action, propensity = log.frame, action_column(log), _propensity_column(log)
    wanted = log.columns or ([] if log.encoder else _context_names(log.data))
    seen = list(log.encoder.columns) if log.encoder else wanted
    numeric = [*wanted, log.reward] + ([] if propensity == UNIFORM else [propensity])
    named = {"action": action} | ({} if log.available is None else {"available": log.available})
    values, kept = frames.table(frame, numeric, drop_missing=log.drop_missing, named=named)
    chosen = read_names(frame, action, kept)
    lists = None if log.available is None else frames.column(frame, log.available)[kept]
    known = _known_actions(log, action, chosen, every_action)
    names, taken, available = read_actions(chosen, lists, known)
    rows = encode_actions(log, log.encoder, names, action)[kept] if log.encoder else None
    contexts = frames.scale_features(values[:, : len(wanted)]) if wanted else None
    return Decisions(
        columns={name: frames.column(frame, name, "features")[kept] for name in seen},
        contexts=np.ones((len(values), 1)) if contexts is None else contexts,
        actions=names,
        taken=taken,
        rewards=values[:, len(wanted)].copy(),
        propensities=read_propensities(values[:, -1], propensity, available),
        available=available,
        kept=kept,
        rows=rows,
    )


def action_column(log: Log) -> str:
    """Return the column of the actions; in the feedback of an agent that of their names, which stay
    the same if one action is left out and the places of the others change."""
    feedback = _feedback(log.data)
    names = feedback.get(ACTION_NAMES) if feedback.get("context_of") == "arm" else None
    named = names is not None and None not in list(names)
    return log.action or (ACTION_NAMES if named else "action")


def _propensity_column(log: Log) -> str:
    """Return the column of the propensities; a log without one must not pass for a uniform log."""
    column = log.propensity or ("pscore" if _feedback(log.data) else "propensity")
    if column != UNIFORM and column not in frames.column_names(log.frame):
        raise InvalidInputError(
            f"propensity must be a column of the log, got {column!r}: the value of another policy "
            "depends on the probability of each action taken. If all available actions had the "
            f"same, set propensity={UNIFORM!r}"
        )
    return column


def _known_actions(log: Log, action: str, chosen: Sequence[Name], every: bool) -> Sequence[Name]:
    """Return the actions that are known to exist, whether the log took them or not."""
    if every and isinstance(log.action_features, Mapping):
        written = {read_text(name): name for name in chosen}
        return [written.get(read_text(name), name) for name in log.action_features]
    if every and log.action_vectors is not None:
        return range(len(log.action_vectors))
    count = log.data.get("n_actions") if isinstance(log.data, Mapping) else None
    if action != "action" or not isinstance(count, int | np.integer):
        return []
    odd = [name for name in chosen if name not in range(int(count))]
    if odd:
        raise InvalidInputError(
            f"action must be in 0..{count - 1}, because n_actions is {count}, got {odd[0]!r}"
        )
    return range(int(count))


# ---- the dictionary of the Open Bandit Pipeline


def _feedback(data: frames.Table) -> Mapping[str, Any]:
    """Return the data if it is such a dictionary, whose context is an array; else nothing."""
    given = data if isinstance(data, Mapping) else {}
    try:
        return given if np.asarray(given.get("context")).ndim == 2 else {}
    except ValueError:  # lists of unequal length
        return {}


def _flatten(data: frames.Table) -> frames.Table:
    """Return the dictionary of the Open Bandit Pipeline as columns; any other table as it is."""
    feedback = _feedback(data)
    if not feedback:
        return data
    contexts = finite_array("context", feedback["context"], (None, None))
    columns = {name: contexts[:, place] for place, name in enumerate(_context_names(data))}
    for name, value in feedback.items():
        size = len(value) if np.ndim(value) == 1 else None
        if name in ("action", "reward") and size != len(contexts):
            raise InvalidInputError(
                f"{name} must have {len(contexts)} rows like context, got {size}"
            )
        if size == len(contexts):
            columns[name] = np.ravel(value)
    return columns


def _context_names(data: frames.Table) -> list[str]:
    """Return the names of the columns of an Open Bandit Pipeline context.

    The feedback of an agent has none: its contexts are the features of the arms that it played, and
    a model would apply what they say about the reward of one arm to all arms.
    """
    feedback = _feedback(data)
    if not feedback or feedback.get("context_of") == "arm":
        return []
    return [f"context_{place}" for place in range(np.shape(feedback["context"])[1])]


# ---- actions and propensities


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


# ---- the features of every action, by an encoder


def encode_actions(log: Log, encoder: FeatureMap, names: Sequence[Name], action: str) -> Floats:
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
