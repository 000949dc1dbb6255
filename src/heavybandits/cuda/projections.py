"""The projection of a team: the text of engine/projections.py, its vectors divided among the lanes.

The small tridiagonal system has few unknowns: one lane solves it, and tells the others.
"""

import math
from typing import Any

from numba.cuda.core.errors import TypingError

from ..engine.blocked import combine
from ..engine.jitable import jitable
from ..engine.linalg import dot, norm, stretch
from ..engine.projections import (
    ROWS,
    Tridiagonal,
    eliminate,
    negligible,
    project_ball,
    solve_secular,
)
from .teams import Shared, lane, sync, told, twin, writable


@jitable
def set_scaled(out: Any, x: Any, divisor: float, lanes: int) -> None:
    """out = x / divisor"""
    out = writable(out)
    i = lane(lanes)
    while i < x.size:
        out[i] = x[i] / divisor
        i += lanes
    sync(lanes)


@jitable
def span_further(inverse: Any, scratch: Any, size: int, beside: float, lanes: int) -> float:
    """That of the CPU: a lane per entry of the image, then a lane per row of the basis."""
    parts, image, basis = writable(scratch[4]), scratch[5], scratch[ROWS:]
    last, previous = basis[size - 1], basis[max(size - 2, 0)]
    combine(inverse, last, image)
    own, changed = dot(last, image), writable(image)
    sync(lanes)
    i = lane(lanes)
    while i < image.size:
        changed[i] += beside * previous[i] - own * last[i]
        i += lanes
    sync(lanes)
    j = lane(lanes)
    while j < size:
        part = 0.0
        for i in range(image.size):
            part += basis[j, i] * image[i]
        parts[j] = part
        j += lanes
    sync(lanes)
    i = lane(lanes)
    while i < image.size:
        value = image[i]
        for j in range(size):
            value -= parts[j] * basis[j, i]
        changed[i] = value
        i += lanes
    sync(lanes)
    return own


@jitable
def solve_alone(
    small: Any, size: int, shift: float, goal: float, lanes: int
) -> tuple[float, float]:
    """`solve_secular` by one lane, whose answer all take."""
    tail = 0.0
    if lane(lanes) == 0:
        shift, tail = solve_secular(small, size, shift, goal)
    sync(lanes)
    return told(shift, lanes), told(tail, lanes)


@twin(project_ball)
def _(lanes, inverse, x, limit, scratch):
    if not all(isinstance(array, Shared) for array in (inverse, x, scratch)):
        raise TypingError(f"project_ball divides shared(...) arrays among lanes, got x of {x}")

    def project(inverse, x, limit, scratch):
        own = writable(scratch)
        small = Tridiagonal(own[0], own[1], own[2], own[3])
        image, basis = scratch[5], scratch[ROWS:]
        length, shift, rest, size, pivot, tail = norm(x), 0.0, 0.0, 0, 0.0, 0.0
        if length == math.inf:
            stretch(x, 1e-150)
            length = norm(x)
        goal = length / limit
        sync(lanes)
        set_scaled(basis[0], x, length, lanes)
        while True:
            diagonal = span_further(inverse, scratch, size + 1, rest, lanes)
            if lane(lanes) == 0:
                small.diagonal[size] = diagonal
            sync(lanes)
            if size == 0:
                shift = (goal - 1.0) / diagonal
            pivot, tail = eliminate(small, size, shift, pivot, tail)
            size += 1
            rest = norm(image)
            last = size == x.size or rest == 0.0
            if last or negligible(shift, rest, tail):
                shift, tail = solve_alone(small, size, shift, goal, lanes)
                if last or negligible(shift, rest, tail):
                    break
                for i in range(size):
                    pivot, tail = eliminate(small, i, shift, pivot, tail)
            if lane(lanes) == 0:
                small.beside[size - 1], small.reciprocal[size - 1] = rest, 1.0 / rest
            set_scaled(basis[size], image, -rest, lanes)
        combine(basis[:size], scratch[3][:size], x)
        if not (norm(x) > 0.0 and norm(x) < math.inf):
            set_scaled(x, basis[0], 1.0, lanes)
        stretch(x, limit / norm(x))

    return project
