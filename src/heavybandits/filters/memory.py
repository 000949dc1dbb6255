"""What every filter keeps."""

from typing import NamedTuple

import numpy as np

from ..engine.arrays import Floats, Integers
from ..engine.layout import zeros

SEEN, CUT = 0, 1  # places in Memory.counts


class Memory(NamedTuple):
    """What a filter keeps: two counts, and room to reorder the rewards of one decision."""

    counts: Integers
    buffer: Floats


def make_memory(plays: int) -> Memory:
    """An empty memory for so many plays per decision."""
    return Memory(counts=zeros(2, dtype=np.int64), buffer=zeros(plays))
