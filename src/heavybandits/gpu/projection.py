"""Project with a team: the method is that of core/projection.py, and the lanes divide the vectors.

While a team projects, the other teams of its warp wait, and all teams wait until its instructions
are fetched. So the code has few instructions, and its results equal the CPU's only up to rounding.
The lanes exchange values to compute sums. All lanes solve the small tridiagonal system, each with
the same numbers. Sweeps make the basis orthogonal, and one sweep is often enough. No loop over the
basis is unrolled (see `opaque`).
"""

import math
from typing import Any

from numba.cuda import libdevice

from ..core.jit import jitable
from ..core.linalg import combine, stretch
from ..core.projection import (
    ROWS,
    Tridiagonal,
    negligible,
    project_ball,
    shares,
    shortening,
    solve_secular,
)
from .layout import WARP
from .numba_cuda_internals import TypingError
from .series import project_nearby, set_scaled
from .team import Shared, lane, opaque, sync, total, twin, writable

LITTLE = 0.01  # if a sweep leaves a smaller fraction of a square, another sweep follows


@jitable
def square_of(x: Any, lanes: int) -> float:
    """Return ||x||^2."""
    square, i = 0.0, lane(lanes)
    while i < x.size:
        square += x[i] * x[i]
        i += lanes
    return total(square, lanes)


@jitable
def measure_parts(scratch: Any, size: int, lanes: int) -> float:
    """Compute the parts of the image in the rows of the basis; return the part in the last row.

    One lane computes a row. In a team of several warps, or of one warp whose lanes are fewer than
    the entries of a row, one warp computes a row.
    """
    parts, image, basis = writable(scratch[4]), scratch[5], scratch[ROWS:]
    if lanes > WARP or (lanes == WARP and image.size > WARP):
        j = lane(lanes) // WARP
        while j < size:
            part, i = 0.0, lane(WARP)
            while i < image.size:
                part += basis[j, i] * image[i]
                i += WARP
            part = total(part, WARP)
            if lane(WARP) == 0:
                parts[j] = part
            j += lanes // WARP
        sync(lanes)
        return parts[size - 1]
    j = lane(lanes)
    while j < size:
        part = 0.0
        for i in range(image.size):
            part += basis[j, i] * image[i]
        parts[j] = part
        j += lanes
    sync(lanes)
    return parts[size - 1]


@jitable
def take_out_parts(scratch: Any, size: int, lanes: int) -> float:
    """Subtract from the image its parts in all rows of the basis; return the square of the rest.

    One lane computes an entry.
    """
    parts, image, basis = scratch[4], writable(scratch[5]), scratch[ROWS:]
    square, i, step = 0.0, lane(lanes), opaque(1)
    while i < image.size:
        value, j = image[i], 0
        while j < size:
            value -= parts[j] * basis[j, i]
            j += step
        image[i] = value
        square += value * value
        i += lanes
    return total(square, lanes)


@jitable
def span_further(
    inverse: Any, scratch: Any, size: int, beside: float, lanes: int
) -> tuple[float, float]:
    """Set image to V^-1 times the last row of the basis, minus its parts in all rows.

    Return its part in the last row, and the square of the rest. `beside` is its part in the row
    before. If the rest is small compared with these two parts, much of it is their rounding error,
    and another sweep subtracts the parts again.
    """
    combine(inverse, scratch[ROWS + size - 1], scratch[5])
    own, lost = 0.0, beside * beside
    while True:
        part = measure_parts(scratch, size, lanes)
        left = take_out_parts(scratch, size, lanes)
        own, lost = own + part, lost + part * part
        if not left < LITTLE * lost:
            return own, left
        lost = 0.0
        sync(lanes)


def shortening_rolled_up(small: Any, size: int, shift: float) -> tuple[float, float]:
    """Do what the CPU's `shortening` does; all lanes compute the same values."""
    own, mixed = shares(shift)
    y, undo, i, step = small.y, (1.0 + shift) / shift, size - 1, opaque(1)
    value, below, square = 1.0, 0.0, 1.0
    y[i] = 1.0
    row = own + mixed * small.diagonal[i]
    while i > 0:
        i -= step
        value, below = row * (undo * small.reciprocal[i]), value
        y[i] = value
        square += value * value
        row = (own + mixed * small.diagonal[i]) * value - (mixed * small.beside[i]) * below
    return (1.0 + shift) * row / math.sqrt(square), 1.0 / row


@jitable
def eliminate(
    small: Any, i: int, own: float, mixed: float, over_pivot: float, tail: float
) -> tuple[float, float]:
    """Do what the CPU's `eliminate` does, with 1 / pivot instead of the pivot.

    This needs only one division per row.
    """
    if i == 0:
        over_pivot = 1.0 / (own + mixed * small.diagonal[0])
        return over_pivot, over_pivot
    beside = mixed * small.beside[i - 1]
    over_pivot = 1.0 / (own + mixed * small.diagonal[i] - beside * beside * over_pivot)
    return over_pivot, beside * over_pivot * tail


@twin(shortening, alone=True)
def _(lanes, small, size, shift):
    return shortening_rolled_up


@twin(project_ball)
def _(lanes, inverse, x, limit, scratch):
    if not all(isinstance(array, Shared) for array in (inverse, x, scratch)):
        raise TypingError(f"project_ball divides shared(...) arrays among lanes, got x of {x}")
    return projection_of(lanes)


def projection_of(lanes: int) -> Any:
    """Make the projection for a team of this many lanes."""

    def project(inverse, x, limit, scratch):
        alike = writable(scratch)
        small = Tridiagonal(alike[0], alike[1], alike[2], alike[3])
        image, basis, step = scratch[5], scratch[ROWS:], opaque(1)
        sync(lanes)
        square = square_of(x, lanes)
        if project_nearby(inverse, x, limit, scratch, square, lanes):
            return
        length, shift, size = math.sqrt(square), 0.0, 0
        own, mixed, over_pivot, tail, rest = 1.0, 0.0, 0.0, 0.0, 0.0
        if length == math.inf:
            stretch(x, 1e-150)
            length = math.sqrt(square_of(x, lanes))
        goal = length / limit
        set_scaled(basis[0], x, 1.0 / length, lanes)
        while True:
            diagonal, square = span_further(inverse, scratch, size + 1, rest, lanes)
            small.diagonal[size] = diagonal
            if size == 0:
                shift = (goal - 1.0) / diagonal
                own, mixed = shares(shift)
            over_pivot, tail = eliminate(small, size, own, mixed, over_pivot, tail)
            size, rest, reciprocal = size + 1, math.sqrt(square), libdevice.rsqrt(square)
            last = size == x.size or square == 0.0
            if last or negligible(shift, rest, tail):
                shift, tail = solve_secular(small, size, shift, goal)
                if last or negligible(shift, rest, tail):
                    break
                i, (own, mixed) = 0, shares(shift)
                while i < size:
                    over_pivot, tail = eliminate(small, i, own, mixed, over_pivot, tail)
                    i += step
            small.beside[size - 1], small.reciprocal[size - 1] = rest, reciprocal
            set_scaled(basis[size], image, -reciprocal, lanes)
        combine(basis[:size], scratch[3][:size], x)
        length = math.sqrt(square_of(x, lanes))
        if not (length > 0.0 and length < math.inf):
            set_scaled(x, basis[0], 1.0, lanes)
            length = math.sqrt(square_of(x, lanes))
        set_scaled(x, x, limit / length, lanes)
        sync(lanes)

    return project
