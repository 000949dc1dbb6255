"""The worlds of the study of policies without tuning, one round and one arm at a time."""

import math
from typing import Any

import numpy as np

from heavybandits.core.rng import stream_key, uniform
from heavybandits.experiments.untuned.worlds import (
    NOISES,
    Altered,
    Linear,
    Multiplicative,
    Response,
    Shop,
    Span,
    TwoItems,
)

FEATURES, REWARDS, STRUCTURE = 0, 1, 2


class Round:
    """One round: for every arm its features, mean reward, reward, and whether it is available."""

    def __init__(self, arms: int) -> None:
        self.features: list[list[float]] = [[] for _ in range(arms)]
        self.means, self.rewards, self.available = [0.0] * arms, [0.0] * arms, [True] * arms


def draw(span: Span, stream: int, index: int) -> float:
    return float(uniform(stream_key(span.seed, span.run, stream), index))


def normal(one: float, other: float) -> float:
    return math.sqrt(-2.0 * math.log(one)) * math.cos(2.0 * math.pi * other)


def poisson(chance: float, rate: float) -> int:
    count, term = 0, math.exp(-rate)
    below = term
    while chance > below:
        count += 1
        term *= rate / count
        below += term
    return count


def noise(span: Span, name: str, t: int) -> float:
    with np.errstate(over="ignore"):
        return float(NOISES[name].draw(stream_key(span.seed, span.run, REWARDS), t))


def make_round(world: Any, span: Span, t: int) -> Round:
    """Return round t of a run."""
    makers: dict[type, Any] = {Linear: linear, Multiplicative: multiplicative, Response: response}
    makers |= {Shop: shop, TwoItems: two_items, Altered: altered}
    return makers[type(world)](world, span, t)


