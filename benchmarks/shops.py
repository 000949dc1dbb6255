"""Shops whose true values are known: visitors, sales with heavy tails, and refunds.

Benchmarks that ask whether an interval covers the truth share this simulator.

A visitor has a kind, such as a city, and an appetite, a factor of all amounts. A visitor who sees
an action buys with a probability that depends on the kind and the action. The amount is Pareto with
the tail index of the shop; a share of the sales comes back as a refund of the same size.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

INDEX = 1.7  # tail index of the amounts: their variance is infinite
REFUNDS = 0.02  # share of the sales that come back


class Shop(NamedTuple):
    """A shop.

    Parameters
    ----------
    rates : array of (kinds, actions)
        Probability that a visitor of a kind buys what an action shows.
    prices : array of (actions,)
        Mean amount of a sale of each action.
    tail_index : float, default 1.7
        Tail index of the amounts, greater than 1.
    refunds : float, default 0.02
        Share of the sales that come back.
    """

    rates: Floats
    prices: Floats
    tail_index: float = INDEX
    refunds: float = REFUNDS

    @property
    def means(self) -> Floats:
        """Return the mean reward of each kind and action, for an appetite of 1."""
        return self.rates * self.prices * (1.0 - 2.0 * self.refunds)

    def draw(
        self,
        kinds: Integers,
        actions: Integers,
        rng: np.random.Generator,
        appetites: Floats | float = 1.0,
    ) -> Floats:
        """Return the rewards of visitors of these kinds who see these actions.

        >>> shop = Shop(np.array([[0.5]]), np.array([4.0]))
        >>> zeros = np.zeros(400_000, np.int64)
        >>> shop.means.round(2), shop.draw(zeros, zeros, np.random.default_rng(0)).mean().round(1)
        (array([[1.92]]), np.float64(1.9))
        """
        size = len(kinds)
        sold = rng.random(size) < self.rates[kinds, actions]
        sign = np.where(rng.random(size) < self.refunds, -1.0, 1.0)
        amount = (1.0 + rng.pareto(self.tail_index, size)) * (1.0 - 1.0 / self.tail_index)
        return np.asarray(sold * sign * amount * self.prices[actions] * appetites)


def make_shop(
    rng: np.random.Generator,
    kinds: int = 4,
    actions: int = 5,
    *,
    tail_index: float = INDEX,
    refunds: float = REFUNDS,
) -> Shop:
    """Return a random shop: prices from 2 to 20, and each kind of visitor prefers other actions."""
    prices = 2.0 * 10.0 ** rng.random(actions)
    rates = 0.05 + 0.45 * rng.random((kinds, actions)) ** 2
    return Shop(rates, prices, tail_index, refunds)


class Visitors(NamedTuple):
    """The visits to a shop in their order: who came, of which kind, with which appetite."""

    units: Integers
    kinds: Integers
    appetites: Floats


def draw_visitors(
    rng: np.random.Generator, visits: int, units: int, kinds: int = 4, spread: float = 0.0
) -> Visitors:
    """Return visits by units; a unit that comes back keeps its kind and its appetite.

    With as many units as visits each unit comes once. Appetites are lognormal with mean 1; `spread`
    is the standard deviation of their logarithm.
    """
    kind = rng.integers(kinds, size=units)
    appetite = rng.lognormal(-0.5 * spread**2, spread, units)
    who = np.arange(visits) if units == visits else rng.integers(units, size=visits)
    return Visitors(who, kind[who], appetite[who])
