"""V^-1/2 without an eigendecomposition: a sum of shifted inverses, each kept by rank-one steps.

V^-1/2 = sum_j weight_j (V + shift_j I)^-1, nodes by Hale, Higham and Trefethen (2008): the error
falls like exp(-2 pi^2 N / (ln(largest/smallest) + 6)) in the number N of nodes, so two dozen give
all digits for arms of about unit length. A round costs O(N d^2) instead of O(d^3).

Longer arms stretch the spectrum of V. So there are several sets of nodes, each good for a spectrum
1000 times as long as the one before it and with 11 nodes more; a root moves to the next one as
soon as V outgrows its own. The last one is good for the longest arms that are let in.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.confidence_region import REPAIR_EVERY, Region
from ...core.jit import jitable
from ...core.linalg import combine, dot, invert, invert_pivoted, norm

DIGITS = 30.0  # -ln of the relative error asked for
TOO_LONG = 16.0  # room for arms longer than 1: the spectrum may reach this many times its bound
RANGES, STRETCH, MORE = 6, 1000.0, 11  # sets of nodes; how much further each reaches; more nodes


def elliptic_k(complement: float) -> float:
    """The complete elliptic integral K(m) for m = 1 - complement, by the arithmetic-geometric mean.

    >>> round(elliptic_k(0.5), 12)
    1.854074677301
    """
    a, b = 1.0, math.sqrt(complement)
    while abs(a - b) > 1e-15 * a:
        a, b = (a + b) / 2.0, math.sqrt(a * b)
    return math.pi / (a + b)


def jacobi_sc(u: float, complement: float) -> float:
    """sn/cn of u with parameter m = 1 - complement, for 0 <= u <= K/2, by theta functions.

    m is so close to 1 here that its own series do not converge; those of the complement do, in
    hyperbolic functions (Abramowitz and Stegun 16.20, 16.36). Four terms are enough below 1/8.

    >>> round(jacobi_sc(1.0, 0.1), 6), round(jacobi_sc(1.0, 1e-9), 6), round(math.sinh(1.0), 6)
    (1.207144, 1.175201, 1.175201)
    """
    other = elliptic_k(1.0 - complement)
    nome = math.exp(-math.pi * elliptic_k(complement) / other)
    z = math.pi * u / (2.0 * other)
    above = sum((-1) ** n * nome ** (n * (n + 1)) * math.sinh((2 * n + 1) * z) for n in range(4))
    below = sum(nome ** (n * (n + 1)) for n in range(4))
    even = sum(nome ** (n * n) for n in range(1, 4))
    mixed = sum((-1) ** n * nome ** (n * n) * math.cosh(2 * n * z) for n in range(1, 4))
    return (1.0 + 2.0 * even) / below * above / (1.0 + 2.0 * mixed)


def node_count(smallest: float, largest: float) -> int:
    """Return how many nodes give `DIGITS` for smallest <= z <= largest."""
    return math.ceil(DIGITS * (6.0 - math.log(smallest / largest)) / (2.0 * math.pi * math.pi))


def root_nodes(smallest: float, largest: float, count: int) -> tuple[Floats, Floats]:
    """Shifts and weights with sum_j weight_j / (z + shift_j) = z^-1/2 for smallest <= z <= largest.

    >>> shifts, weights = root_nodes(1.0, 1e4, node_count(1.0, 1e4))
    >>> round(float((weights / (9.0 + shifts)).sum()), 12)
    0.333333333333
    """
    ratio = smallest / largest
    period = elliptic_k(ratio)
    shifts = np.empty(count)
    for j in range((count + 1) // 2):  # the nodes lie symmetrically, on a logarithmic scale
        shifts[j] = smallest * jacobi_sc((j + 0.5) * period / count, ratio) ** 2
        shifts[count - 1 - j] = smallest * largest / shifts[j]
    slopes = np.sqrt((1.0 + shifts / largest) * (1.0 + shifts / smallest))  # dn / cn^2
    return shifts, 2.0 * period * math.sqrt(smallest) / (math.pi * count) * slopes


class Root(NamedTuple):
    """`root` = V^-1/2 and the shifted inverses it is the weighted sum of.

    `shifts` and `weights` contain all sets of nodes, one after the other; there are as many
    `inverses` as the largest set has nodes, and those in use come first.
    """

    root: Floats
    change: Floats  # how much the last step took off `root`
    inverses: Floats
    shifts: Floats
    weights: Floats
    direction: Floats
    scratch: Floats
    node_set: Integers  # the set of nodes in use


def make_root(dim: int, penalty: float, updates: int) -> Root:
    """V^-1/2 of V = penalty I, for at most so many updates."""
    largest = longest_spectrum(penalty, updates)
    count = node_count(penalty, largest)
    nodes = [root_nodes(penalty, largest * STRETCH**i, count + i * MORE) for i in range(RANGES)]
    inverses, root = zeros(count + (RANGES - 1) * MORE, dim, dim), zeros(dim, dim)
    for inverse, shift in zip(inverses, nodes[0][0], strict=False):  # as many as there are
        np.fill_diagonal(inverse, 1.0 / (penalty + shift))
    np.fill_diagonal(root, (nodes[0][1] / (penalty + nodes[0][0])).sum())
    return Root(
        root=root,
        change=zeros(dim, dim),
        inverses=inverses,
        shifts=np.concatenate([shifts for shifts, _ in nodes]),
        weights=np.concatenate([weights for _, weights in nodes]),
        direction=zeros(dim),
        scratch=zeros(dim, dim),
        node_set=zeros(1, dtype=np.int64),
    )


@jitable
def longest_spectrum(penalty: float, updates: int) -> float:
    """Return how far the first set of nodes reaches."""
    return TOO_LONG * (penalty + updates)


@jitable
def nodes_of(root: Root) -> tuple[Floats, Floats]:
    """Shifts and weights of the set of nodes in use."""
    place = root.node_set[0]
    first = root.inverses.shape[0] - (RANGES - 1) * MORE
    start = place * first + MORE * place * (place - 1) // 2
    stop = start + first + MORE * place
    return root.shifts[start:stop], root.weights[start:stop]


@jitable
def extend_root(
    root: Root, region: Region, x: Floats, updates: int, penalty: float, top: float
) -> float:
    """Update V^-1/2 after V += x x^T by `add_observation`; return a bound on the change.

    The bound is the Frobenius norm of the change, or that of V^-1/2 itself if it is computed again.
    `top` is how far the first set of nodes reaches.
    """
    largest, outgrown = penalty, False
    for i in range(x.size):
        largest += region.design[i, i] + region.recent[i, i] - penalty
    while root.node_set[0] < RANGES - 1 and largest > top * STRETCH ** root.node_set[0]:
        root.node_set[0] += 1
        outgrown = True
    if outgrown:
        total = norm(root.root.reshape(root.root.size))
        repair_root(root, region, penalty)
        return total
    total, reliable = step_root(root, x)
    if updates % REPAIR_EVERY == 0 or not reliable:
        repair_root(root, region, penalty)
    return total


@jitable
def step_root(root: Root, x: Floats) -> tuple[float, bool]:
    """Every shifted inverse and their sum after V += x x^T; the change, and whether to trust it."""
    dim, reliable = x.size, True
    for i in range(dim):
        for k in range(dim):
            root.change[i, k] = 0.0
    shifts, weights = nodes_of(root)
    for j in range(shifts.size):
        square = step_inverse(root.inverses[j], root.change, weights[j], x, root.direction)
        reliable = reliable and square >= 0.0
    total = 0.0
    for i in range(dim):
        for k in range(dim):
            root.root[i, k] -= root.change[i, k]
        total += dot(root.change[i], root.change[i])
    return math.sqrt(total), reliable


@jitable
def step_inverse(
    inverse: Floats, change: Floats, weight: float, x: Floats, direction: Floats
) -> float:
    """Sherman-Morrison for one shifted inverse; what it loses, weighted, is added to `change`.

    Returns ||x||^2 in it, which is negative only where rounding has spoiled it.
    """
    combine(inverse, x, direction)
    square = dot(x, direction)
    shrink = 1.0 / (1.0 + max(square, 0.0))
    for i in range(x.size):
        factor = shrink * direction[i]
        weighted = weight * factor
        for k in range(x.size):
            inverse[i, k] -= factor * direction[k]
            change[i, k] += weighted * direction[k]
    return square


@jitable
def repair_root(root: Root, region: Region, penalty: float) -> None:
    """Compute everything again from V: this stops the drift of rank-one steps."""
    dim = region.centre.size
    for i in range(dim):
        for k in range(dim):
            root.root[i, k] = 0.0
    shifts, weights = nodes_of(root)
    for j in range(shifts.size):
        load_shifted(root.change, region, shifts[j])
        if not invert(root.change, root.inverses[j], root.scratch):
            invert_pivoted(root.change, penalty + shifts[j], root.inverses[j], root.direction)
        for i in range(dim):
            for k in range(dim):
                root.root[i, k] += weights[j] * root.inverses[j][i, k]


@jitable
def load_shifted(matrix: Floats, region: Region, shift: float) -> None:
    """matrix = V + shift I"""
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[0]):
            matrix[i, k] = region.design[i, k] + region.recent[i, k]
        matrix[i, i] += shift
