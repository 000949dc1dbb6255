"""V^-1/2 without an eigendecomposition: a sum of shifted inverses, each kept by rank-one steps.

V^-1/2 = sum_j weight_j (V + shift_j I)^-1, nodes by Hale, Higham and Trefethen (2008): the error
falls like exp(-2 pi^2 N / (ln(largest/smallest) + 6)) in the number N of nodes, so two dozen give
all digits for any spectrum a bandit meets. A round costs O(N d^2) instead of O(d^3).
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.arrays import Floats
from ..engine.blocked import combine
from ..engine.jitable import jitable
from ..engine.layout import zeros
from ..engine.linalg import dot, invert
from ..engine.regions import REPAIR_EVERY, Region

DIGITS = 30.0  # -ln of the relative error asked for
TOO_LONG = 16.0  # room for arms longer than 1: the spectrum may reach this many times its bound


def elliptic_k(complement: float) -> float:
    """The complete elliptic integral K(m) for m = 1 - complement, by the arithmetic-geometric mean.

    >>> round(elliptic_k(0.5), 12)
    1.854074677301
    """
    a, b = 1.0, math.sqrt(complement)
    while abs(a - b) > 1e-15 * a:
        a, b = (a + b) / 2.0, math.sqrt(a * b)
    return math.pi / (a + b)


def jacobi(u: float, complement: float) -> tuple[float, float, float]:
    """sn, cn, dn of u with parameter m = 1 - complement, for 0 <= u <= K, by descending Landen.

    The complement is what is given, since m is so close to 1 here that 1 - m would lose it.

    >>> [round(value, 6) for value in jacobi(1.0, 0.5)]
    [0.803002, 0.595977, 0.823161]
    """
    means, gaps = [1.0], [0.0]
    b = math.sqrt(complement)
    while abs(means[-1] - b) > 1e-15 * means[-1]:
        gaps.append((means[-1] - b) / 2.0)
        means.append((means[-1] + b) / 2.0)
        b = math.sqrt(means[-2] * b)
    angle = math.ldexp(means[-1] * u, len(means) - 1)
    for mean, gap in zip(means[:0:-1], gaps[:0:-1], strict=True):
        angle = (angle + math.asin(gap / mean * math.sin(angle))) / 2.0
    sn, cn = math.sin(angle), math.cos(angle)
    return sn, cn, math.sqrt(cn * cn + complement * sn * sn)


def root_nodes(smallest: float, largest: float) -> tuple[Floats, Floats]:
    """Shifts and weights with sum_j weight_j / (z + shift_j) = z^-1/2 for smallest <= z <= largest.

    >>> shifts, weights = root_nodes(1.0, 1e4)
    >>> round(float((weights / (9.0 + shifts)).sum()), 12)
    0.333333333333
    """
    ratio = smallest / largest
    count = math.ceil(DIGITS * (6.0 - math.log(ratio)) / (2.0 * math.pi * math.pi))
    period = elliptic_k(ratio)
    shifts, weights = np.empty(count), np.empty(count)
    for j in range(count):
        sn, cn, dn = jacobi((j + 0.5) * period / count, ratio)
        shifts[j] = smallest * (sn / cn) ** 2
        weights[j] = 2.0 * period * math.sqrt(smallest) / (math.pi * count) * dn / cn**2
    return shifts, weights


class Root(NamedTuple):
    """`root` = V^-1/2 and the shifted inverses it is the weighted sum of."""

    root: Floats
    change: Floats  # how much the last step took off `root`
    inverses: Floats
    shifts: Floats
    weights: Floats
    direction: Floats
    scratch: Floats


def make_root(dim: int, penalty: float, updates: int) -> Root:
    """V^-1/2 of V = penalty I, for at most so many updates by arms of about unit length."""
    shifts, weights = root_nodes(penalty, TOO_LONG * (penalty + updates))
    inverses, root = zeros(shifts.size, dim, dim), zeros(dim, dim)
    for inverse, shift in zip(inverses, shifts, strict=False):  # a single one while only counted
        np.fill_diagonal(inverse, 1.0 / (penalty + shift))
    np.einsum("n,nij->ij", weights, inverses, out=root)
    return Root(
        root=root,
        change=zeros(dim, dim),
        inverses=inverses,
        shifts=shifts,
        weights=weights,
        direction=zeros(dim),
        scratch=zeros(dim, dim),
    )


@jitable
def extend_root(root: Root, region: Region, x: Floats, updates: int) -> float:
    """Follow V += x x^T, done by `add_observation`; returns the Frobenius norm of the change."""
    dim = x.size
    for i in range(dim):
        for k in range(dim):
            root.change[i, k] = 0.0
    for j in range(root.shifts.size):
        step_inverse(root.inverses[j], root.change, root.weights[j], x, root.direction)
    total = 0.0
    for i in range(dim):
        for k in range(dim):
            root.root[i, k] -= root.change[i, k]
        total += dot(root.change[i], root.change[i])
    if updates % REPAIR_EVERY == 0:
        repair_root(root, region)
    return math.sqrt(total)


@jitable
def step_inverse(
    inverse: Floats, change: Floats, weight: float, x: Floats, direction: Floats
) -> None:
    """Sherman-Morrison for one shifted inverse; what it loses, weighted, is added to `change`."""
    combine(inverse, x, direction)
    shrink = 1.0 / (1.0 + dot(x, direction))
    for i in range(x.size):
        factor = shrink * direction[i]
        weighted = weight * factor
        for k in range(x.size):
            inverse[i, k] -= factor * direction[k]
            change[i, k] += weighted * direction[k]


@jitable
def repair_root(root: Root, region: Region) -> None:
    """Everything afresh from V: stops the drift of rank-one steps."""
    dim = region.centre.size
    for i in range(dim):
        for k in range(dim):
            root.root[i, k] = 0.0
    for j in range(root.shifts.size):
        for i in range(dim):
            for k in range(dim):
                root.change[i, k] = region.design[i, k] + region.recent[i, k]
            root.change[i, i] += root.shifts[j]
        invert(root.change, root.inverses[j], root.scratch)
        for i in range(dim):
            for k in range(dim):
                root.root[i, k] += root.weights[j] * root.inverses[j][i, k]
