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

# places in DriftMemory.counts: rewards that wait, rewards that set the sizes, SEEN at the last
# alarm, alarms of each kind
_WAITING, _SIZED, _LAST, _LEVEL, _UNIT = range(COUNTS, COUNTS + 5)
_ERROR, _REWARD, _BALANCE, _TOTAL, _SQUARES = range(5)  # places in DriftMemory.usual
BLOCK = 8  # rewards compared together, which saves time
FIRST = 32  # nonzero rewards whose medians start the usual sizes
SETTLED, MEMORY = 256.0, 1000.0  # effective rewards before the first comparison, and remembered
CLIP = 1.0  # error at which the level is clipped, in usual errors
UNIT_FACTOR = 40.0  # a reward so many times larger or smaller than usual is of another unit
UNIT_ROWS = 8  # more rewards of another unit than of the usual one raise an alarm
KNOWN_ARM = 0.5  # ||x||_{V^-1} beyond which an error may be that of learning
STAKES = (0.2, 0.4)  # shares of the wealth that a bet risks: for small and for large changes
ROUNDING = 1e-12  # usual error, in usual rewards, below which errors are rounding


class DriftReport(NamedTuple):
    """Report how often rewards have changed their mean or their unit.

    Attributes
    ----------
    level : int
        Number of changes of the mean reward.
    unit : int
        Number of changes of the unit of the rewards.
    rewards_since : int or None
        Rewards since the last change; None if no change was noticed.

    Examples
    --------
    >>> DriftReport(0, 1, 12).noticed
    True
    """

    level: int
    unit: int
    rewards_since: int | None

    @property
    def noticed(self) -> bool:
        """True if any change was noticed."""
        return self.level + self.unit > 0


class DriftMemory(NamedTuple):
    """State of `DriftMonitor`.

    counts: rewards seen and clipped, those waiting, those that set the sizes, SEEN at the last
    alarm, and the alarms of each kind; waiting: these rewards and their predictions; usual: the
    median |error| and |reward| of nonzero rewards, the balance of the clipped errors, and the sums
    of their sizes and squares; bets: winnings M - 1 on a rise and on a fall, for each stake; other:
    how far rewards of a larger and of a smaller unit are ahead; first: sizes of errors and rewards;
    inner: memory of the wrapped filter.
    """

    counts: Integers
    waiting: Floats
    usual: Floats
    bets: Floats
    other: Floats
    first: Floats
    inner: Any


@outlined
def forget_usual(memory: DriftMemory) -> None:
    """Forget the usual values and settle all bets."""
    memory.counts[_SIZED] = 0
    for i in range(memory.usual.size):
        memory.usual[i] = 0.0
    for i in range(memory.bets.size):
        memory.bets[i] = 0.0
    memory.other[0], memory.other[1] = 0.0, 0.0


