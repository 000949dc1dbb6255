"""The projection of a point just outside the ball: a few terms of a series, where they are enough.

Where rewards pull theta outwards at every play, the projection of engine/projections.py takes most
of the time of a run, for each of its steps waits for the last: a root, a division, a basis made
orthogonal, secants. But then theta never is far outside, and x(nu) = (I + nu V^-1)^-1 x is

    x - nu V^-1 x + (nu V^-1)^2 x - ...,

of which, whatever nu and V are, the terms left out are together no longer than the next of them.
"""

from typing import Any

from ..engine.blocked import combine
from ..engine.jitable import jitable
from ..engine.projections import EXACT, ROWS
from .regions import trace
from .teams import lane, opaque, sync, total, writable

MOST = 4  # terms after x
CLOSE = 5e-4  # how far outside the ball, in its radius: beyond, more terms would be needed
STEEP = 0.1  # how much of the last a term may be


@jitable
def set_scaled(out: Any, x: Any, factor: float, lanes: int) -> None:
    """out = factor x. A lane has the same entries in all vectors, so nobody need wait."""
    out, i = writable(out), lane(lanes)
    while i < x.size:
        out[i] = factor * x[i]
        i += lanes


@jitable
def measure_term(x: Any, term: Any, lanes: int) -> tuple[float, float]:
    """<x, term> and ||term||^2"""
    along, square, i = 0.0, 0.0, lane(lanes)
    while i < x.size:
        along += x[i] * term[i]
        square += term[i] * term[i]
        i += lanes
    return total(along, lanes), total(square, lanes)


@jitable
def solve_series(second: float, third: float, fourth: float) -> float:
    """z = 1 + second z^2 - third z^3 + fourth z^4, by putting it in again and again."""
    z = 1.0
    for _ in range(60):
        last, z = z, 1.0 + z * z * (second - z * (third - z * fourth))
        if abs(z - last) <= EXACT:
            break
    return z


@jitable
def sum_terms(x: Any, terms: Any, size: int, z: float, limit: float, lanes: int) -> None:
    """x = x - z terms[1] + z^2 terms[2] - ..., brought from nearly that length to `limit`."""
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
    """Bring x, whose squared length is given, to its nearest point in the ball, or leave it there
    and say False.

    The terms are those of nu = `first`, at which x is too long by no more than its excess squared;
    nu = z first makes 2 excess = 2 z <x, terms[1]> - 3 z^2 <x, terms[2]> + 4 z^3 <x, terms[3]> ...
    """
    excess, terms = 0.5 * (square - limit * limit), scratch[ROWS:]
    if not (excess < CLOSE * square and x.size > MOST):
        return False
    over, first, steepest, second, third, fourth = 1.0 / excess, 0.0, 0.0, 0.0, 0.0, 0.0
    size, step = 0, opaque(1)
    set_scaled(terms[0], x, 1.0, lanes)
    while True:
        combine(inverse, terms[size], terms[size + 1])
        along, length = measure_term(x, terms[size + 1], lanes)
        size += step
        if size == 1:
            first = excess / along
            steepest = first * trace(inverse)
        set_scaled(terms[size], terms[size], first, lanes)
        length *= first * first
        weight = 0.5 * (size + 1) * first * along * over
        second = weight if size == 2 else second
        third = weight if size == 3 else third
        fourth = weight if size == 4 else fourth
        if length * steepest * steepest <= EXACT * EXACT * square:
            break
        if size == MOST or not steepest < STEEP:
            return False
    sum_terms(x, terms, size, solve_series(second, third, fourth), limit, lanes)
    return True
