"""A shop, one visitor and one action at a time, with the rates and prices written out."""

import math
from typing import Any, NamedTuple

import numpy as np

from heavybandits.core.rng import ARMS, NOISE, stream_key, uniform

RESPONSE, SHELF = 0x8CB92BA72F3D8DD7, 0x2545F4914F6CDD1D  # they separate streams


class Seen(NamedTuple):
    """One action as one visitor sees it."""

    features: list[float]
    available: bool
    mean: float
    reward: float


def other(key: Any, mark: int) -> Any:
    return np.uint64(int(key) ^ mark)


def visit(shop: dict[str, Any], seed: int, repetition: int, play: int) -> list[Seen]:
    """Return all actions of a play; `shop` has the arguments of `hb.worlds.shop`."""
    key, noise_key = (stream_key(seed, repetition, stream) for stream in (ARMS, NOISE))
    size, (low, high) = shop["actions"], shop["prices"]
    mobile, loyalty = uniform(key, 2 * play) < 0.5, uniform(key, 2 * play + 1)
    shelf, first = other(key, SHELF), play // shop["period"] * (size + 1)
    kept = int(uniform(shelf, first + size) * size)
    buys, returns = (uniform(other(key, RESPONSE), 2 * play + i) for i in (0, 1))
    basket = 1.0 + shop["basket"].draw(noise_key, play)
    seen = []
    for k in range(size):
        dear, kind = k / (size - 1), k % 4
        price = low * (high / low) ** dear
        rate = 1.0 + 0.3 * loyalty - 0.85 * dear + (0.0, 0.3, -0.05, 0.15)[kind]
        rate += (-0.1 + (0.0, -0.2, 0.2, 0.1)[kind]) if mobile else 0.0
        rate *= shop["conversion"]
        kinds = [float(kind == i) for i in (1, 2, 3)]
        numbers = [1.0, float(mobile), loyalty, dear, *kinds, *(mobile * x for x in kinds)]
        reward = 0.0
        if buys < rate:
            reward = price * basket * (-0.2 if returns < shop["refunds"] else 1.0)
        seen.append(
            Seen(
                [price * number / (high * math.sqrt(6.0)) for number in numbers],
                k == kept or uniform(shelf, first + k) < shop["availability"],
                price * rate * (1.0 - 1.2 * shop["refunds"]),
                reward,
            )
        )
    return seen
