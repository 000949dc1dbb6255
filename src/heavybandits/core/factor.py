"""The Cholesky factor of V: an upper triangle R with V = R^T R, kept by rank-one updates.

V^-1 in double precision has errors of 1e-16 of its largest entry, 1/lambda. If the penalty lambda
is small, the norm ||x||_{V^-1} of an arm that was played often is smaller than that. R has the
digits of every direction: its entries are roots, and rotations do not lose them.
"""

import math

from .arrays import Floats
from .jit import jitable, outlined, vectorised

LANES = 8  # arms that are measured at once; the columns of a buffer are a multiple of it


@vectorised
def add_to_factor(factor: Floats, x: Floats) -> None:
    """R^T R += x x^T, by one Givens rotation per row; x is destroyed."""
    dim = x.size
    for k in range(dim):
        length = math.sqrt(factor[k, k] * factor[k, k] + x[k] * x[k])
        cosine, sine = factor[k, k] / length, x[k] / length
        factor[k, k] = length
        for i in range(k + 1, dim):
            old = factor[k, i]
            factor[k, i] = cosine * old + sine * x[i]
            x[i] = cosine * x[i] - sine * old


@vectorised
def solve_lower(factor: Floats, x: Floats, out: Floats) -> float:
    """out = R^-T x; return its squared length, which is ||x||^2_{V^-1}."""
    dim, total = x.size, 0.0
    for i in range(dim):
        out[i] = x[i]
    for j in range(dim):
        value = out[j] / factor[j, j]
        out[j] = value
        total += value * value
        for i in range(j + 1, dim):
            out[i] -= value * factor[j, i]
    return total


@jitable
def solve_upper(factor: Floats, z: Floats, out: Floats) -> None:
    """out = R^-1 z; `out` may be z."""
    dim = z.size
    for i in range(dim - 1, -1, -1):
        total = z[i]
        for j in range(i + 1, dim):
            total -= factor[i, j] * out[j]
        out[i] = total / factor[i, i]


@outlined
def invert_factor(factor: Floats, out: Floats, work: Floats) -> None:
    """out = V^-1, symmetric bit for bit; `work` is scratch. O(d^3)."""
    dim = work.size
    for column in range(dim):
        for i in range(dim):
            work[i] = 1.0 if i == column else 0.0
        solve_lower(factor, work, out[column])
        solve_upper(factor, out[column], out[column])
    for i in range(dim):
        for j in range(i):
            out[j, i] = out[i, j]


@vectorised
def measure_columns(factor: Floats, features: Floats, out: Floats, work: Floats) -> None:
    """out_k = ||x_k||^2_{V^-1} for every column x_k of `features`; `work` is d by LANES scratch.

    d(d+1)/2 products per arm, as many as `linalg.squares` needs with V^-1.
    """
    dim = features.shape[0]
    for start in range(0, out.size, LANES):
        for i in range(dim):
            for lane in range(LANES):
                work[i, lane] = features[i, start + lane]
        for lane in range(LANES):
            out[start + lane] = 0.0
        for j in range(dim):
            for lane in range(LANES):
                work[j, lane] /= factor[j, j]
                out[start + lane] += work[j, lane] * work[j, lane]
            for i in range(j + 1, dim):
                for lane in range(LANES):
                    work[i, lane] -= factor[j, i] * work[j, lane]
