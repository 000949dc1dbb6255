"""The keys of many repetitions at once, in NumPy: `rng.stream_key` takes ten microseconds for each.

The algorithm is that of `numpy.random.SeedSequence`.
"""

from typing import Any

import numpy as np

from .rng import stream_key

_POOL = 4  # words
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_HALF = np.uint32(16)
_WORD = 0xFFFFFFFF


class _Hash:
    """A hash whose constant changes with every word."""

    def __init__(self, constant: int, factor: int) -> None:
        self.constant, self.factor = constant, factor

    def __call__(self, words: Any) -> Any:
        mixed = words ^ np.uint32(self.constant)
        self.constant = self.constant * self.factor & _WORD
        mixed = mixed * np.uint32(self.constant)
        return mixed ^ (mixed >> _HALF)


def _mix(left: Any, right: Any) -> Any:
    mixed = left * _MIX_LEFT - right * _MIX_RIGHT
    return mixed ^ (mixed >> _HALF)


def _words(number: int) -> list[int]:
    """Return the 32-bit words of a number, the lowest first."""
    found = [number & _WORD]
    while number := number >> 32:
        found.append(number & _WORD)
    return found


def stream_keys(seed: int, repetitions: Any, stream: int) -> Any:
    """Return `stream_key` of every repetition of an array.

    >>> from heavybandits.core.rng import NOISE, stream_key
    >>> bool(stream_keys(7, np.arange(3), NOISE)[2] == stream_key(7, 2, NOISE))
    True
    """
    if repetitions.size and int(repetitions.max()) > _WORD:
        return np.array([stream_key(seed, int(r), stream) for r in repetitions], np.uint64)
    fixed = _words(seed)
    fixed += [0] * (_POOL - len(fixed))
    shape = np.zeros(repetitions.size, np.uint32)
    entropy = [shape + np.uint32(word) for word in fixed]
    entropy += [repetitions.astype(np.uint32), shape + np.uint32(stream)]
    hashed = _Hash(_INIT_A, _MULT_A)
    pool = [hashed(words) for words in entropy[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mix(pool[target], hashed(pool[source]))
    for words in entropy[_POOL:]:
        for target in range(_POOL):
            pool[target] = _mix(pool[target], hashed(words))
    state = _Hash(_INIT_B, _MULT_B)
    low, high = (state(words).astype(np.uint64) for words in pool[:2])
    return low | high << np.uint64(32)
