"""What the live page and the metrics show of one agent, gathered while it works."""

import heapq
import math
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .._utils.statistics import Estimate
from ..agents.tickets import POLICY
from ..core.arrays import Floats
from ..offline.diagnose.tail_index import hill
from ..offline.uplift import subtract
from .moments import DELTA, Interval, Moments
from .timeline import Timeline

MOST_ACTIONS = 200  # with statistics of their own
MOST_LARGEST = 10
OTHER = "(other)"  # what the actions beyond these are called together
BINS = 10  # of the propensities
LATEST = 20_000  # rewards of the tail index
LEAST_TAIL = 200  # rewards of a tail index
TAIL_SHARE = 20  # one in so many rewards is in the tail
SECONDS = 120  # of the series by second
MINUTES = 180  # of the series by minute
# Upper ends of the classes of latencies, in seconds.
LATENCIES = tuple(1e-4 * 2.0**power for power in range(17))
COUNTS = ("decisions", "applied", "duplicate", "late", "rejected", "repeated", "unavailable")


class Difference(NamedTuple):
    """Mean reward of a first group minus that of a second, with an interval."""

    difference: float | None
    low: float | None
    high: float | None
    first: Interval
    second: Interval

    @property
    def certain(self) -> bool:
        """Return True if enough rewards carry both means."""
        return self.first.certain and self.second.certain


def subtract_intervals(first: Interval, second: Interval) -> Difference:
    """Return the difference of two independent means, its interval by MOVER as in `uplift`."""
    one, two = _estimate(first), _estimate(second)
    if one is None or two is None:
        return Difference(None, None, None, first, second)
    return Difference(*subtract(one, two), first, second)


def _estimate(found: Interval) -> Estimate | None:
    if found.mean is None or found.low is None or found.high is None:
        return None
    return Estimate(found.mean, found.low, found.high)


def compare(first: Iterable[float], second: Iterable[float], delta: float = DELTA) -> Difference:
    """Compare the means of two groups of rewards.

    >>> compare([0.0, 2.0] * 50, [0.0, 1.0] * 50).difference
    0.5
    """
    one, two = Moments(), Moments()
    for into, rewards in ((one, first), (two, second)):
        for reward in rewards:
            into.add(reward)
    return subtract_intervals(one.interval(delta), two.interval(delta))


class ActionStatistics:
    """Plays and rewards of one action."""

    __slots__ = ("plays", "rewards")

    def __init__(self) -> None:
        self.plays, self.rewards = 0, Moments()


class Latencies:
    """Numbers of requests by the time that they took.

    >>> made = Latencies()
    >>> for _ in range(99):
    ...     made.add(0.0015)
    >>> made.add(0.7)
    >>> round(made.quantile(0.5), 4), round(made.quantile(0.999), 1)
    (0.0012, 0.8)
    """

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts, self.seconds = [0] * (len(LATENCIES) + 1), 0.0

    def add(self, seconds: float) -> None:
        """Count a request."""
        self.counts[bisect_left(LATENCIES, seconds)] += 1
        self.seconds += seconds

    @property
    def requests(self) -> int:
        """Return the number of requests."""
        return sum(self.counts)

    def quantile(self, share: float) -> float | None:
        """Return the time within which this share was answered; None without a request.

        The method assumes that requests are uniform in their class.
        """
        wanted, before = share * self.requests, 0
        for place, count in enumerate(self.counts):
            if count and before + count >= wanted:
                low = LATENCIES[place - 1] if place else 0.0
                high = LATENCIES[min(place, len(LATENCIES) - 1)]
                return low + (high - low) * (wanted - before) / count
            before += count
        return None

    @classmethod
    def total(cls, parts: "Iterable[Latencies]") -> "Latencies":
        """Return the sum of several."""
        made = cls()
        for part in parts:
            made.counts = [one + more for one, more in zip(made.counts, part.counts, strict=True)]
            made.seconds += part.seconds
        return made


