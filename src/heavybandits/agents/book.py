"""The book of an agent: which tickets wait, which decisions ask for more plays, how many of each.

Every change can be made a second time and is then no change, so that whatever an interrupt left
half done is simply done again.
"""

import heapq
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..support.errors import InvalidInput
from .tickets import Decision, Event, Kind, Limits

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
