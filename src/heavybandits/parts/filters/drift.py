"""A filter that changes nothing and watches: has the world changed?"""

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

# places in DriftMemory.counts, after those of every memory
_WATCHED, _NONZERO, _WAITING, _LAST_ALARM, _ALARMS = range(COUNTS, COUNTS + 5)
_LEVEL, _UNIT, _EFFECT = range(3)  # the signs that are watched; their alarms follow at _ALARMS
_SIZE, _PREDICTED = 3, 4  # places in DriftMemory.usual, after the means of the signs
BLOCK = 8  # rewards that are weighed together: one by one, it takes nine times as long
FIRST = 32  # rewards whose median starts the usual size
SETTLED = 128  # rewards that tell what is usual before anything can be unusual
MEMORY = 1000.0  # rewards over which the usual is remembered
KNOWN_ARM = 0.5  # ||x||_{V^-1} beyond which an error tells of learning


class DriftReport(NamedTuple):
    """What `Agent.drift` says: how often a change of each kind was noticed, and the rewards that
    have come since the last time (None: never).

    >>> DriftReport(0, 1, 0, 12).noticed
    True
    """

    level: int
    unit: int
    effect: int
    rewards_since: int | None

    @property
    def noticed(self) -> bool:
        """Whether any change was ever noticed."""
        return self.level + self.unit + self.effect > 0


class DriftMemory(NamedTuple):
    """State of `DriftMonitor`.

    counts: rewards seen and cut, those weighed since the last alarm and how many were not zero,
    those that wait to be weighed, SEEN at the last alarm, and the alarms of each kind; waiting:
    these rewards, and what was predicted of them; usual: the means of the three signs, the median
    |error| and the mean prediction; sums: Page's, up and down for each sign; first: sizes; inner:
    that of the filter held.
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
def begin_watch(memory: DriftMemory) -> None:
    """Nothing is usual yet."""
    memory.counts[_WATCHED], memory.counts[_NONZERO] = 0, 0
    for i in range(memory.usual.size):
        memory.usual[i] = 0.0
    for i in range(memory.sums.size):
        memory.sums[i] = 0.0


@jitable
def largest_sum(memory: DriftMemory, kind: int) -> float:
    return max(memory.sums[2 * kind], memory.sums[2 * kind + 1])


@jitable
def ring(memory: DriftMemory, threshold: float) -> None:
    """If a sum has passed the threshold: an alarm of each kind that has come half as far, for a new
    level moves sizes too; and nothing is usual any more."""
    top = max(largest_sum(memory, _LEVEL), largest_sum(memory, _UNIT), largest_sum(memory, _EFFECT))
    if top <= threshold:
        return
    for kind in range(3):
        memory.counts[_ALARMS + kind] += 1 if 2.0 * largest_sum(memory, kind) > threshold else 0
    memory.counts[_LAST_ALARM] = seen_count(memory)
    begin_watch(memory)


@jitable
def weigh_sign(
    memory: DriftMemory, kind: int, total: float, count: float, n: int, allowance: float
) -> None:
    """The sum of `count` signs, the n-th being the last, into Page's two and what is usual."""
    excess = total - count * memory.usual[kind]
    memory.usual[kind] += excess / min(float(n), MEMORY)
    if n > SETTLED:
        up, down, allowed = 2 * kind, 2 * kind + 1, count * allowance
        memory.sums[up] = max(memory.sums[up] + excess - allowed, 0.0)
        memory.sums[down] = max(memory.sums[down] - excess - allowed, 0.0)


@jitable
def start_size(memory: DriftMemory) -> None:
    """The median of the first 32 sizes, before any of them is compared with it."""
    for i in range(BLOCK):
        nonzero, reward = memory.counts[_NONZERO], memory.waiting[0, i]
        if reward != 0.0 and nonzero < FIRST:
            memory.first[nonzero] = abs(reward - memory.waiting[1, i])
            memory.counts[_NONZERO] += 1
    known, middle = memory.counts[_NONZERO], (memory.counts[_NONZERO] - 1) // 2
    memory.usual[_SIZE] = select_rank(memory.first, 0, known, middle) if known > 0 else 0.0


