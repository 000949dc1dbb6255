"""The decisions in a ledger as a log, by name, for `evaluate`, `uplift` and `diagnose`."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..agents.events import Cancelled
from ..agents.state_file import FOREIGN
from ..features import Encoder, FeatureMap
from ..offline.log import Log
from .store import Source, first_value

Columns = dict[str, list[Any]]


class Played(NamedTuple):
    """A play in a ledger; the view `plays` has these columns, the table `events` the last one."""

    ticket: int
    time: float
    event_id: str | None
    decision_group: str
    version: int
    arm: int
    action: str | None
    propensity: float | None
    available: str | None
    outcome: str | None
    reward: float | None
    features: bytes
    context: str | None
    actions: str | None
    arms: bytes | None
    inputs_hash: bytes | None

    @property
    def has_inputs(self) -> bool:
        return self.actions is not None or self.arms is not None


_NAMES = ", ".join(f"plays.{name}" for name in Played._fields[:-1])
_PLAYS = (
    f"SELECT {_NAMES}, events.inputs_hash FROM plays JOIN events ON events.event = plays.event "
    "ORDER BY plays.ticket"
)


def read_feedback(database: Source, encoder: FeatureMap | None = None) -> Log:
    """Return the decisions that have a reward as a log.

    `encoder` replaces that of the ledger, which lacks one that is not an `Encoder`.
    """
    every = [Played._make(row) for row in database.rows(_PLAYS)]
    plays = [play for play in every if play.reward is not None]
    encoder = _stored_encoder(database) if encoder is None else encoder
    inputs = _read_inputs(plays, encoder)
    own = _own_columns(plays)
    names = {name: _free_name(name, inputs) for name in own}
    data = inputs | {names[name]: cells for name, cells in own.items()}
    cells = _read_cells(plays)
    if cells is not None:
        names["actions"] = _free_name("actions", data)
        data[names["actions"]] = cells
    return Log(
        data,
        features=() if encoder is None or cells is None else encoder,
        reward=names["reward"],
        action=names["action"],
        propensity=names["propensity"],
        available=names.get("available"),
        action_features=names.get("actions"),
        group=names["group"],
        drop_missing=True,
        notes=tuple(describe_gaps(every)),
    )


def _stored_encoder(database: Source) -> Encoder | None:
    stored = json.loads(first_value(database, "SELECT value FROM about WHERE name = 'encoder'"))
    return None if stored is None or FOREIGN in stored else Encoder.from_dict(stored)


def _own_columns(plays: Sequence[Played]) -> Columns:
    """Return what a log has of every decision, whatever its inputs."""
    named = any(play.action is not None for play in plays)
    columns: Columns = {
        "ticket": [play.ticket for play in plays],
        "time": [play.time for play in plays],
        "event_id": [play.event_id for play in plays],
        "group": [play.decision_group for play in plays],
        "version": [play.version for play in plays],
        "action": [play.action if named else play.arm for play in plays],
        "propensity": [play.propensity for play in plays],
        "reward": [play.reward for play in plays],
    }
    if all(play.available is not None for play in plays):
        columns["available"] = [_read_available(str(play.available)) for play in plays]
    return columns


def _read_available(text: str) -> list[Any]:
    """Return the names of the available actions, or their rows.

    >>> _read_available('["tea","figs"]'), _read_available("2"), _read_available("[1]")
    (['tea', 'figs'], [0, 1], [1])
    """
    found = json.loads(text)
    return list(range(found)) if isinstance(found, int) else list(found)


# ---- inputs


def _read_inputs(plays: Sequence[Played], encoder: FeatureMap | None) -> Columns:
    """Return the columns of the contexts and of the actions taken."""
    rows = [_taken_inputs(play) for play in plays]
    columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(_keys(rows))}
    name = getattr(encoder, "action", None)
    if name is not None:
        columns[name] = [play.action for play in plays]
    return columns


def _keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for row in rows for name in row]


def _taken_inputs(play: Played) -> dict[str, Any]:
    if play.actions is None:
        return {}
    context = {} if play.context is None else json.loads(play.context)
    return {**context, **json.loads(play.actions).get(play.action, {})}


def _read_cells(plays: Sequence[Played]) -> list[Any] | None:
    """Return what is known of every available action, by name or as features (K, d); None if
    nothing was logged."""
    if not any(play.has_inputs for play in plays):
        return None
    return [_read_cell(play) for play in plays]


def _read_cell(play: Played) -> Any:
    if play.actions is not None:
        return json.loads(play.actions)
    if play.arms is None:
        return None
    return np.frombuffer(play.arms, np.float64).reshape(-1, len(play.features) // 8)


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return a name for a column that no input has.

    >>> _free_name("time", {"city"}), _free_name("time", {"time"})
    ('time', 'decision_time')
    """
    return name if name not in taken else _free_name(f"decision_{name}", taken)


# ---- what is not in the log


def describe_gaps(plays: Sequence[Played]) -> list[str]:
    """Return which decisions are missing in the log or incomplete, one sentence each."""
    outcomes = [play.outcome for play in plays if play.reward is None]
    cancelled = outcomes.count(Cancelled.kind)
    waiting = outcomes.count(None)
    rewarded = [play for play in plays if play.reward is not None]
    logged = any(play.has_inputs for play in rewarded)
    counts = {
        "wait for a reward and are left out; if a late reward is often a small one, every mean "
        "here is too high": waiting,
        "were cancelled and are left out": cancelled,
        "expired without a reward and are left out": len(outcomes) - cancelled - waiting,
        "have no inputs, because these were erased or never logged: means of groups and actions "
        "count them, and `evaluate` leaves them out": logged
        * sum(not play.has_inputs for play in rewarded),
        "have no propensity, because several actions were chosen together or the caller did not "
        "know it: `evaluate` leaves them out": sum(play.propensity is None for play in rewarded),
    }
    size = len(plays)
    return [f"{count} of {size} decisions {what}" for what, count in counts.items() if count]