class Monitor:
    """Counts and series of one agent. One thread adds, any thread reads."""

    def __init__(self) -> None:
        self.started = time.time()
        self.since = self.started  # the time of the first decision that the statistics include
        self.counts = dict.fromkeys(COUNTS, 0)
        self.groups: dict[str, Moments] = {}
        self.group_plays: dict[str, int] = {}
        self.actions: dict[str, ActionStatistics] = {}
        self.propensities = [0] * BINS
        self.weights = [0.0, 0.0]  # sum of 1 / propensity, and of its square
        self.latencies = Latencies()
        self.recent: dict[int, Latencies] = {}  # by second
        self.seconds, self.minutes = Timeline(1, SECONDS), Timeline(60, MINUTES)
        self.latest: deque[float] = deque(maxlen=LATEST)
        self.largest: list[tuple[float, float, str, str]] = []  # |reward|, reward, action, ticket
        self.pause = 0.0  # seconds that decisions waited at the last promotion
        self.agreed = [0, 0]  # decisions in which the policy agreed with the baseline, all

    def _action(self, name: str) -> ActionStatistics:
        found = self.actions.get(name)
        if found is None:
            if len(self.actions) >= MOST_ACTIONS:
                name = OTHER
            found = self.actions.setdefault(name, ActionStatistics())
        return found

    def decided(self, action: str, propensity: float | None, group: str) -> None:
        """Count a decision."""
        self.counts["decisions"] += 1
        now = time.time()
        self.seconds.decided(now, action)
        self.minutes.decided(now, action)
        self.include_decision(action, propensity, group)

    def include_decision(self, action: str, propensity: float | None, group: str) -> None:
        """Take a decision into the statistics, whenever it was made."""
        self.group_plays[group] = self.group_plays.get(group, 0) + 1
        self._action(action).plays += 1
        if propensity is not None and group == POLICY:
            self.propensities[min(int(propensity * BINS), BINS - 1)] += 1
            self.weights[0] += 1.0 / propensity
            self.weights[1] += 1.0 / (propensity * propensity)

    def rewarded(self, outcome: str, reward: float, action: str, group: str, ticket: str) -> None:
        """Count a reward."""
        self.counts[outcome] += 1
        now = time.time()
        self.seconds.rewarded(now)
        self.minutes.rewarded(now)
        if outcome == "applied":
            self.include_reward(reward, action, group, ticket)

    def include_reward(self, reward: float, action: str, group: str, ticket: str) -> None:
        """Take a reward into the statistics, whenever it arrived."""
        self._action(action).rewards.add(reward)
        if group not in self.groups:
            self.groups[group] = Moments()
        self.groups[group].add(reward)
        self.latest.append(reward)
        entry = (abs(reward), reward, action, ticket)
        if len(self.largest) < MOST_LARGEST:
            heapq.heappush(self.largest, entry)
        elif entry[0] > self.largest[0][0]:
            heapq.heapreplace(self.largest, entry)

    def answered(self, seconds: float) -> None:
        """Count the time of a request."""
        self.latencies.add(seconds)
        now = int(time.time())
        found = self.recent.get(now)
        if found is None:
            found = self.recent[now] = Latencies()
            for old in [one for one in list(self.recent) if one <= now - SECONDS]:
                del self.recent[old]
        found.add(seconds)

    def recent_latencies(self, seconds: int = 10) -> Latencies:
        """Return the times of the requests in the last seconds."""
        first = int(time.time()) - seconds
        parts = list(self.recent.items())
        return Latencies.total(part for second, part in parts if second >= first)

    def agree(self, agreed: bool) -> None:
        """Count a decision of the baseline with which the policy would have agreed, or not."""
        self.agreed[0] += agreed
        self.agreed[1] += 1

    @property
    def effective_sample_size(self) -> float:
        """Return (sum w)^2 / sum w^2 of the weights w = 1 / propensity."""
        return self.weights[0] ** 2 / self.weights[1] if self.weights[1] else 0.0

    def most_played(self, most: int) -> list[str]:
        """Return the actions with the most plays."""
        known = list(self.actions.items())  # at once: another thread may add one
        return [name for name, _ in sorted(known, key=lambda item: -item[1].plays)[:most]]

    def table(self) -> list[dict[str, Any]]:
        """Return one row per action: plays, rewards, mean and interval."""
        rows = []
        for name in self.most_played(MOST_ACTIONS + 1):
            one = self.actions[name]
            found = one.rewards.interval()
            rows.append(
                {
                    "action": name,
                    "plays": one.plays,
                    "rewards": found.rewards,
                    "mean": found.mean,
                    "low": found.low,
                    "high": found.high,
                    "certain": found.certain,
                }
            )
        return rows

    def uplift(self, first: str = "policy", second: str = "holdout") -> Difference:
        """Compare two groups."""
        one, two = (self.groups.get(name, Moments()).interval() for name in (first, second))
        return subtract_intervals(one, two)

    def tail_index(self) -> float | None:
        """Return Hill's estimate from the largest 5% of the latest rewards that are not zero."""
        values = np.array(list(self.latest))
        if len(values) < LEAST_TAIL:
            return None
        found = hill_of(np.abs(values - np.median(values)))
        return found if found is not None and math.isfinite(found) else None


def hill_of(sizes: Floats) -> float | None:
    """Return Hill's tail index of sizes; None for too few that are not zero.

    >>> hill_of(np.zeros(1000)) is None
    True
    """
    positive = sizes[sizes > 0.0]
    count = max(len(positive) // TAIL_SHARE, 10)
    return float(hill(positive, count)) if len(positive) > 2 * count else None
