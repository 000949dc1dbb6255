"""A log at the door: what was taken, how likely it was, what it paid, what else was there."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import InvalidInputError
from ..._utils.validation import finite_array
from ...core.arrays import Floats
from ...features import FeatureMap
from ...features import tables as frames
from ...features.logs import encode_offers

UNIFORM = "uniform"
SEPARATOR = "|"  # between the names of offers in a cell of text


class DecisionLog(NamedTuple):
    """Decisions of a known policy, one per row; columns of (n, A) arrays are the `actions`."""

    columns: dict[str, NDArray[Any]]  # the features as they were given, for policies of the user
    contexts: Floats  # scaled, with an intercept
    actions: tuple[Any, ...]  # names
    taken: NDArray[np.int64]  # places in `actions`
    rewards: Floats
    propensities: Floats  # of the action taken
    offered: NDArray[np.bool_]
    dropped: int  # rows of the frame that are not here, for a missing value
    rows: Floats | None = None  # (n, A, d): the features of every action, if an encoder makes them

    @property
    def width(self) -> int:
        """The dimension of a model of the rewards."""
        return int(self.contexts.shape[1] if self.rows is None else self.rows.shape[2])

    def row(self, number: int) -> dict[str, Any]:
        """One row in the words of the user: its features, and the names of what was on offer."""
        shown = {name: _plain(values[number]) for name, values in self.columns.items()}
        there = [a for a, on in zip(self.actions, self.offered[number], strict=True) if on]
        return shown | {"offers": there}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def read_decisions(
    frame: Any,
    features: Sequence[str] | FeatureMap,
    reward: str,
    action: str | None,
    propensity: str,
    offers: str | None,
    drop_missing: bool,
    choices: str | None = None,
    actions: Mapping[str, Any] | None = None,
) -> DecisionLog:
    """A log from columns, or from a dictionary with Open Bandit Pipeline's names.

    `choices` is one more column that a policy may look at.
    """
    source = frames.read_frame(_flat(frame))
    action = action or ("offer" if _has_names(frame) else "action")
    if isinstance(features, str):
        raise InvalidInputError(f"features must be a list of columns, got {features!r}")
    seen = list(features.columns if isinstance(features, FeatureMap) else features)
    seen = seen or _contexts(frame)
    wanted = [] if isinstance(features, FeatureMap) else seen
    numeric = [*wanted, reward] + ([] if propensity == UNIFORM else [propensity])
    if propensity != UNIFORM and propensity not in frames.column_names(source):
        raise InvalidInputError(
            f"propensity must be a column of the log, got {propensity!r}: without the probability "
            "of each action taken nothing can be said of another policy. If every offer was as "
            f"likely as the other, say so: propensity={UNIFORM!r}"
        )
    named = {"action": action} | ({} if offers is None else {"offers": offers})
    values, kept = frames.table(source, numeric, drop_missing=drop_missing, named=named)
    chosen = frames.column(source, action, "action")[kept]
    lists = None if offers is None else frames.column(source, offers, "offers")[kept]
    names, taken, offered = read_offers(chosen, lists, _known(frame) if action == "action" else [])
    rows = None
    if isinstance(features, FeatureMap):
        rows = encode_offers(source, features, names, action, actions)[kept]
    used = values[:, : len(wanted)]
    shown = [(name, "features") for name in seen]
    shown += [] if choices is None else [(choices, "policy")]
    return DecisionLog(
        columns={name: frames.column(source, name, label)[kept] for name, label in shown},
        contexts=frames.scale_features(used) if wanted else np.ones((len(values), 1)),
        actions=names,
        taken=taken,
        rewards=values[:, len(wanted)].copy(),
        propensities=read_propensities(values[:, len(numeric) - 1], propensity, offered),
        offered=offered,
        dropped=int(kept.size - kept.sum()),
        rows=rows,
    )


def _flat(frame: Any) -> Any:
    """Open Bandit Pipeline's dictionary as columns; anything else as it is."""
    if not _is_feedback(frame):
        return frame
    contexts = finite_array("context", frame["context"], (None, None))
    columns = {name: contexts[:, place] for place, name in enumerate(_contexts(frame))}
    rows = {
        name: np.ravel(value)
        for name, value in frame.items()
        if name != "context" and np.shape(value)[:1] == (len(contexts),) and np.ndim(value) == 1
    }
    return columns | rows


