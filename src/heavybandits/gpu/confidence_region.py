"""Update a confidence region with a team.

One lane writes each element of a vector or matrix, with a `sync` before and after. Sums run in the
CPU's order.
"""

import math
from typing import Any

from numba import cuda
from numba.cuda.types import float64

from ..core.confidence_region import penalty_of, renew_inverse
from ..core.jit import jitable
from ..core.linalg import LOST, SURE, add_outer, correct_inverse, stretch, subtract
from .layout import WARP
from .team import Shared, lane, sync, twin, writable

AT_ONCE = 8  # entries of a row that a lane computes before it writes them
ROWS_AT_ONCE = 16  # entries of a column that a lane computes before it writes them


@twin(subtract)
def _(lanes, a, scale, b):
    def subtract(a, scale, b):
        a = writable(a)
        sync(lanes)
        i = lane(lanes)
        while i < a.size:
            a[i] -= scale * b[i]
            i += lanes
        sync(lanes)

    return subtract if isinstance(a, Shared) else None


@twin(stretch)
def _(lanes, a, factor):
    def stretch(a, factor):
        a = writable(a)
        sync(lanes)
        i = lane(lanes)
        while i < a.size:
            a[i] *= factor
            i += lanes
        sync(lanes)

    return stretch


@jitable
def add_by_columns(matrix: Any, scale: float, x: Any, lanes: int) -> None:
    """Add scale x x^T to a matrix: a lane updates one column, or every second row of it, and so on.

    So the lanes of a warp read contiguous memory at the same time.
    """
    dim, matrix, part = x.size, writable(matrix), cuda.local.array(ROWS_AT_ONCE, float64)
    width = lanes
    while width >= 2 * dim and width > WARP:
        width //= 2
    apart = lanes // width
    sync(lanes)
    for right in range(0, dim, width):
        j = right + (lane(lanes) & (width - 1))
        if j < dim:
            value = x[j]
            for down in range(lane(lanes) // width, dim, apart * ROWS_AT_ONCE):
                for m in range(ROWS_AT_ONCE):
                    i = min(down + m * apart, dim - 1)
                    part[m] = matrix[i, j] + (scale * x[i]) * value
                for m in range(ROWS_AT_ONCE):
                    if down + m * apart < dim:
                        matrix[down + m * apart, j] = part[m]
    sync(lanes)


@jitable
def add_by_rows(matrix: Any, scale: float, x: Any, lanes: int) -> None:
    """Add scale x x^T to a matrix: each of two lanes updates one half of a row.

    So every position in a row is constant for a lane. A lane reads some entries before it writes
    any of them. The compiler cannot exclude that a written entry is the next one to be read, so
    otherwise each read would wait for a write.
    """
    dim, matrix, part = x.size, writable(matrix), cuda.local.array(AT_ONCE, float64)
    half, start = (dim + 1) // 2, (lane(lanes) & 1) * ((dim + 1) // 2)
    sync(lanes)
    for down in range(0, dim, lanes // 2):
        i = down + lane(lanes) // 2
        if i < dim:
            factor = scale * x[i]
            for first in range(0, half, AT_ONCE):
                count = min(AT_ONCE, half - first)
                for j in range(count):
                    right = min(start + first + j, dim - 1)
                    part[j] = matrix[i, right] + factor * x[right]
                for j in range(count):
                    if dim % 2 == 0 or start + first + j < dim:
                        matrix[i, start + first + j] = part[j]
    sync(lanes)


@twin(add_outer)
def _(lanes, matrix, scale, x):
    def add_outer(matrix, scale, x):
        if lanes > WARP or (lanes == WARP and x.size > WARP):
            add_by_columns(matrix, scale, x, lanes)
        else:
            add_by_rows(matrix, scale, x, lanes)

    return add_outer if isinstance(matrix, Shared) else None


@jitable
def factorise(matrix: Any, out: Any, lanes: int) -> bool:
    """Do what `cholesky` does, column by column, with one row of the column per lane."""
    dim, out = matrix.shape[0], writable(out)
    for j in range(dim):
        i = j + lane(lanes)
        while i < dim:
            left = matrix[i, j]
            for k in range(j):
                left -= out[i, k] * out[j, k]
            out[i, j] = left
            i += lanes
        sync(lanes)
        pivot = out[j, j]
        if not pivot > LOST * matrix[j, j]:
            return False
        root = math.sqrt(pivot)
        sync(lanes)
        i = j + lane(lanes)
        while i < dim:
            out[i, j] = root if i == j else out[i, j] / root
            i += lanes
        sync(lanes)
    return True


@jitable
def sum_up(design: Any, recent: Any, lanes: int) -> None:
    """Add `recent` to `design`, and set `recent` to 0."""
    dim, design, recent = design.shape[0], writable(design), writable(recent)
    place = lane(lanes)
    while place < dim * dim:
        i, j = place // dim, place % dim
        design[i, j] += recent[i, j]
        recent[i, j] = 0.0
        place += lanes
    sync(lanes)


@jitable
def invert_columns(factor: Any, out: Any, lanes: int) -> None:
    """Write (L L^T)^-1 into `out` for the lower triangle L of `cholesky`, one column per lane."""
    dim, out = factor.shape[1], writable(out)
    column = lane(lanes)
    while column < dim:
        for i in range(column, dim):
            total = 1.0 if i == column else 0.0
            for j in range(column, i):
                total -= factor[i, j] * out[j, column]
            out[i, column] = total / factor[i, i]
        for i in range(dim - 1, column - 1, -1):
            total = out[i, column]
            for j in range(i + 1, dim):
                total -= factor[j, i] * out[j, column]
            out[i, column] = total / factor[i, i]
        column += lanes
    sync(lanes)
    place = lane(lanes)
    while place < dim * dim:
        i, j = place // dim, place % dim
        if j > i:
            out[i, j] = out[j, i]
        place += lanes
    sync(lanes)


@jitable
def trace(matrix: Any) -> float:
    total = 0.0
    for i in range(matrix.shape[0]):
        total += matrix[i, i]
    return total


@jitable
def is_well_conditioned(design: Any, inverse: Any) -> bool:
    """Return True if V is more exact than V^-1, as the function of this name in core does."""
    most = 0.0
    for i in range(design.shape[0]):
        most = max(most, SURE * design[i, i] * inverse[i, i])
    return most <= 1.0


@jitable
def invert_together(region: Any, scales: tuple[float, float], lanes: int) -> bool:
    """Add the recent updates to V and invert V; return False if V^-1 was only corrected.

    `region` is (design, recent, inverse, direction, scratch), and `scales` is (floor, shrink).
    """
    design, recent, inverse, direction, scratch = region
    sync(lanes)
    sum_up(design, recent, lanes)
    inverted = is_well_conditioned(design, inverse)
    sync(lanes)
    if inverted:
        inverted = factorise(design, scratch, lanes)
    sync(lanes)
    if inverted:
        invert_columns(scratch, inverse, lanes)
    else:
        add_outer(inverse, -scales[1], direction)
        if lane(lanes) == 0:
            dim = design.shape[0]
            work, mark = writable(scratch[:dim]), writable(scratch[dim])
            correct_inverse(design, scales[0], writable(inverse), work, mark)
        sync(lanes)
    return inverted


@twin(renew_inverse)
def _(lanes, region, shrink):
    def renew(region, shrink):
        held = (region.design, region.recent, region.inverse, region.direction, region.scratch)
        return invert_together(held, (penalty_of(region), shrink), lanes)

    return renew
