"""Ledgers: what happened to an agent, in order, so that its state can be restored.

This module has what every ledger shares: the methods that an agent calls, events as rows of a table
with named columns, and the state after such rows. `sqlite` stores them in a file, `postgres` on a
server.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from .._utils.errors import LedgerError
from .._utils.validation import bounded_array, finite_array, finite_number, positive, whole
from ..agents import events
from ..agents.rewards import Outcome
from ..agents.state import (
    LARGEST_NUMBER,
    AgentState,
    Learner,
    apply,
    install,
    make_plan,
)
from ..agents.state_file import make_decision
from ..core.arrays import Floats
from ..core.capabilities import takes_noise_scale

Dialect = Literal["sqlite", "postgresql"]


class Source(Protocol):
    """The tables of one ledger in a store: `about`, `states`, `events` and the view `plays`.

    Every store has them with the same columns, and answers the same SELECT, with ? for a value.
    """

    @property
    def path(self) -> Path | str:
        """Return the name of the ledger: a file, or the address of a database."""

    @property
    def dialect(self) -> Dialect:
        """Return the kind of store."""

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a statement finds."""

    def stream(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a statement finds."""


def first_value(database: Source, statement: str, *values: Any) -> Any:
    """Return the first column of the first row; None if there is none."""
    found = database.rows(statement, *values)
    return found[0][0] if found else None


class Ledger(Protocol):
    """The ledger of one agent: an event is stored before the agent applies it."""

    @property
    def path(self) -> Path | str: ...

    @property
    def database(self) -> Source: ...

    @property
    def length(self) -> int:
        """Return the number of events."""

    def resume(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event; a new ledger starts with the one given."""

    def write(self, events: Sequence[events.Event]) -> None:
        """Store all of these events, or none of them and raise LedgerError."""

    def wrote_since(self, length: int) -> bool:
        """Return True if events that were being written at this length are stored."""

    def snapshot_if_due(self, state: AgentState) -> None:
        """Store the state if enough events came since the last time."""

    def outcome(self, ticket: int) -> Outcome:
        """Return how a ticket was settled, and the reward given for it."""

    def learned_from(self, ticket: int) -> tuple[Floats, float]:
        """Return the features of a settled ticket and the reward in force."""

    def close(self, state: AgentState) -> None:
        """Store the state and close the ledger."""

    def drop(self) -> None:
        """Close the ledger as it is."""


# ---- events as rows


class Row(NamedTuple):
    """An event as a row of the table `events`: a column for each field, in this order."""

    event: int
    kind: str
    ticket: int
    time: float
    reward: float | None = None
    noise_scale: float | None = None  # given with the reward
    previous_reward: float | None = None  # before a revision
    arm: int | None = None
    action: str | None = None
    expected: float | None = None
    width: float | None = None
    propensity: float | None = None
    features: bytes | None = None  # of the arm, or of the rows of a warm start
    rewards: bytes | None = None  # of the rows of a warm start
    arrays: str | None = None  # of the policy that the choice changed, as JSON
    generator: str | None = None  # after the choice, as JSON
    inputs: str | None = None  # by name, as JSON


ALWAYS = {"event", "kind", "ticket", "time"}
CHOICE = {"arm", "action", "expected", "width", "propensity"}
BARE = {kind.kind: kind for kind in (events.Cancelled, events.CancelledAll, events.Reset)}
COLUMNS_OF = {
    **dict.fromkeys(BARE, ALWAYS),
    events.Selected.kind: ALWAYS | CHOICE | {"features", "arrays", "generator", "inputs"},
    events.Rewarded.kind: ALWAYS | {"reward", "noise_scale"},
    events.Expired.kind: ALWAYS | {"reward"},
    events.WarmStarted.kind: ALWAYS | {"features", "rewards", "inputs"},
    events.Revised.kind: ALWAYS | {"reward", "previous_reward", "features"},
}
TEXTS = {"action", "arrays", "generator", "inputs"}
BLOBS = {"features", "rewards"}
WHOLE = {"event", "ticket", "arm"}


def to_row(number: int, event: events.Event) -> Row:
    """Return an event as a row with this number."""
    if isinstance(event, events.SelectedMany):
        raise TypeError("a ledger stores each decision as its own event")
    always = number, event.kind, event.ticket, event.time
    match event:
        case events.Selected():
            return _selected_row(always, event)
        case events.Rewarded():
            return Row(*always, event.reward, event.noise_scale)
        case events.Expired():
            return Row(*always, event.reward)
        case events.WarmStarted(lesson=lesson, inputs=inputs):
            x, rewards = lesson.rows.tobytes(), lesson.rewards.tobytes()
            return Row(*always, features=x, rewards=rewards, inputs=inputs)
        case events.Revised(reward=reward, revision=revision):
            x, before = revision.features.tobytes(), revision.before
            return Row(*always, reward, previous_reward=before, features=x)
    return Row(*always)


def _selected_row(always: tuple[int, str, int, float], event: events.Selected) -> Row:
    made, changes = event.decision, event.changes
    arrays, generator = (None, None) if changes is None else _write_changes(changes)
    return Row(
        *always,
        arm=made.arm,
        action=made.action,
        expected=made.expected,
        width=made.width,
        propensity=made.propensity,
        features=made.features.tobytes(),
        arrays=arrays,
        generator=generator,
        inputs=event.inputs,
    )


def _write_changes(changes: events.Changes) -> tuple[str | None, str | None]:
    """Return what a choice changed as JSON: the arrays, and the generator."""
    arrays = {name: data.hex() for name, data in changes.arrays.items()}
    generator = None if changes.generator is None else json.dumps(changes.generator)
    return json.dumps(arrays) if arrays else None, generator


def _read_changes(row: Row) -> events.Changes | None:
    if row.arrays is None and row.generator is None:
        return None
    arrays = {} if row.arrays is None else json.loads(row.arrays)
    if not isinstance(arrays, dict):
        raise LedgerError("the arrays of a select are not arrays by name")
    changed = {name: bytes.fromhex(text) for name, text in arrays.items()}
    return events.Changes(changed, None if row.generator is None else json.loads(row.generator))


def to_event(row: Row, state: AgentState) -> events.Event:
    """Return the event in a row; raise LedgerError if it cannot happen to this state."""
    _check_columns(row)
    ticket, time = whole("ticket", row.ticket, least=0), finite_number("time", row.time)
    _check_ticket(row.kind, ticket, state)
    match row.kind:
        case events.Selected.kind:
            chosen = {name: getattr(row, name) for name in CHOICE}
            chosen["features"] = _read_arm(row.features, state.policy.dim)
            decision = make_decision(state.policy, chosen)
            return events.Selected(ticket, time, decision, _read_changes(row), row.inputs)
        case events.Rewarded.kind:
            scale = _read_noise_scale(row, state)
            return events.Rewarded(ticket, time, finite_number("reward", row.reward), scale)
        case events.Expired.kind:
            reward = None if row.reward is None else finite_number("reward", row.reward)
            return events.Expired(ticket, time, reward)
        case events.WarmStarted.kind:
            return events.WarmStarted(ticket, time, _read_lesson(row, state), row.inputs)
        case events.Revised.kind:
            dim, reward = state.policy.dim, finite_number("reward", row.reward)
            x = bounded_array("features", _read_arm(row.features, dim), (dim,))
            before = finite_number("previous_reward", row.previous_reward)
            return events.Revised(ticket, time, reward, events.Revision(x, before))
    return BARE[row.kind](ticket, time)


def _check_columns(row: Row) -> None:
    if row.kind not in COLUMNS_OF:
        raise LedgerError(f"there is no event of kind {row.kind!r}")
    filled = {name for name, value in zip(Row._fields, row, strict=True) if value is not None}
    if not filled <= COLUMNS_OF[row.kind]:
        raise LedgerError(f"a {row.kind} has no {min(filled - COLUMNS_OF[row.kind])}")
    for name in filled - {"kind"}:
        if type(getattr(row, name)) is not _type_of(name):
            raise LedgerError(f"the {name} of a {row.kind} is not {_type_of(name).__name__}")


def _type_of(column: str) -> type:
    if column in TEXTS:
        return str
    return bytes if column in BLOBS else int if column in WHOLE else float


_SELECTED, _REVISED = events.Selected.kind, events.Revised.kind


class RowCheck:
    """Rejects rows that no agent has written, although their hashes are right.

    It looks at types and lengths, in a microsecond per row. Values are checked when an event is
    applied.
    """

    def __init__(self) -> None:
        self._known: set[tuple[object, ...]] = set()  # types of rows that were accepted, by kind
        self._arm = 0  # bytes of the features of one arm

    def __call__(self, row: Row) -> None:
        """Raise LedgerError if the columns of a row are not those of its kind."""
        kind = row.kind
        types = (kind, *map(type, row))
        if types not in self._known:
            _check_columns(row)
            self._known.add(types)
        if kind in (_SELECTED, _REVISED):
            size = 0 if row.features is None else len(row.features)
            self._arm = self._arm or size
            if size != self._arm or size % 8 or not size:
                raise LedgerError("the features are not those of one arm")


def _check_ticket(kind: str, ticket: int, state: AgentState) -> None:
    tickets = state.tickets
    if ticket >= LARGEST_NUMBER:
        raise LedgerError(f"ticket {ticket} cannot be")
    if kind in events.SETTLING:
        if ticket not in tickets.pending:
            raise LedgerError(f"ticket {ticket} does not wait for a reward")
    elif kind == events.Revised.kind:
        if ticket >= tickets.issued or ticket in tickets.pending:
            raise LedgerError(f"ticket {ticket} has no reward that could be revised")
    elif ticket != tickets.issued:
        raise LedgerError(f"ticket {ticket} comes after ticket {tickets.issued - 1}")


def _read_floats(blob: object, width: int) -> Floats:
    """Return rows of so many numbers from a column of bytes."""
    if not isinstance(blob, bytes) or not blob or len(blob) % (8 * width):
        raise LedgerError("the features are not those of arms")
    return np.frombuffer(blob, np.float64).reshape(-1, width)


def _read_arm(blob: object, dim: int) -> Floats:
    rows = _read_floats(blob, dim)
    if len(rows) != 1:
        raise LedgerError("the features are not those of one arm")
    return rows[0]


def _read_lesson(row: Row, state: AgentState) -> events.Lesson:
    dim, plays = state.policy.dim, state.policy.plays
    x = bounded_array("features", _read_floats(row.features, dim).copy(), (None, dim))
    rewards = _read_floats(row.rewards, plays).copy()
    return events.Lesson(x, finite_array("rewards", rewards, (len(x), plays)))


def _read_noise_scale(row: Row, state: AgentState) -> float | None:
    if row.noise_scale is None:
        return None
    if not takes_noise_scale(state.policy):
        raise LedgerError("a reward of this policy has no noise_scale")
    return positive("noise_scale", row.noise_scale)


def repeat_events(state: AgentState, rows: Iterable[Row], learner: Learner) -> AgentState:
    """Return the state after these rows; raise LedgerError at one that cannot have happened."""
    number = 0
    try:
        for row in rows:
            number = row.event
            event = to_event(row, state)
            if isinstance(event, events.Selected):
                state = install(state, event.changes)
            state = apply(state, make_plan(state, [event]), learner)
    except (KeyError, TypeError, ValueError, LedgerError) as error:
        raise LedgerError(f"event {number} does not fit: {error}") from error
    return state
