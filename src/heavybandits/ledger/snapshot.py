"""Snapshots of an agent in its ledger: everything but the tickets that wait.

The events of those tickets are in the log already. A snapshot has their numbers, and takes the same
time for one waiting ticket as for a hundred thousand. Decisions of several plays are stored
completely.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import LedgerError, StateError
from ..agents.events import Selected
from ..agents.pending import MOST_EXPIRED, TicketTable
from ..agents.state import AgentState
from ..agents.state_file import pack, unpack
from ..core.protocols import Policy
from ..features import FeatureMap
from .integrity import chain, read_link
from .store import Row, RowCheck, Source, read_decision
from .tables import COLUMNS

Integers = NDArray[np.int64]

_LENGTHS = struct.Struct("<QQ")  # bytes of the events of waiting tickets, and of the expired ones
_STEPS = (np.int8, np.int16, np.int32, np.int64)
_LOOKUPS = 500  # rows of one query


class Places(NamedTuple):
    """The events that issued the tickets that wait, by ticket, as of an event of the ledger."""

    tickets: Integers
    events: Integers
    last: int


def no_places(last: int = 0) -> Places:
    """Return the places when no ticket waits."""
    return Places(np.zeros(0, np.int64), np.zeros(0, np.int64), last)


def find_places(database: Source, state: AgentState, known: Places, last: int) -> Places:
    """Return the places after event `last`, from those known at an earlier snapshot."""
    if state.policy.plays > 1:
        return no_places(last)
    query = f"SELECT ticket, event FROM events WHERE event > ? AND kind = '{Selected.kind}'"
    found = np.array(database.rows(f"{query} ORDER BY event", known.last), np.int64).reshape(-1, 2)
    tickets = np.concatenate([known.tickets, found[:, 0]])
    events = np.concatenate([known.events, found[:, 1]])
    waiting = _numbers(state.tickets.pending)
    at = np.minimum(np.searchsorted(tickets, waiting), max(len(tickets) - 1, 0))
    if len(waiting) and (not len(tickets) or not np.array_equal(tickets[at], waiting)):
        raise LedgerError(f"{database.path} does not have every ticket that waits")
    return Places(waiting, events[at], last)


def _numbers(keys: Any) -> Integers:
    return np.fromiter(keys, np.int64, len(keys))


# ---- to bytes


def pack_snapshot(state: AgentState, places: Places) -> bytes:
    """Return a state as bytes, without the tickets at these places."""
    waiting = pack_numbers(places.events)
    expired = pack_numbers(_numbers(state.tickets.expired))
    lengths = _LENGTHS.pack(len(waiting), len(expired))
    return b"".join((lengths, waiting, expired, pack(state._replace(tickets=_strip(state)))))


def _strip(state: AgentState) -> TicketTable:
    """Return the tickets without those that are stored as numbers."""
    stripped = TicketTable(state.tickets.issued)
    stripped.counts, stripped.action_counts = state.tickets.counts, state.tickets.action_counts
    if state.policy.plays > 1:
        stripped.pending, stripped.open = state.tickets.pending, state.tickets.open
    return stripped


def pack_numbers(numbers: Integers) -> bytes:
    """Return numbers as bytes, a few bits for each if they ascend in small steps.

    >>> len(pack_numbers(np.arange(1000)))
    1001
    """
    steps = np.diff(numbers, prepend=0)
    fits = [abs(steps).max(initial=0) <= np.iinfo(kind).max for kind in _STEPS]
    width = fits.index(True)
    return bytes([width]) + steps.astype(_STEPS[width]).tobytes()


def unpack_numbers(data: bytes) -> Integers:
    """Return the numbers in the bytes that `pack_numbers` made.

    >>> unpack_numbers(pack_numbers(np.array([5, 300, 7])))
    array([  5, 300,   7])
    """
    if not data or data[0] >= len(_STEPS):
        raise StateError("the snapshot has no list of numbers")
    return np.cumsum(np.frombuffer(data[1:], _STEPS[data[0]]).astype(np.int64))


# ---- from bytes


class Snapshot(NamedTuple):
    """A state without the tickets that wait, and the events that issued those."""

    state: AgentState
    events: Integers


def state_in(data: bytes) -> bytes:
    """Return the state file in a snapshot."""
    return data[_split(data)[1] :]


def _split(data: bytes) -> tuple[int, int]:
    """Return where the expired tickets begin, and where the state file does."""
    if len(data) < _LENGTHS.size:
        raise StateError("the snapshot is truncated")
    waiting, expired = _LENGTHS.unpack_from(data)
    first = _LENGTHS.size + waiting
    if first + expired > len(data):
        raise StateError("the snapshot is truncated")
    return first, first + expired


def unpack_snapshot(data: bytes, policy: Policy, encoder: FeatureMap | None) -> Snapshot:
    """Return what is in a snapshot, or raise a StateError that says what is wrong."""
    first, second = _split(data)
    state = unpack(data[second:], policy=policy, encoder=encoder)
    try:
        expired = unpack_numbers(data[first:second])
        events = unpack_numbers(data[_LENGTHS.size : first])
    except ValueError as error:
        raise StateError(f"the snapshot is not well formed: {error}") from error
    issued = state.tickets.issued
    valid = len(expired) <= MOST_EXPIRED and ((expired >= 0) & (expired < issued)).all()
    if not valid or len(events) > issued or (np.diff(events, prepend=0) <= 0).any():
        raise StateError("the snapshot contains tickets that cannot be")
    state.tickets.expired = dict.fromkeys(expired.tolist())
    return Snapshot(state, events)


def restore_waiting(database: Source, snapshot: Snapshot, last: int) -> Places:
    """Give the state the tickets that wait, from their events; return their places.

    Raises LedgerError if the row of one of them is not as it was written.
    """
    tickets, policy, check = snapshot.state.tickets, snapshot.state.policy, RowCheck()
    for row in _read_rows(database, snapshot.events):
        try:
            check(row)
            decision = read_decision(row, policy)
        except (TypeError, ValueError, LedgerError) as error:
            raise LedgerError(f"event {row.event} does not fit: {error}") from error
        if row.ticket >= tickets.issued or row.ticket in tickets.pending:
            raise LedgerError(f"event {row.event} issued a ticket {row.ticket} that cannot be")
        tickets.wait(row.ticket, decision, row.time, row.event_id)
    return Places(_numbers(tickets.pending), snapshot.events, last)


def _read_rows(database: Source, events: Integers) -> Iterator[Row]:
    """Yield the rows of these events; raise LedgerError at one that was altered."""
    for start in range(0, len(events), _LOOKUPS):
        part = events[start : start + _LOOKUPS].tolist()
        before = dict(database.rows(_query("event, link", part), *(n - 1 for n in part)))
        before[part[0] - 1] = read_link(database, part[0] - 1)  # perhaps that of no row
        rows = {row[0]: row for row in database.rows(_query(f"{COLUMNS}, link", part), *part)}
        for number in part:
            *values, link = rows.get(number) or (None,)
            if link is None or chain(before.get(number - 1) or b"", *values) != link:
                raise LedgerError(f"event {number} is missing or altered")
            yield Row._make(values)


def _query(columns: str, events: list[int]) -> str:
    marks = ", ".join("?" * len(events))
    return f"SELECT {columns} FROM events WHERE event IN ({marks})"
