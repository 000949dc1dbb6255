"""The state after everything in a ledger, with another policy, encoder or rewards."""

import secrets
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError, LedgerError
from .._utils.files import canonical
from .._utils.validation import finite_number
from ..agents.agent_policy import AgentPolicy
from ..agents.events import SETTLING, Cancelled, Event, Revised, Rewarded, Selected, WarmStarted
from ..agents.inputs import check_encoder, encode_again, encode_rows_again
from ..agents.pending import TicketTable
from ..agents.raw_inputs import RawInputs
from ..agents.revise import check_revisable
from ..agents.state import AgentState, apply, install, make_plan
from ..agents.state_file import Start, describe_encoder, read_start, restore_encoder
from ..agents.tickets import Owners, TicketLike, new_owner, ticket_number
from ..core.part import build, describe, known_parts
from ..core.protocols import Policy
from ..core.state import make_state
from ..features import FeatureMap
from ..parts.policies.checks import check_policies
from ..parts.registry import library_parts
from .address import Address, locate
from .archive import read_archive
from .head import InUseError, Record
from .inputs import read_inputs
from .integrity import verify
from .moment import Moment, last_event
from .postgres import PostgresLedger, is_taken
from .reader import live
from .repair import copied, intact_states, mode_of, new_ledger, place_ledger, working_folder
from .resume import read_owners
from .snapshot import state_in
from .sqlite import SqliteLedger
from .store import Row, Source, to_event

BATCH = 1000  # events that are written in one transaction


class Rebuilt(NamedTuple):
    """A state, the ledger that ends there, and whether that ledger logs named inputs."""

    state: AgentState
    ledger: SqliteLedger | PostgresLedger | None
    log_inputs: bool


def rebuild_state(
    ledger: str | Path,
    policy: Policy | None = None,
    *,
    encoder: FeatureMap | None = None,
    corrections: Mapping[TicketLike, float] | None = None,
    until: Moment | None = None,
    without: Iterable[TicketLike] = (),
    output: str | Path | None = None,
    parts: Iterable[type] = (),
) -> Rebuilt:
    """Return the state after the events of a ledger, as `Agent.rebuild` describes it."""
    source, target = locate(ledger), None if output is None else new_target(output)
    entries, past = _read_past(source, until)
    state, rows = _start(past, policy, encoder, parts), [entry.row for entry in entries]
    repeated: Iterable[Entry] = entries
    left_out = _read_left_out(without, rows, past.owners, state.policy.plays)
    if left_out:
        repeated = _leave_out(repeated, left_out)
    if corrections is not None:
        repeated = _correct(repeated, _right_rewards(rows, corrections, past.owners))
    if canonical(past.encoder) != canonical(describe_encoder(state.encoder)):
        repeated = (_encode_again(entry, state) for entry in repeated)
    same = describes(past.policy, state.policy)
    state, written = _repeat_all(state, repeated, same, target, mode_of(source))
    return Rebuilt(state, written, _logs_inputs(rows))


class Entry(NamedTuple):
    """An event as a row, and its raw inputs if they are left."""

    row: Row
    inputs: RawInputs | None


def new_target(output: str | Path) -> Path | Address:
    """Return where a new ledger will be; raise InvalidInputError if there is one already."""
    place = locate(output)
    if not isinstance(place, Address):
        return new_ledger(place)
    if is_taken(place):
        raise InvalidInputError(f"output must be a new ledger, and {place} is there already")
    return place


def _read_past(ledger: Path | Address, until: Moment | None) -> tuple[list[Entry], Start]:
    """Return the events of a ledger up to a moment, and the agent before the first of them."""
    rows: list[Row] = []
    with _opened(ledger) as (database, head):
        last = None if until is None else last_event(database, until)
        archived = [Entry(row, raw) for row, raw in read_archive(database)]
        found = verify(database, head, visit=lambda row, _: rows.append(row))
        states = {event: data for event, _, data in intact_states(database, found)}
        owners = read_owners(database)
        inputs = dict(read_inputs(database, last))
    if 0 not in states:
        raise LedgerError(
            f"{ledger} is damaged: its first state is not intact. An agent can open it, and "
            f"`heavybandits ledger export {shlex.quote(str(ledger))} events.csv` saves its events"
        )
    past = read_start(state_in(states[0]))
    entries = [*archived, *(Entry(row, inputs.get(row.event)) for row in rows)][:last]
    issued = sum(entry.row.kind == Selected.kind for entry in entries)
    past = past._replace(owners=new_owner(owners, issued))
    return entries, past._replace(limits=read_start(state_in(states[max(states)])).limits)


