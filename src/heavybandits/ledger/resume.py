"""How an agent continues from its ledger, whatever store the ledger is in.

The functions read the tables that every store has, and write nothing.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError, LedgerError, StateError
from .._utils.files import canonical
from ..agents.rewards import Given, Outcome
from ..agents.state import AgentState, Learner
from ..agents.state_file import check_owners, restore_encoder
from ..agents.tickets import Owners
from ..core.arrays import Floats
from ..core.part import describe
from ..core.protocols import Policy
from ..features import FeatureMap
from .head import End, Record
from .integrity import chain, damaged, newest_sealed, read_link, verify
from .snapshot import Places, restore_waiting, unpack_snapshot
from .store import Row, Source, UnreachableError, first_value, repeat_events
from .tables import COLUMNS, SETTLED, about

CHECKED_WHOLE = 50_000  # events that an opening agent checks from the first on: 0.2 s

_TAIL = f"SELECT {COLUMNS} FROM events WHERE event > ? ORDER BY event"


class Resumed(NamedTuple):
    """The state after the last event, the end of the chain, the events since the snapshot, and
    the places of the tickets that waited then."""

    state: AgentState
    end: End
    since: int
    places: Places


def resume(
    database: Source,
    head: Record,
    state: AgentState,
    learner: Learner,
    since: End | None = None,
) -> Resumed:
    """Return the state after the last event of a ledger of this policy.

    A short ledger is checked as a whole. Of a long one that is: the newest snapshot, the events
    after it, and those of the tickets that wait. With `since`, the end of a snapshot, only the
    events after it are checked.
    """
    if since is None and _length(database) > CHECKED_WHOLE:
        since = newest_sealed(database)
    found = verify(database, head, since)
    state = check_owner(database, state)
    state, places, start = _restore(database, state)
    if since is not None and start.events < since.events:
        found = verify(database, head, start)
    rows = [Row._make(values) for values in database.rows(_TAIL, start.events)]
    try:
        state = repeat_events(state, rows, learner)
    except LedgerError as error:
        raise damaged(database.path, str(error)) from error
    state = state._replace(owners=read_owners(database))
    return Resumed(state, found.end, len(rows), places)


def _length(database: Source) -> int:
    return int(first_value(database, "SELECT max(event) FROM events") or 0)


def read_owners(database: Source) -> Owners:
    """Return the agents that have issued tickets from a ledger, each with its first."""
    try:
        return check_owners(database.rows("SELECT agent, first FROM owners ORDER BY first"))
    except (TypeError, ValueError) as error:
        raise damaged(database.path, str(error)) from error


def check_owner(database: Source, state: AgentState) -> AgentState:
    """Return the state with the encoder of the ledger; raise LedgerError if the ledger belongs to
    another policy or encoder."""
    _check_policy(database, state.policy)
    return state._replace(encoder=_check_encoder(database, state.encoder))


def _check_policy(database: Source, policy: Policy) -> None:
    stored = json.loads(about(database, "policy"))
    different = list(differences(stored, json.loads(canonical(describe(policy)))))
    if different:
        raise LedgerError(
            f"{database.path} belongs to another policy: {'; '.join(different)}. "
            "Open it with that policy, or start a ledger with another name"
        )


def _check_encoder(database: Source, given: FeatureMap | None) -> FeatureMap | None:
    """Return the encoder of this ledger."""
    try:
        return restore_encoder(json.loads(about(database, "encoder")), given)
    except StateError as error:
        raise LedgerError(f"{database.path}: {error}") from error


def _restore(database: Source, state: AgentState) -> tuple[AgentState, Places, End]:
    """Return the newest intact state, the places of its tickets, and the end at which it was."""
    problem: Exception | None = None
    for event, seal in database.rows("SELECT event, seal FROM states ORDER BY event DESC"):
        data = first_value(database, "SELECT data FROM states WHERE event = ?", event)
        link = read_link(database, event) or b""
        try:
            if seal != chain(link, data):
                raise StateError("the snapshot is not the one that was stored here")
            found = unpack_snapshot(data, state.policy, state.encoder)
            places = restore_waiting(database, found, event)
            return found.state._replace(limits=state.limits), places, End(event, link)
        except UnreachableError:
            raise
        except (StateError, LedgerError) as error:
            problem = error
    raise damaged(database.path, "it contains no intact state") from problem


def differences(stored: Any, given: Any, name: str = "policy") -> Iterator[str]:
    """Yield in words where two described policies differ.

    >>> list(differences({"level": 1.0, "plays": 1}, {"level": 2.0, "plays": 1}))
    ['policy.level is 1.0 in the ledger, 2.0 here']
    """
    if isinstance(stored, dict) and isinstance(given, dict) and set(stored) == set(given):
        if stored.get("part") != given.get("part"):
            yield f"{name} is a {stored['part']} in the ledger, a {given['part']} here"
            return
        for key in stored:
            label = name if key == "fields" else f"{name}.{key}"
            yield from differences(stored[key], given[key], label)
    elif stored != given:
        yield f"{name} is {stored} in the ledger, {given} here"


# ---- one ticket


def read_outcome(database: Source, ticket: int) -> Outcome:
    """Return how a ticket was settled, and the reward given for it."""
    found = database.rows(
        f"SELECT kind, reward, noise_scale FROM events WHERE ticket = ? AND kind IN {SETTLED}",
        ticket,
    )
    if not found:  # by cancel_all, or before a reset
        return Outcome()
    kind, reward, noise_scale = found[0]
    return Outcome(kind, None if reward is None else Given(reward, noise_scale))


def read_learned(database: Source, ticket: int, length: int) -> tuple[Floats, float, int]:
    """Return the features of a settled ticket, the reward in force, and the number of rewards
    that were learned before the first one, in a ledger with so many events."""
    found = database.rows(
        f"SELECT event, reward, lesson FROM events WHERE ticket = ? AND kind IN {SETTLED}", ticket
    )
    settled, reward, lesson = found[0] if found else (0, None, 0)
    if reward is None:
        raise InvalidInputError(f"ticket {ticket} has no reward that could be revised")
    reset = first_value(database, "SELECT max(event) FROM events WHERE kind = 'reset'")
    if reset is not None and reset > settled:
        raise InvalidInputError(f"ticket {ticket} had its reward before a reset: it is forgotten")
    last = "SELECT reward FROM events WHERE ticket = ? AND kind = 'revise' ORDER BY event DESC"
    revised = first_value(database, f"{last} LIMIT 1", ticket)
    selected = find_selected(database, ticket, length)
    blob = first_value(database, "SELECT features FROM events WHERE event = ?", selected)
    return np.frombuffer(blob, np.float64), reward if revised is None else revised, lesson


def find_selected(database: Source, ticket: int, length: int) -> int:
    """Return the event that issued a ticket, by bisection: tickets are issued in order."""
    low, high = 1, length
    first = (
        "SELECT event, ticket FROM events WHERE event >= ? AND kind = 'select' "
        "ORDER BY event LIMIT 1"
    )
    while low < high:
        middle = (low + high) // 2
        rows = database.rows(first, middle)
        earlier = [event for event, number in rows if number < ticket]
        low, high = (int(earlier[0]) + 1, high) if earlier else (low, middle)
    for event, number in database.rows(first, low):
        if number == ticket:
            return int(event)
    raise InvalidInputError(f"ticket {ticket} is no longer in the ledger: its events were archived")