@outlined
def start_sizes(memory: DriftMemory) -> None:
    """Set the usual sizes to the medians of the first nonzero rewards and of their errors."""
    for i in range(BLOCK):
        place, reward = memory.counts[_SIZED], memory.waiting[0, i]
        if reward != 0.0 and place < FIRST:
            error = abs(reward - memory.waiting[1, i])
            memory.first[_ERROR, place], memory.first[_REWARD, place] = error, abs(reward)
            memory.counts[_SIZED] += 1
    count = memory.counts[_SIZED]
    for kind in range(2 if count > 0 else 0):
        memory.usual[kind] = select_rank(memory.first[kind], 0, count, (count - 1) // 2)


@jitable
def compare_sizes(memory: DriftMemory) -> None:
    """Count the nonzero rewards of another unit, and move the usual sizes to the medians."""
    usual, other = memory.usual, memory.other
    error, largest, smallest = (
        usual[_ERROR],
        usual[_REWARD] * UNIT_FACTOR,
        usual[_REWARD] / UNIT_FACTOR,
    )
    nonzero, rewards_above, errors_above = 0, 0, 0
    for i in range(BLOCK):
        reward = memory.waiting[0, i]
        if reward != 0.0:
            size = abs(reward)
            nonzero += 1
            rewards_above += 1 if size > usual[_REWARD] else -1
            errors_above += 1 if abs(reward - memory.waiting[1, i]) > error else -1
            other[0] = max(other[0] + (1.0 if size > largest else -1.0), 0.0)
            other[1] = max(other[1] + (1.0 if size < smallest else -1.0), 0.0)
    memory.counts[_SIZED] += nonzero
    pace = 2.0 / min(float(memory.counts[_SIZED]), MEMORY)
    usual[_REWARD] *= 1.0 + pace * rewards_above
    usual[_ERROR] *= 1.0 + pace * errors_above


@jitable
def compare_levels(memory: DriftMemory, allowance: float) -> None:
    """Bet on a rise and on a fall of the clipped errors, and update their balance."""
    usual, bets = memory.usual, memory.bets
    limit = CLIP * max(usual[_ERROR], ROUNDING * usual[_REWARD])
    settled = usual[_TOTAL] * usual[_TOTAL] > SETTLED * usual[_SQUARES]
    balance, total, sizes, squares = usual[_BALANCE], 0.0, 0.0, 0.0
    for i in range(BLOCK):
        clipped = min(max((memory.waiting[0, i] - memory.waiting[1, i]) / limit, -1.0), 1.0)
        size = abs(clipped)
        excess, allowed = clipped - balance * size, allowance * size
        total += excess
        sizes += size
        squares += size * size
        if settled:
            for k in range(len(STAKES)):
                stake = STAKES[k]
                rise, fall = 1.0 + stake * (excess - allowed), 1.0 - stake * (excess + allowed)
                bets[2 * k] = max((1.0 + bets[2 * k]) * rise - 1.0, 0.0)
                bets[2 * k + 1] = max((1.0 + bets[2 * k + 1]) * fall - 1.0, 0.0)
    usual[_TOTAL] += sizes
    usual[_SQUARES] += squares
    if usual[_TOTAL] > 0.0:
        usual[_BALANCE] += total / usual[_TOTAL]
    keep = MEMORY * usual[_SQUARES] / max(usual[_TOTAL] * usual[_TOTAL], 1e-300)
    if keep < 1.0:
        usual[_TOTAL] *= keep
        usual[_SQUARES] *= keep


@outlined
def compare_block(memory: DriftMemory, allowance: float, threshold: float) -> None:
    """Compare the waiting rewards with the usual values, and raise alarms if due."""
    memory.counts[_WAITING] = 0
    if memory.counts[_SIZED] < FIRST:
        start_sizes(memory)
        return
    compare_sizes(memory)
    compare_levels(memory, allowance)
    raise_alarms(memory, threshold)


@jitable
def raise_alarms(memory: DriftMemory, threshold: float) -> None:
    """Count an alarm of each kind with half of the evidence, if one kind has all of it.

    A new unit changes the mean too, therefore half. Then forget the usual values.
    """
    wealth, rows = 1.0, max(memory.other[0], memory.other[1])
    for i in range(memory.bets.size):
        wealth = max(wealth, 1.0 + memory.bets[i])
    if wealth < threshold and rows < UNIT_ROWS:
        return
    memory.counts[_LEVEL] += 1 if wealth * wealth >= threshold else 0
    memory.counts[_UNIT] += 1 if 2.0 * rows >= UNIT_ROWS else 0
    memory.counts[_LAST] = seen_count(memory)
    forget_usual(memory)


class DriftMonitor(NamedTuple):
    """Apply a filter unchanged and monitor its rewards for drift, reported by `Agent.drift`.

    The error of a reward y with prediction m is clipped at the usual size s, the running median of
    |y - m| over the nonzero rewards: c = clip((y - m) / s, -1, 1). Where nothing changes, its
    balance b = sum of c / sum of |c| stays the same, however heavy the tails are, and also if the
    policy moves to arms with more or less noise. The filter places four bets on each reward: for
    each stake k, a bet on a rise of the mean and a bet on a fall (Waudby-Smith and Ramdas 2024),

        M <- max(M (1 + k (+-(c - b |c|) - allowance |c|)), 1),    k = 0.2 and 0.4,

    and M >= alarm_threshold raises an alarm of kind `level`. If b is known and does not change, no
    bet is expected to win, and a bet raises on average at most one alarm in alarm_threshold rewards
    (Shin, Ramdas and Rinaldo 2023). Here b is estimated, and predictions change while a policy
    learns; `allowance` covers that. `python benchmarks/drift.py` measures how soon the filter
    reports a change, and how often it reports one without cause. The other kind, `unit`, is raised
    when nonzero rewards 40 times larger (or 40 times smaller) than usual are 8 ahead of the others.
    A zero is not informative about the unit.

    The usual values are those of the last 1000 effective rewards, (sum of |c|)^2 / sum of c^2. The
    first 256 of them are not compared, nor are rewards of arms that are not known yet,
    ||x||_{V^-1} > 1/2. After an alarm the usual values start again. Rewards in another unit from
    the start, or features with which the predictions are the same, change nothing.

    Parameters
    ----------
    filter : Filter, default NoFilter()
        The filter to apply.
    allowance : float, default 0.25
        Change of the balance that is not reported; 0.25 is a fall of the sales of a shop by 40%.
    alarm_threshold : float, default 1e6
        Evidence at which an alarm is raised, above 1. A larger number is slower and has fewer false
        alarms.

    Examples
    --------
    >>> part = DriftMonitor()
    >>> memory = part.init()
    >>> errors = [0.1, -0.3, 0.2, -0.1] * 100 + [90.0, -95.0] * 30
    >>> seen = [part.apply(memory, np.array([1.0 + e]), 0.1, 1.0) for e in errors]
    >>> part.drift(memory)
    DriftReport(level=0, unit=1, rewards_since=52)
    """

    filter: Filter = NoFilter()
    allowance: Positive = 0.25
    alarm_threshold: Positive = 1e6

    def check(self) -> None:
        if isinstance(self.filter, DriftMonitor):
            raise InvalidInputError("DriftMonitor.filter must not be a DriftMonitor itself")
        if self.alarm_threshold <= 1.0:
            raise InvalidInputError(
                f"DriftMonitor.alarm_threshold must be above 1, got {self.alarm_threshold}"
            )

    @property
    def plays(self) -> int:
        return self.filter.plays

    def init(self) -> DriftMemory:
        counts, bets = zeros(_UNIT + 1, dtype=np.int64), zeros(2 * len(STAKES))
        arrays = zeros(2, BLOCK), zeros(5), bets, zeros(2), zeros(2, FIRST)
        return DriftMemory(counts, *arrays, self.filter.init())

    def is_valid(self, memory: DriftMemory) -> bool:
        return bool(0 <= memory.counts[_WAITING] < BLOCK and memory.counts[_SIZED] >= 0)

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
        """Report the changes noticed so far.

        Parameters
        ----------
        memory : DriftMemory
            The memory of this filter, from `init`.

        Returns
        -------
        DriftReport
            Changes of mean and unit, and the rewards since the last change.
        """
        level, unit = int(memory.counts[_LEVEL]), int(memory.counts[_UNIT])
        since = int(seen_count(memory) - memory.counts[_LAST]) if level + unit > 0 else None
        return DriftReport(level, unit, since)
