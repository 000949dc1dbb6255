"""Mean and interval of rewards that arrive one by one, in constant memory."""

import math
from typing import NamedTuple

from ..offline.evaluate.carriers import needed_carriers
from ..offline.evaluate.means import LEAST_ROWS, moments_interval

DELTA = 0.05


class Interval(NamedTuple):
    """A mean with its interval; None for what too few rewards can tell.

    Attributes
    ----------
    rewards : int
        Number of rewards.
    mean, low, high : float or None
        The mean and the ends of its interval.
    carriers : float
        Effective number of rewards that carry the mean.
    certain : bool
        True if enough rewards carry the mean for the interval to be reliable.
    """

    rewards: int
    mean: float | None
    low: float | None
    high: float | None
    carriers: float
    certain: bool


class Moments:
    """Number, mean and central moments of numbers, updated one by one (Pébay 2008).

    >>> made = Moments()
    >>> for value in range(100):
    ...     made.add(float(value))
    >>> [round(end, 2) for end in (made.interval().low, made.interval().high)]
    [42.43, 56.57]
    """

    __slots__ = ("_cubes", "_second", "_squares", "_third", "mean", "rows")

    def __init__(self) -> None:
        self.rows, self.mean = 0, 0.0
        self._second, self._third = 0.0, 0.0  # sums of powers of the distances from the mean
        self._squares, self._cubes = 0.0, 0.0  # of the sizes of the distances, as they came

    def add(self, value: float) -> None:
        """Take one number into account."""
        before = self.rows
        rows = self.rows = before + 1
        away = value - self.mean
        step = away / rows
        square = away * step * before
        self.mean += step
        self._third += square * step * (rows - 2) - 3.0 * step * self._second
        self._second += square
        size = abs(away)
        self._squares += size * size
        self._cubes += size * size * size

    @property
    def carriers(self) -> float:
        """Return the effective number of rows that carry the mean, see `evaluate`."""
        if not 0.0 < self._cubes < math.inf:
            return 0.0
        root = self._squares / self._cubes ** (2.0 / 3.0)
        return root * root * root

    def interval(self, delta: float = DELTA) -> Interval:
        """Return the mean with an interval that is made for skewed rewards with heavy tails.

        It is the interval of `uplift` and `evaluate`: the union of Student's and Hall's.
        """
        rows, carriers = self.rows, self.carriers
        mean = self.mean if rows and math.isfinite(self.mean) else None
        if rows < LEAST_ROWS or mean is None or not math.isfinite(self._third):
            return Interval(rows, mean, None, None, carriers, False)
        deviation = math.sqrt(self._second / rows)
        if deviation == 0.0:
            return Interval(rows, mean, mean, mean, carriers, False)
        skewness = self._third / rows / deviation**3
        low, high = moments_interval(rows, mean, deviation, skewness, delta)
        return Interval(rows, mean, low, high, carriers, carriers >= needed_carriers(delta))