def linear(world: Linear, span: Span, t: int) -> Round:
    made, d, k = Round(world.arms), world.dim, world.arms
    start = 0 if world.still else t * k * d
    for a in range(k):
        for i in range(d):
            number = draw(span, FEATURES, start + a * d + i)
            if world.layout in ("fresh", "fixed"):
                value = (2.0 * number - 1.0) / math.sqrt(d)
            elif world.layout == "one-hot":
                value = float(a == i)
            elif world.layout == "intercept":
                value = 1.0 if i == 0 else math.sqrt(12.0 / d) * (number - 0.5)
            else:
                width = d // k
                place = i % width
                shared = math.sqrt(12.0 / d) * (draw(span, FEATURES, start + place) - 0.5)
                value = (1.0 if place == 0 else shared) if i // width == a else 0.0
            made.features[a].append(value)
    theta = []
    for i in range(d):
        one, other = draw(span, STRUCTURE, i), draw(span, STRUCTURE, d + i)
        by_layout = {"one-hot": one, "intercept": world.intercept if i == 0 else 1.0}
        theta.append(by_layout.get(world.layout, normal(one, other)))
    if world.drift and t >= span.horizon // 2:
        theta = [theta[(i - d // 2) % d] * (-1.0) ** i for i in range(d)]
    for a in range(k):
        x = made.features[a]
        made.means[a] = sum(x[i] * theta[i] for i in range(d))
        scale = world.noise_scale
        if world.heteroskedastic:
            column = 1 if world.layout in ("intercept", "context") else 0
            scale *= 0.1 + 3.0 * abs(x[column]) * math.sqrt(d)
        made.rewards[a] = made.means[a] + scale * noise(span, world.noise, t)
    return made


def multiplicative(world: Multiplicative, span: Span, t: int) -> Round:
    made = Round(world.arms)
    c = normal(draw(span, FEATURES, 2 * t), draw(span, FEATURES, 2 * t + 1))
    for a in range(world.arms):
        price = world.lowest * (world.highest / world.lowest) ** (a / (world.arms - 1))
        made.features[a] = [1.0, price, price * c, c, price * (a % 2), float(a % 3 == 0)]
        made.means[a] = price * (0.2 + 0.15 * c + 0.1 * (a % 2) - 0.16 * price / world.highest)
        made.rewards[a] = made.means[a] + world.noise_scale * price * noise(span, world.noise, t)
    return made


def response(world: Response, span: Span, t: int) -> Round:
    made, d, k = Round(world.arms), world.dim, world.arms
    theta = [normal(draw(span, STRUCTURE, i), draw(span, STRUCTURE, d + i)) for i in range(d)]
    theta[0] = world.intercept
    number, one, other = (draw(span, REWARDS, 3 * t + j) for j in range(3))
    for a in range(k):
        x = [2.0 * draw(span, FEATURES, (t * k + a) * d + i) - 1.0 for i in range(d)]
        x[0] = 1.0
        made.features[a] = x
        score = sum(x[i] * theta[i] for i in range(d))
        chance = 1.0 / (1.0 + math.exp(-score))
        size = {"claims": -20.0, "sparse": 10.0, "binary": 1.0}.get(world.response, 0.0)
        made.means[a] = size * chance
        made.rewards[a] = float(number < chance)
        if world.response == "counts":
            made.means[a] = math.exp(0.5 * score)
            made.rewards[a] = float(poisson(number, made.means[a]))
        elif world.response != "binary":
            made.rewards[a] *= size * math.exp(normal(one, other) - 0.5)
    return made


def shop(world: Shop, span: Span, t: int) -> Round:
    made, k = Round(world.arms), world.arms
    first = t * (3 + k)
    device = 1 if draw(span, FEATURES, first) < 0.5 else 0
    visits = poisson(draw(span, FEATURES, first + 1), 3.0)
    visitor = [float(device == 0), float(device == 1), (visits - 3.0) / 2.0]
    prices = [world.lowest * (world.highest / world.lowest) ** (a / (k - 1)) for a in range(k)]
    mean = sum(prices) / k
    deviation = math.sqrt(sum((price - mean) ** 2 for price in prices) / k)
    u = [draw(span, REWARDS, 8 * t + j) for j in range(8)]
    amount = math.exp(world.basket * normal(u[4], u[5]) - 0.5 * world.basket**2)
    if world.tail > 0.0:
        amount = (world.tail - 1.0) / world.tail * u[3] ** (-1.0 / world.tail)
    if u[1] < world.refund:
        amount *= -0.2
    for a, price in enumerate(prices):
        kind = a % 4
        item = [price if world.columns == "raw price" else (price - mean) / deviation]
        item += [float(kind == j) for j in range(4)]
        if world.columns == "log price":
            item.append(math.log(price / math.sqrt(world.lowest * world.highest)))
        if world.columns == "indicators":
            item = [float(a == j) for j in range(k)]
        made.features[a] = [1.0, *visitor, *item]
        if world.products:
            made.features[a] += [v * i for v in visitor for i in item]
        taste = 1.0 - world.taste + 2.0 * world.taste * draw(span, STRUCTURE, 4 * device + kind)
        if world.curve == "power":
            rate = world.top * (1.6 * world.lowest / price) ** world.power
        elif world.curve == "exponential":
            rate = world.top * math.exp(
                -world.power * (price - world.lowest) / (0.3 * world.highest)
            )
        elif world.curve == "logistic":
            steep = 2.0 * world.power * (math.log(price / world.lowest) - 1.5)
            rate = world.top / (1.0 + math.exp(steep))
        else:
            rate = world.top
        chance = min(0.5, rate * taste * (0.7 + 0.1 * min(visits, 6)))
        lost = 100.0 * world.highest
        made.means[a] = world.level - world.cost - world.outliers * lost
        made.means[a] += chance * price * (1.0 - 1.2 * world.refund)
        made.rewards[a] = world.level - world.cost + world.cost_noise * normal(u[6], u[7])
        made.rewards[a] += price * amount if u[0] < chance else 0.0
        made.rewards[a] -= lost if u[2] < world.outliers else 0.0
        made.available[a] = draw(span, FEATURES, first + 3 + a) < world.availability
    made.available[int(draw(span, FEATURES, first + 2) * k)] = True
    return made


def two_items(world: TwoItems, span: Span, t: int) -> Round:
    made = Round(2)
    made.features = [[1.0, 1.0], [1.0, 0.0]]
    buys, one, other = (draw(span, REWARDS, 3 * t + j) for j in range(3))
    amount = math.exp(world.basket * normal(one, other) - 0.5 * world.basket**2)
    for a, (chance, price) in enumerate(((world.rare, world.high), (world.often, world.low))):
        made.means[a] = chance * price
        made.rewards[a] = price * amount if buys < chance else 0.0
    return made


def altered(world: Altered, span: Span, t: int) -> Round:
    made = make_round(world.world, span, t)
    longer = world.first_arms if t == 0 else 1.0
    places = {place if place == int(place) else round(span.horizon * place) for place in world.at}
    for a in range(world.arms):
        units = [world.units[i % len(world.units)] for i in range(world.dim)]
        made.features[a] = [longer * u * x for u, x in zip(units, made.features[a], strict=True)]
        reward = made.rewards[a] + world.level + (longer - 1.0) * made.means[a]
        reward *= world.late_factor if t >= span.horizon // 2 else 1.0
        made.rewards[a] = world.extreme if t in places else reward
    return made
