"""Tickets, the decisions behind them, and the events that make an agent what it is."""

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InvalidInput
from ..support.validation import finite_number, positive, whole

Floats = NDArray[np.float64]


class Kind(StrEnum):
    """What can happen to an agent."""

    SELECT = "select"
    REWARD = "reward"
    CANCEL = "cancel"
    EXPIRE = "expire"
    ABANDON = "abandon"
    RESET = "reset"


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
    """An arm that was chosen, and the rewards of its plays as they come in.

    `lessons` is how many decisions had been learned from when the turn of this one came.
    """

    __slots__ = ("arm", "estimate", "features", "lessons", "plays", "rewards", "times", "width")

    def __init__(
        self, arm: int, features: Floats, estimate: float, width: float, plays: int
    ) -> None:
        self.arm, self.features, self.plays = arm, features, plays
        self.estimate, self.width = estimate, width
        self.rewards: dict[int, float | None] = {}
        self.times: dict[int, float] = {}
        self.lessons: int | None = None

    @property
    def left(self) -> int:
        """Plays it still asks for."""
        return self.plays - len(self.rewards)

    @property
    def complete(self) -> bool:
        return len(self.rewards) == self.plays and None not in self.rewards.values()


class Event(NamedTuple):
    """One thing that happened to an agent; `reward` of an expiry is what was assumed, if anything.

    `ticket` is the next to be issued where the event is about none in particular; `changes` holds
    what a choice changed in the policy's state and in the generator.
    """

    kind: Kind
    ticket: int
    time: float
    reward: float | None = None
    decision: Decision | None = None
    changes: str | None = None


class Limits(NamedTuple):
    """How long, and for how many rewards, an agent waits; and what it then assumes."""

    max_pending: int
    expire_after: float | None
    missing: float | None


def make_limits(max_pending: Any, expire_after: Any, missing: Any) -> Limits:
    """The limits, checked.

    >>> make_limits(10, None, 0)
    Limits(max_pending=10, expire_after=None, missing=0.0)
    """
    return Limits(
        whole("max_pending", max_pending),
        None if expire_after is None else positive("expire_after", expire_after),
        None if missing is None else finite_number("missing", missing) + 0.0,
    )


def ticket_number(ticket: Ticket | int) -> int:
    """The number of a ticket, or of its id.

    >>> ticket_number(7)
    7
    """
    number = ticket.id if isinstance(ticket, Ticket) else ticket
    if type(number) is int:
        return number
    if not isinstance(number, np.integer) or isinstance(number, np.timedelta64):
        raise InvalidInput(f"ticket must be a Ticket or its id, got {ticket!r}")
    return int(number)