def _contexts(frame: Any) -> list[str]:
    """The names that the columns of Open Bandit Pipeline's context get.

    An agent's feedback has none: its contexts are the features of the arms that it played, and what
    they say of the rewards of one arm, they would be taken to say of all.
    """
    if not _is_feedback(frame) or frame.get("context_of") == "arm":
        return []
    return [f"context_{place}" for place in range(np.shape(frame["context"])[1])]


def _is_feedback(frame: Any) -> bool:
    return isinstance(frame, Mapping) and np.ndim(np.asarray(frame.get("context"))) == 2


def _has_names(frame: Any) -> bool:
    """Whether this is the feedback of an agent whose offers have names, which stay the same when
    one is left out and the places of all after it change."""
    offers = frame.get("offer") if _is_feedback(frame) else None
    return offers is not None and frame.get("context_of") == "arm" and None not in list(offers)


def _known(frame: Any) -> list[int]:
    count = frame.get("n_actions") if isinstance(frame, Mapping) else None
    return list(range(int(count))) if isinstance(count, int | np.integer) else []


def read_offers(
    chosen: NDArray[Any], lists: Any, known: Sequence[Any] = ()
) -> tuple[tuple[Any, ...], NDArray[np.int64], NDArray[np.bool_]]:
    """The names of the actions, the place of each one taken, and who was on offer in each row.

    >>> names, taken, offered = read_offers(np.array(["b", "a"]), ["b", "a|b"])
    >>> names, taken.tolist(), offered.tolist()
    (('a', 'b'), [1, 0], [[False, True], [True, True]])
    """
    names = [_plain(value) for value in chosen.tolist()]
    for row, name in enumerate(names):
        if name is None or name == "" or name != name:
            raise InvalidInputError(
                f"action must have no missing values, got {name!r} in row {row}"
            )
    written = {str(name): name for name in (*known, *names)}  # text may name a number
    shown = None if lists is None else [_names(c, row, written) for row, c in enumerate(lists)]
    every = set(names) | set(known) | {name for cell in shown or () for name in cell}
    actions = tuple(sorted(every, key=lambda name: (str(type(name)), name)))
    places = {name: place for place, name in enumerate(actions)}
    taken = np.array([places[name] for name in names], np.int64)
    offered = np.ones((len(names), len(actions)), np.bool_)
    if shown is not None:
        offered[:] = False
        for row, cell in enumerate(shown):
            offered[row, [places[name] for name in cell]] = True
    away = np.flatnonzero(~offered[np.arange(taken.size), taken])
    if away.size:
        raise InvalidInputError(
            f"offers must hold the action taken, got {names[away[0]]!r} taken in row {away[0]}, "
            f"where only {shown[away[0]] if shown else ()} were on offer"
        )
    return actions, taken, offered


def _names(cell: Any, row: int, written: Mapping[str, Any]) -> list[Any]:
    """The names in a cell: a list of them, or text with bars between."""
    if isinstance(cell, str):
        texts = [name.strip() for name in cell.split(SEPARATOR) if name.strip()]
        return [written.get(text, text) for text in texts]
    if isinstance(cell, Sequence | np.ndarray | set | frozenset):
        return [_plain(name) for name in cell]
    raise InvalidInputError(
        f"offers must hold lists of names, or text such as 'a{SEPARATOR}b', "
        f"got {cell!r} in row {row}"
    )


def read_propensities(values: Floats, propensity: str, offered: NDArray[np.bool_]) -> Floats:
    """The probability of every action taken.

    >>> read_propensities(np.zeros(1), "uniform", np.ones((1, 4), bool))
    array([0.25])
    """
    if propensity == UNIFORM:
        return np.asarray(1.0 / offered.sum(axis=1))
    wrong = np.flatnonzero((values <= 0.0) | (values > 1.0))
    if wrong.size:
        raise InvalidInputError(
            f"propensity must lie in (0, 1], got {values[wrong[0]]:g} in row {wrong[0]}"
        )
    return values.copy()
