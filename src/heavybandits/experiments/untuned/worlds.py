"""Worlds: arms, mean rewards and rewards of all arms, in chunks of rounds.

A world is a NamedTuple of plain values with `arms`, `dim`, `still` and `draw`. Its draws come from
streams by address, so every policy meets the same arms, and the same reward for the same round and
arm, whatever the chunks. All arms of a round share the draws of their rewards.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compile import compiled
from ...core.kernels import noise_kernel
from ...core.rng import stream_key
from ...parts.noises import Contaminated, Gaussian, Laplace, LogNormal, Pareto, StudentT
from .draws import FEATURES, REWARDS, STRUCTURE, Floats, between, normals, poisson, uniforms

NOISES: dict[str, Any] = {
    "t1.2": StudentT(1.2),
    "t1.5": StudentT(1.5),
    "t2": StudentT(2.0),
    "t3": StudentT(3.0),
    "pareto1.5": Pareto(1.5, 1.0),
    "pareto1.8": Pareto(1.8, 1.0),
    "pareto3": Pareto(3.0, 1.0),
    "gauss": Gaussian(1.0),
    "laplace": Laplace(1.0),
    "lognormal": LogNormal(1.0),
    "1% outliers": Contaminated(Gaussian(1.0), Gaussian(50.0), 0.01),
    "jumps": Contaminated(Gaussian(0.2), Gaussian(60.0), 0.003),
}


class Span(NamedTuple):
    """Some rounds of a run: from `first` to before `last`, of `horizon` rounds."""

    horizon: int
    seed: int
    run: int
    first: int
    last: int

    @property
    def size(self) -> int:
        """The number of rounds."""
        return self.last - self.first

    def uniforms(self, stream: int, *shape: int) -> Floats:
        """Return uniforms of this shape for every round."""
        first = self.first * int(np.prod(shape))
        return uniforms(stream_key(self.seed, self.run, stream), first, self.size, *shape)

    def once(self, stream: int, *shape: int) -> Floats:
        """Return uniforms of this shape, the same in all rounds of the run."""
        return uniforms(stream_key(self.seed, self.run, stream), 0, *shape)

    def noise(self, name: str) -> Floats:
        """Return one draw of this noise for every round."""
        part, out = NOISES[name], np.empty(self.size)
        key = stream_key(self.seed, self.run, REWARDS)
        compiled(noise_kernel, part, key, self.first, out)(part, key, self.first, out)
        return out


class Chunk(NamedTuple):
    """The rounds of a span: n rounds, K arms, d features."""

    arms: Floats  # (n, K, d)
    means: Floats  # (n, K)
    rewards: Floats  # (n, K)
    available: NDArray[np.bool_] | None = None  # (n, K); None if every arm always is

    def gaps(self) -> Floats:
        """Return by how much each arm is worse than the best available one, (n, K)."""
        offered = self.means
        if self.available is not None:
            offered = np.where(self.available, self.means, -np.inf)
        return np.asarray(offered.max(axis=1, keepdims=True) - self.means)


def repeat_still(arms: Floats, size: int) -> Floats:
    """Return one set of arms for every round."""
    return np.ascontiguousarray(np.broadcast_to(arms, (size, *arms.shape)))


# ---- linear mean rewards


class Linear(NamedTuple):
    """Mean rewards x.theta plus noise.

    Layouts: "fresh" and "fixed" arms, uniform on [-1, 1]^d / sqrt(d), theta standard normal;
    "one-hot"; "context": each arm has its own block of coefficients for one shared context;
    "intercept": a constant feature next to features of variance 1/d, all other effects 1.

    Parameters
    ----------
    layout : str
        One of the above.
    dim, arms : int
        Features and arms.
    noise : str
        A name of `NOISES`.
    noise_scale : float
        Factor of the noise. A negative factor reverses its skew.
    drift : bool, default False
        In the middle of the run effects change places and signs.
    heteroskedastic : bool, default False
        The noise is proportional to 0.1 + 3 |first feature that varies| sqrt(d).
    intercept : float, default 20.0
        Effect of the constant feature in the layout "intercept".
    """

    layout: str
    dim: int
    arms: int
    noise: str
    noise_scale: float
    drift: bool = False
    heteroskedastic: bool = False
    intercept: float = 20.0

    @property
    def still(self) -> bool:
        """Return True if arms never change."""
        return self.layout in ("fixed", "one-hot")

    def theta(self, span: Span) -> Floats:
        """Return the effects before they drift."""
        one, other = span.once(STRUCTURE, 2, self.dim)
        if self.layout == "one-hot":
            return one
        if self.layout == "intercept":
            return np.r_[self.intercept, np.ones(self.dim - 1)]
        return normals(one, other)

    def features(self, span: Span) -> Floats:
        """Return the arms of every round."""
        shape = self.arms, self.dim
        if self.layout == "one-hot":
            return repeat_still(np.eye(*shape), span.size)
        if self.layout == "fixed":
            draws = between(span.once(FEATURES, *shape), -1.0, 1.0) / np.sqrt(self.dim)
            return repeat_still(draws, span.size)
        if self.layout == "fresh":
            return between(span.uniforms(FEATURES, *shape), -1.0, 1.0) / np.sqrt(self.dim)
        varied = np.sqrt(12.0 / self.dim) * (span.uniforms(FEATURES, *shape) - 0.5)
        if self.layout == "intercept":
            varied[..., 0] = 1.0
            return varied
        width = self.dim // self.arms
        context = varied[:, 0, :width].copy()
        context[:, 0] = 1.0
        made = np.zeros((span.size, *shape))
        for arm in range(self.arms):
            made[:, arm, arm * width : (arm + 1) * width] = context
        return made

    def draw(self, span: Span) -> Chunk:
        """Return these rounds."""
        arms, theta = self.features(span), self.theta(span)
        means = arms @ theta
        if self.drift:
            later = np.roll(theta, self.dim // 2) * (-1.0) ** np.arange(self.dim)
            moved = np.arange(span.first, span.last) >= span.horizon // 2
            means[moved] = arms[moved] @ later
        scale: Any = self.noise_scale
        if self.heteroskedastic:
            column = 1 if self.layout in ("intercept", "context") else 0
            scale = scale * (0.1 + 3.0 * np.abs(arms[..., column]) * np.sqrt(self.dim))
        return Chunk(arms, means, means + scale * span.noise(self.noise)[:, None])


class Multiplicative(NamedTuple):
    """Rewards whose mean and noise are both proportional to a price that is a feature.

    The margin of an arm depends on the visitor and falls with the price.
    """

    noise: str
    noise_scale: float = 0.5
    arms: int = 10
    highest: float = 160.0
    lowest: float = 5.0

    @property
    def still(self) -> bool:
        """Return True if arms never change."""
        return False

    @property
    def dim(self) -> int:
        """Number of features."""
        return 6

    def draw(self, span: Span) -> Chunk:
        """Return these rounds."""
        prices = np.geomspace(self.lowest, self.highest, self.arms)
        odd, third = np.arange(self.arms) % 2, np.arange(self.arms) % 3 == 0
        visitor = normals(*np.moveaxis(span.uniforms(FEATURES, 2), 1, 0))[:, None]
        shape = span.size, self.arms
        columns = (1.0, prices, prices * visitor, visitor, prices * odd, third)
        arms = np.stack([np.broadcast_to(column, shape) for column in columns], axis=2)
        margin = 0.2 + 0.15 * visitor + 0.1 * odd - 0.16 * prices / self.highest
        means = prices * margin
        rewards = means + self.noise_scale * prices * span.noise(self.noise)[:, None]
        return Chunk(arms, means, rewards)


class Response(NamedTuple):
    """Rewards that are no linear function of the features: one response to x.theta.

    "binary": 1 with probability 1 / (1 + e^-z); "counts": Poisson of mean e^(z/2); "claims": -20
    times a lognormal with that probability, and otherwise 0; "sparse": the same with +10.
    """

    response: str
    dim: int
    arms: int
    intercept: float

    @property
    def still(self) -> bool:
        """Return True if arms never change."""
        return False

    def draw(self, span: Span) -> Chunk:
        """Return these rounds."""
        one, other = span.once(STRUCTURE, 2, self.dim)
        theta = np.r_[self.intercept, normals(one, other)[1:]]
        arms = between(span.uniforms(FEATURES, self.arms, self.dim), -1.0, 1.0)
        arms[..., 0] = 1.0
        score = arms @ theta
        draws, one, other = (each[:, None] for each in span.uniforms(REWARDS, 3).T)
        if self.response == "counts":
            means = np.exp(0.5 * score)
            return Chunk(arms, means, poisson(np.broadcast_to(draws, means.shape), means))
        chance = 1.0 / (1.0 + np.exp(-score))
        if self.response == "binary":
            return Chunk(arms, chance, (draws < chance).astype(np.float64))
        size = -20.0 if self.response == "claims" else 10.0
        amounts = size * np.exp(normals(one, other) - 0.5)
        return Chunk(arms, size * chance, np.where(draws < chance, amounts, 0.0))


# ---- shops

KINDS = 4  # of items
DEVICES = 2
VISITS = 3.0  # mean number of visits
CONTEXT = DEVICES + 1


class Shop(NamedTuple):
    """A shop: the reward of showing an item is 0 unless the visitor buys it.

    The visitor has a device and a number of visits. An item has a kind and a price. Their taste for
    kinds, drawn once per run, differs between devices. The features are a constant, the visitor,
    the item, and their products.

    Parameters
    ----------
    arms : int, default 12
        Number of items.
    lowest, highest : float
        Prices, evenly spaced on a log scale.
    curve : str, default "power"
        How conversion falls with the price p: "power" top (1.6 lowest / p)^power; "exponential"
        top exp(-power (p - lowest) / (0.3 highest)); "logistic" top / (1 + (p / lowest / e^1.5) ^
        (2 power)); "flat" top.
    power, top : float
        Parameters of the curve. No conversion exceeds 0.5.
    basket : float, default 0.5
        Amounts are the price times a lognormal of this deviation and mean 1.
    tail : float, default 0.0
        If positive, the tail index of Pareto amounts instead.
    refund : float, default 0.0
        Share of sales that become a loss of a fifth of the amount.
    cost, cost_noise : float, default 0.0
        Every visit costs this much, with Gaussian noise.
    level : float, default 0.0
        Added to every reward.
    availability : float, default 1.0
        Probability that an item is there; at least one is.
    outliers : float, default 0.0
        Probability of a loss of a hundred times the highest price.
    columns : str, default "price"
        "price", standardised; "raw price"; "log price" in addition to the price; "indicators" of
        items instead of their kind and price.
    taste : float, default 0.6
        Tastes are uniform on 1 - taste to 1 + taste.
    products : bool, default True
        Have products of visitor and item among the features.
    """

    arms: int = 12
    lowest: float = 5.0
    highest: float = 160.0
    curve: str = "power"
    power: float = 0.75
    top: float = 0.3
    basket: float = 0.5
    tail: float = 0.0
    refund: float = 0.0
    cost: float = 0.0
    cost_noise: float = 0.0
    level: float = 0.0
    availability: float = 1.0
    outliers: float = 0.0
    columns: str = "price"
    taste: float = 0.6
    products: bool = True

    @property
    def still(self) -> bool:
        """Return True if arms never change."""
        return False

    @property
    def dim(self) -> int:
        """Number of features."""
        item = self.items().shape[1]
        return 1 + CONTEXT + item + (CONTEXT * item if self.products else 0)

    @property
    def prices(self) -> Floats:
        """Prices of the items."""
        return np.asarray(np.geomspace(self.lowest, self.highest, self.arms))

    def items(self) -> Floats:
        """Return the features of the items, (K, columns)."""
        if self.columns == "indicators":
            return np.eye(self.arms)
        price = self.prices
        first = price if self.columns == "raw price" else (price - price.mean()) / price.std()
        made = [first, *(np.arange(self.arms) % KINDS == kind for kind in range(KINDS))]
        if self.columns == "log price":
            made.append(np.log(price / np.sqrt(self.lowest * self.highest)))
        return np.column_stack(made).astype(np.float64)

    def base_rates(self) -> Floats:
        """Return the conversion of the items for a visitor of average taste."""
        price = self.prices
        if self.curve == "power":
            return np.asarray(self.top * (1.6 * self.lowest / price) ** self.power)
        if self.curve == "exponential":
            fall = self.power * (price - self.lowest) / (0.3 * self.highest)
            return np.asarray(self.top * np.exp(-fall))
        if self.curve == "logistic":
            steep = 2.0 * self.power * (np.log(price / self.lowest) - 1.5)
            return np.asarray(self.top / (1.0 + np.exp(steep)))
        return np.full(self.arms, self.top)

    def draw(self, span: Span) -> Chunk:
        """Return these rounds."""
        draws = span.uniforms(FEATURES, 3 + self.arms)
        device, visits = (draws[:, 0] < 0.5).astype(int), poisson(draws[:, 1], VISITS)
        visitor = np.column_stack([device == 0, device == 1, (visits - VISITS) / 2.0])
        arms = self.features(visitor.astype(np.float64))
        tastes = between(span.once(STRUCTURE, DEVICES, KINDS), 1.0 - self.taste, 1.0 + self.taste)
        mood = 0.7 + 0.1 * np.minimum(visits, 6.0)
        liked = tastes[device][:, np.arange(self.arms) % KINDS]
        chance = np.minimum(0.5, self.base_rates() * liked * mood[:, None])
        kept = 1.0 - 1.2 * self.refund
        lost = self.outliers * 100.0 * self.highest
        means = self.level - self.cost - lost + chance * self.prices * kept
        return Chunk(arms, means, self.rewards(span, chance), self.available(draws))

    def features(self, visitor: Floats) -> Floats:
        """Return the arms of every round."""
        items = self.items()
        n, (k, columns) = len(visitor), items.shape
        parts = [np.ones((n, k, 1)), np.broadcast_to(visitor[:, None], (n, k, CONTEXT))]
        parts.append(np.broadcast_to(items, (n, k, columns)))
        if self.products:
            both = visitor[:, None, :, None] * items[:, None, :]
            parts.append(both.reshape(n, k, CONTEXT * columns))
        return np.concatenate(parts, axis=2)

    def available(self, draws: Floats) -> NDArray[np.bool_] | None:
        """Return which items are there."""
        if self.availability >= 1.0:
            return None
        there = draws[:, 3:] < self.availability
        there[np.arange(len(there)), (draws[:, 2] * self.arms).astype(int)] = True
        return there

    def rewards(self, span: Span, chance: Floats) -> Floats:
        """Return the reward of every item."""
        draws = span.uniforms(REWARDS, 8).T
        buys, refunded, outlier, tail = draws[:4]
        amount = np.exp(self.basket * normals(draws[4], draws[5]) - 0.5 * self.basket**2)
        if self.tail > 0.0:
            amount = (self.tail - 1.0) / self.tail * tail ** (-1.0 / self.tail)
        amount = np.where(refunded < self.refund, -0.2, 1.0) * amount
        paid = np.where(buys[:, None] < chance, self.prices * amount[:, None], 0.0)
        visit = self.level - self.cost + self.cost_noise * normals(draws[6], draws[7])
        visit = visit - np.where(outlier < self.outliers, 100.0 * self.highest, 0.0)
        return np.asarray(paid + visit[:, None])


class TwoItems(NamedTuple):
    """Two items without context: one sells rarely and is expensive, the other is the contrary."""

    rare: float = 0.02
    high: float = 100.0
    often: float = 0.2
    low: float = 5.0
    basket: float = 0.5

    @property
    def arms(self) -> int:
        """Number of arms."""
        return 2

    @property
    def dim(self) -> int:
        """Number of features."""
        return 2

    @property
    def still(self) -> bool:
        """Return True if arms never change."""
        return True

    def draw(self, span: Span) -> Chunk:
        """Return these rounds."""
        chance, price = np.array([self.rare, self.often]), np.array([self.high, self.low])
        buys, one, other = span.uniforms(REWARDS, 3).T
        amount = np.exp(self.basket * normals(one, other) - 0.5 * self.basket**2)
        rewards = np.where(buys[:, None] < chance, price * amount[:, None], 0.0)
        arms = repeat_still(np.array([[1.0, 1.0], [1.0, 0.0]]), span.size)
        return Chunk(arms, repeat_still(chance * price, span.size), rewards)


# ---- the same world in other units


class Altered(NamedTuple):
    """Another world with other units, another level, or single extreme rewards.

    Regret is that of the world inside: only what a policy sees is altered.

    Parameters
    ----------
    world : World
        The world inside.
    units : list of float, optional
        Factors of the features, repeated over the columns.
    first_arms : float, default 1.0
        Factor of the arms of the first round, and of their mean rewards in the rewards.
    level : float, default 0.0
        Added to every reward.
    extreme : float, default 0.0
        Every reward of the rounds `at`.
    at : list of float
        Rounds with the reward `extreme`; below 1, shares of the horizon.
    late_factor : float, default 1.0
        Factor of the rewards in the second half.
    """

    world: Any
    units: tuple[float, ...] = (1.0,)
    first_arms: float = 1.0
    level: float = 0.0
    extreme: float = 0.0
    at: tuple[float, ...] = ()
    late_factor: float = 1.0

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.world.arms)

    @property
    def dim(self) -> int:
        """Number of features."""
        return int(self.world.dim)

    @property
    def still(self) -> bool:
        """Return True if arms never change."""
        return bool(self.world.still) and self.first_arms == 1.0

    def draw(self, span: Span) -> Chunk:
        """Return these rounds."""
        inside = self.world.draw(span)
        arms = inside.arms * np.resize(self.units, self.dim)
        rewards, rounds = inside.rewards + self.level, np.arange(span.first, span.last)
        start = rounds == 0
        arms[start] *= self.first_arms
        rewards[start] += (self.first_arms - 1.0) * inside.means[start]
        rewards[rounds >= span.horizon // 2] *= self.late_factor
        struck = [round(span.horizon * place) if place % 1.0 else int(place) for place in self.at]
        rewards[np.isin(rounds, struck)] = self.extreme
        return inside._replace(arms=arms, rewards=rewards)


World = Linear | Multiplicative | Response | Shop | TwoItems | Altered
CLASSES: dict[str, Any] = {
    made.__name__: made for made in (Linear, Multiplicative, Response, Shop, TwoItems, Altered)
}


def write_world(world: World) -> dict[str, Any]:
    """Return a world as plain JSON.

    >>> write_world(TwoItems())["class"]
    'TwoItems'
    """
    fields = {
        name: write_world(value) if type(value).__name__ in CLASSES else value
        for name, value in world._asdict().items()
    }
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}
    return {"class": type(world).__name__} | plain


def read_world(written: dict[str, Any]) -> World:
    """Return the world that `write_world` wrote.

    >>> world = Altered(Shop(arms=3), units=(1.0, 0.001))
    >>> read_world(write_world(world)) == world
    True
    """
    fields = {
        name: read_world(value) if isinstance(value, dict) else value
        for name, value in written.items()
        if name != "class"
    }
    made = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return CLASSES[written["class"]](**made)
