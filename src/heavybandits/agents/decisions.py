"""Decisions that wait for their rewards: one by one, or many that were made together."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Decision:
    """An arm that was chosen, and the rewards of its plays as they come in.

    `lessons` is how many decisions had been learned from when the turn of this one came, `spread`
    that of its reward, if one was given.
    """

    __slots__ = (
        *("arm", "estimate", "features", "lessons", "offer", "plays", "propensity"),
        *("rewards", "spread", "times", "width"),
    )

    def __init__(
        self,
        arm: int,
        features: Floats,
        estimate: float,
        width: float,
        plays: int,
        propensity: float | None = 1.0,
        offer: str | None = None,
    ) -> None:
        self.arm, self.features, self.plays = arm, features, plays
        self.propensity, self.offer = propensity, offer
        self.estimate, self.width = estimate, width
        self.rewards: dict[int, float | None] = {}
        self.times: dict[int, float] = {}
        self.lessons: int | None = None
        self.spread: float | None = None

    @property
    def left(self) -> int:
        """Plays it still asks for."""
        return self.plays - len(self.rewards)

    @property
    def complete(self) -> bool:
        return len(self.rewards) == self.plays and None not in self.rewards.values()


class Choices(NamedTuple):
    """Decisions of a single play each that were made together: one entry of every column each.

    `first` is the number of the first ticket, `time` when all were asked for. A decision becomes an
    object of its own when its reward comes: to make thousands at once costs more than to decide.

    >>> made = Choices([2], np.ones((1, 3)), [0.5], [0.1], [1.0], [None], first=7, time=3.0)
    >>> made.decision(7).arm, made.decision(7).times
    (2, {7: 3.0})
    """

    arms: list[int]
    features: Floats
    estimates: list[float]
    widths: list[float]
    propensities: Sequence[float | None]
    offers: Sequence[str | None]
    first: int = 0
    time: float = 0.0

    @property
    def numbers(self) -> range:
        """Those of the tickets."""
        return range(self.first, self.first + len(self.arms))

    def decision(self, number: int) -> Decision:
        """The one of this ticket, which shares nothing with the others."""
        n = number - self.first
        features, numbers = self.features[n].copy(), (self.estimates[n], self.widths[n])
        made = Decision(self.arms[n], features, *numbers, 1, self.propensities[n], self.offers[n])
        made.rewards[number], made.times[number] = None, self.time
        return made


def gather(decisions: Sequence[Decision]) -> Choices:
    """Decisions that were made one after another, as if they had been made together."""
    return Choices(
        [one.arm for one in decisions],
        np.array([one.features for one in decisions]),
        [one.estimate for one in decisions],
        [one.width for one in decisions],
        [one.propensity for one in decisions],
        [one.offer for one in decisions],
    )
