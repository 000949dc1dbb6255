"""Medians and order statistics by quickselect."""

from .arrays import Floats
from .jitable import jitable


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


@jitable
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
