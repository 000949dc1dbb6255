"""Medians, order statistics and medoids by quickselect."""

import math

from .arrays import Floats
from .jit import jitable, vectorised

SLACK = 1.0 + 1e-12  # rounding of a squared root
CLOSE = 0.8  # share of a limit: few squares lie between, often including the wanted one


@jitable
def gather(values: Floats, low: int, high: int, pivot: float, ties: bool) -> int:
    """Move what is below the pivot, or with `ties` not above it, to the front of values[low:high].

    Return where it ends. Every element is swapped, needed or not, so that there is no branch that
    the processor cannot predict. NaN counts as tied with any pivot.
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
    """Return the second largest of three."""
    return max(min(a, b), min(max(a, b), c))


@vectorised
def select_rank(values: Floats, start: int, stop: int, rank: int) -> float:
    """Return the element of this rank of values[start:stop], by quickselect.

    Parameters
    ----------
    values : array
        The values; values[start:stop] is reordered.
    start : int
        First index.
    stop : int
        Last index plus 1.
    rank : int
        Rank of the element, from 0.

    Returns
    -------
    float
        The element.
    """
    low, high, wanted = start, stop, start + rank
    while high - low > 1:
        pivot = middle(values[low], values[(low + high) // 2], values[high - 1])
        below = gather(values, low, high, pivot, False)
        if wanted < below:
            high = below
        elif low < below:
            low = below
        else:  # the pivot is the smallest: skip all that equal it, at least one
            low = gather(values, low, high, pivot, True)
            if wanted < low:
                break
    return values[wanted]


@jitable
def middle_two(values: Floats, start: int, stop: int) -> tuple[float, float]:
    """Return the two middle elements of values[start:stop] (which is reordered), or one twice."""
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
    """Return the median of values[start:stop], the mean of two if their number is even.

    Parameters
    ----------
    values : array
        The values; values[start:stop] is reordered.
    start : int
        First index.
    stop : int
        Last index plus 1.

    Returns
    -------
    float
        The median.
    """
    lower, upper = middle_two(values, start, stop)
    return upper if (stop - start) % 2 == 1 else 0.5 * (lower + upper)


@jitable
def read_row(gaps: Floats, j: int, out: Floats) -> None:
    """out = squared distances from j to all, itself included, from those below the diagonal."""
    row, below, tail = gaps[j], gaps[j + 1 :, j], out[j + 1 :]
    for s in range(j):
        out[s] = row[s]
    out[j] = 0.0
    for s in range(tail.size):  # not from j + 1 on: every index would be tested for its sign
        tail[s] = below[s]


@jitable
def middle_ranks(size: int, include_self: bool) -> tuple[int, int]:
    """Return the two middle ranks, or one twice, of a row whose own zero comes first."""
    low, high = (size // 2, (size + 1) // 2) if not include_self else ((size - 1) // 2, size // 2)
    return low, min(high, size - 1)


@jitable
def keep_between(row: Floats, low: float, high: float) -> tuple[int, int]:
    """Move the values in (low, high] to the front; return how many there are, and how many are
    below. The rest is overwritten."""
    within, below = 0, 0
    for s in range(row.size):
        value = row[s]
        row[within] = value
        within += 1 if low < value <= high else 0
        below += 1 if value <= low else 0
    return within, below


@jitable
def median_distance(gaps: Floats, j: int, row: Floats, include_self: bool, limit: float) -> float:
    """Return the median distance from j to all, or to all others. It is fast if its square is a
    little below `limit`: then only the few squares near the limit are ordered."""
    first, second = middle_ranks(row.size, include_self)
    read_row(gaps, j, row)
    within, below = keep_between(row, CLOSE * limit, limit)
    if not (below <= first and second < below + within):
        read_row(gaps, j, row)
        within, below = row.size, 0
    upper = select_rank(row, 0, within, second - below)
    if first == second:
        return math.sqrt(max(upper, 0.0))
    lower = row[0]
    for i in range(1, second - below):
        lower = max(lower, row[i])
    return 0.5 * (math.sqrt(max(lower, 0.0)) + math.sqrt(max(upper, 0.0)))


@jitable
def count_near(gaps: Floats, limit: float, counts: Floats) -> None:
    """counts_j = the number of squares of j, without its own zero, that are at most `limit`."""
    for j in range(counts.size):
        near = 0
        for s in range(j):
            near += 1 if gaps[j, s] <= limit else 0
            counts[s] += 1.0 if gaps[j, s] <= limit else 0.0
        counts[j] = near


@jitable
def count_row(gaps: Floats, limit: float, j: int) -> int:
    """Return the same count for one j."""
    near, row, below = 0, gaps[j, :j], gaps[j + 1 :, j]
    for s in range(row.size):
        near += 1 if row[s] <= limit else 0
    for s in range(below.size):
        near += 1 if below[s] <= limit else 0
    return near


@jitable
def list_above(values: Floats, limit: float) -> int:
    """Overwrite values with the indices of those above `limit`; return how many there are."""
    found = 0
    for j in range(values.size):
        value = values[j]
        values[found] = j
        found += 1 if value > limit else 0
    return found


@jitable
def find_largest(values: Floats) -> int:
    """Return the first index of the largest value."""
    place, most = 0, values[0]
    for j in range(1, values.size):
        place, most = (j, values[j]) if values[j] > most else (place, most)
    return place


@jitable
def search_rivals(
    gaps: Floats, row: Floats, counts: Floats, include_self: bool, limit: float
) -> tuple[int, float]:
    """Return the medoid and its median distance, or a guess if that exceeds the root of `limit`.

    Most rows need no median: too few of their squares are at most `limit`, or the square of a
    better row found since. The likely medoid comes first, so that few others need a median.
    """
    needed, likely = middle_ranks(row.size, include_self)[0], find_largest(counts)
    rivals = list_above(counts, needed - 0.5)
    best, least = likely, median_distance(gaps, likely, row, include_self, limit)
    for i in range(rivals):
        j, bound = int(counts[i]), least * least * SLACK
        if j != likely and count_row(gaps, bound, j) >= needed:
            middle = median_distance(gaps, j, row, include_self, bound)
            if middle < least or (middle == least and j < best):
                best, least = j, middle
    return best, least


@jitable
def medoid(
    gaps: Floats, row: Floats, counts: Floats, include_self: bool, limit: float
) -> tuple[int, float]:
    """Return the j whose median distance to the others (and to itself, if `include_self`) is least,
    and that distance.

    `gaps` has squared distances below its diagonal, `counts` the result of `count_near`. The medoid
    does not depend on the limit; a limit a little above its square is fastest. `counts` is
    overwritten; `row` is scratch.
    """
    best, least = search_rivals(gaps, row, counts, include_self, limit)
    if not least * least <= limit:
        limit = least * least * SLACK
        count_near(gaps, limit, counts)
        best, least = search_rivals(gaps, row, counts, include_self, limit)
    return best, least
