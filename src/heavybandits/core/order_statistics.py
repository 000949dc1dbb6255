"""Medians, order statistics and medoids by quickselect."""

import math

from .arrays import Floats
from .jit import jitable, vectorised

SLACK = 1.0 + 1e-12  # rounding of a squared root
CLOSE = 0.8  # of a limit: between lie few squares, and often the one that is looked for


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
def read_row(gaps: Floats, j: int, out: Floats) -> None:
    """The squared distances from j to all, its own zero included, from those below the diagonal."""
    row, below, tail = gaps[j], gaps[j + 1 :, j], out[j + 1 :]
    for s in range(j):
        out[s] = row[s]
    out[j] = 0.0
    for s in range(tail.size):  # not from j + 1 on: every index would be asked for its sign
        tail[s] = below[s]


@jitable
def middle_ranks(size: int, include_self: bool) -> tuple[int, int]:
    """The two ranks in the middle, or one twice, of a row whose own zero comes first."""
    low, high = (size // 2, (size + 1) // 2) if not include_self else ((size - 1) // 2, size // 2)
    return low, min(high, size - 1)


@jitable
def keep_between(row: Floats, low: float, high: float) -> tuple[int, int]:
    """Bring what lies in (low, high] to the front; returns how many that are, and how many lie
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
    """The median distance from j to all, or to all others. Its square is thought to lie little
    below `limit`: then it is one of the few between, and only those are put in order."""
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
    near, row, below = 0, gaps[j, :j], gaps[j + 1 :, j]
    for s in range(row.size):
        near += 1 if row[s] <= limit else 0
    for s in range(below.size):
        near += 1 if below[s] <= limit else 0
    return near


@jitable
def list_above(values: Floats, limit: float) -> int:
    """Put the places of the values above `limit` where the values were; returns how many."""
    found = 0
    for j in range(values.size):
        value = values[j]
        values[found] = j
        found += 1 if value > limit else 0
    return found


@jitable
def find_largest(values: Floats) -> int:
    """The first place of the largest value."""
    place, most = 0, values[0]
    for j in range(1, values.size):
        place, most = (j, values[j]) if values[j] > most else (place, most)
    return place


@jitable
def search_rivals(
    gaps: Floats, row: Floats, counts: Floats, include_self: bool, limit: float
) -> tuple[int, float]:
    """The medoid and its median distance, or a guess if that is more than the root of `limit`.

    Most rows need no median: too few of their squares are up to `limit`, or to that of a better row
    found since. The likely one comes first, so that few others need one.
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
    """The j whose median distance to the others (and to itself, if `include_self`) is least, and
    that distance.

    `gaps` holds squared distances below its diagonal, `counts` what `count_near` makes of them:
    whatever the limit, the medoid is the same, but one little above its square is found soonest.
    `counts` is used up; `row` is scratch.
    """
    best, least = search_rivals(gaps, row, counts, include_self, limit)
    if not least * least <= limit:
        limit = least * least * SLACK
        count_near(gaps, limit, counts)
        best, least = search_rivals(gaps, row, counts, include_self, limit)
    return best, least
