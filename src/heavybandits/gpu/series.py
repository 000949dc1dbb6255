"""Project a point just outside the ball by a few terms of a series, if they are enough.

If rewards move theta outwards at every play, the projection of core/projection.py takes most of the
time of a run, because each of its steps waits for the step before: a root, a division, an
orthogonal basis, secants. But then theta is never far outside, and x(nu) = (I + nu V^-1)^-1 x is

    x - nu V^-1 x + (nu V^-1)^2 x - ...

For every nu and V, the sum of the terms left out is no longer than the first of them.
"""

from typing import Any

from ..core.jit import jitable
from ..core.linalg import combine
from ..core.projection import EXACT, ROWS
from .confidence_region import trace
from .team import lane, opaque, sync, total, writable

MOST = 8  # largest number of terms after x
# Largest distance of the point from the ball, relative to its radius. Farther outside, the series
# would need more terms.
CLOSE = 0.01
STEEP = 0.3  # largest ratio of a term to the term before it


@jitable
def set_scaled(out: Any, x: Any, factor: float, lanes: int) -> None:
    """Write factor x into `out`. A lane has the same entries in all vectors, so no lane waits."""
    out, i = writable(out), lane(lanes)
    while i < x.size:
        out[i] = factor * x[i]
        i += lanes


@jitable
def measure_term(x: Any, term: Any, lanes: int) -> tuple[float, float]:
    """Return <x, term> and ||term||^2."""
    along, square, i = 0.0, 0.0, lane(lanes)
    while i < x.size:
        along += x[i] * term[i]
        square += term[i] * term[i]
        i += lanes
    return total(along, lanes), total(square, lanes)


@jitable
def is_hopeless(first: float, second: float, more: int, wanted: float) -> bool:
    """Return True if, after `more` further terms, the last term would still be too long.

    `first` and `second` are the squares of the first two terms. The ratio of a term to the term
    before never decreases.
    """
    ratio = second / first
    for _ in range(more):
        second *= ratio
    return second > wanted


@jitable
def solve_series(weights: Any, size: int, first: float, error: float) -> float:
    """Return the z of z = 1 + weights[2] z^2 - weights[3] z^3 + ..., by fixed-point iteration.

    Each step is lengthened by about the length of the next one. `first` is the square of the first
    term, which z multiplies. `error` is the square of the error that this term may have.
    """
    z, longer, step = 1.0, 1.0 + 2.0 * weights[2] if size > 1 else 1.0, opaque(1)
    for _ in range(60):
        powers, k = 0.0, size
        while k > 1:
            powers = weights[k] - z * powers
            k -= step
        change = (1.0 + z * z * powers - z) * longer
        z += change
        if change * change * first <= error:
            break
    return z


@jitable
def sum_terms(x: Any, terms: Any, size: int, z: float, limit: float, lanes: int) -> None:
    """Set x to x - z terms[1] + z^2 terms[2] - ..., scaled from nearly that length to `limit`."""
    out, square, i, step = writable(x), 0.0, lane(lanes), opaque(1)
    while i < x.size:
        j, value = size, terms[size, i]
        while j > 0:
            j -= step
            value = terms[j, i] - z * value
        out[i] = value
        square += value * value
        i += lanes
    set_scaled(x, x, 1.5 - 0.5 * total(square, lanes) / (limit * limit), lanes)
    sync(lanes)


@jitable
def project_nearby(
    inverse: Any, x: Any, limit: float, scratch: Any, square: float, lanes: int
) -> bool:
    """Move x to the nearest point of the ball and return True, or leave x and return False.

    `square` is the squared length of x. The terms are those of nu = `first`, at which x is too long
    by no more than its excess squared. At nu = z first,
    2 excess = 2 z <x, terms[1]> - 3 z^2 <x, terms[2]> + 4 z^3 <x, terms[3]> ...
    """
    excess, error, terms = 0.5 * (square - limit * limit), EXACT * EXACT * square, scratch[ROWS:]
    if not (excess < CLOSE * square and x.size > 1):
        return False
    weights, over, first, steepest, longest = writable(scratch[0]), 0.5 / excess, 0.0, 0.0, 0.0
    size, most, step = 0, min(MOST, x.size - 1), opaque(1)
    set_scaled(terms[0], x, 1.0, lanes)
    while True:
        combine(inverse, terms[size], terms[size + 1])
        along, length = measure_term(x, terms[size + 1], lanes)
        size += step
        if size == 1:
            first = excess / along
            steepest = first * trace(inverse)
            longest = length * first * first
        set_scaled(terms[size], terms[size], first, lanes)
        length *= first * first
        weights[size] = (size + 1) * first * along * over
        if length * steepest * steepest <= error:
            break
        if size == most or not steepest < STEEP:
            return False
        if size == 2 and is_hopeless(longest * steepest**2, length * steepest**2, most - 2, error):
            return False
    sum_terms(x, terms, size, solve_series(weights, size, longest, error), limit, lanes)
    return True
