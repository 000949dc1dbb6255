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
    shares,
    solve_secular,
)
from .teams import Shared, lane, sync, told, twin, writable


@jitable
def set_scaled(out: Any, x: Any, divisor: float, lanes: int) -> None:
    """out = x / divisor"""
    out = writable(out)
    for start in range(0, x.size, 2 * lanes):
        i, j = start + lane(lanes), start + lanes + lane(lanes)
        first, second = x[min(i, x.size - 1)] / divisor, x[min(j, x.size - 1)] / divisor
        if i < x.size:
            out[i] = first
        if j < x.size:
            out[j] = second
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
    for start in range(0, image.size, 2 * lanes):
        j, k = start + lane(lanes), start + lanes + lane(lanes)
        one, other, part, also = min(j, size - 1), min(k, size - 1), 0.0, 0.0
        for i in range(image.size):
            part += basis[one, i] * image[i]
            also += basis[other, i] * image[i]
        if j < size:
            parts[j] = part
        if k < size:
            parts[k] = also
    sync(lanes)
    for start in range(0, image.size, 2 * lanes):
        i, k = start + lane(lanes), start + lanes + lane(lanes)
        one, other = min(i, image.size - 1), min(k, image.size - 1)
        value, also = image[one], image[other]
        for j in range(size):
            value -= parts[j] * basis[j, one]
            also -= parts[j] * basis[j, other]
        if i < image.size:
            changed[i] = value
        if k < image.size:
            changed[k] = also
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
        one, mixed = 1.0, 0.0
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
                one, mixed = shares(shift)
            pivot, tail = eliminate(small, size, one, mixed, pivot, tail)
            size += 1
            rest = norm(image)
            last = size == x.size or rest == 0.0
            if last or negligible(shift, rest, tail):
                shift, tail = solve_alone(small, size, shift, goal, lanes)
                if last or negligible(shift, rest, tail):
                    break
                one, mixed = shares(shift)
                for i in range(size):
                    pivot, tail = eliminate(small, i, one, mixed, pivot, tail)
            if lane(lanes) == 0:
                small.beside[size - 1], small.reciprocal[size - 1] = rest, 1.0 / rest
            set_scaled(basis[size], image, -rest, lanes)
        combine(basis[:size], scratch[3][:size], x)
        length = norm(x)
        if not (length > 0.0 and length < math.inf):
            set_scaled(x, basis[0], 1.0, lanes)
            length = norm(x)
        stretch(x, limit / length)

    return project
