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
from ..agents.raw_inputs import RawInputs
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
from ..agents.tickets import Decision, Owner, check_event_id, check_mark
from ..core.arrays import Floats
from ..core.capabilities import takes_noise_scale
from ..core.protocols import Policy

Dialect = Literal["sqlite", "postgresql"]


class UnreachableError(LedgerError):
    """Report a server that does not answer: what is stored there is not known."""


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

    @property
    def in_doubt(self) -> bool:
        """Return True if events may be stored that the agent has not applied: it must reload."""

    def resume(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event; a new ledger starts with the one given."""

    def write(self, events: Sequence[events.Event]) -> None:
        """Store all of these events, or none of them and raise LedgerError."""

    def begin_group(self) -> None:
        """Collect all events until `end_group` in one transaction, which is flushed once."""

    def end_group(self) -> None:
        """Store the events of the group, or none of them and raise LedgerError.

        Calling it again after an interrupt completes it; without a group it does nothing.
        """

    def reload(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event that is stored."""

    def wrote_since(self, length: int) -> bool:
        """Return True if events that were being written at this length are stored."""

    def snapshot_if_due(self, state: AgentState) -> None:
        """Store the state if enough events came since the last time."""

    def outcome(self, ticket: int) -> Outcome:
        """Return how a ticket was settled, and the reward given for it."""

    def learned_from(self, ticket: int) -> tuple[Floats, float, int]:
        """Return the features of a settled ticket, the reward in force, and the number of rewards
        that were learned before the first one."""

    def ticket_of(self, event_id: str) -> int | None:
        """Return the ticket with this event id; None if there is none."""

    def issued(self, ticket: int, plays: int) -> tuple[Decision, str | None]:
        """Return the decision of a ticket as it was made, and its event id."""

    def own(self, owner: Owner) -> None:
        """Store who issues the tickets from a number on."""

    def erase_inputs(self, tickets: Sequence[int]) -> int:
        """Delete the raw inputs of decisions; return how many there were."""

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
    event_id: str | None = None  # given by the caller
    decision_group: str | None = None
    version: int | None = None  # of the agent
    reward: float | None = None
    noise_scale: float | None = None  # given with the reward
    previous_reward: float | None = None  # before a revision
    lesson: int | None = None  # rewards that were learned before this one
    arm: int | None = None
    action: str | None = None
    expected: float | None = None
    width: float | None = None
    propensity: float | None = None
    available: str | None = None  # JSON: names, the number of rows, or the rows of a mask
    features: bytes | None = None  # of the arm, or of the rows of a warm start
    rewards: bytes | None = None  # of the rows of a warm start
    arrays: str | None = None  # of the policy that the choice changed, as JSON
    generator: str | None = None  # after the choice, as JSON
    inputs_hash: bytes | None = None  # salted SHA-256 of what the table `inputs` has
    name: str | None = None  # of a mark


ALWAYS = {"event", "kind", "ticket", "time"}
CHOICE = {"arm", "action", "expected", "width", "propensity", "version"}
CALLER = {"event_id", "decision_group", "available"}
BARE = {kind.kind: kind for kind in (events.Cancelled, events.CancelledAll)}
COLUMNS_OF = {
    **dict.fromkeys(BARE, ALWAYS),
    events.Selected.kind: ALWAYS
    | CHOICE
    | CALLER
    | {"features", "arrays", "generator", "inputs_hash"},
    events.Rewarded.kind: ALWAYS | {"reward", "noise_scale", "lesson"},
    events.Expired.kind: ALWAYS | {"reward", "lesson"},
    events.Reset.kind: ALWAYS | {"version"},
    events.WarmStarted.kind: ALWAYS | {"features", "rewards", "inputs_hash"},
    events.Revised.kind: ALWAYS | {"reward", "previous_reward", "lesson", "features"},
    events.Marked.kind: ALWAYS | {"name"},
}
TEXTS = {"action", "arrays", "generator", "event_id", "decision_group", "available", "name"}
BLOBS = {"features", "rewards", "inputs_hash"}
WHOLE = {"event", "ticket", "arm", "version", "lesson"}


def to_row(number: int, event: events.Event) -> Row:
    """Return an event as a row with this number."""
    if isinstance(event, events.SelectedMany):
        raise TypeError("a ledger stores each decision as its own event")
    always = number, event.kind, event.ticket, event.time
    match event:
        case events.Selected():
            return _selected_row(always, event)
        case events.Rewarded():
            given = event.reward, event.noise_scale
            return Row(*always, None, None, None, *given, None, event.lesson)
        case events.Expired():
            return Row(*always, reward=event.reward, lesson=event.lesson)
        case events.Reset():
            return Row(*always, version=event.version)
        case events.WarmStarted(lesson=lesson):
            x, rewards = lesson.rows.tobytes(), lesson.rewards.tobytes()
            return Row(*always, features=x, rewards=rewards, inputs_hash=_digest(event.inputs))
        case events.Revised(revision=revision):
            return Row(
                *always,
                reward=event.reward,
                previous_reward=revision.before,
                lesson=event.lesson,
                features=revision.features.tobytes(),
            )
        case events.Marked():
            return Row(*always, name=event.name)
    return Row(*always)


def _digest(inputs: RawInputs | None) -> bytes | None:
    return None if inputs is None else inputs.digest()


def _selected_row(always: tuple[int, str, int, float], event: events.Selected) -> Row:
    made, changes = event.decision, event.changes
    arrays, generator = (None, None) if changes is None else _write_changes(changes)
    return Row(
        *always,
        event_id=event.event_id,
        decision_group=made.group,
        version=made.version,
        arm=made.arm,
        action=made.action,
        expected=made.expected,
        width=made.width,
        propensity=made.propensity,
        available=event.available,
        features=made.features.tobytes(),
        arrays=arrays,
        generator=generator,
        inputs_hash=_digest(event.inputs),
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


def to_event(row: Row, state: AgentState, inputs: RawInputs | None = None) -> events.Event:
    """Return the event in a row; raise LedgerError if it cannot happen to this state.

    `inputs` are its raw inputs, if they are needed. What counts the rewards learned is counted
    again: a rebuilt agent may have learned fewer.
    """
    _check_columns(row)
    learned = state.tickets.counts["learned"]
    ticket, time = whole("ticket", row.ticket, least=0), finite_number("time", row.time)
    _check_ticket(row.kind, ticket, state)
    match row.kind:
        case events.Selected.kind:
            decision, changes = _read_decision(row, state.policy), _read_changes(row)
            event_id = check_event_id(row.event_id)
            return events.Selected(ticket, time, decision, changes, event_id, row.available, inputs)
        case events.Rewarded.kind:
            scale = _read_noise_scale(row, state)
            reward = finite_number("reward", row.reward)
            return events.Rewarded(ticket, time, reward, scale, learned)
        case events.Expired.kind:
            assumed = None if row.reward is None else finite_number("reward", row.reward)
            return events.Expired(ticket, time, assumed, learned)
        case events.Reset.kind:
            return events.Reset(ticket, time, whole("version", row.version))
        case events.WarmStarted.kind:
            return events.WarmStarted(ticket, time, _read_lesson(row, state), inputs)
        case events.Revised.kind:
            dim, reward = state.policy.dim, finite_number("reward", row.reward)
            x = bounded_array("features", _read_arm(row.features, dim), (dim,))
            before = finite_number("previous_reward", row.previous_reward)
            lesson = whole("lesson", row.lesson, least=0)
            revision = events.Revision(x, before, max(learned - lesson - 1, 0))
            return events.Revised(ticket, time, reward, revision, lesson)
        case events.Marked.kind:
            return events.Marked(ticket, time, check_mark(row.name))
    return BARE[row.kind](ticket, time)


def read_decision(row: Row, policy: Policy) -> Decision:
    """Return the decision of a select whose columns are right, without its reward."""
    if row.kind != events.Selected.kind:
        raise LedgerError(f"it is a {row.kind}, not a select")
    check_event_id(row.event_id)
    finite_number("time", row.time)
    return _read_decision(row, policy)


def _read_decision(row: Row, policy: Policy) -> Decision:
    chosen = {name: getattr(row, name) for name in CHOICE}
    chosen["group"] = row.decision_group
    chosen["features"] = _read_arm(row.features, policy.dim)
    return make_decision(policy, chosen)


def read_issued(row: Row, plays: int) -> tuple[Decision, str | None]:
    """Return the decision of a select as it was made, without its reward, and its event id."""
    _check_columns(row)
    x = np.frombuffer(row.features or b"", np.float64)
    arm, group = -1 if row.arm is None else row.arm, str(row.decision_group)
    numbers = float(row.expected or 0.0), float(row.width or 0.0)
    decision = Decision(arm, x, *numbers, plays, row.propensity, row.action)
    decision.group, decision.version = group, int(row.version or 1)
    return decision, row.event_id


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