@outlined
def weigh_block(memory: DriftMemory, allowance: float, threshold: float) -> None:
    """Compare the rewards that wait with what is usual, and ring if that is due."""
    counts, usual = memory.counts, memory.usual
    level, unit, effect, nonzero, total = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(BLOCK):
        reward, predicted = memory.waiting[0, i], memory.waiting[1, i]
        above, not_zero = sign(reward - predicted), 1.0 if reward != 0.0 else 0.0
        level += above
        effect += above * sign(predicted - usual[_PREDICTED])
        unit += not_zero * sign(abs(reward - predicted) - usual[_SIZE])
        nonzero += not_zero
        total += predicted
    counts[_WAITING] = 0
    counts[_WATCHED] += BLOCK
    n = counts[_WATCHED]
    usual[_PREDICTED] += (total - BLOCK * usual[_PREDICTED]) / min(float(n), MEMORY)
    weigh_sign(memory, _LEVEL, level, float(BLOCK), n, allowance)
    weigh_sign(memory, _EFFECT, effect, float(BLOCK), n, allowance)
    if counts[_NONZERO] < FIRST:
        start_size(memory)
    else:
        counts[_NONZERO] += int(nonzero)
        weigh_sign(memory, _UNIT, unit, nonzero, counts[_NONZERO], allowance)
        usual[_SIZE] *= 1.0 + 2.0 * unit / min(float(counts[_NONZERO] + FIRST), MEMORY)
    ring(memory, threshold)


class DriftMonitor(NamedTuple):
    """Any filter, unchanged, with an eye on the world: `Agent.drift` says what it has seen.

    Three signs of a reward y of which m was predicted are watched, so that no tail can disturb:
    sign(y - m) tells a change of level; sign(|y - m| - its running median), unless y = 0, one of
    the unit; sign(y - m) sign(m - its running mean) one of effects. Each has its usual mean u over
    the last 1000 rewards, and Page's (1954) sums up and down,

    S <- max(S +- sum of (sign - u) - 8 allowance, 0),    an alarm if S > threshold,

    for each eight rewards, which are weighed together to save time. An alarm names every kind
    whose sum has come half as far, for a new level moves sizes too. Rewards of arms that are not
    known yet, ||x||_{V^-1} > 1/2, are left out, and so are the first 128 others, which set the
    usual values; after an alarm these are set again. How soon it rings and how often for nothing:
    `python benchmarks/drift.py`.

    >>> part = DriftMonitor()
    >>> memory = part.init()
    >>> errors = [0.1, -0.3, 0.2, -0.1] * 100 + [9.0, -9.5] * 30
    >>> seen = [part.apply(memory, np.array([1.0 + e]), 0.1, 1.0) for e in errors]
    >>> part.drift(memory)
    DriftReport(level=0, unit=1, effect=0, rewards_since=20)
    """

    filter: Filter = NoFilter()
    allowance: Positive = 0.25
    threshold: Positive = 25.0

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
        is_valid = getattr(self.filter, "is_valid", None)
        if not 0 <= memory.counts[_WAITING] < BLOCK:
            return False
        return is_valid is None or bool(is_valid(memory.inner))

    def apply(self, memory: DriftMemory, rewards: Floats, norm: float, predicted: float) -> float:
        reward = apply(self.filter, memory.inner, rewards, norm, predicted)
        copy_counts(memory, memory.inner)
        if norm <= KNOWN_ARM:
            for i in range(rewards.size):
                held = memory.counts[_WAITING]
                memory.waiting[0, held], memory.waiting[1, held] = rewards[i], predicted
                memory.counts[_WAITING] = held + 1
                if held + 1 == BLOCK:
                    weigh_block(memory, self.allowance, self.threshold)
        return reward

    def drift(self, memory: DriftMemory) -> DriftReport:
        """What has been noticed so far."""
        level, unit, effect = (int(count) for count in memory.counts[_ALARMS:])
        ever = level + unit + effect > 0
        since = int(seen_count(memory) - memory.counts[_LAST_ALARM]) if ever else None
        return DriftReport(level, unit, effect, since)
