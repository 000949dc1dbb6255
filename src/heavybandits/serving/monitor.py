"""What the live page and the metrics show of one agent, gathered while it works."""

import heapq
import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..offline.diagnose.tail_index import hill
from ..offline.evaluate.means import mean_interval, plain_mean

MOST_REWARDS = 20_000  # latest ones of a group
MOST_PER_ACTION = 2000
MOST_ACTIONS = 200  # with statistics of their own
BINS = 10  # of the propensities
SECONDS = 120  # of the series
LEAST = 20  # rewards of an interval
DELTA = 0.05


class Interval(NamedTuple):
    """A mean with a 95% interval; None for what too few rewards can tell."""

    rewards: int
    mean: float | None
    low: float | None
    high: float | None


class Difference(NamedTuple):
    """Mean reward of a first group minus that of a second, with an interval."""

    difference: float | None
    low: float | None
    high: float | None
    first: Interval
    second: Interval


def estimate(rewards: "deque[float] | list[float]", delta: float = DELTA) -> Interval:
    """Estimate a mean from rewards with heavy tails.

    >>> estimate([1.0] * 5).low is None, estimate([0.0, 1.0] * 100).mean
    (True, 0.5)
    """
    values = np.array(rewards, dtype=np.float64)
    if len(values) < LEAST:
        mean = float(values.mean()) if len(values) else None
        return Interval(len(values), mean, None, None)
    low, high = mean_interval(values, delta)
    return Interval(len(values), plain_mean(values, delta), float(low), float(high))


def compare(
    first: "deque[float] | list[float]", second: "deque[float] | list[float]", delta: float = DELTA
) -> Difference:
    """Compare the means of two groups; the groups are independent, so the half widths add as
    squares."""
    one, two = estimate(first, delta), estimate(second, delta)
    ends = (one.mean, one.low, one.high, two.mean, two.low, two.high)
    if any(end is None for end in ends):
        return Difference(None, None, None, one, two)
    mean1, low1, high1, mean2, low2, high2 = (float(end) for end in ends)  # type: ignore[arg-type]
    value = mean1 - mean2
    below, above = math.hypot(mean1 - low1, high2 - mean2), math.hypot(high1 - mean1, mean2 - low2)
    return Difference(value, value - below, value + above, one, two)


@dataclass
class ActionStatistics:
    """Plays and latest rewards of one action."""

    plays: int = 0
    total: int = 0
    rewards: "deque[float]" = field(default_factory=lambda: deque(maxlen=MOST_PER_ACTION))


@dataclass
class Second:
    """What happened in one second."""

    time: int
    decisions: int = 0
    rewards: int = 0
    latency: float = 0.0
    requests: int = 0
    actions: dict[str, int] = field(default_factory=dict)


class Monitor:
    """Counts and series of one agent. One thread adds, any thread reads."""

    def __init__(self) -> None:
        self.started = time.time()
        self.counts = dict.fromkeys(
            ("decisions", "applied", "duplicate", "late", "rejected", "repeated", "unavailable"), 0
        )
        self.groups: dict[str, deque[float]] = {}
        self.group_plays: dict[str, int] = {}
        self.actions: dict[str, ActionStatistics] = {}
        self.propensities = [0] * BINS
        self.weights = [0.0, 0.0]  # sum of 1 / propensity, and of its square
        self.seconds: deque[Second] = deque(maxlen=SECONDS)
        self.largest: list[tuple[float, float, str, str]] = []  # |reward|, reward, action, ticket
        self.agreed = [0, 0]  # decisions in which the policy agreed with the baseline, all

    def _second(self) -> Second:
        now = int(time.time())
        if not self.seconds or self.seconds[-1].time != now:
            self.seconds.append(Second(now))
        return self.seconds[-1]

    def _action(self, name: str) -> ActionStatistics:
        if name not in self.actions and len(self.actions) >= MOST_ACTIONS:
            name = "(other)"
        return self.actions.setdefault(name, ActionStatistics())

    def decided(self, action: str, propensity: float | None, group: str) -> None:
        """Count a decision."""
        self.counts["decisions"] += 1
        self.group_plays[group] = self.group_plays.get(group, 0) + 1
        self._action(action).plays += 1
        second = self._second()
        second.decisions += 1
        second.actions[action] = second.actions.get(action, 0) + 1
        if propensity is not None:
            self.propensities[min(int(propensity * BINS), BINS - 1)] += 1
            self.weights[0] += 1.0 / propensity
            self.weights[1] += 1.0 / (propensity * propensity)

    def rewarded(self, outcome: str, reward: float, action: str, group: str, ticket: str) -> None:
        """Count a reward."""
        self.counts[outcome] += 1
        self._second().rewards += 1
        if outcome != "applied":
            return
        one = self._action(action)
        one.total += 1
        one.rewards.append(reward)
        if group not in self.groups:
            self.groups[group] = deque(maxlen=MOST_REWARDS)
        self.groups[group].append(reward)
        entry = (abs(reward), reward, action, ticket)
        if len(self.largest) < 10:
            heapq.heappush(self.largest, entry)
        elif entry[0] > self.largest[0][0]:
            heapq.heapreplace(self.largest, entry)

    def answered(self, seconds: float) -> None:
        """Count the time of a request."""
        second = self._second()
        second.requests += 1
        second.latency += seconds

    def agree(self, agreed: bool) -> None:
        """Count a decision of the baseline with which the policy would have agreed, or not."""
        self.agreed[0] += agreed
        self.agreed[1] += 1

    @property
    def effective_sample_size(self) -> float:
        """Return (sum w)^2 / sum w^2 of the weights w = 1 / propensity."""
        return self.weights[0] ** 2 / self.weights[1] if self.weights[1] else 0.0

    def table(self) -> list[dict[str, Any]]:
        """Return one row per action: plays, rewards, mean and interval."""
        rows = []
        for name, one in sorted(self.actions.items(), key=lambda item: -item[1].plays):
            found = estimate(list(one.rewards))
            rows.append(
                {
                    "action": name,
                    "plays": one.plays,
                    "rewards": one.total,
                    "mean": found.mean,
                    "low": found.low,
                    "high": found.high,
                }
            )
        return rows

    def uplift(self, first: str = "policy", second: str = "holdout") -> Difference:
        """Compare two groups."""
        return compare(list(self.groups.get(first, ())), list(self.groups.get(second, ())))

    def tail_index(self) -> float | None:
        """Return Hill's estimate from the largest 5% of the latest rewards."""
        values = np.array([x for group in list(self.groups.values()) for x in list(group)])
        if len(values) < 200:
            return None
        sizes = np.abs(values - np.median(values))
        positive = sizes[sizes > 0.0]
        count = max(len(positive) // 20, 10)
        return float(hill(positive, count)) if len(positive) > 2 * count else None
