"""What every filter keeps."""

from typing import Any, NamedTuple

import numpy as np

SEEN, CUT = 0, 1  # places in Memory.counts


class Memory(NamedTuple):
    """What a filter keeps: two counts, and room to reorder the rewards of one decision."""

    counts: Any
    buffer: Any


def make_memory(plays: int) -> Memory:
    return Memory(counts=np.zeros(2, np.int64), buffer=np.zeros(plays))
