"""Events as rows of a table, each linked to the one before it, and back.

The link of a row is a hash of the link before it and of all that the row holds: a row that is
missing, altered or out of place breaks the chain.
"""

import hashlib
from typing import Any

import numpy as np

from ..support.errors import LedgerError
from ..support.validation import finite_number, whole
from .book import COUNTED
from .state import AgentState
from .state_arrays import LARGEST_NUMBER
from .state_file import make_decision
from .tickets import Event, Kind

COLUMNS = "event, kind, ticket, time, reward, arm, estimate, width, features, changes"
Row = tuple[Any, ...]


def chain(previous: bytes, *contents: Any) -> bytes:
    """The link after `previous` for these contents.

    >>> chain(b"", 1, "reward", 0.5) == chain(b"", 1, "reward", 0.25)
    False
    """
    blobs = [item for item in contents if isinstance(item, bytes)]
    shown = [len(item) if isinstance(item, bytes) else item for item in contents]
    return hashlib.blake2b(
        b"".join([previous, repr(shown).encode(), *blobs]), digest_size=16
    ).digest()


def to_row(number: int, event: Event) -> Row:
    """An event as a row, numbered."""
    row = (number, event.kind.value, event.ticket, event.time, event.reward)
    if event.decision is None:
        return (*row, None, None, None, None, None)
    chosen = event.decision
    x = chosen.features.tobytes()
    return (*row, chosen.arm, chosen.estimate, chosen.width, x, event.changes)


def to_event(row: Row, state: AgentState) -> Event:
    """The event in a row, if it can happen to this state. Nothing in a row is believed."""
    _, kind, ticket, time, reward, arm, estimate, width, features, changes = row
    decision = None
    if kind == Kind.SELECT:
        if not isinstance(features, bytes) or len(features) != 8 * state.policy.dim:
            raise LedgerError("the features are not those of one arm")
        x = np.frombuffer(features, np.float64)
        decision = make_decision(state.policy, arm, x, estimate, width)
    elif (arm, estimate, width, features, changes) != (None,) * 5:
        raise LedgerError(f"a {kind} has no decision")
    reward = None if reward is None else finite_number("reward", reward)
    event = Event(Kind(kind), whole("ticket", ticket, least=0), _time(time), reward, decision)
    _check_fits(event, state)
    if changes is not None and not isinstance(changes, str):
        raise LedgerError("the changes are not text")
    return event._replace(changes=changes)


def _time(value: Any) -> float:
    return finite_number("time", value)


def _check_fits(event: Event, state: AgentState) -> None:
    kind, ticket, book = event.kind, event.ticket, state.book
    if ticket >= LARGEST_NUMBER:
        raise LedgerError(f"ticket {ticket} cannot be")
    if kind in COUNTED and ticket not in book.pending:
        raise LedgerError(f"ticket {ticket} does not wait for a reward")
    if kind not in COUNTED and ticket != book.issued:
        raise LedgerError(f"ticket {ticket} comes after ticket {book.issued - 1}")
    allowed = {Kind.REWARD: (True,), Kind.EXPIRE: (True, False)}.get(kind, (False,))
    if (event.reward is not None) not in allowed:
        raise LedgerError(f"a {kind} cannot have the reward {event.reward}")
