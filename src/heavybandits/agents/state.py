"""The state of an agent as a value, and what each event makes of it.

The agent holds it, the ledger brings it to where its events end, the state file writes it down.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .book import Book, Learn
from .tickets import Event, Kind, Limits


class AgentState(NamedTuple):
    """All that makes an agent what it is.

    `learned` is the state of the policy: its arrays are changed in place, and so is the book.
    """

    policy: Any
    learned: Any
    book: Book
    generator: np.random.Generator | None
    limits: Limits


class Step(NamedTuple):
    """Events that are to happen together, and the counts after them."""

    events: Sequence[Event]
    counts: dict[str, int]


def plan(state: AgentState, events: Sequence[Event]) -> Step:
    return Step(events, state.book.counted(events))


def carry_out(state: AgentState, step: Step, learn: Learn) -> AgentState:
    """The state after a step. Done twice it is done once, so an interrupted one is just repeated.

    `learn(learned, decision)` teaches the policy a decision whose rewards are all in.
    """
    for event in step.events:
        state = _apply(state, event, learn)
    state.book.counts = step.counts
    return state


def _apply(state: AgentState, event: Event, learn: Learn) -> AgentState:
    book = state.book
    if event.kind == Kind.SELECT:
        book.issue(event)
    elif event.kind == Kind.ABANDON:
        book.abandon()
    elif event.kind == Kind.RESET:
        book = Book(event.ticket, book.expired)
        return state._replace(learned=state.policy.init(), book=book)
    else:
        book.settle(event, state.learned, learn)
    return state
