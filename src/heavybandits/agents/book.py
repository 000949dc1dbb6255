"""Tickets, the decisions behind them, the events of an agent, and the book that follows these.

Every change of the book can be made a second time and is then no change, so that whatever an
interrupt left half done is simply done again.
"""

import heapq
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

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
    plays of this arm the decision still asks for, this one included. `propensity` is how likely
    the choice was: 1 unless the policy draws its arms, as `policies.Mixed` does.
    """

    id: int
    arm: int
    features: Floats
    estimate: float
    width: float
    plays: int
    propensity: float = 1.0


class Decision:
    """An arm that was chosen, and the rewards of its plays as they come in.

    `lessons` is how many decisions had been learned from when the turn of this one came, `spread`
    that of its reward, if one was given.
    """

    __slots__ = (
        *("arm", "estimate", "features", "lessons", "plays", "propensity"),
        *("rewards", "spread", "times", "width"),
    )

    def __init__(
        self,
        arm: int,
        features: Floats,
        estimate: float,
        width: float,
        plays: int,
        propensity: float = 1.0,
    ) -> None:
        self.arm, self.features, self.plays = arm, features, plays
        self.propensity = propensity
        self.estimate, self.width = estimate, width
        self.rewards: dict[int, float | None] = {}
        self.times: dict[int, float] = {}
        self.lessons: int | None = None
        self.spread: float | None = None

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
    spread: float | None = None


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


class Given(NamedTuple):
    """A reward as it was given: with its own spread, or None for the policy's."""

    reward: float
    spread: float | None = None

    def __str__(self) -> str:
        return f"{self.reward}" + ("" if self.spread is None else f" with spread {self.spread}")


def check_rewards(rewards: Any, spreads: bool) -> list[tuple[int, Given]]:
    """Tickets and what was given for them, with `spreads` also those of a reward.

    >>> check_rewards([(3, 1), (4, 0.5, 2)], spreads=True)
    [(3, Given(reward=1.0, spread=None)), (4, Given(reward=0.5, spread=2.0))]
    """
    try:
        rows = [(ticket, reward, *rest) for ticket, reward, *rest in rewards]
        shaped = all(len(row) <= 3 for row in rows)
    except (TypeError, ValueError):
        shaped = False
    if not shaped:
        raise InvalidInput(
            f"rewards must be pairs (ticket, reward), or (ticket, reward, spread), got {rewards!r}"
        )
    return [(ticket_number(ticket), check_given(spreads, *given)) for ticket, *given in rows]


def check_given(spreads: bool, reward: Any, spread: Any = None) -> Given:
    """What is given for a ticket; with `spreads` it may have one of its own.

    >>> check_given(False, 3)
    Given(reward=3.0, spread=None)
    """
    number = finite_number("reward", reward) + 0.0  # a database does not tell -0.0 from 0.0
    if spread is None:
        return Given(number)
    if not spreads:
        raise InvalidInput("spread must be left out: this policy knows one for all, or none")
    return Given(number, positive("spread", spread))


# ---- the book

MOST_EXPIRED = 100_000  # tickets that are still known to have expired, to tell late from twice
COUNTED = {Kind.REWARD: "applied", Kind.CANCEL: "cancelled", Kind.EXPIRE: "expired"}
COUNTS = ("applied", "late", "duplicate", "unknown", "expired", "cancelled")

Learn = Callable[[Any, Decision], None]


