"""Logs: which columns of a table to read, and the arrays that they become."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.display import Card, show_html, show_text
from .._utils.errors import InvalidInputError
from .._utils.validation import finite_array
from ..core.arrays import Floats
from ..features import Encoder, FeatureMap
from ..features import tables as frames
from ..features.encoder import read_column
from ..features.values import plain, read_text
from .actions import (
    UNIFORM,
    Bools,
    Cells,
    Frame,
    Name,
    Places,
    has_features,
    read_action_rows,
    read_actions,
    read_cells,
    read_names,
    read_propensities,
    take,
)

AVAILABLE = "available"  # key of the available actions in the row that a policy sees
ACTIONS = "actions"  # key of their features, if these differ from row to row

FeatureColumns: TypeAlias = Sequence[str] | FeatureMap
ActionFeatures: TypeAlias = Mapping[str, frames.Row] | str | ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """A table and the names of its columns, for `evaluate`, `replay` and `diagnose`.

    The table is read once, when it is first needed, so that many policies can be evaluated on one
    log.

    Parameters
    ----------
    data : mapping of columns, list of dict, pandas, polars, pyarrow, str or Path
        One decision per row; a str or Path is a CSV or Parquet file. The dictionary of the Open
        Bandit Pipeline is also a log.
    features : sequence of str or FeatureMap, default ()
        Columns of numbers, or an `Encoder` that makes the features from other columns.
    reward : str, default "reward"
        Column of the rewards.
    action : str, optional
        Column of the action taken, text or numbers. Default "action".
    propensity : str, optional
        Column of the probability with which the action was taken, or "uniform" if all available
        actions had the same. Default "propensity"; for the dictionary of the Open Bandit Pipeline
        "pscore".
    available : str, optional
        Column of the actions that were available: lists, or text such as "a|b". Default: those in
        the column `action_features`; without it all actions in every row.
    action_features : mapping of str to dict, str, or array of shape (A, a), optional
        With an encoder: the columns of each action, {name: {column: value}}; needed only if they
        are not in the log or change there. If they differ from row to row, such as prices: the
        name of a column that has this dictionary in every row, also as JSON. The cells of this
        column may also be arrays (K, d), the features of the actions 0 to K - 1 without an encoder.
        An array (A, a): the features of the actions 0 to A - 1, used by the estimator "rejection";
        default one-hot.
    group : str, optional
        Column of the groups of decisions, such as "policy" and "holdout", to which units were
        assigned at random. `evaluate` leaves out the groups in which no action was drawn at random,
        if there are others; `uplift` compares groups.
    drop_missing : bool, default False
        Leave out rows with a missing value instead of raising an error. With an encoder, which
        encodes gaps, only a missing reward, propensity, action or cell of `action_features` counts.
    notes : sequence of str, default ()
        What a reader must know about these rows, one sentence each, such as which decisions are not
        among them. `evaluate` and `uplift` repeat them in their warnings.

    See Also
    --------
    Agent.feedback : the log of an agent's own decisions.

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
    group: str | None = None
    drop_missing: bool = False
    notes: Sequence[str] = ()

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

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the data as an array.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        array of shape (n,)
            Numbers, texts or objects.

        Raises
        ------
        InvalidInputError
            There is no such column.

        Examples
        --------
        >>> Log({"reward": [1.0, 2.0]}).column("reward")
        array([1., 2.])
        """
        return frames.column(self.frame, name)

    @cached_property
    def cells(self) -> "Cells | None":
        """What is known of the available actions of each row by name, if it differs from row to
        row: values by column, or features; nothing in a row where this is missing."""
        return read_cells(self) if isinstance(self.action_features, str) else None

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
        own, known = self.action_vectors, self.decisions
        if known.rows is not None:
            return known.width
        return known.width * (len(known.actions) if own is None else own.shape[1])

    @cached_property
    def action_vectors(self) -> Floats | None:
        """The features of the actions, (A, a), scaled so that the longest has norm 1; None if they
        were not given or belong to an encoder."""
        given = self.action_features
        given = _feedback(self.data).get("action_context") if given is None else given
        if given is None or self.encoder or isinstance(given, Mapping | str):
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
    """Features (n, p) and rewards (n,) of the rows of a table that are `kept`."""

    features: Floats | None
    rewards: Floats
    kept: Bools


def read_rows(log: Log, named: Mapping[str, str] = {}) -> Rows:
    """Read features and rewards; rows with a gap in the columns `named` by their role also count as
    rows with a missing value.

    >>> read_rows(Log({"x": [1, 2], "reward": [3, 4]}, features=["x"])).features.tolist()
    [[1.0], [2.0]]
    """
    columns, named = [*log.columns, log.reward], {**named, **_cell_column(log)}
    values, kept = frames.table(log.frame, columns, drop_missing=log.drop_missing, named=named)
    features = values[:, :-1].copy() if log.columns else None
    if log.encoder is not None:
        features = _encode_taken(log, log.encoder, kept)
    elif log.cells is not None:
        features = _taken_features(log, log.cells, kept)
    return Rows(features, values[:, -1].copy(), kept)


def read_rewards(log: Log, named: Mapping[str, str]) -> tuple[Floats, Bools]:
    """Read the rewards alone, and which rows of the table have one and the columns `named`.

    >>> read_rewards(Log({"reward": [3.0, 4.0], "group": ["a", "b"]}), {"group": "group"})[0]
    array([3., 4.])
    """
    values, kept = frames.table(log.frame, [log.reward], drop_missing=log.drop_missing, named=named)
    return values[:, 0].copy(), kept


def _cell_column(log: Log) -> dict[str, str]:
    """Return the column `action_features` by its role, if there is one."""
    given = log.action_features
    return {"action_features": given} if isinstance(given, str) else {}


def _taken_features(log: Log, cells: Cells, kept: Bools) -> Floats | None:
    """Return the features of the actions taken, (n, d), if the log has features and no encoder."""
    taken = read_names(log.frame, action_column(log), kept)
    rows = [cells[n][name] for n, name in zip(np.flatnonzero(kept), taken, strict=True)]
    return np.array(rows) if isinstance(rows[0], np.ndarray) else None


def encode_rows(frame: Frame, encoder: FeatureMap) -> Floats:
    """Return the features of the rows of a table, (n, d); the encoder sees its own columns only."""
    return encoder.encode_rows({n: read_column(frame, n, encoder) for n in encoder.columns})


def _encode_taken(log: Log, encoder: FeatureMap, kept: Bools) -> Floats:
    """Return the features of the actions taken in the rows that are kept, (n, d)."""
    if log.cells is None:
        return encode_rows(log.frame, encoder)[kept]  # an error names the row of the table
    columns = {name: read_column(log.frame, name, encoder) for name in encoder.columns}
    return encode_rows({name: take(cells, kept) for name, cells in columns.items()}, encoder)


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
    rows: Floats | None = None  # (n, A, d): the features of every action, if they are known
    cells: Cells | None = None  # what is known of each action, if it differs from row to row
    fixed: Mapping[str, int] = {}  # rows of the groups without random choices, which are left out

    @property
    def dropped(self) -> int:
        """The number of rows that were left out."""
        return int(self.kept.size - self.kept.sum()) - sum(self.fixed.values())

    @property
    def width(self) -> int:
        """The dimension of a model of the rewards."""
        return int(self.contexts.shape[1] if self.rows is None else self.rows.shape[2])

    def row(self, number: int) -> dict[str, Any]:
        """Return a row as the policy of a user sees it: its features, `available`, and `actions`
        if the features of actions differ from row to row."""
        own: dict[str, Any] = {AVAILABLE: self.names_available(number)}
        if self.cells is not None:
            own[ACTIONS] = {name: self.cells[number][name] for name in own[AVAILABLE]}
        if own.keys() & self.columns:
            raise InvalidInputError(
                f"features must not have a column called {min(own.keys() & self.columns)!r} if "
                "policy is a function: the function receives what is known of the actions under "
                "this name; rename the column"
            )
        return {name: plain(values[number]) for name, values in self.columns.items()} | own

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
    numeric = [*wanted, log.reward] + ([] if propensity == UNIFORM else [propensity])
    roles = {"action": action, "available": log.available, "group": log.group}
    named = {role: name for role, name in roles.items() if name is not None} | _cell_column(log)
    values, kept = frames.table(frame, numeric, drop_missing=log.drop_missing, named=named)
    fixed = _fixed_groups(log, values[:, -1], kept) if propensity != UNIFORM else {}
    if fixed:
        drawn = ~np.isin(_group_names(log, kept), list(fixed))
        values, kept = values[drawn], _narrow(kept, drawn)
    chosen = read_names(frame, action, kept)
    cells = None if log.cells is None else take(log.cells, kept)
    known = _known_actions(log, action, chosen, every_action)
    names, taken, available = read_actions(chosen, _available(log, cells, kept), known)
    rows = read_action_rows(log, names, action, kept, cells)
    contexts = frames.scale_features(values[:, : len(wanted)]) if wanted else None
    seen = _shown_columns(log) if log.encoder else wanted
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
        cells=cells,
        fixed=fixed,
    )


def _fixed_groups(log: Log, propensities: Floats, kept: Bools) -> dict[str, int]:
    """Return the groups in which every propensity is 1 and their rows, if another group has others.

    Such rows contain no information about the actions that were not taken. Without them the log is
    that of the other groups, whose units are like all units.
    """
    if log.group is None:
        return {}
    groups = _group_names(log, kept)
    drawn = set(groups[propensities != 1.0].tolist())
    if not drawn:
        return {}
    names, counts = np.unique(groups, return_counts=True)
    sizes = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return {name: size for name, size in sizes.items() if name not in drawn}


def _group_names(log: Log, kept: Bools) -> NDArray[np.str_]:
    assert log.group is not None
    cells = frames.column(log.frame, log.group, "group", exact=True)[kept]
    return np.array([str(cell) for cell in cells.tolist()])


def _narrow(kept: Bools, inside: Bools) -> Bools:
    """Return the rows that are kept and, of these, inside.

    >>> _narrow(np.array([True, False, True]), np.array([False, True])).tolist()
    [False, False, True]
    """
    narrow = kept.copy()
    narrow[kept] = inside
    return narrow


def _available(log: Log, cells: Cells | None, kept: Bools) -> Iterable[object] | None:
    """Return the actions that were available in the rows that are kept; None if all were."""
    if log.available is not None:
        return frames.column(log.frame, log.available)[kept]
    return None if cells is None else [list(cell) for cell in cells]


def _shown_columns(log: Log) -> list[str]:
    """Return the columns that a user's policy sees: not those of the action taken, if it sees the
    columns of all actions."""
    encoder = log.encoder
    assert encoder is not None
    if log.cells is None:
        return list(encoder.columns)
    own = {encoder.action} if isinstance(encoder, Encoder) else set()
    own = own.union(*(cell for cells in log.cells for cell in cells.values()))
    return [name for name in encoder.columns if name not in own]


def action_column(log: Log) -> str:
    """Return the column of the actions taken."""
    return log.action or "action"


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
    if log.cells is not None and has_features(log.cells):
        return range(max(map(len, log.cells)))
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
    """Return the names of the columns of an Open Bandit Pipeline context."""
    feedback = _feedback(data)
    return [f"context_{n}" for n in range(np.shape(feedback["context"])[1])] if feedback else []
