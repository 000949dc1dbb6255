"""Compute bit-for-bit the numbers of the streams of core/rng.py, in fewer instructions."""

from typing import Any

import numpy as np
from numba.cuda import libdevice

from ..core.jit import jitable
from ..core.rng import _MIX1, _MIX2, _WEYL, _12, _27, _30, _31, uniform
from .team import twin

_ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0
_BELOW = 1.0 - 2.0**-53


@jitable
def further(key: Any, index: int) -> Any:
    """Return the key under which number `index` of the stream is number 0."""
    return key + np.uint64(index) * _WEYL


@twin(uniform, alone=True)
def _(lanes, key, index):
    def uniform(key, index):
        """Return the number of the CPU's `uniform`.

        A float with the 52 bits as its fraction, minus (1 - 2^-53), is exactly (bits + 0.5) 2^-52.
        """
        z = key + np.uint64(index) * _WEYL
        z = (z ^ (z >> _30)) * _MIX1
        z = (z ^ (z >> _27)) * _MIX2
        z = z ^ (z >> _31)
        return libdevice.longlong_as_double(np.int64((z >> _12) | _ONE)) - _BELOW

    return uniform