@contextmanager
def _opened(ledger: Path | Address) -> Iterator[tuple[Source, Record]]:
    """Open a copy of a ledger, or one moment of it while an agent works on it."""
    with ExitStack() as stack:
        try:
            found: tuple[Source, Record] = stack.enter_context(copied(ledger))
        except InUseError:  # a file
            found = stack.enter_context(live(Path(str(ledger)).absolute()))
        yield found


def _logs_inputs(rows: Iterable[Row]) -> bool:
    """Return True if the ledger logged the inputs of decisions, or has no decision with rows."""
    logged = [row.inputs_hash is not None for row in rows if row.available is not None]
    return any(logged) or not logged


def _start(
    past: Start, policy: Policy | None, encoder: FeatureMap | None, parts: Iterable[type]
) -> AgentState:
    """Return the state of the new agent before the first event."""
    before: Policy = build(past.policy, known_parts(library_parts().values(), parts))
    chosen: Policy = check_policies(before if policy is None else policy)["policy"]
    if chosen.plays != before.plays:
        raise InvalidInputError(
            f"policy must play an arm {before.plays} times per decision, as that of the ledger "
            f"did, got {chosen.plays}"
        )
    encodes = restore_encoder(past.encoder, None) if encoder is None else encoder
    if encodes is not None:
        check_encoder(encodes, chosen)
    start = chosen, make_state(chosen), TicketTable(), past.generator, past.limits, past.owners
    return AgentState(*start, encodes)


def _repeat_all(
    state: AgentState, rows: Iterable[Entry], same: bool, target: Path | Address | None, mode: int
) -> tuple[AgentState, SqliteLedger | PostgresLedger | None]:
    """Return the state after all events, and the new ledger. It gets its name when it is complete:
    an agent could also open a part of it."""
    if target is None:
        return _repeat(state, rows, same, None), None
    if isinstance(target, Address):
        stored = PostgresLedger(target.of(f"building-{secrets.token_hex(8)}"), BATCH)
        try:
            state = _repeat(state, rows, same, stored)
            stored.rename(target)
        except BaseException:
            stored.remove()
            raise
        return state, stored
    with working_folder(target.name, target.parent) as folder:
        made = folder / target.name
        ledger = SqliteLedger(made, BATCH)
        try:
            state = _repeat(state, rows, same, ledger)
        except BaseException:
            ledger.drop()
            raise
        ledger.close(state)
        place_ledger(made, target, mode)
    ledger = SqliteLedger(target, BATCH)
    return ledger.resume(state, AgentPolicy(state.policy)), ledger


def _repeat(
    state: AgentState,
    rows: Iterable[Entry],
    same: bool,
    ledger: SqliteLedger | PostgresLedger | None,
) -> AgentState:
    """Return the state after these events, which are written to the ledger if there is one.

    What a choice changed in another policy, such as its draws, is ignored unless it is the `same`.
    """
    learner = AgentPolicy(state.policy)
    if ledger is not None:
        state = ledger.resume(state, learner)
    unwritten: list[Event] = []
    for entry in rows:
        state, event = repeat_entry(state, entry, same, learner)
        unwritten.append(event)
        if ledger is not None and len(unwritten) >= BATCH:
            ledger.write(unwritten)
            unwritten.clear()
    state = state._replace(version=state.version + 1)
    if ledger is not None:
        ledger.write(unwritten)
        ledger.snapshot(state)
    return state


def describes(description: Mapping[str, Any], policy: Policy) -> bool:
    """Return True if a description is that of this policy."""
    return canonical(description) == canonical(describe(policy))


