"""A filter that changes no reward and reports drift."""

from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Positive
from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.dispatch import apply
from ...core.jit import jitable, outlined
from ...core.order_statistics import select_rank
from ...core.protocols import Filter
from .memory import COUNTS, copy_counts, seen_count
from .truncation import NoFilter

# places in DriftMemory.counts
_COMPARED, _NONZERO, _WAITING, _LAST, _ALARMS = range(COUNTS, COUNTS + 5)
_LEVEL, _UNIT, _EFFECT = range(3)  # kinds of change; their alarms follow at _ALARMS
_SIZE, _PREDICTED = 3, 4  # places in DriftMemory.usual, after the means of the signs
BLOCK = 8  # rewards compared together: one by one, it takes nine times as long
FIRST = 32  # rewards whose median starts the usual size
SETTLED = 128  # rewards that set the usual values before the first comparison
MEMORY = 1000.0  # rewards over which the usual is remembered
KNOWN_ARM = 0.5  # ||x||_{V^-1} beyond which an error may be that of learning


class DriftReport(NamedTuple):
    """Number of changes of each kind noticed, and rewards since the last one (None: never).

    >>> DriftReport(0, 1, 0, 12).noticed
    True
    """

    level: int
    unit: int
    effect: int
    rewards_since: int | None

    @property
    def noticed(self) -> bool:
        """True if any change was noticed."""
        return self.level + self.unit + self.effect > 0


class DriftMemory(NamedTuple):
    """State of `DriftMonitor`.

    counts: rewards seen and cut, those compared since the last alarm and how many were not zero,
    those waiting, SEEN at the last alarm, and the alarms of each kind; waiting: these rewards and
    their predictions; usual: the means of the three signs, the median |error| and the mean
    prediction; sums: Page's, up and down for each sign; first: sizes; inner: memory of the wrapped
    filter.
    """

    counts: Integers
    waiting: Floats
    usual: Floats
    sums: Floats
    first: Floats
    inner: Any


@jitable
def sign(number: float) -> float:
    return (1.0 if number > 0.0 else 0.0) - (1.0 if number < 0.0 else 0.0)


@outlined
def forget_usual(memory: DriftMemory) -> None:
    """Forget the usual values and restart the sums."""
    memory.counts[_COMPARED], memory.counts[_NONZERO] = 0, 0
    for i in range(memory.usual.size):
        memory.usual[i] = 0.0
    for i in range(memory.sums.size):
        memory.sums[i] = 0.0


@jitable
def largest_sum(memory: DriftMemory, kind: int) -> float:
    return max(memory.sums[2 * kind], memory.sums[2 * kind + 1])


@jitable
def raise_alarms(memory: DriftMemory, threshold: float) -> None:
    """If a sum exceeds the threshold, count an alarm of each kind whose sum exceeds half of it.

    A new level changes sizes too, therefore half. Then forget the usual values.
    """
    top = max(largest_sum(memory, _LEVEL), largest_sum(memory, _UNIT), largest_sum(memory, _EFFECT))
    if top <= threshold:
        return
    for kind in range(3):
        memory.counts[_ALARMS + kind] += 1 if 2.0 * largest_sum(memory, kind) > threshold else 0
    memory.counts[_LAST] = seen_count(memory)
    forget_usual(memory)


@jitable
def add_signs(
    memory: DriftMemory, kind: int, total: float, count: float, n: int, allowance: float
) -> None:
    """Add the sum of `count` signs, the last being the n-th, to Page's sums and the usual mean."""
    excess = total - count * memory.usual[kind]
    memory.usual[kind] += excess / min(float(n), MEMORY)
    if n > SETTLED:
        up, down, allowed = 2 * kind, 2 * kind + 1, count * allowance
        memory.sums[up] = max(memory.sums[up] + excess - allowed, 0.0)
        memory.sums[down] = max(memory.sums[down] - excess - allowed, 0.0)


