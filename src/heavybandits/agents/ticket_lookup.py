"""Tickets that were issued before, found by number or by the caller's id."""

from typing import Protocol

from .._utils.errors import InvalidInputError
from .state import AgentState
from .tickets import Decision, Ticket, make_ticket, owner_of


class Lookup(Protocol):
    """What a ledger knows of the tickets that were issued."""

    def ticket_of(self, event_id: str) -> int | None:
        """Return the ticket with this event id; None if there is none."""

    def issued(self, ticket: int, plays: int) -> tuple[Decision, str | None]:
        """Return the decision of a ticket as it was made, and its event id."""


def find_ticket(state: AgentState, ledger: Lookup | None, event_id: str) -> Ticket | None:
    """Return the ticket with this event id; None if there is none."""
    number = state.tickets.event_ids.get(event_id)
    if number is None and ledger is not None:
        number = ledger.ticket_of(event_id)
    return None if number is None else read_ticket(state, ledger, number)


def read_ticket(state: AgentState, ledger: Lookup | None, number: int) -> Ticket:
    """Return a ticket that was issued; raise InvalidInputError if it is no longer known."""
    agent, decision = owner_of(state.owners, number), state.tickets.decision_of(number)
    if decision is not None:
        event_id = (decision.event_ids or {}).get(number)
        ticket = make_ticket(decision, number, agent, event_id)
        return ticket._replace(plays_left=decision.plays - list(decision.rewards).index(number))
    if ledger is None:
        raise InvalidInputError(
            f"ticket {number} is settled, and an agent without a ledger remembers pending tickets "
            "only: give it one, Agent(ledger=...)"
        )
    decision, event_id = ledger.issued(number, 1)
    return make_ticket(decision, number, agent, event_id)
