"""Plays kept in blocks, so that sums over them vectorise, and the truncated sums of BTC."""

import math
from typing import NamedTuple

import numpy as np

from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.jit import jitable, vectorised
from ...core.linalg import combine

BLOCK = 256  # plays stored together, one row a feature
_BLOCKS, _STORED = 0, 1  # places in History.counts
ROUNDING = 1.0 + 1e-12  # a reward of exactly the threshold is kept


class History(NamedTuple):
    """Plays in blocks, each owned by one stage: T d + stages x 256 d numbers suffice."""

    features: Floats  # block, feature, play
    rewards: Floats  # block, play
    chain: Integers  # the blocks of a stage, in order
    sizes: Integers  # plays in a stage
    counts: Integers


def make_history(dim: int, capacity: int, stages: int) -> History:
    """Room for `capacity` plays."""
    full = -(-capacity // BLOCK)
    return History(
        features=zeros(full + stages, dim, BLOCK),
        rewards=zeros(full + stages, BLOCK),
        chain=zeros(stages, full, dtype=np.int64),
        sizes=zeros(stages, dtype=np.int64),
        counts=zeros(2, dtype=np.int64),
    )


@jitable
def stored_count(history: History) -> int:
    """Return the number of plays stored, of all stages."""
    return history.counts[_STORED]


def is_valid_history(history: History, capacity: int) -> bool:
    """Return True if sizes, counts and chains of a history from a file fit together."""
    links = [-(-int(size) // BLOCK) for size in history.sizes]
    blocks = [int(b) for row, n in zip(history.chain, links, strict=True) for b in row[:n]]
    stored = int(history.sizes.sum())
    return bool(
        stored == history.counts[_STORED] <= capacity
        and max(links) <= history.chain.shape[1]
        and sorted(blocks) == list(range(int(history.counts[_BLOCKS])))
    )


@jitable
def store(history: History, stage: int, x: Floats, reward: float) -> None:
    """Append one play to a stage."""
    place, link = history.sizes[stage] % BLOCK, history.sizes[stage] // BLOCK
    if place == 0:
        history.chain[stage, link] = history.counts[_BLOCKS]
        history.counts[_BLOCKS] += 1
    block = history.chain[stage, link]
    for i in range(x.size):
        history.features[block, i, place] = x[i]
    history.rewards[block, place] = reward
    history.sizes[stage] += 1
    history.counts[_STORED] += 1


@vectorised
def weigh(history: History, stage: int, images: Floats, weights: Floats, count: int) -> None:
    """weights[k, tau] = images[k].x_tau for `count` arms and every play of a stage.

    Arms inside, blocks outside: a block is fetched once and serves all arms.
    """
    size = history.sizes[stage]
    for link in range((size + BLOCK - 1) // BLOCK):
        start, stop = link * BLOCK, min((link + 1) * BLOCK, size)
        block = history.features[history.chain[stage, link]]
        for k in range(0, count - 1, 2):
            upper, lower = weights[k, start:stop], weights[k + 1, start:stop]
            combine_two(block, images[k], images[k + 1], upper, lower)
        if count % 2 == 1:
            combine(block, images[count - 1], weights[count - 1, start:stop])


@jitable
def combine_two(rows: Floats, first: Floats, second: Floats, upper: Floats, lower: Floats) -> None:
    """Two sums of the same rows at once, four rows at a time: a row that is loaded serves both."""
    for k in range(upper.size):
        upper[k], lower[k] = 0.0, 0.0
    i = 0
    while i + 4 <= first.size:
        a, b, c, d = first[i], first[i + 1], first[i + 2], first[i + 3]
        e, f, g, h = second[i], second[i + 1], second[i + 2], second[i + 3]
        for k in range(upper.size):
            p, q, r, s = rows[i, k], rows[i + 1, k], rows[i + 2, k], rows[i + 3, k]
            upper[k] += a * p + b * q + c * r + d * s
            lower[k] += e * p + f * q + g * r + h * s
        i += 4
    while i < first.size:
        a, e = first[i], second[i]
        for k in range(upper.size):
            upper[k] += a * rows[i, k]
            lower[k] += e * rows[i, k]
        i += 1


@jitable
def length(values: Floats, size: int, order: float, sums: Floats) -> float:
    """(sum |v|^order)^(1/order) over the first `size` values; `sums` is scratch.

    A sum for every place in a block, added up at the end: it vectorises, whatever the order.
    """
    for j in range(BLOCK):
        sums[j] = 0.0
    for start in range(0, size, BLOCK):
        count = min(BLOCK, size - start)
        if order == 2.0:
            for j in range(count):
                sums[j] += values[start + j] * values[start + j]
        else:
            for j in range(count):
                sums[j] += math.pow(abs(values[start + j]), order)
    total = add_up(sums)
    return math.sqrt(total) if order == 2.0 else math.pow(total, 1.0 / order)


@jitable
def add_up(sums: Floats) -> float:
    total = 0.0
    for j in range(sums.size):
        total += sums[j]
    return total


@vectorised
def truncated_sum(
    history: History, stage: int, weights: Floats, order: float, sums: Floats
) -> float:
    """sum b y 1{|b y| <= ||b||_order} over a stage; `sums` is scratch."""
    size = history.sizes[stage]
    limit = length(weights, size, order, sums) * ROUNDING
    for j in range(BLOCK):
        sums[j] = 0.0
    for start in range(0, size, BLOCK):
        rewards = history.rewards[history.chain[stage, start // BLOCK]]
        for j in range(min(BLOCK, size - start)):
            term = weights[start + j] * rewards[j]
            sums[j] += term if abs(term) <= limit else 0.0
    return add_up(sums)


@jitable
def count_truncated(
    history: History, stage: int, weights: Floats, order: float, sums: Floats
) -> int:
    """Return how many terms `truncated_sum` leaves out."""
    size, truncated = history.sizes[stage], 0
    limit = length(weights, size, order, sums) * ROUNDING
    for start in range(0, size, BLOCK):
        rewards = history.rewards[history.chain[stage, start // BLOCK]]
        for j in range(min(BLOCK, size - start)):
            if abs(weights[start + j] * rewards[j]) > limit:
                truncated += 1
    return truncated
