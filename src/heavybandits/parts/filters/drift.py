"""A filter that changes nothing and watches: has the world changed?"""

from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Positive
from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.dispatch import clean
from ...core.jit import jitable, outlined
from ...core.order_statistics import select_rank
from ...core.protocols import Filter
from .truncation import CUT, SEEN, NoFilter

WATCHED, TOLD, HELD, LAST, ALARMS = range(2, 7)  # places in DriftMemory.counts, after SEEN and CUT
LEVEL, UNIT, EFFECT = range(3)  # the signs that are watched; their alarms follow at ALARMS
SIZE, PREDICTED = 3, 4  # places in DriftMemory.usual, after the means of the signs
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
    memory.counts[WATCHED], memory.counts[TOLD] = 0, 0
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
    top = max(largest_sum(memory, LEVEL), largest_sum(memory, UNIT), largest_sum(memory, EFFECT))
    if top <= threshold:
        return
    for kind in range(3):
        memory.counts[ALARMS + kind] += 1 if 2.0 * largest_sum(memory, kind) > threshold else 0
    memory.counts[LAST] = memory.counts[SEEN]
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
        told, reward = memory.counts[TOLD], memory.waiting[0, i]
        if reward != 0.0 and told < FIRST:
            memory.first[told] = abs(reward - memory.waiting[1, i])
            memory.counts[TOLD] += 1
    told = memory.counts[TOLD]
    memory.usual[SIZE] = select_rank(memory.first, 0, told, (told - 1) // 2) if told > 0 else 0.0


@outlined
def weigh_block(memory: DriftMemory, allowance: float, threshold: float) -> None:
    """Compare the rewards that wait with what is usual, and ring if that is due."""
    counts, usual = memory.counts, memory.usual
    level, unit, effect, told, total = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(BLOCK):
        reward, predicted = memory.waiting[0, i], memory.waiting[1, i]
        above, not_zero = sign(reward - predicted), 1.0 if reward != 0.0 else 0.0
        level += above
        effect += above * sign(predicted - usual[PREDICTED])
        unit += not_zero * sign(abs(reward - predicted) - usual[SIZE])
        told += not_zero
        total += predicted
    counts[HELD] = 0
    counts[WATCHED] += BLOCK
    n = counts[WATCHED]
    usual[PREDICTED] += (total - BLOCK * usual[PREDICTED]) / min(float(n), MEMORY)
    weigh_sign(memory, LEVEL, level, float(BLOCK), n, allowance)
    weigh_sign(memory, EFFECT, effect, float(BLOCK), n, allowance)
    if counts[TOLD] < FIRST:
        start_size(memory)
    else:
        counts[TOLD] += int(told)
        weigh_sign(memory, UNIT, unit, told, counts[TOLD], allowance)
        usual[SIZE] *= 1.0 + 2.0 * unit / min(float(counts[TOLD] + FIRST), MEMORY)
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
    known yet, ||x||_{V^-1} > 1/2, are left out, and so is what comes before 128 others have told
    what is usual; after an alarm that begins anew. How soon it rings and how often for nothing:
    `python benchmarks/drift.py`.

    >>> part = DriftMonitor()
    >>> memory = part.init()
    >>> errors = [0.1, -0.3, 0.2, -0.1] * 100 + [9.0, -9.5] * 30
    >>> seen = [part.clean(memory, np.array([1.0 + e]), 0.1, 1.0) for e in errors]
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
        counts = zeros(ALARMS + 3, dtype=np.int64)
        arrays = zeros(2, BLOCK), zeros(5), zeros(6), zeros(FIRST)
        return DriftMemory(counts, *arrays, self.filter.init())

    def sound(self, memory: DriftMemory) -> bool:
        return bool(0 <= memory.counts[HELD] < BLOCK)

    def clean(self, memory: DriftMemory, rewards: Floats, norm: float, predicted: float) -> float:
        reward = clean(self.filter, memory.inner, rewards, norm, predicted)
        memory.counts[SEEN], memory.counts[CUT] = (
            memory.inner.counts[SEEN],
            memory.inner.counts[CUT],
        )
        if norm <= KNOWN_ARM:
            for i in range(rewards.size):
                held = memory.counts[HELD]
                memory.waiting[0, held], memory.waiting[1, held] = rewards[i], predicted
                memory.counts[HELD] = held + 1
                if held + 1 == BLOCK:
                    weigh_block(memory, self.allowance, self.threshold)
        return reward

    def drift(self, memory: DriftMemory) -> DriftReport:
        """What has been noticed so far."""
        level, unit, effect = (int(count) for count in memory.counts[ALARMS:])
        ever = level + unit + effect > 0
        since = int(memory.counts[SEEN] - memory.counts[LAST]) if ever else None
        return DriftReport(level, unit, effect, since)
