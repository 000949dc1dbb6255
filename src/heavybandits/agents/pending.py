"""The tickets of an agent: which of them wait for a reward, and what became of the others.

Every change can be made a second time and then has no effect, so that a change that an interrupt
left unfinished is simply repeated.
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_number, positive, whole
from . import events
from .tickets import Choices, Decision


class Limits(NamedTuple):
    """How long, and how many, tickets may wait, and the reward that an expired one is given."""

    max_pending: int
    expire_after: float | None
    expired_reward: float | None


def make_limits(max_pending: Any, expire_after: Any, expired_reward: Any) -> Limits:
    """Validate the limits.

    >>> make_limits(10, None, 0)
    Limits(max_pending=10, expire_after=None, expired_reward=0.0)
    """
    return Limits(
        whole("max_pending", max_pending),
        None if expire_after is None else positive("expire_after", expire_after),
        None if expired_reward is None else finite_number("expired_reward", expired_reward) + 0.0,
    )


class ActionCount(NamedTuple):
    """How often an action was chosen, and how many rewards it has received."""

    plays: int = 0
    rewards: int = 0


MOST_SETTLED = 1 << 16  # settled decisions kept in batches, beyond four per pending ticket
MOST_EXPIRED = 100_000  # expired tickets that are remembered: a reward of theirs is late
COUNTS = (
    *("applied", "late", "duplicate", "unknown", "expired", "cancelled"),
    *("revised", "warm_started"),
    "learned",  # rewards and rows that the policy has learned
)

Learn = Callable[[Any, Decision], None]


class TicketTable:
    """The tickets of an agent.

    `pending` contains those that wait, by number and so by age, with their decision or batch;
    `open` the decisions that still need plays, the first of them next; `expired` the last tickets
    that expired; `counts` the number of each kind; `action_counts` those of actions with names;
    `event_ids` the pending tickets by the caller's id.
    """

    def __init__(self, issued: int = 0, expired: Iterable[int] = ()) -> None:
        self.pending: dict[int, Decision | Choices] = {}
        self.open: list[Decision] = []
        self.expired: dict[int, None] = dict.fromkeys(expired)
        self.issued = issued
        self.counts = dict.fromkeys(COUNTS, 0)
        self.action_counts: dict[str, ActionCount] = {}
        self.event_ids: dict[str, int] = {}
        self._ages: list[tuple[float, int]] | None = None  # a heap of pending tickets by time
        self._batched = 0  # decisions in batches, settled ones included

    # ---- counts after an event

    def counts_after(self, planned: Sequence[events.Event]) -> dict[str, int]:
        """Return the counts after these events."""
        if type(planned[0]) is events.Selected:
            return self.counts  # decisions are planned without other events
        counts = self.counts.copy()
        for event in planned:
            match event:
                case events.Rewarded():
                    counts["applied"] += 1
                    counts["learned"] += 1
                case events.Cancelled():
                    counts["cancelled"] += 1
                case events.Expired():
                    counts["expired"] += 1
                    counts["learned"] += event.reward is not None
                case events.CancelledAll():
                    counts["cancelled"] += len(self.pending)
                case events.Reset():
                    counts = dict.fromkeys(COUNTS, 0)
                case events.Revised():
                    counts["revised"] += 1
                case events.WarmStarted(lesson=lesson):
                    counts["warm_started"] += len(lesson.rows)
                    counts["learned"] += len(lesson.rows)
        return counts

    def action_counts_after(self, planned: Sequence[events.Event]) -> Mapping[str, ActionCount]:
        """Return the counts after these events, of the actions that they are about."""
        found: dict[str, ActionCount] = {}
        for event in planned:
            for name, more in self._actions_of(event):
                if name is not None:
                    plays, rewards = found.get(name) or self.action_counts.get(name, ActionCount())
                    found[name] = ActionCount(plays + more.plays, rewards + more.rewards)
        return found

    def _actions_of(self, event: events.Event) -> Iterator[tuple[str | None, ActionCount]]:
        match event:
            case events.Selected(decision=decision):
                yield decision.action, ActionCount(plays=1)
            case events.SelectedMany(choices=choices):
                for name, times in Counter(choices.actions).items():
                    yield name, ActionCount(plays=times)
            case events.Rewarded(ticket=number) | events.Expired(ticket=number, reward=float()):
                made = self.decision_of(number)
                yield None if made is None else made.action, ActionCount(rewards=1)

    # ---- changes

    def issue(
        self, number: int, chosen: Decision, time: float, event_id: str | None = None
    ) -> None:
        """Issue the next ticket: of the decision that still needs plays, else of `chosen`."""
        decision = self.decision_of(number) or (self.open[0] if self.open else chosen)
        if number < self.issued:
            return  # done before an interrupt
        self.wait(number, decision, time, event_id)
        if decision.plays_left == 0:
            if self.open and decision in self.open:
                self.open.remove(decision)
        elif decision not in self.open:
            self.open.append(decision)
        self.issued = number + 1

    def wait(
        self, number: int, decision: Decision, time: float, event_id: str | None = None
    ) -> None:
        """Let a ticket that was issued wait for its reward."""
        decision.rewards[number] = None
        decision.times[number] = time
        self.pending[number] = decision
        if self._ages is not None:
            heapq.heappush(self._ages, (time, number))
        if event_id is not None:
            decision.event_ids = {**(decision.event_ids or {}), number: event_id}
            self.event_ids[event_id] = number

    def issue_many(self, choices: Choices) -> None:
        """Issue the next tickets, of decisions that were made together."""
        if self._batched > 4 * len(self.pending) + MOST_SETTLED:
            self.decisions()  # a few that wait forever must not keep their batches alive
            self._batched = 0
        self.pending |= dict.fromkeys(choices.numbers, choices)
        if self._ages is not None:
            for number in choices.numbers:
                heapq.heappush(self._ages, (choices.time, number))
        for number, event_id in zip(choices.numbers, choices.event_ids or (), strict=False):
            if event_id is not None:
                self.event_ids[event_id] = number
        self._batched += len(choices.arms)
        self.issued = choices.numbers.stop

    def settle(self, event: events.Settled, learned: Any, learn: Learn) -> None:
        """Settle a pending ticket, and learn from its decision if all its rewards are in now."""
        number = event.ticket
        decision = self.decision_of(number)
        if decision is None:
            return  # done before an interrupt
        reward, noise_scale = None, None
        match event:
            case events.Rewarded():
                reward, noise_scale = event.reward, event.noise_scale
            case events.Expired():
                reward = event.reward
                self._remember(number)
        if reward is None:
            self._forget_play(decision, number)
        else:
            decision.rewards[number], decision.noise_scale = reward, noise_scale
            if decision.complete:
                learn(learned, decision)
        if decision.event_ids is not None:
            self.event_ids.pop(decision.event_ids.get(number, ""), None)
        del self.pending[number]

    def _forget_play(self, decision: Decision, number: int) -> None:
        """Ask for a play again, if the decision has several."""
        decision.rewards.pop(number, None)
        decision.times.pop(number, None)
        if decision.plays > 1 and decision not in self.open:
            self.open.append(decision)

    def cancel_all(self) -> None:
        """Drop every pending ticket."""
        self.pending.clear()
        self.event_ids.clear()
        self.open.clear()

    def _remember(self, number: int) -> None:
        self.expired[number] = None
        while len(self.expired) > MOST_EXPIRED:
            del self.expired[next(iter(self.expired))]

    # ---- questions

    def decision_of(self, number: int) -> Decision | None:
        """Return the decision of a pending ticket: the same object from now on."""
        found = self.pending.get(number)
        if isinstance(found, Choices):
            found = self.pending[number] = found.decision(number)
        return found

    def decisions(self) -> list[Decision]:
        """Return the decisions of all pending tickets."""
        return [decision for n in self.pending if (decision := self.decision_of(n)) is not None]

    def due(self, limits: Limits, now: float, room: int) -> list[events.Event]:
        """Return the expiries of tickets past their time, and of the oldest if there are too many.

        `room` is the number of tickets about to be issued.
        """
        excess = len(self.pending) + room - limits.max_pending
        if limits.expire_after is None and excess <= 0:
            return []
        late = [] if limits.expire_after is None else self._older(now - limits.expire_after)
        numbers = dict.fromkeys(sorted(late))
        for number in self.pending:
            if len(numbers) >= excess:
                break
            numbers[number] = None
        learned, reward = self.counts["learned"], limits.expired_reward
        lessons = itertools.count(learned) if reward is not None else itertools.repeat(learned)
        return [
            events.Expired(number, now, reward, lesson)
            for number, lesson in zip(sorted(numbers), lessons, strict=False)
        ]

    def _older(self, moment: float) -> list[int]:
        """Return the pending tickets issued at this time or before, also if the clock went back."""
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
        while places:  # a heap: the children of a later ticket are later still
            place = places.pop()
            if place < len(ages) and ages[place][0] <= moment:
                found.append(ages[place][1])
                places += (2 * place + 1, 2 * place + 2)
        return [number for number in found if number in self.pending]

    def reject(self, number: int) -> NoReturn:
        """Count a ticket that is not pending, and raise InvalidInputError."""
        self.check_issued(number)
        self.counts["duplicate"] += 1
        raise InvalidInputError(
            f"ticket {number} must be pending, but has been settled already, or was forgotten by "
            "cancel_all or reset. To correct a reward, use revise, which needs a ledger"
        )

    def check_issued(self, number: int) -> None:
        """Raise InvalidInputError unless this ticket was issued."""
        if not 0 <= number < self.issued:
            self.counts["unknown"] += 1
            raise InvalidInputError(
                f"ticket {number} must be one of the {self.issued} that this agent has issued"
            )