@jitable
def start_size(memory: DriftMemory) -> None:
    """Set the usual size to the median of the first 32 sizes, before the first comparison."""
    for i in range(BLOCK):
        place, reward = memory.counts[_NONZERO], memory.waiting[0, i]
        if reward != 0.0 and place < FIRST:
            memory.first[place] = abs(reward - memory.waiting[1, i])
            memory.counts[_NONZERO] += 1
    count = memory.counts[_NONZERO]
    memory.usual[_SIZE] = (
        select_rank(memory.first, 0, count, (count - 1) // 2) if count > 0 else 0.0
    )


@outlined
def compare_block(memory: DriftMemory, allowance: float, threshold: float) -> None:
    """Compare the waiting rewards with the usual values, and raise alarms if due."""
    counts, usual = memory.counts, memory.usual
    level, unit, effect, nonzero, total = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(BLOCK):
        reward, predicted = memory.waiting[0, i], memory.waiting[1, i]
        above, differs = sign(reward - predicted), 1.0 if reward != 0.0 else 0.0
        level += above
        effect += above * sign(predicted - usual[_PREDICTED])
        unit += differs * sign(abs(reward - predicted) - usual[_SIZE])
        nonzero += differs
        total += predicted
    counts[_WAITING] = 0
    counts[_COMPARED] += BLOCK
    n = counts[_COMPARED]
    usual[_PREDICTED] += (total - BLOCK * usual[_PREDICTED]) / min(float(n), MEMORY)
    add_signs(memory, _LEVEL, level, float(BLOCK), n, allowance)
    add_signs(memory, _EFFECT, effect, float(BLOCK), n, allowance)
    if counts[_NONZERO] < FIRST:
        start_size(memory)
    else:
        counts[_NONZERO] += int(nonzero)
        add_signs(memory, _UNIT, unit, nonzero, counts[_NONZERO], allowance)
        usual[_SIZE] *= 1.0 + 2.0 * unit / min(float(counts[_NONZERO] + FIRST), MEMORY)
    raise_alarms(memory, threshold)


class DriftMonitor(NamedTuple):
    """Apply a filter unchanged and monitor its rewards for drift, reported by `Agent.drift`.

    Three signs of a reward y with prediction m are monitored, so that no heavy tail disturbs them:
    sign(y - m) for a change of level; sign(|y - m| - its running median), unless y = 0, for one of
    unit; sign(y - m) sign(m - its running mean) for one of effects. Each has its usual mean u over
    the last 1000 rewards, and Page's (1954) sums up and down,

    S <- max(S +- sum of (sign - u) - 8 allowance, 0),    an alarm if S > alarm_threshold,

    for each eight rewards, which are compared together to save time. An alarm names every kind
    whose sum exceeds half of it, because a new level changes sizes too. Rewards of arms that are
    not known yet, ||x||_{V^-1} > 1/2, are left out, as are the first 128 others, which set the
    usual values; after an alarm these start again. `python benchmarks/drift.py` measures how soon
    a change is reported and how often without cause.

    Parameters
    ----------
    filter : Filter, default NoFilter()
        The filter to apply.
    allowance : float, default 0.25
        Change of a mean sign, per reward, that is not reported.
    alarm_threshold : float, default 25.0
        Sum at which an alarm is raised; a larger number is slower and has fewer false alarms.

    >>> part = DriftMonitor()
    >>> memory = part.init()
    >>> errors = [0.1, -0.3, 0.2, -0.1] * 100 + [9.0, -9.5] * 30
    >>> seen = [part.apply(memory, np.array([1.0 + e]), 0.1, 1.0) for e in errors]
    >>> part.drift(memory)
    DriftReport(level=0, unit=1, effect=0, rewards_since=20)
    """

    filter: Filter = NoFilter()
    allowance: Positive = 0.25
    alarm_threshold: Positive = 25.0

    def check(self) -> None:
        if isinstance(self.filter, DriftMonitor):
            raise InvalidInputError("DriftMonitor.filter must not be a DriftMonitor itself")

    @property
    def plays(self) -> int:
        return self.filter.plays

    def init(self) -> DriftMemory:
        counts = zeros(_ALARMS + 3, dtype=np.int64)
        arrays = zeros(2, BLOCK), zeros(5), zeros(6), zeros(FIRST)
        return DriftMemory(counts, *arrays, self.filter.init())

    def is_valid(self, memory: DriftMemory) -> bool:
        return bool(0 <= memory.counts[_WAITING] < BLOCK)

    def apply(self, memory: DriftMemory, rewards: Floats, norm: float, predicted: float) -> float:
        reward = apply(self.filter, memory.inner, rewards, norm, predicted)
        copy_counts(memory, memory.inner)
        if norm <= KNOWN_ARM:
            for i in range(rewards.size):
                place = memory.counts[_WAITING]
                memory.waiting[0, place], memory.waiting[1, place] = rewards[i], predicted
                memory.counts[_WAITING] = place + 1
                if place + 1 == BLOCK:
                    compare_block(memory, self.allowance, self.alarm_threshold)
        return reward

    def drift(self, memory: DriftMemory) -> DriftReport:
        """Report the changes noticed so far."""
        level, unit, effect = (int(count) for count in memory.counts[_ALARMS:])
        ever = level + unit + effect > 0
        since = int(seen_count(memory) - memory.counts[_LAST]) if ever else None
        return DriftReport(level, unit, effect, since)