def repeat_entry(
    state: AgentState, entry: Entry, same: bool, learner: AgentPolicy
) -> tuple[AgentState, Event]:
    """Return the state after an event of another ledger, and the event as it is for this state."""
    row, inputs = entry
    if row.kind == Rewarded.kind and not learner.takes_noise_scale:
        row = row._replace(noise_scale=None)
    if row.kind == Revised.kind:
        check_revisable(state.policy, state.learned)
    try:
        event = to_event(row, state, inputs)
        if isinstance(event, Selected):
            event = event if same else replace(event, changes=None)
            state = install(state, event.changes)
    except InvalidInputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError(f"event {row.event} of the ledger does not fit: {error}") from error
    if isinstance(event, WarmStarted):
        learner.check_room(state, None, len(event.lesson.rows))
    state = apply(state, make_plan(state, [event]), learner)
    if isinstance(event, Selected):
        learner.check_room(state, None, 0)
    return state, event


def _encode_again(entry: Entry, state: AgentState) -> Entry:
    """Return the event with the features of the new encoder."""
    assert state.encoder is not None  # it is a new one
    row, inputs = entry
    if row.kind == Selected.kind:
        x = encode_again(state.encoder, inputs, row.action)
        return Entry(row._replace(features=x.tobytes()), inputs)
    if row.kind == WarmStarted.kind:
        rows = encode_rows_again(state.encoder, inputs)
        return Entry(row._replace(features=rows.tobytes()), inputs)
    if row.kind == Revised.kind:
        raise InvalidInputError(
            "the ledger contains revisions, which a new encoder cannot repeat: give corrections={} "
            "to learn the right rewards from the start"
        )
    return entry


# ---- corrected rewards


def _right_rewards(
    rows: list[Row], corrections: Mapping[TicketLike, float], owners: Owners
) -> dict[int, float]:
    """Return the right rewards by ticket, where the first ones were wrong."""
    if not isinstance(corrections, Mapping):
        raise InvalidInputError(
            f"corrections must be rewards by ticket, {{7: 1.5}}, got {corrections!r:.100}"
        )
    settled = {row.ticket for row in rows if row.kind in SETTLING and row.reward is not None}
    right = {row.ticket: float(row.reward or 0.0) for row in rows if row.kind == Revised.kind}
    for ticket, reward in corrections.items():
        number = ticket_number(ticket, owners)
        if number not in settled:
            raise InvalidInputError(f"ticket {number} has no reward that could be corrected")
        right[number] = finite_number("reward", reward) + 0.0
    return right


def _correct(entries: Iterable[Entry], right: Mapping[int, float]) -> Iterator[Entry]:
    """Yield the events with the right rewards and without revisions."""
    number = 0
    for row, inputs in entries:
        if row.kind == Revised.kind:
            continue
        number += 1
        reward = row.reward
        if row.kind in SETTLING and reward is not None:
            reward = right.get(row.ticket, reward)
        yield Entry(row._replace(event=number, reward=reward), inputs)


# ---- decisions that are left out


def _read_left_out(
    without: Iterable[TicketLike], rows: list[Row], owners: Owners, plays: int
) -> set[int]:
    """Return the numbers of the tickets from which nothing is learned."""
    issued = {row.ticket for row in rows if row.kind == Selected.kind}
    by_id = {row.event_id: row.ticket for row in rows if row.event_id is not None}
    if isinstance(without, str):
        raise InvalidInputError(f"without must be a list of tickets, got {without!r:.80}")
    found = {by_id[t] if t in by_id else ticket_number(t, owners) for t in without}
    if not found <= issued:
        raise InvalidInputError(f"ticket {min(found - issued)} is not in that part of the ledger")
    if found and plays != 1:
        raise InvalidInputError(
            f"without needs a policy of one play per decision, that of the ledger has {plays}"
        )
    return found


def _leave_out(entries: Iterable[Entry], tickets: set[int]) -> Iterator[Entry]:
    """Yield the events as if these tickets had been cancelled instead of rewarded."""
    number = 0
    for row, inputs in entries:
        if row.ticket in tickets and row.kind == Revised.kind:
            continue
        number += 1
        if row.ticket in tickets and row.kind in SETTLING:
            row = Row(number, Cancelled.kind, row.ticket, row.time)
        yield Entry(row._replace(event=number), inputs)
