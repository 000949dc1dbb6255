"""The nearest point of a ball in the V-norm, by Lanczos' method: a few products with V^-1.

Projecting x onto {||theta|| <= S} gives x(nu) = (I + nu V^-1)^-1 x at the nu > 0 where its length
is S. For every nu this is, up to rounding, in the span of the same few x, V^-1 x, V^-2 x, ...; in
Lanczos' orthonormal basis of that span V^-1 is a small tridiagonal matrix T, and nu is found there.
"""

import math
from typing import NamedTuple

from .arrays import Floats
from .jit import jitable, outlined
from .linalg import combine, dot, norm, stretch

ROWS = 6  # rows of scratch in addition to the basis
EXACT = 1e-12  # the residual, in units of x, at which the span is large enough


class Tridiagonal(NamedTuple):
    """T by its diagonal, the entries next to it without their minus signs, and one over them.

    With no positive entry next to the diagonal, y of (I + nu T) y = e_1 is positive.
    """

    diagonal: Floats
    beside: Floats
    reciprocal: Floats
    y: Floats


@jitable
def shares(shift: float) -> tuple[float, float]:
    """Return the weights of I and of T in (I + shift T) / (1 + shift).

    With this division squares have the size of T, even if an outlier has moved x very far.
    """
    return 1.0 / (1.0 + shift), shift / (1.0 + shift)


@jitable
def eliminate(
    small: Tridiagonal, i: int, own: float, mixed: float, pivot: float, tail: float
) -> tuple[float, float]:
    """Do row i of Gaussian elimination in (own I + mixed T) y = e_1 (see `shares`).

    Take the pivot of the row above and its y, if it were the last row; return those of this row.
    """
    if i == 0:
        pivot = own + mixed * small.diagonal[0]
        return pivot, 1.0 / pivot
    beside = mixed * small.beside[i - 1]
    pivot = own + mixed * small.diagonal[i] - (beside * beside) / pivot
    return pivot, (beside / pivot) * tail


@jitable
def shortening(small: Tridiagonal, size: int, shift: float) -> tuple[float, float]:
    """Return 1 / ||y|| of y = (I + shift T)^-1 e_1, the factor by which x is shortened; and the end
    of y.

    From the last row up, in units of its y: each row gives the y of the one above, with no division
    that would have to wait for the last one.
    """
    own, mixed = shares(shift)
    y, undo = small.y, 1.0 / mixed
    y[size - 1], square = 1.0, 1.0
    row = own + mixed * small.diagonal[size - 1]
    for i in range(size - 2, -1, -1):
        y[i] = row * (undo * small.reciprocal[i])
        square += y[i] * y[i]
        row = (own + mixed * small.diagonal[i]) * y[i] - (mixed * small.beside[i]) * y[i + 1]
    return (1.0 + shift) * row / math.sqrt(square), 1.0 / row


@jitable
def solve_secular(small: Tridiagonal, size: int, shift: float, goal: float) -> tuple[float, float]:
    """Return the shift that makes x `goal` times shorter, by secants from `shift` and from 0.

    The shortening is increasing and concave in the shift, and nearly straight.
    """
    before, below = 0.0, 1.0
    for _ in range(60):
        height, tail = shortening(small, size, shift)
        if shift == before or abs(goal - height) <= 1e-14 * goal:
            break
        slope = (height - below) / (shift - before)
        if slope <= 0.0:
            break
        before, below = shift, height
        shift += (goal - height) / slope
    return shift, tail


@jitable
def negligible(shift: float, rest: float, tail: float) -> bool:
    """Return True if the part outside the span is negligible."""
    return shift * rest * tail <= EXACT * (1.0 + shift)


@jitable
def span_further(inverse: Floats, scratch: Floats, size: int, beside: float) -> float:
    """image = V^-1 times the last row of the basis, minus its parts in all rows; return its part in
    the last row.

    In exact arithmetic it has parts in the last row and, `beside`, in the row before. What rounding
    leaves of all rows is subtracted too, or the basis would soon not be orthonormal.
    """
    parts, image, basis = scratch[4], scratch[5], scratch[ROWS:]
    last, previous = basis[size - 1], basis[max(size - 2, 0)]
    combine(inverse, last, image)
    own = dot(last, image)
    for i in range(image.size):
        image[i] += beside * previous[i] - own * last[i]
    for j in range(size):  # not by `dot`: a call takes longer than so short a sum
        part = 0.0
        for i in range(image.size):
            part += basis[j, i] * image[i]
        parts[j] = part
    for j in range(size):
        for i in range(image.size):
            image[i] -= parts[j] * basis[j, i]
    return own


@outlined
def project_ball(inverse: Floats, x: Floats, limit: float, scratch: Floats) -> None:
    """Move x, outside a ball, to the nearest point of the ball in the norm of V.

    Parameters
    ----------
    inverse : array of shape (d, d)
        V^-1.
    x : array of shape (d,)
        Changes in place.
    limit : float
        Radius of the ball.
    scratch : array with ROWS + d rows
        Scratch space.
    """
    small = Tridiagonal(scratch[0], scratch[1], scratch[2], scratch[3])
    image, basis = scratch[5], scratch[ROWS:]
    length, shift, rest, size, pivot, tail = norm(x), 0.0, 0.0, 0, 0.0, 0.0
    own, mixed = 1.0, 0.0
    if length == math.inf:  # the square overflows: so far outside that the length no longer matters
        stretch(x, 1e-150)
        length = norm(x)
    goal = length / limit
    for i in range(x.size):
        basis[0, i] = x[i] / length
    while True:
        small.diagonal[size] = span_further(inverse, scratch, size + 1, rest)
        if size == 0:
            shift = (goal - 1.0) / small.diagonal[0]
            own, mixed = shares(shift)
        pivot, tail = eliminate(small, size, own, mixed, pivot, tail)
        size += 1
        rest = norm(image)
        last = size == x.size or rest == 0.0
        if last or negligible(shift, rest, tail):
            shift, tail = solve_secular(small, size, shift, goal)
            if last or negligible(shift, rest, tail):
                break
            own, mixed = shares(shift)
            for i in range(size):
                pivot, tail = eliminate(small, i, own, mixed, pivot, tail)
        small.beside[size - 1], small.reciprocal[size - 1] = rest, 1.0 / rest
        for i in range(x.size):  # negated, so that T has no positive entry next to its diagonal
            basis[size, i] = -image[i] / rest
    combine(basis[:size], small.y[:size], x)
    length = norm(x)
    if not (0.0 < length < math.inf):  # V has no digits left in this direction: scale x
        for i in range(x.size):
            x[i] = basis[0, i]
        length = norm(x)
    scale = limit / length
    for i in range(x.size):
        x[i] *= scale
