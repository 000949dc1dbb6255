"""Random numbers by address: uniform number `index` of stream `key`, in any order.

A counter-based SplitMix64 (Steele, Lea, Flood 2014): every policy of a repetition meets the same
arms and the same noise, any part of a run can be computed alone, and the loop that fills an array
vectorises.
"""

import numpy as np

from .arrays import Key
from .jit import compiled_form, jitable

ARMS, NOISE = 0, 1  # the streams of a repetition

_POLICY = np.uint64(0xD1B54A32D192ED03)  # separates the seeds of policies from the noise
_WEYL = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_BITS = (1 << 64) - 1
_27, _30, _31, _12 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(12)


def stream_key(seed: int, repetition: int, stream: int) -> Key:
    """Return the key of one stream of one repetition, a function of these three numbers only.

    Parameters
    ----------
    seed : int
        Seed of the simulation.
    repetition : int
        Number of the repetition, from 0.
    stream : int
        Number of the stream: `ARMS`, `NOISE`, or a number above them.

    Returns
    -------
    uint64
        The key.

    Examples
    --------
    >>> hex(stream_key(0, 0, NOISE))
    '0xcec08954d575e9b1'
    """
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(repetition, stream))
    return sequence.generate_state(1, np.uint64)[0]


class RecordingKey(np.uint64):
    """The key of a stream that records which of its uniforms are read, uncompiled."""

    seen: list[int]

    def __new__(cls, value: int) -> "RecordingKey":
        key = super().__new__(cls, value)
        key.seen = []
        return key


def uniform(key: Key, index: int) -> float:
    """Return number `index` of a random stream, in the open interval (0, 1), with 52 bits.

    Parameters
    ----------
    key : uint64
        Key of the stream, from `stream_key`.
    index : int
        Number in the stream, from 0.

    Returns
    -------
    float
        A uniform number.

    Examples
    --------
    >>> float(uniform(np.uint64(2**64 - 1), 5))
    0.7055706489695709
    """
    if isinstance(key, RecordingKey):
        key.seen.append(int(index))
    z = (int(key) + int(index) * int(_WEYL)) & _BITS
    z = ((z ^ (z >> 30)) * int(_MIX1)) & _BITS
    z = ((z ^ (z >> 27)) * int(_MIX2)) & _BITS
    z = z ^ (z >> 31)
    return (np.float64(z >> 12) + 0.5) * 2.0**-52


@compiled_form(uniform)
def uniform_in_registers(key: Key, index: int) -> float:
    """Return the number of `uniform`."""
    z = key + np.uint64(index) * _WEYL
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    z = z ^ (z >> _31)
    return (np.float64(z >> _12) + 0.5) * 2.0**-52


@jitable
def seed_of(key: Key, seed: int) -> np.int64:
    """Return the seed that replaces a policy's seed in a repetition; `key` is that of the noise."""
    return np.int64(uniform(key ^ _POLICY, seed) * 2.0**52)
