"""An agent made again: from its file, or with another policy, encoder or rewards from a ledger."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError, LedgerError, StateError
from .._utils.files import canonical, sync_folder
from .._utils.validation import finite_number
from ..agents.agent import Agent, check_clock, renamed
from ..agents.agent_policy import AgentPolicy
from ..agents.encoders import check_encoder, encode_again, encode_rows_again
from ..agents.events import COUNTED, Book, Event, Kind, Lesson
from ..agents.revise import check_revisable
from ..agents.state import AgentState, carry_out, check_state, install, plan, position_of
from ..agents.state_file import (
    Start,
    describe_encoder,
    read_start,
    read_state,
    restore_encoder,
    unpack,
)
from ..agents.tickets import Owners, new_owner, ticket_number
from ..core.part import build, describe, known_parts
from ..core.protocols import Policy
from ..features import FeatureMap
from ..parts.policies.checks import check_policies
from ..parts.registry import library_parts
from .repair import copied, new_ledger
from .rows import Row, linked_rows, propensity_of, to_event
from .store import Ledger

KIND, TICKET, REWARDED, FEATURES, CHANGES, OFFER, RAW = 1, 2, 4, 8, 9, 10, 11  # places in a row
TOGETHER = 1000  # events that are written at once


def load(
    path: str | Path,
    parts: Iterable[type] = (),
    clock: Callable[[], float] = time.time,
    encoder: FeatureMap | None = None,
) -> Agent:
    """The agent that `Agent.save` wrote: it goes on, bit for bit, where that one stood.

    It takes the tickets that were issued before the file was written. Those that it issues itself
    it issues under an `identity` of its own: of two agents loaded from one file, or one loaded and
    one that went on, neither takes the tickets of the other.

    Parameters
    ----------
    parts : classes of your own parts that the policy uses. Never taken from the file.
    clock : what the saved agent had: seconds since the same moment.
    encoder : what the agent had, if it could not be written down.

    >>> import heavybandits as hb, tempfile
    >>> agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent.save(f"{folder}/bandit.state")
    ...     hb.load(f"{folder}/bandit.state").policy == agent.policy
    True
    """
    state = unpack(read_state(Path(path)), parts, encoder=encoder)
    return Agent.from_state(renamed(state), clock)


# ---- from a ledger


def rebuild(
    ledger: str | Path,
    policy: Policy | None = None,
    *,
    encoder: FeatureMap | None = None,
    corrections: Mapping[int | str, float] | None = None,
    output: str | Path | None = None,
    parts: Iterable[type] = (),
    clock: Callable[[], float] = time.time,
) -> Agent:
    """An agent that has lived through what a ledger holds, with another policy or encoder.

    It is fed the decisions of the past, which are facts, and their rewards, in the order in which
    they came: to the same bits as an agent of that policy that had been given them one by one. It
    issues tickets where the old agent stopped, under a name of its own, and takes those that wait.
    Nobody may have the ledger open; it is left as it is.

    Parameters
    ----------
    ledger : the past.
    policy : None for the one in the ledger, whose limits on waiting tickets and whose `keep_raw`
        the new agent has too. One that draws its arms has drawn none of these.
    encoder : None for the one in the ledger. With another one every decision is encoded anew from
        what the ledger has kept of it, and the policy must have its dimension.
    corrections : rewards that turned out otherwise, by id or key of the ticket. If given, be it {},
        they and all revisions in the ledger are put in the place of the first rewards, as if those
        had been right from the start. None repeats every revision where it came.
    output : a new file for the ledger of the new agent; None keeps it in memory.
    parts : classes of your own parts that the policy in the ledger uses.

    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
    ...         agent.update(agent.select([[1.0, 0.0]]), 0.5)
    ...     rebuild(f"{folder}/agent.db", hb.linucb(dim=2, radius=9.0)).updates
    1
    """
    target = None if output is None else new_ledger(output)
    check_clock(clock)
    with copied(Path(ledger)) as (database, _):
        rows = [row for row, _ in linked_rows(database)]
        first = database.one("SELECT data FROM states WHERE event = 0")
        newest = database.one("SELECT data FROM states ORDER BY event DESC LIMIT 1")
    if first is None:
        raise LedgerError(f"{ledger} has lost the state that it began with")
    past = read_start(first)
    issued = sum(row[KIND] == Kind.SELECT for row in rows)
    past = past._replace(owners=new_owner(past.owners, issued))
    with suppress(StateError):  # of a snapshot that is damaged: it is not needed
        past = past._replace(limits=read_start(newest).limits)
    state = _begin(past, policy, encoder, parts)
    told: Iterable[Row] = rows
    if corrections is not None:
        told = _corrected(told, _true_rewards(rows, corrections, past.owners))
    if canonical(past.encoder) != canonical(describe_encoder(state.encoder)):
        told = (_encoded_again(row, state) for row in told)
    same = canonical(past.policy) == canonical(describe(state.policy))
    state, kept = _live(state, told, same, target)
    return Agent.from_state(state, clock, kept, _keeps_raw(rows))


def _keeps_raw(rows: Iterable[Row]) -> bool:
    """Whether the ledger kept what was offered by name; True if nothing was."""
    named = [row[RAW] is not None for row in rows if row[OFFER] is not None]
    return any(named) or not named


def _begin(past: Start, policy: Any, encoder: Any, parts: Iterable[type]) -> AgentState:
    """The state of the new agent before anything has happened."""
    before: Any = build(past.policy, known_parts(library_parts().values(), parts))
    chosen: Any = check_policies(before if policy is None else policy)["policy"]
    if chosen.plays != before.plays:
        raise InvalidInputError(
            f"policy must play an arm {before.plays} times per decision, as that of the ledger "
            f"did, got {chosen.plays}"
        )
    encodes = restore_encoder(past.encoder, None) if encoder is None else encoder
    if encodes is not None:
        check_encoder(encodes, chosen)
    start = (chosen, chosen.init(), Book(), past.generator, past.limits, past.owners)
    return AgentState(*start, encodes)


def _live(
    state: AgentState, rows: Iterable[Row], same: bool, target: Path | None
) -> tuple[AgentState, Ledger | None]:
    """The state after all this has happened, and the ledger that tells it; of another policy the
    traces of a choice, draws for instance, mean nothing."""
    if target is None:
        return _go_through(state, rows, same, None), None
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name  # until it is whole: half a ledger would open, too
        ledger = Ledger(made, TOGETHER)
        try:
            state = _go_through(state, rows, same, ledger)
        except BaseException:
            ledger.drop()
            raise
        ledger.close(state)
        for ending in ("", "-head"):
            os.rename(f"{made}{ending}", f"{target}{ending}")
    sync_folder(target.parent)
    ledger = Ledger(target, TOGETHER)
    return ledger.resume(state, AgentPolicy(state.policy)), ledger


def _go_through(
    state: AgentState, rows: Iterable[Row], same: bool, ledger: Ledger | None
) -> AgentState:
    """The state after all these events, which are written to the ledger, if there is one."""
    kernels = AgentPolicy(state.policy)
    if ledger is not None:
        state = ledger.resume(state, kernels)
    happened: list[Event] = []
    for row in rows:
        if row[KIND] == Kind.REVISE:
            check_revisable(state.policy, state.learned)
        if row[KIND] == Kind.REWARD and not kernels.takes_noise_scale:
            row = (*row[:CHANGES], None, *row[CHANGES + 1 :])
        event = to_event(row, state)
        if event.changes is not None:
            state = install(state, event.changes) if same else state
            event = event if same else event._replace(changes=_propensity_alone(event, state))
        if isinstance(event.lesson, Lesson):
            kernels.check_room(state, None, len(event.lesson.rows))
        state = carry_out(state, plan(state, [event]), kernels)
        if row[KIND] == Kind.SELECT:
            kernels.check_room(state, None, 0)
        happened.append(event)
        if ledger is not None and len(happened) >= TOGETHER:
            ledger.write(happened)
            happened.clear()
    check_state(state.policy, state.learned)
    if ledger is not None:
        ledger.write(happened)
        ledger.snapshot(state)
    return state


def _propensity_alone(event: Event, state: AgentState) -> str | None:
    """What is told of a choice that another policy made: how likely it was."""
    chance = propensity_of(event.changes)
    if chance == 1.0 and state.generator is None:
        return None
    return json.dumps(
        {"arrays": {}, "generator": position_of(state.generator), "propensity": chance}
    )


def _encoded_again(row: Row, state: AgentState) -> Row:
    """The same event with the features that the new encoder makes."""
    kind, raw = row[KIND], row[RAW]
    if kind == Kind.SELECT:
        x = encode_again(state.encoder, raw).tobytes()
    elif kind == Kind.LEARN:
        plays = state.policy.plays
        told = np.frombuffer(row[FEATURES], np.float64)
        rows = encode_rows_again(state.encoder, raw)
        rewards = told.reshape(len(rows), -1)[:, -plays:]
        x = np.hstack([rows, rewards]).tobytes()
    elif kind == Kind.REVISE:
        raise InvalidInputError(
            "the ledger holds revisions, which a new encoder cannot repeat: give corrections={} to "
            "have every reward right from the start"
        )
    else:
        return row
    return (*row[:FEATURES], x, *row[FEATURES + 1 :])


# ---- rewards that turned out otherwise


def _true_rewards(
    rows: list[Row], corrections: Mapping[Any, float], owners: Owners
) -> dict[int, float]:
    """The rewards that are right, by ticket, where the first ones were not."""
    settled = {row[TICKET] for row in rows if row[KIND] in COUNTED and row[REWARDED] is not None}
    true = {row[TICKET]: float(row[REWARDED]) for row in rows if row[KIND] == Kind.REVISE}
    if not isinstance(corrections, Mapping):
        raise InvalidInputError(
            f"corrections must be rewards by ticket, {{7: 1.5}}, got {corrections!r:.100}"
        )
    for ticket, reward in corrections.items():
        number = ticket_number(ticket, owners)
        if number not in settled:
            raise InvalidInputError(f"ticket {number} has no reward that could be corrected")
        true[number] = finite_number("reward", reward) + 0.0
    return true


def _corrected(rows: Iterable[Row], true: Mapping[int, float]) -> Iterator[Row]:
    """The events with the right rewards and without revisions."""
    number = 0
    for row in rows:
        if row[KIND] == Kind.REVISE:
            continue
        number += 1
        reward = row[REWARDED]
        if row[KIND] in COUNTED and reward is not None:
            reward = true.get(row[TICKET], reward)
        yield (number, *row[1:REWARDED], reward, *row[REWARDED + 1 :])
