"""Medians, order statistics and medoids by quickselect."""

import math

from .arrays import Floats
from .jitable import jitable, vectorised


@jitable
def gather(values: Floats, low: int, high: int, pivot: float, ties: bool) -> int:
    """Bring what is below the pivot, or with `ties` not above it, to the front of values[low:high].

    Returns where it ends. Every element is swapped, needed or not: so there is no branch whose
    outcome nobody can predict. NaN counts as tied with any pivot.
    """
    end = low
    for i in range(low, high):
        value = values[i]
        values[i] = values[end]
        values[end] = value
        wanted = not value > pivot if ties else value < pivot
        end += 1 if wanted else 0
    return end


@jitable
def middle(a: float, b: float, c: float) -> float:
    """The second largest of three."""
    return max(min(a, b), min(max(a, b), c))


@vectorised
def select_rank(values: Floats, start: int, stop: int, rank: int) -> float:
    """The element of this rank of values[start:stop] (which is reordered), by quickselect."""
    low, high, wanted = start, stop, start + rank
    while high - low > 1:
        pivot = middle(values[low], values[(low + high) // 2], values[high - 1])
        below = gather(values, low, high, pivot, False)
        if wanted < below:
            high = below
        elif low < below:
            low = below
        else:  # the pivot is the smallest: get rid of all that equal it, and there is one at least
            low = gather(values, low, high, pivot, True)
            if wanted < low:
                break
    return values[wanted]


@jitable
def median(values: Floats, start: int, stop: int) -> float:
    """The median of values[start:stop] (which is reordered); of an even number, the mean of two."""
    size = stop - start
    upper = select_rank(values, start, stop, size // 2)
    if size % 2 == 1:
        return upper
    lower = values[start]
    for i in range(start + 1, start + size // 2):
        lower = max(lower, values[i])
    return 0.5 * (lower + upper)


@jitable
def median_distance(gaps: Floats, j: int, buffer: Floats, include_self: bool) -> float:
    """The median distance from j to all, or to all others, from squares below the diagonal."""
    for s in range(j):
        buffer[s] = math.sqrt(max(gaps[j, s], 0.0))
    count = j
    if include_self:
        buffer[count] = 0.0
        count += 1
    for s in range(j + 1, gaps.shape[0]):
        buffer[count] = math.sqrt(max(gaps[s, j], 0.0))
        count += 1
    return median(buffer, 0, count) if count > 0 else 0.0


@jitable
def count_near(gaps: Floats, limit: float, counts: Floats) -> None:
    """counts_j = how many squares of j, its own zero left out, are at most `limit`."""
    for j in range(counts.size):
        near = 0
        for s in range(j):
            near += 1 if gaps[j, s] <= limit else 0
            counts[s] += 1.0 if gaps[j, s] <= limit else 0.0
        counts[j] = near


@jitable
def medoid(gaps: Floats, buffer: Floats, counts: Floats, include_self: bool, guess: int) -> int:
    """The j whose median distance to the others (and to itself, if `include_self`) is least.

    `gaps` holds squared distances below its diagonal; `buffer` and `counts` are scratch. After a
    good guess most rows need no median: too few of their distances are below that of the guess.
    """
    others = gaps.shape[0] - 1
    own = 1 if include_self else 0
    half = (others + own + 1) // 2
    best, least = guess, median_distance(gaps, guess, buffer, include_self)
    count_near(gaps, least * least * (1.0 + 1e-12), counts)
    for j in range(others + 1):
        if j != guess and counts[j] + own >= half:
            middle = median_distance(gaps, j, buffer, include_self)
            if middle < least or (middle == least and j < best):
                best, least = j, middle
    return best
