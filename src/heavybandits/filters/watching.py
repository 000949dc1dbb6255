"""A filter that changes nothing and watches: has the world changed?"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.arrays import Floats, Integers
from ..engine.bounds import Positive
from ..engine.contracts import Filter
from ..engine.jitable import jitable, outlined
from ..engine.layout import zeros
from ..engine.selection import select_rank
from ..engine.verbs import clean
from ..support.errors import InvalidInput
from .memory import CUT, SEEN
from .truncation import Raw

WATCHED, TOLD, LAST, ALARMS = range(2, 6)  # places in WatchMemory.counts, after SEEN and CUT
LEVEL, UNIT, EFFECT = range(3)  # the signs that are watched; their alarms follow at ALARMS
SIZE, PREDICTED = 3, 4  # places in WatchMemory.usual, after the means of the signs
FIRST = 32  # rewards whose median starts the usual size
SETTLED = 128  # rewards that tell what is usual before anything can be unusual
MEMORY = 1000.0  # rewards over which the usual is remembered
KNOWN_ARM = 0.5  # ||x||_{V^-1} beyond which an error tells of learning


class Drift(NamedTuple):
    """What `Agent.drift` says: how often a change of each kind was noticed, and the rewards that
    have come since the last time (None: never).

    >>> Drift(0, 1, 0, 12).noticed
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


class WatchMemory(NamedTuple):
    """State of `Watch`.

    counts: rewards seen and cut, those watched since the last alarm and how many were not zero,
    SEEN at the last alarm, and the alarms of each kind; usual: the means of the three signs, the
    median |error| and the mean prediction; sums: Page's, up and down for each sign; first: sizes;
    inner: that of the filter held.
    """

    counts: Integers
    usual: Floats
    sums: Floats
    first: Floats
    inner: Any


@jitable
def sign(number: float) -> float:
    return 0.0 if number == 0.0 else math.copysign(1.0, number)


@jitable
def add_sign(memory: WatchMemory, kind: int, value: float, n: int, allowance: float) -> None:
    """The n-th sign of a kind into Page's two sums, and into what is usual of it."""
    excess = value - memory.usual[kind]
    memory.usual[kind] += excess / min(float(n), MEMORY)
    if n > SETTLED:
        up, down = 2 * kind, 2 * kind + 1
        memory.sums[up] = max(memory.sums[up] + excess - allowance, 0.0)
        memory.sums[down] = max(memory.sums[down] - excess - allowance, 0.0)


@outlined
def begin_watch(memory: WatchMemory) -> None:
    """Nothing is usual yet."""
    memory.counts[WATCHED], memory.counts[TOLD] = 0, 0
    for i in range(memory.usual.size):
        memory.usual[i] = 0.0
    for i in range(memory.sums.size):
        memory.sums[i] = 0.0


@jitable
def largest_sum(memory: WatchMemory, kind: int) -> float:
    return max(memory.sums[2 * kind], memory.sums[2 * kind + 1])


@jitable
def ring(memory: WatchMemory, threshold: float) -> None:
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
def watch_size(memory: WatchMemory, size: float, allowance: float) -> None:
    """Compare the size of an error with the usual one, a median kept by steps of a share of it."""
    memory.counts[TOLD] += 1
    n = memory.counts[TOLD]
    if n <= FIRST:
        memory.first[n - 1] = size
        memory.usual[SIZE] = select_rank(memory.first, 0, n, (n - 1) // 2)
    larger = sign(size - memory.usual[SIZE])
    add_sign(memory, UNIT, larger, n, allowance)
    memory.usual[SIZE] *= 1.0 + 2.0 * larger / min(float(n + FIRST), MEMORY)


@jitable
def watch(memory: WatchMemory, reward: float, predicted: float, allowance: float) -> None:
    """Compare one reward with what is usual."""
    usual, error = memory.usual, reward - predicted
    memory.counts[WATCHED] += 1
    n = memory.counts[WATCHED]
    usual[PREDICTED] += (predicted - usual[PREDICTED]) / min(float(n), MEMORY)
    add_sign(memory, LEVEL, sign(error), n, allowance)
    add_sign(memory, EFFECT, sign(error) * sign(predicted - usual[PREDICTED]), n, allowance)
    if reward != 0.0:
        watch_size(memory, abs(error), allowance)


class Watch(NamedTuple):
    """Any filter, unchanged, with an eye on the world: `Agent.drift` says what it has seen.

    Three signs of a reward y of which m was predicted are watched, so that no tail can disturb:
    sign(y - m) tells a change of level; sign(|y - m| - its running median), unless y = 0, one of
    the unit; sign(y - m) sign(m - its running mean) one of effects. Each has its usual mean u over
    the last 1000 rewards, and Page's (1954) sums up and down,

    S <- max(S +- (sign - u) - allowance, 0),    an alarm if S > threshold,

    which names every kind whose sum has come half as far, for a new level moves sizes too.
    Rewards of arms that are not known yet, ||x||_{V^-1} > 1/2, are left out, and so is what comes
    before 128 others have told what is usual; after an alarm that begins anew. How soon it rings
    and how often for nothing: `python benchmarks/drift.py`.

    >>> part = Watch()
    >>> memory = part.init()
    >>> errors = [0.1, -0.3, 0.2, -0.1] * 100 + [9.0, -9.5] * 20
    >>> seen = [part.clean(memory, np.array([1.0 + e]), 0.1, 1.0) for e in errors]
    >>> part.drift(memory)
    Drift(level=0, unit=1, effect=0, rewards_since=4)
    """

    filter: Filter = Raw()
    allowance: Positive = 0.25
    threshold: Positive = 25.0

    def check(self) -> None:
        if isinstance(self.filter, Watch):
            raise InvalidInput("Watch.filter must not be a Watch itself")

    @property
    def plays(self) -> int:
        return self.filter.plays

    def init(self) -> WatchMemory:
        counts = zeros(ALARMS + 3, dtype=np.int64)
        return WatchMemory(counts, zeros(5), zeros(6), zeros(FIRST), self.filter.init())

    def sound(self, memory: WatchMemory) -> bool:
        sound = getattr(self.filter, "sound", None)
        return sound is None or bool(sound(memory.inner))

    def clean(self, memory: WatchMemory, rewards: Floats, norm: float, predicted: float) -> float:
        reward = clean(self.filter, memory.inner, rewards, norm, predicted)
        memory.counts[SEEN], memory.counts[CUT] = (
            memory.inner.counts[SEEN],
            memory.inner.counts[CUT],
        )
        if norm <= KNOWN_ARM:
            for i in range(rewards.size):
                watch(memory, rewards[i], predicted, self.allowance)
                ring(memory, self.threshold)
        return reward

    def drift(self, memory: WatchMemory) -> Drift:
        """What has been noticed so far."""
        level, unit, effect = (int(count) for count in memory.counts[ALARMS:])
        ever = level + unit + effect > 0
        since = int(memory.counts[SEEN] - memory.counts[LAST]) if ever else None
        return Drift(level, unit, effect, since)