class Book:
    """The tickets of an agent.

    `pending` are those that wait, by number and so by age; `open` the decisions that still ask for
    plays, the first of them next; `expired` the last that expired; `counts` how many of each kind.
    """

    def __init__(self, issued: int = 0, expired: Iterable[int] = ()) -> None:
        self.pending: dict[int, Decision] = {}
        self.open: list[Decision] = []
        self.expired: dict[int, None] = dict.fromkeys(expired)
        self.issued = issued
        self.counts = dict.fromkeys(COUNTS, 0)
        self._ages: list[tuple[float, int]] | None = None  # a heap of pending tickets by time

    # ---- changes

    def counted(self, events: Iterable[Event]) -> dict[str, int]:
        """What the counts will be after these events."""
        counts = self.counts.copy()
        for event in events:
            if event.kind in COUNTED:
                counts[COUNTED[event.kind]] += 1
            elif event.kind == Kind.ABANDON:
                counts["cancelled"] += len(self.pending)
            elif event.kind == Kind.RESET:
                counts = dict.fromkeys(COUNTS, 0)
        return counts

    def issue(self, event: Event) -> None:
        """The next ticket: of the decision that still asks for plays, else of the event's."""
        number = event.ticket
        decision = self.pending.get(number) or (self.open[0] if self.open else event.decision)
        if decision is None or number < self.issued:
            return  # done before an interrupt
        decision.rewards[number] = None
        decision.times[number] = event.time
        self.pending[number] = decision
        if decision.left > 0 and decision not in self.open:
            self.open.append(decision)
        elif decision.left == 0 and decision in self.open:
            self.open.remove(decision)
        if self._ages is not None:
            heapq.heappush(self._ages, (event.time, number))
        self.issued = number + 1

    def settle(self, event: Event, learned: Any, learn: Learn) -> None:
        """Settle a pending ticket, and learn from its decision if all its rewards are in now."""
        number = event.ticket
        decision = self.pending.get(number)
        if decision is None:
            return  # done before an interrupt
        if event.reward is not None:
            decision.rewards[number] = event.reward
            decision.spread = event.spread
            if decision.complete:
                learn(learned, decision)
        else:
            decision.rewards.pop(number, None)
            decision.times.pop(number, None)
            if decision.plays > 1 and decision not in self.open:
                self.open.append(decision)
        if event.kind == Kind.EXPIRE:
            self._remember(number)
        del self.pending[number]

    def abandon(self) -> None:
        self.pending.clear()
        self.open.clear()

    def _remember(self, number: int) -> None:
        self.expired[number] = None
        while len(self.expired) > MOST_EXPIRED:
            del self.expired[next(iter(self.expired))]

    # ---- questions

    def due(self, limits: Limits, now: float, room: int) -> list[Event]:
        """The expiries of the tickets past their time, and of the oldest if they are too many."""
        excess = len(self.pending) + room - limits.max_pending
        if limits.expire_after is None and excess <= 0:
            return []
        late = [] if limits.expire_after is None else self._older(now - limits.expire_after)
        numbers = dict.fromkeys(sorted(late))
        for number in self.pending:
            if len(numbers) >= excess:
                break
            numbers[number] = None
        return [Event(Kind.EXPIRE, number, now, limits.missing) for number in sorted(numbers)]

    def _older(self, moment: float) -> list[int]:
        """The pending tickets of this moment or before, whatever the clock did since."""
        if self._ages is None or len(self._ages) > 2 * len(self.pending) + 64:
            ages = [(decision.times[n], n) for n, decision in self.pending.items()]
            heapq.heapify(ages)
            self._ages = ages
        ages, found, places = self._ages, [], [0]
        while ages and ages[0][1] not in self.pending:
            heapq.heappop(ages)
        while places:  # a heap: what lies below a later ticket is later still
            place = places.pop()
            if place < len(ages) and ages[place][0] <= moment:
                found.append(ages[place][1])
                places += (2 * place + 1, 2 * place + 2)
        return [number for number in found if number in self.pending]

    def refuse(self, number: int) -> NoReturn:
        """Count a ticket that is not pending, and say why it is not taken."""
        self.check_issued(number)
        self.counts["duplicate"] += 1
        raise InvalidInput(f"ticket {number} must be pending, but has been settled already")

    def check_issued(self, number: int) -> None:
        if not 0 <= number < self.issued:
            self.counts["unknown"] += 1
            raise InvalidInput(f"ticket {number} must be one of the {self.issued} issued so far")
