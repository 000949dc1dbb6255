"""Random numbers by address, as arrays: entry i of a stream is the same in any chunk of rounds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Key

Floats = NDArray[np.float64]

FEATURES, REWARDS, STRUCTURE = 0, 1, 2  # the streams of a run

_WEYL = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
MOST = 400  # largest count that `poisson` returns


def uniforms(key: Key, first: int, *shape: int) -> Floats:
    """Return the numbers first, first + 1, ... of a stream: those of `core.rng.uniform`.

    >>> from heavybandits.core.rng import uniform
    >>> bool(uniforms(np.uint64(7), 3, 2, 2)[1, 0] == uniform(np.uint64(7), 5))
    True
    """
    size = int(np.prod(shape))
    z = np.uint64(key) + np.arange(first, first + size, dtype=np.uint64) * _WEYL
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    z ^= z >> np.uint64(31)
    return (((z >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(shape)


def between(draws: Any, low: float, high: float) -> Floats:
    """Return uniforms on (0, 1) as uniforms on (low, high)."""
    return np.asarray(low + (high - low) * draws)


def normals(one: Floats, other: Floats) -> Floats:
    """Return standard normals from two arrays of uniforms (Box and Muller 1958)."""
    return np.asarray(np.sqrt(-2.0 * np.log(one)) * np.cos(2.0 * np.pi * other))


def poisson(draws: Floats, rate: Any) -> Floats:
    """Return Poisson counts by inversion of their distribution function.

    >>> poisson(np.array([0.01, 0.5, 0.99]), 3.0).tolist()
    [0.0, 3.0, 8.0]
    """
    rate = np.broadcast_to(np.asarray(rate, dtype=np.float64), draws.shape)
    term = np.exp(-rate)
    below, counts = term.copy(), np.zeros(draws.shape)
    for count in range(1, MOST + 1):
        more = draws > below
        if not more.any():
            break
        counts[more] = count
        term = term * rate / count
        below = below + term
    return counts
