"""How many decisions and rewards there were in each of the last seconds or minutes."""

from collections import deque
from typing import NamedTuple

OTHER = "(other)"


class Slot:
    """Decisions, rewards and actions of one second or minute, which starts at `time`."""

    __slots__ = ("actions", "rewards", "time")

    def __init__(self, time: int) -> None:
        self.time, self.rewards = time, 0
        self.actions: dict[str, int] = {}

    @property
    def decisions(self) -> int:
        """Return the number of decisions."""
        return sum(list(self.actions.values()))


class Series(NamedTuple):
    """Numbers per slot, the oldest slot first; slots without traffic are zeros."""

    times: list[int]
    decisions: list[int]
    rewards: list[int]
    actions: dict[str, list[int]]


class Timeline:
    """The last slots.

    Parameters
    ----------
    width : int
        Seconds of a slot.
    length : int
        Number of slots.
    """

    def __init__(self, width: int, length: int) -> None:
        self.width, self.length = width, length
        self._slots: deque[Slot] = deque(maxlen=length)

    def _at(self, now: float) -> Slot:
        start = int(now) // self.width * self.width
        slots = self._slots
        if not slots or start > slots[-1].time:
            slots.append(Slot(start))
        return slots[-1]  # also after the clock was put back

    def decided(self, now: float, action: str) -> None:
        """Count a decision."""
        actions = self._at(now).actions
        actions[action] = actions.get(action, 0) + 1

    def rewarded(self, now: float) -> None:
        """Count a reward."""
        self._at(now).rewards += 1

    def series(self, now: float, names: list[str]) -> Series:
        """Return the slots that have ended, with these actions and the sum of all others.

        >>> made = Timeline(1, 3)
        >>> for second, action in ((5.0, "tea"), (5.5, "figs"), (7.2, "tea")):
        ...     made.decided(second, action)
        >>> made.series(8.0, ["tea"])
        Series(times=[5, 6, 7], decisions=[2, 0, 1], rewards=[0, 0, 0], \
actions={'tea': [1, 0, 1], '(other)': [1, 0, 0]})
        """
        end = int(now) // self.width * self.width
        known = {slot.time: slot for slot in list(self._slots)}
        empty = Slot(0)
        times = [end - self.width * back for back in range(self.length, 0, -1)]
        slots = [known.get(time, empty) for time in times]
        decisions = [slot.decisions for slot in slots]
        actions = {name: [slot.actions.get(name, 0) for slot in slots] for name in names}
        listed = [sum(counts) for counts in zip(*actions.values(), strict=True)] or [0] * len(times)
        rest = [every - some for every, some in zip(decisions, listed, strict=True)]
        if any(rest):
            actions[OTHER] = actions.get(OTHER, [0] * len(times))
            actions[OTHER] = [a + b for a, b in zip(actions[OTHER], rest, strict=True)]
        return Series(times, decisions, [slot.rewards for slot in slots], actions)
