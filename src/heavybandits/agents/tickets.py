"""Tickets, the decisions behind them, and the events that make an agent what it is."""

import math
from enum import StrEnum
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InvalidInput

Floats = NDArray[np.float64]


class Kind(StrEnum):
    """What can happen to an agent."""

    SELECT = "select"
    REWARD = "reward"
    CANCEL = "cancel"
    EXPIRE = "expire"
    ABANDON = "abandon"
    RESET = "reset"


_COUNTED = {Kind.REWARD: "applied", Kind.CANCEL: "cancelled", Kind.EXPIRE: "expired"}


class Ticket(NamedTuple):
    """One play that was asked for. Give it, or its `id`, back with the reward.

    `arm` is the row of the arms given (-1 for a set without rows), `features` its features,
    `estimate` the mean reward expected, `width` how uncertain x.theta is, and `plays` how many
    plays of this arm the decision still asks for, this one included.
    """

    id: int
    arm: int
    features: Floats
    estimate: float
    width: float
    plays: int


class Decision:
    """An arm that was chosen, and the rewards of its plays as they come in."""

    __slots__ = ("arm", "estimate", "features", "plays", "rewards", "times", "width")

    def __init__(
        self, arm: int, features: Floats, estimate: float, width: float, plays: int
    ) -> None:
        self.arm, self.features, self.plays = arm, features, plays
        self.estimate, self.width = estimate, width
        self.rewards: dict[int, float | None] = {}
        self.times: dict[int, float] = {}

    @property
    def left(self) -> int:
        """Plays it still asks for."""
        return self.plays - len(self.rewards)

    @property
    def complete(self) -> bool:
        return len(self.rewards) == self.plays and None not in self.rewards.values()


class Event(NamedTuple):
    """One thing that happened to an agent; `reward` of an expiry is what was assumed, if anything.

    `changes` holds what a choice changed in the policy's state and in the generator.
    """

    kind: Kind
    ticket: int | None
    time: float
    reward: float | None = None
    decision: Decision | None = None
    changes: str | None = None


class Limits(NamedTuple):
    """How long, and for how many rewards, an agent waits; and what it then assumes."""

    max_pending: int
    expire_after: float | None
    missing: float | None


class Book:
    """The tickets of an agent: those pending, by number and so by age; the decisions that still
    ask for plays, the first of them next; and how many there were of each kind.
    """

    def __init__(self, issued: int = 0) -> None:
        self.pending: dict[int, Decision] = {}
        self.open: list[Decision] = []
        self.issued = issued
        names = ("applied", "late", "duplicate", "unknown", "expired", "cancelled")
        self.counts = dict.fromkeys(names, 0)

    def issue(self, event: Event) -> None:
        """The next ticket: of the decision that still asks for plays, else of the event's."""
        if not self.open and event.decision is not None:
            self.open.append(event.decision)
        decision, number = self.open[0], self.issued
        decision.rewards[number] = None
        decision.times[number] = event.time
        self.pending[number] = decision
        self.issued += 1
        if decision.left == 0:
            self.open.remove(decision)

    def settle(self, number: int, event: Event) -> Decision | None:
        """Settle a pending ticket; the decision, if all its rewards are in now."""
        decision = self.pending.pop(number)
        self.counts[_COUNTED[event.kind]] += 1
        if event.reward is not None:
            decision.rewards[number] = event.reward
            return decision if decision.complete else None
        del decision.rewards[number], decision.times[number]
        if decision.plays > 1 and decision not in self.open:
            self.open.append(decision)
        return None

    def abandon(self) -> None:
        self.counts["cancelled"] += len(self.pending)
        self.pending.clear()
        self.open.clear()

    def due(self, limits: Limits, now: float, room: int) -> list[Event]:
        """The expiries of the oldest tickets: those past their time, and those too many."""
        excess = len(self.pending) + room - limits.max_pending
        oldest = -math.inf if limits.expire_after is None else now - limits.expire_after
        events: list[Event] = []
        for number, decision in self.pending.items():
            if len(events) >= excess and decision.times[number] > oldest:
                break
            events.append(Event(Kind.EXPIRE, number, now, limits.missing))
        return events

    def refuse(self, number: int) -> NoReturn:
        """Count a ticket that is not pending, and say why it is not taken."""
        self.check_issued(number)
        self.counts["duplicate"] += 1
        raise InvalidInput(f"ticket {number} must be pending, but has been settled already")

    def check_issued(self, number: int) -> None:
        if not 0 <= number < self.issued:
            self.counts["unknown"] += 1
            raise InvalidInput(f"ticket {number} must be one of the {self.issued} issued so far")


def ticket_number(ticket: Ticket | int) -> int:
    """The number of a ticket, or of its id.

    >>> ticket_number(7)
    7
    """
    number = ticket.id if isinstance(ticket, Ticket) else ticket
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise InvalidInput(f"ticket must be a Ticket or its id, got {ticket!r}")
    return int(number)
