"""The events of an agent, and the book of its tickets that follows these.

Every change of the book can be made a second time and is then no change, so that whatever an
interrupt left half done is simply done again.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_number, positive, whole
from ..core.arrays import Floats
from .tickets import Choices, Decision


class Kind(StrEnum):
    """What can happen to an agent."""

    SELECT = "select"
    REWARD = "reward"
    CANCEL = "cancel"
    EXPIRE = "expire"
    ABANDON = "abandon"
    RESET = "reset"
    LEARN = "learn"
    REVISE = "revise"


SELECT, REWARD = Kind.SELECT, Kind.REWARD  # to look them up costs as much as to compare them


class Lesson:
    """Rows and their rewards, (n, d) and (n, plays), that are learned without a decision.

    `lessons` is as for a `Decision`.
    """

    __slots__ = ("lessons", "rewards", "rows")

    def __init__(self, rows: Floats, rewards: Floats) -> None:
        self.rows, self.rewards = rows, rewards
        self.lessons: int | None = None


class Revision:
    """A reward that turned out otherwise: of which features, and what it was before.

    `after` holds the arrays of the policy once they are known, so that it is done once.
    """

    __slots__ = ("after", "before", "features")

    def __init__(self, features: Floats, before: float) -> None:
        self.features, self.before = features, before
        self.after: dict[str, Any] | None = None


class Event(NamedTuple):
    """One thing that happened to an agent; `reward` of an expiry is what was assumed, if anything.

    `ticket` is the next to be issued where the event is about none in particular; `changes` holds
    what a choice changed in the policy's state and in the generator. `lesson` is what was learned
    without a ticket, or of one that was settled before; `raw` what was offered, in JSON. Decisions
    made together that no ledger writes down are one event, and are `many`.
    """

    kind: Kind
    ticket: int
    time: float
    reward: float | None = None
    decision: Decision | None = None
    changes: str | None = None
    noise_scale: float | None = None
    lesson: Lesson | Revision | None = None
    raw: str | None = None
    many: Choices | None = None


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


# ---- the book

MOST_SETTLED = 1 << 16  # decisions kept for others of their batch, beyond four for each that waits
MOST_EXPIRED = 100_000  # tickets that are still known to have expired, to tell late from twice
COUNTED = {Kind.REWARD: "applied", Kind.CANCEL: "cancelled", Kind.EXPIRE: "expired"}
COUNTS = (
    *("applied", "late", "duplicate", "unknown", "expired", "cancelled"),
    *("revised", "taught"),
)

Learn = Callable[[Any, Decision], None]


class Tally(NamedTuple):
    """How often an offer was chosen, and how many rewards it has had so far."""

    plays: int = 0
    rewards: int = 0


class Book:
    """The tickets of an agent.

    `pending` are those that wait, by number and so by age, each with its decision or the batch that
    holds it; `open` the decisions that still ask for plays, the first of them next; `expired` the
    last that expired; `counts` how many of each kind; `tallies` those of offers that have names.
    """

    def __init__(self, issued: int = 0, expired: Iterable[int] = ()) -> None:
        self.pending: dict[int, Decision | Choices] = {}
        self.open: list[Decision] = []
        self.expired: dict[int, None] = dict.fromkeys(expired)
        self.issued = issued
        self.counts = dict.fromkeys(COUNTS, 0)
        self.tallies: dict[str, Tally] = {}
        self._ages: list[tuple[float, int]] | None = None  # a heap of pending tickets by time
        self._together = 0  # decisions in batches, those that were settled included

    # ---- changes

    def counted(self, events: Iterable[Event]) -> dict[str, int]:
        """What the counts will be after these events."""
        counts = self.counts.copy()
        for event in events:
            kind = event.kind
            if kind is SELECT:
                continue
            if kind in COUNTED:
                counts[COUNTED[kind]] += 1
            elif kind is Kind.ABANDON:
                counts["cancelled"] += len(self.pending)
            elif kind is Kind.RESET:
                counts = dict.fromkeys(COUNTS, 0)
            elif kind is Kind.REVISE:
                counts["revised"] += 1
            elif isinstance(event.lesson, Lesson):
                counts["taught"] += len(event.lesson.rows)
        return counts

    def tallied(self, events: Iterable[Event]) -> Mapping[str, Tally]:
        """What the tallies will be, of the offers that these events are about."""
        found: dict[str, Tally] = {}
        for event in events:
            decision = event.decision or self.waiting(event.ticket)
            chosen = event.kind is SELECT
            told = event.kind in COUNTED and event.reward is not None
            offer = None if decision is None else decision.offer
            counts = {offer: 1} if event.many is None else Counter(event.many.offers)
            for name, times in counts.items():
                if name is not None:
                    plays, rewards = found.get(name) or self.tallies.get(name, Tally())
                    found[name] = Tally(plays + chosen * times, rewards + told)
        return found

    def issue(self, event: Event) -> None:
        """The next ticket: of the decision that still asks for plays, else of the event's."""
        number = event.ticket
        decision = self.waiting(number) or (self.open[0] if self.open else event.decision)
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

    def issue_many(self, choices: Choices) -> None:
        """The next tickets, of decisions that were made together."""
        if self._together > 4 * len(self.pending) + MOST_SETTLED:
            self.decisions()  # a few that wait for ever must not keep their batches alive
            self._together = 0
        self.pending |= dict.fromkeys(choices.numbers, choices)
        if self._ages is not None:
            for number in choices.numbers:
                heapq.heappush(self._ages, (choices.time, number))
        self._together += len(choices.arms)
        self.issued = choices.numbers.stop

    def settle(self, event: Event, learned: Any, learn: Learn) -> None:
        """Settle a pending ticket, and learn from its decision if all its rewards are in now."""
        number = event.ticket
        decision = self.waiting(number)
        if decision is None:
            return  # done before an interrupt
        if event.reward is not None:
            decision.rewards[number] = event.reward
            decision.noise_scale = event.noise_scale
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

    def waiting(self, number: int) -> Decision | None:
        """The decision of a ticket that waits: the same object from now on."""
        found = self.pending.get(number)
        if isinstance(found, Choices):
            found = self.pending[number] = found.decision(number)
        return found

    def decisions(self) -> list[Decision]:
        """Those of all tickets that wait."""
        return [decision for n in self.pending if (decision := self.waiting(n)) is not None]

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
            ages = [
                (found.time if isinstance(found, Choices) else found.times[n], n)
                for n, found in self.pending.items()
            ]
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
        raise InvalidInputError(f"ticket {number} must be pending, but has been settled already")

    def check_issued(self, number: int) -> None:
        if not 0 <= number < self.issued:
            self.counts["unknown"] += 1
            raise InvalidInputError(
                f"ticket {number} must be one of the {self.issued} issued so far"
            )
