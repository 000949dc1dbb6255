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
    """Store the counts of a filter, and space to reorder the rewards of one decision.

    Attributes
    ----------
    counts : array of int64
        Rewards seen, and rewards clipped or truncated.
    buffer : array of shape (plays,)
        Scratch space.
    """

    counts: Integers
    buffer: Floats


def make_memory(plays: int) -> Memory:
    """Make an empty memory for a filter.

    Parameters
    ----------
    plays : int
        Plays per decision.

    Returns
    -------
    Memory
        Zero counts, and scratch space for `plays` rewards.
    """
    return Memory(counts=zeros(COUNTS, dtype=np.int64), buffer=zeros(plays))


@jitable
def seen_count(memory: Counted) -> int:
    """Return the number of rewards seen.

    Parameters
    ----------
    memory : Counted
        The memory of a filter.

    Returns
    -------
    int
        Rewards seen so far.
    """
    return memory.counts[_SEEN]


@jitable
def truncated_count(memory: Counted) -> int:
    """Return the number of clipped or truncated rewards.

    Parameters
    ----------
    memory : Counted
        The memory of a filter.

    Returns
    -------
    int
        Rewards clipped or truncated so far.
    """
    return memory.counts[_TRUNCATED]


@jitable
def count_seen(memory: Counted, rewards: int) -> None:
    """Add to the number of rewards seen.

    Parameters
    ----------
    memory : Counted
        The memory of a filter.
    rewards : int
        Rewards to add.
    """
    memory.counts[_SEEN] += rewards


@jitable
def count_truncated(memory: Counted, rewards: int) -> None:
    """Add to the number of clipped or truncated rewards.

    Parameters
    ----------
    memory : Counted
        The memory of a filter.
    rewards : int
        Rewards to add.
    """
    memory.counts[_TRUNCATED] += rewards


@jitable
def copy_counts(memory: Counted, inner: Counted) -> None:
    """Take over the counts of the memory of another filter."""
    memory.counts[_SEEN] = inner.counts[_SEEN]
    memory.counts[_TRUNCATED] = inner.counts[_TRUNCATED]
