"""Noises that see the arm and its mean reward. The mean of a reward stays that of the arm."""

import math
from typing import Annotated, NamedTuple

from ..._utils.display import show_part, show_part_html
from ..._utils.validation import Interval, NonNegative, Positive
from ...core.arrays import Floats, Key
from ...core.dispatch import draw
from ...core.protocols import Noise
from ...core.rng import uniform

Probability = Annotated[float, Interval(0.0, 1.0, "(]")]
Refunds = Annotated[float, Interval(0.0, 0.8, "[]")]
REFUND_COST = 0.2  # share of the amount that a refunded purchase costs


class Heteroskedastic(NamedTuple):
    """Scale a noise with the mean reward of the arm.

        y = m + (base + slope |m|) eta,    m the mean reward of the arm

    Parameters
    ----------
    noise : Noise
        eta, a noise with mean 0.
    base : float, default 0.1
        Multiplier at mean reward 0.
    slope : float, default 1.0
        Growth of the multiplier with |m|.

    Examples
    --------
    >>> from heavybandits.noises import Gaussian
    >>> Heteroskedastic(Gaussian(), 0.5, 2.0).reward(3.0, None, 1.0, 0, 0)
    9.5
    """

    noise: Noise
    base: NonNegative = 0.1
    slope: NonNegative = 1.0

    def draw(self, key: Key, play: int) -> float:
        return draw(self.noise, key, play)

    def reward(self, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        return mean + (self.base + self.slope * abs(mean)) * noise

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class Multiplicative(NamedTuple):
    """Multiply the mean reward by a noise.

        y = m (1 + eta),    m the mean reward of the arm

    Parameters
    ----------
    noise : Noise
        eta, a noise with mean 0.

    Examples
    --------
    >>> from heavybandits.noises import Gaussian
    >>> Multiplicative(Gaussian()).reward(3.0, None, 0.5, 0, 0)
    4.5
    """

    noise: Noise

    def draw(self, key: Key, play: int) -> float:
        return draw(self.noise, key, play)

    def reward(self, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        return mean * (1.0 + noise)

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class ZeroInflated(NamedTuple):
    """Give a reward with some probability, and otherwise exactly 0.

        y = (m / p) (1 + eta) with probability p, else 0,    m the mean reward of the arm

    Parameters
    ----------
    noise : Noise
        eta, a noise with mean 0.
    probability : float, default 0.1
        p, the probability of a reward that is not 0.

    Examples
    --------
    >>> import numpy as np
    >>> from heavybandits.noises import Gaussian
    >>> noise = ZeroInflated(Gaussian(), 0.25)
    >>> seen = [noise.reward(3.0, None, 0.5, np.uint64(0), play) for play in range(4)]
    >>> set(seen) <= {0.0, 18.0}
    True
    """

    noise: Noise
    probability: Probability = 0.1

    def draw(self, key: Key, play: int) -> float:
        return draw(self.noise, key, play)

    def reward(self, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        if uniform(key, play) >= self.probability:
            return 0.0
        return mean / self.probability * (1.0 + noise)

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


class Purchases(NamedTuple):
    """Sell at a price: a visitor buys or not, the basket has a heavy tail, some return everything.

        y = 0 without a purchase, else price (1 + eta), of which refunds make -0.2 price (1 + eta)

    The price of an arm is unit x[0]. The probability of a purchase is |m| / (price kept), with m
    the mean reward of the arm and kept = 1 - 1.2 refunds, so that E y = m. If a drift makes m
    negative, a purchase is a loss.

    Parameters
    ----------
    basket : Noise
        eta, a noise with mean 0 that is larger than -1.
    unit : float, default 1.0
        Price of an arm whose first feature is 1.
    refunds : float, default 0.1
        Probability that a purchase is refunded, at most 0.8.

    Examples
    --------
    >>> import numpy as np
    >>> from heavybandits.noises import Gaussian
    >>> noise, x = Purchases(Gaussian(), refunds=0.5), np.array([10.0])
    >>> seen = {noise.reward(2.0, x, 0.5, np.uint64(0), play) for play in range(20)}
    >>> sorted(seen), noise.kept
    ([-3.0, 0.0, 15.0], 0.4)
    """

    basket: Noise
    unit: Positive = 1.0
    refunds: Refunds = 0.1

    @property
    def kept(self) -> float:
        """Mean share of an amount that refunds leave."""
        return 1.0 - (1.0 + REFUND_COST) * self.refunds

    def draw(self, key: Key, play: int) -> float:
        return draw(self.basket, key, play)

    def reward(self, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        price = self.unit * x[0]
        kept = 1.0 - (1.0 + REFUND_COST) * self.refunds
        if uniform(key, 2 * play) * price * kept >= abs(mean):
            return 0.0
        amount = math.copysign(price * (1.0 + noise), mean)
        if uniform(key, 2 * play + 1) < self.refunds:
            return -REFUND_COST * amount
        return amount

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)
