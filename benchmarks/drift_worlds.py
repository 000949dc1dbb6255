"""Worlds in which nothing changes, for `drift.py`: shops, heavy tails, unequal noise, odd units.

A world is a function of a generator and a number of rounds. It returns the arms of every round and
the reward of every arm, so that a policy can choose and a change can be made afterwards.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Rounds(NamedTuple):
    """Row `arms[t, k]` of `features` is arm k of round t, and pays means[t, k] + noise[t, k]."""

    features: Any
    arms: Any
    means: Any
    noise: Any


World = Callable[[np.random.Generator, int], Rounds]


def fixed(features: Any, means: Any, noise: Any) -> Rounds:
    """The same arms in every round."""
    rounds, arms = noise.shape
    return Rounds(features, np.tile(np.arange(arms), (rounds, 1)), means, noise)


def fresh(features: Any, means: Any, noise: Any) -> Rounds:
    """Other arms in every round."""
    rounds, arms, dim = features.shape
    rows = np.arange(rounds * arms).reshape(rounds, arms)
    return Rounds(features.reshape(-1, dim), rows, means, noise)


def one_hot(arms: int) -> Any:
    """An intercept and a feature for every arm but the first."""
    return np.column_stack([np.ones(arms), np.eye(arms)[:, 1:]])


def sell(rng: np.random.Generator, chance: Any, price: Any, rounds: int, spread: float) -> Any:
    """The price times a lognormal basket with this probability, else zero."""
    shape = (rounds, np.shape(chance)[-1])
    return (rng.random(shape) < chance) * price * rng.lognormal(0.0, spread, shape)


def shop(rng: np.random.Generator, rounds: int) -> Rounds:
    """Five actions, sales of 1 to 9%, baskets around 20."""
    theta, features = rng.normal(size=4), rng.normal(size=(5, 4))
    features[:, 0] = 1.0
    chance = 0.1 / (1.0 + np.exp(-(features @ theta) / 2.0))
    paid = sell(rng, chance, np.exp(3.0), rounds, 0.5)
    return fixed(features, np.zeros_like(paid), paid)


def prices(described: bool, spread: float) -> World:
    """Eight actions of prices 5 to 160, the dear ones sold rarely."""

    def draw(rng: np.random.Generator, rounds: int) -> Rounds:
        price = rng.permutation(np.geomspace(5.0, 160.0, 8))
        features = one_hot(8)
        if described:
            features = np.column_stack([np.ones(8), np.log(price), rng.normal(size=(8, 4))])
        paid = sell(rng, rng.uniform(0.2, 0.8, 8) / price, price, rounds, spread)
        return fixed(features, np.zeros_like(paid), paid)

    return draw


def ties(rng: np.random.Generator, rounds: int) -> Rounds:
    """Four actions of equal value, prices 5 to 160: the policy goes back and forth."""
    price = np.array([5.0, 20.0, 80.0, 160.0])
    paid = sell(rng, 0.5 / price, price, rounds, 0.0)
    return fixed(one_hot(4), np.zeros_like(paid), paid)


def visitors(before: float = 0.5, after: float = 0.5, start: int = 0) -> World:
    """Six actions of prices 5 to 160; sales depend on a flag and a number of each visitor.

    The share of visitors with the flag is `after` from round `start` on.
    """

    def draw(rng: np.random.Generator, rounds: int) -> Rounds:
        share = np.where(np.arange(rounds) < start, before, after)
        known = np.column_stack([rng.random(rounds) < share, rng.normal(size=rounds)])
        price, taste = rng.permutation(np.geomspace(5.0, 160.0, 6)), rng.normal(size=(6, 2))
        chance = np.minimum(0.6 / price * np.exp(0.5 * known @ taste.T), 0.5)
        block, features = np.column_stack([np.ones(rounds), known]), np.zeros((rounds, 6, 18))
        for arm in range(6):
            features[:, arm, 3 * arm : 3 * arm + 3] = block
        paid = sell(rng, chance, price, rounds, 0.5)
        return fresh(features, np.zeros_like(paid), paid)

    return draw


def catalogue(rng: np.random.Generator, rounds: int) -> Rounds:
    """Ten fresh items per round whose log price, 5 to 160, is a feature."""
    price = np.exp(rng.uniform(np.log(5.0), np.log(160.0), (rounds, 10)))
    other, taste = rng.normal(size=(rounds, 10, 4)), rng.normal(size=4)
    features = np.dstack([np.ones_like(price), np.log(price), other])
    chance = 0.05 / (1.0 + np.exp(-(other @ taste))) * (price / 30.0) ** -0.8
    paid = sell(rng, np.minimum(chance, 0.6), price, rounds, 0.0)
    return fresh(features, np.zeros_like(paid), paid)


def rare_sales(rng: np.random.Generator, rounds: int) -> Rounds:
    """The shop with smaller baskets and big sales of index 1.5, 0 to 4 in a thousand visits."""
    sold = shop(rng, rounds)
    big = rng.random(sold.noise.shape) < 0.002 * rng.uniform(0.0, 2.0, 5)
    return sold._replace(noise=sold.noise / 3.0 + big * 500.0 * rng.pareto(1.5, big.shape))


def refunds(rng: np.random.Generator, rounds: int) -> Rounds:
    """Prices 5 to 160, one sale in ten is a refund."""
    sold = prices(True, 0.5)(rng, rounds)
    back = rng.random(sold.noise.shape) < 0.1
    return sold._replace(noise=np.where(back, -sold.noise, sold.noise))


def clicks(rng: np.random.Generator, rounds: int) -> Rounds:
    """Ten actions, rewards 0 or 1."""
    paid = sell(rng, rng.uniform(0.01, 0.2, 10), 1.0, rounds, 0.0)
    return fixed(one_hot(10), np.zeros_like(paid), paid)


def linear(noise: Callable[..., Any]) -> World:
    """Ten fresh arms of five features; the best arm is about 1 better than the mean."""

    def draw(rng: np.random.Generator, rounds: int) -> Rounds:
        theta = rng.normal(size=5)
        features = rng.normal(size=(rounds, 10, 5))
        features /= np.maximum(1.0, np.linalg.norm(features, axis=2, keepdims=True))
        means = 2.0 * features @ (theta / np.linalg.norm(theta))
        return fresh(features, means, noise(rng, means.shape, features))

    return draw


def unequal(rng: np.random.Generator, rounds: int) -> Rounds:
    """Six fixed arms whose Student noise (3) has scales 0.1 to 30."""
    features, theta = rng.normal(size=(6, 5)), rng.normal(size=5)
    features[:, 0] = 1.0
    scales = rng.permutation(np.geomspace(0.1, 30.0, 6))
    noise = scales * rng.standard_t(3.0, (rounds, 6))
    return fixed(features, np.tile(features @ theta, (rounds, 1)), noise)


def latencies(rng: np.random.Generator, rounds: int) -> Rounds:
    """Six arms that cost lognormal latencies of medians 0.1 to 10."""
    scales = rng.permutation(np.geomspace(0.1, 10.0, 6))
    noise = -scales * rng.lognormal(0.0, 1.0, (rounds, 6))
    return fixed(one_hot(6), np.zeros_like(noise), noise)


def offset(rng: np.random.Generator, rounds: int) -> Rounds:
    """Rewards around 1000, effects and noise around 1."""
    features, theta = rng.normal(size=(6, 4)), rng.normal(size=4)
    features[:, 0], theta[0] = 1.0, 1000.0
    return fixed(features, np.tile(features @ theta, (rounds, 1)), rng.normal(size=(rounds, 6)))


def in_units(world: World, *units: float) -> World:
    """The same world, its features in other units."""

    def draw(rng: np.random.Generator, rounds: int) -> Rounds:
        made = world(rng, rounds)
        return made._replace(features=made.features * np.resize(units, made.features.shape[1]))

    return draw


# noises of median size 1
GAUSS = linear(lambda rng, shape, _: rng.normal(size=shape) / 0.6745)
STUDENT = linear(lambda rng, shape, _: rng.standard_t(1.5, shape) / 0.9170)
PARETO = linear(lambda rng, shape, _: (rng.pareto(1.5, shape) - 2.0) / 1.5874)

QUIET: dict[str, World] = {
    "shop, sales of 1 to 9%": shop,
    "shop, prices 5 to 160, features of actions": prices(True, 0.5),
    "shop, prices 5 to 160, one-hot": prices(False, 0.5),
    "shop, exact prices, one-hot": prices(False, 0.0),
    "shop, actions of equal value": ties,
    "shop, visitors with features": visitors(),
    "shop, fresh items": catalogue,
    "shop, refunds": refunds,
    "rare big sales": rare_sales,
    "clicks": clicks,
    "Gauss": GAUSS,
    "t 1.5": STUDENT,
    "Pareto 1.5": PARETO,
    "t 3, scale exp(3 x)": linear(
        lambda rng, shape, x: rng.standard_t(3.0, shape) * np.exp(3.0 * x[:, :, 0])
    ),
    "Pareto 1.5, scale exp(3 x)": linear(
        lambda rng, shape, x: (rng.pareto(1.5, shape) - 2.0) * np.exp(3.0 * x[:, :, 0])
    ),
    "fixed arms, noise 0.1 to 30": unequal,
    "latencies 0.1 to 10": latencies,
    "rewards around 1000": offset,
    "shop, features x 10,000 and / 1000": in_units(shop, 1.0, 1e4, 1e-3, 10.0),
    "Gauss, features x 1000 and / 1000": in_units(GAUSS, 1.0, 1e3, 1e-3, 10.0, 0.1),
}
