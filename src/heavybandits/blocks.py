"""Plays kept in blocks, so that sums over them vectorise, and the truncated sums of BTC."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from .linalg import combine

BLOCK = 256  # plays stored together, one row a feature
BLOCKS, STORED = 0, 1  # places in History.counts
ROUNDING = 1.0 + 1e-12  # a reward of exactly the level is kept


class History(NamedTuple):
    """Plays in blocks, each owned by one level: T d + levels x 256 d numbers suffice."""

    features: Any  # block, feature, play
    rewards: Any  # block, play
    chain: Any  # the blocks of a level, in order
    sizes: Any  # plays in a level
    counts: Any


def make_history(dim: int, capacity: int, levels: int) -> History:
    """Room for `capacity` plays."""
    full = -(-capacity // BLOCK)
    return History(
        features=np.zeros((full + levels, dim, BLOCK)),
        rewards=np.zeros((full + levels, BLOCK)),
        chain=np.zeros((levels, full), np.int64),
        sizes=np.zeros(levels, np.int64),
        counts=np.zeros(2, np.int64),
    )


@register_jitable
def store(history: Any, level: int, x: Any, reward: float) -> None:
    """Append one play to a level."""
    place, link = history.sizes[level] % BLOCK, history.sizes[level] // BLOCK
    if place == 0:
        history.chain[level, link] = history.counts[BLOCKS]
        history.counts[BLOCKS] += 1
    block = history.chain[level, link]
    for i in range(x.size):
        history.features[block, i, place] = x[i]
    history.rewards[block, place] = reward
    history.sizes[level] += 1
    history.counts[STORED] += 1


@register_jitable
def weigh(history: Any, level: int, images: Any, weights: Any, count: int) -> None:
    """weights[k, tau] = images[k].x_tau for `count` arms and every play of a level.

    Arms inside, blocks outside: a block is fetched once and serves all arms.
    """
    size = history.sizes[level]
    for link in range((size + BLOCK - 1) // BLOCK):
        start, stop = link * BLOCK, min((link + 1) * BLOCK, size)
        block = history.features[history.chain[level, link]]
        for k in range(count):
            combine(block, images[k], weights[k, start:stop])


@register_jitable
def length(values: Any, order: float) -> float:
    """(sum |v|^order)^(1/order)"""
    total = 0.0
    if order == 2.0:
        for i in range(values.size):
            total += values[i] * values[i]
        return math.sqrt(total)
    for i in range(values.size):
        total += math.pow(abs(values[i]), order)
    return math.pow(total, 1.0 / order)


@register_jitable
def truncated_sum(history: Any, level: int, weights: Any, order: float) -> tuple[float, int]:
    """sum b y 1{|b y| <= ||b||_order} over a level, and how many terms were cut."""
    size = history.sizes[level]
    limit = length(weights[:size], order) * ROUNDING
    total, cut = 0.0, 0
    for link in range((size + BLOCK - 1) // BLOCK):
        start = link * BLOCK
        rewards = history.rewards[history.chain[level, link]]
        for j in range(min(BLOCK, size - start)):
            term = weights[start + j] * rewards[j]
            if abs(term) <= limit:
                total += term
            else:
                cut += 1
    return total, cut
