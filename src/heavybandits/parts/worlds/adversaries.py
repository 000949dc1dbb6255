"""Adversaries: they change rewards, and the sum of the |changes| never exceeds a budget."""

from typing import NamedTuple

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import NonNegative, Share
from ...core.arrays import Key
from ...core.rng import uniform


class FlipMeans(NamedTuple):
    """Reverse the sign of the mean reward from the first play on, until the budget is spent.

    Parameters
    ----------
    budget : float
        Largest sum of |changes|, in the unit of the reward.

    Examples
    --------
    >>> FlipMeans(10.0).attack(1.5, 1.0, 2.0, 0, 0)
    -0.5
    """

    budget: NonNegative

    def attack(self, reward: float, mean: float, best: float, key: Key, play: int) -> float:
        return reward - 2.0 * mean

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class HideBest(NamedTuple):
    """Lower the reward of the best arm, and of arms almost as good, until the budget is spent.

    Parameters
    ----------
    budget : float
        Largest sum of |changes|, in the unit of the reward.
    loss : float, default 1.0
        By how much a reward is lowered.
    within : float, default 0.0
        An arm is attacked if its mean reward is below the best by at most this much.

    Examples
    --------
    >>> HideBest(10.0).attack(1.5, 1.0, 1.0, 0, 0), HideBest(10.0).attack(1.5, 1.0, 1.1, 0, 0)
    (0.5, 1.5)
    """

    budget: NonNegative
    loss: NonNegative = 1.0
    within: NonNegative = 0.0

    def attack(self, reward: float, mean: float, best: float, key: Key, play: int) -> float:
        if best - mean <= self.within:
            return reward - self.loss
        return reward

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class Spikes(NamedTuple):
    """Add a large number to single rewards at random plays.

    Parameters
    ----------
    budget : float
        Largest sum of |changes|, in the unit of the reward.
    size : float
        Number to add, with either sign.
    share : float, default 0.01
        Probability that a play is attacked.

    Examples
    --------
    >>> import numpy as np
    >>> Spikes(10.0, size=5.0, share=1.0).attack(1.5, 1.0, 1.0, np.uint64(1), 0)
    6.5
    """

    budget: NonNegative
    size: float
    share: Share = 0.01

    def attack(self, reward: float, mean: float, best: float, key: Key, play: int) -> float:
        if uniform(key, play) < self.share:
            return reward + self.size
        return reward

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)
