"""The memory of a filter: the counts that every filter keeps, and room for one decision."""

from typing import NamedTuple

import numpy as np

from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.jit import jitable
from ...core.protocols import Counted

# Places in the `counts` of every memory. Only the functions of this module use them.
_SEEN, _TRUNCATED = 0, 1
COUNTS = 2  # length of `counts`, after which a memory may have places of its own


class Memory(NamedTuple):
    """Two counts, and room to reorder the rewards of one decision."""

    counts: Integers
    buffer: Floats


def make_memory(plays: int) -> Memory:
    """Make an empty memory for so many plays per decision."""
    return Memory(counts=zeros(COUNTS, dtype=np.int64), buffer=zeros(plays))


@jitable
def seen_count(memory: Counted) -> int:
    """Return the number of rewards seen."""
    return memory.counts[_SEEN]


@jitable
def truncated_count(memory: Counted) -> int:
    """Return the number of rewards that were clipped or truncated."""
    return memory.counts[_TRUNCATED]


@jitable
def count_seen(memory: Counted, rewards: int) -> None:
    """Add to the rewards seen."""
    memory.counts[_SEEN] += rewards


@jitable
def count_truncated(memory: Counted, rewards: int) -> None:
    """Add to the rewards that were clipped or truncated."""
    memory.counts[_TRUNCATED] += rewards


@jitable
def copy_counts(memory: Counted, inner: Counted) -> None:
    """Take over the counts of the memory of another filter."""
    memory.counts[_SEEN] = inner.counts[_SEEN]
    memory.counts[_TRUNCATED] = inner.counts[_TRUNCATED]
