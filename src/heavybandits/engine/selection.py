"""Medians, order statistics and medoids by quickselect."""

import math

from .arrays import Floats
from .jitable import jitable, vectorised

SLACK = 1.0 + 1e-12  # rounding of a squared root


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
def middle_two(values: Floats, start: int, stop: int) -> tuple[float, float]:
    """The two elements in the middle of values[start:stop] (which is reordered), or one twice."""
    size = stop - start
    upper = select_rank(values, start, stop, size // 2)
    if size % 2 == 1:
        return upper, upper
    lower = values[start]
    for i in range(start + 1, start + size // 2):
        lower = max(lower, values[i])
    return lower, upper


@jitable
def median(values: Floats, start: int, stop: int) -> float:
    """The median of values[start:stop] (which is reordered); of an even number, the mean of two."""
    lower, upper = middle_two(values, start, stop)
    return upper if (stop - start) % 2 == 1 else 0.5 * (lower + upper)


@jitable
def median_distance(gaps: Floats, j: int, buffer: Floats, include_self: bool) -> float:
    """The median distance from j to all, or to all others, from squares below the diagonal."""
    for s in range(j):
        buffer[s] = max(gaps[j, s], 0.0)
    count = j
    if include_self:
        buffer[count] = 0.0
        count += 1
    for s in range(j + 1, gaps.shape[0]):
        buffer[count] = max(gaps[s, j], 0.0)
        count += 1
    if count == 0:
        return 0.0
    lower, upper = middle_two(buffer, 0, count)
    return math.sqrt(upper) if count % 2 == 1 else 0.5 * (math.sqrt(lower) + math.sqrt(upper))


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
def count_row(gaps: Floats, limit: float, j: int) -> int:
    """The same for one j."""
    near = 0
    for s in range(j):
        near += 1 if gaps[j, s] <= limit else 0
    for s in range(j + 1, gaps.shape[0]):
        near += 1 if gaps[s, j] <= limit else 0
    return near


@jitable
def medoid(gaps: Floats, buffer: Floats, counts: Floats, include_self: bool, guess: int) -> int:
    """The j whose median distance to the others (and to itself, if `include_self`) is least.

    `gaps` holds squared distances below its diagonal; `buffer` and `counts` are scratch. After a
    good guess most rows need no median: too few of their distances are below that of the guess,
    or of a better one found since.
    """
    size, own = gaps.shape[0], 1 if include_self else 0
    half = (size + own) // 2
    best, least = guess, median_distance(gaps, guess, buffer, include_self)
    count_near(gaps, least * least * SLACK, counts)
    likely = guess
    for j in range(size):
        likely = j if counts[j] > counts[likely] else likely
    for turn in range(-1, size):  # the likely one first, so that few others need a median
        j = likely if turn < 0 else turn
        if j == guess or (j == likely and turn >= 0) or counts[j] + own < half:
            continue
        if turn < 0 or count_row(gaps, least * least * SLACK, j) + own >= half:
            middle = median_distance(gaps, j, buffer, include_self)
            if middle < least or (middle == least and j < best):
                best, least = j, middle
    return best
