"""Find medians with a team: all lanes count the elements below a pivot; `median` moves none."""

import math
from typing import Any

from numba import cuda

from ..core.jit import jitable
from ..core.linalg import bounded, clamp
from ..core.order_statistics import median, select_rank
from .team import Shared, broadcast, lane, maximum, members, sync, twin, writable

HALF = 1 << 32  # unit of the second count, where one number contains two counts


@jitable
def anyone(own: float, lanes: int) -> float:
    """Return the value of some lane whose value is not NaN; NaN if every value is NaN."""
    votes = cuda.ballot_sync(members(lanes), own == own)
    return cuda.shfl_sync(members(lanes), own, max(cuda.ffs(votes) - 1, 0))


@jitable
def count(value: int, lanes: int) -> int:
    """Return the sum over all lanes of a team within one warp."""
    offset = lanes // 2
    while offset > 0:
        value += cuda.shfl_xor_sync(members(lanes), value, offset)
        offset //= 2
    return value


@jitable
def divide(values: Any, span: Any, pivot: float, within: Any, lanes: int) -> Any:
    """Return how many elements are below the pivot and how many are not above it, in one number.

    Also return an element on either side of the pivot that is within the bounds, or NaN if this
    lane has none.
    """
    both, lower, upper, i = 0, math.nan, math.nan, span[0] + lane(lanes)
    while i < span[1]:
        value = values[i]
        both += (1 if value < pivot else 0) + (HALF if value <= pivot else 0)
        if within[0] < value and value < pivot:
            lower = value
        if pivot < value and value < within[1]:
            upper = value
        i += lanes
    return count(both, lanes), lower, upper


@jitable
def next_below(values: Any, span: Any, pivot: float, lanes: int) -> float:
    """Return the largest element below the pivot."""
    most, i = -math.inf, span[0] + lane(lanes)
    while i < span[1]:
        if values[i] < pivot:
            most = max(most, values[i])
        i += lanes
    return maximum(most, lanes)


@twin(median)
def _(lanes, values, start, stop):
    def median(values, start, stop):
        """Return the median by quickselect.

        The next pivot is any element on the side that contains the rank.
        """
        sync(lanes)
        size, span, low, high = stop - start, (start, stop), -math.inf, math.inf
        rank, pivot = size // 2, values[start]
        both, lower, upper = divide(values, span, pivot, (low, high), lanes)
        while rank < (both & (HALF - 1)) or rank >= both >> 32:
            if rank < (both & (HALF - 1)):
                high, pivot = pivot, anyone(lower, lanes)
            else:
                low, pivot = pivot, anyone(upper, lanes)
            both, lower, upper = divide(values, span, pivot, (low, high), lanes)
        if size % 2 == 1:
            return pivot
        other = pivot
        if (both & (HALF - 1)) == rank:
            other = next_below(values, span, pivot, lanes)
        return 0.5 * (other + pivot)

    return median


@twin(select_rank)
def _(lanes, values, start, stop, rank):
    def select(values, start, stop, rank):
        """Return the element of this rank: one lane moves the elements and broadcasts it."""
        found = 0.0
        sync(lanes)
        if lane(lanes) == 0:
            found = select_rank(writable(values), start, stop, rank)
        sync(lanes)
        return broadcast(found, lanes)

    return select


@twin(clamp)
def _(lanes, rewards):
    def divided(rewards):
        changed, i = writable(rewards), lane(lanes)
        sync(lanes)
        while i < rewards.size:
            changed[i] = bounded(rewards[i])
            i += lanes
        sync(lanes)

    return divided if isinstance(rewards, Shared) else None
