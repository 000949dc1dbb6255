"""Loops over vectors and matrices.

The contiguous index runs last, so they vectorise without reordering a sum: compiled and
uncompiled runs give the same bits.
"""

import math

from .arrays import Floats
from .jit import jitable, outlined, vectorised

LARGEST = 1e100  # in size, of rewards, predictions and radii: no square or sum of them overflows
LOST = 1e-13  # of the entry a pivot came from: below this, rounding has left no digit of it
SURE = 1e-10  # above this, M knows more of a direction than an inverse kept by rank-one steps


@jitable
def bounded(number: float) -> float:
    """The number, or the nearest one in [-LARGEST, LARGEST]; LARGEST for one that is none."""
    return max(number, -LARGEST) if number < LARGEST else LARGEST


@jitable
def clamp(rewards: Floats) -> None:
    """Any finite reward is legal; beyond LARGEST it counts as that, so that no sum overflows."""
    for i in range(rewards.size):
        rewards[i] = bounded(rewards[i])


@jitable
def dot(a: Floats, b: Floats) -> float:
    """a.b, in four sums side by side: one alone waits for every addition to end."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    i = 0
    while i + 4 <= a.size:
        first += a[i] * b[i]
        second += a[i + 1] * b[i + 1]
        third += a[i + 2] * b[i + 2]
        fourth += a[i + 3] * b[i + 3]
        i += 4
    while i < a.size:
        first += a[i] * b[i]
        i += 1
    return (first + second) + (third + fourth)


@jitable
def norm(a: Floats) -> float:
    """||a||_2"""
    return math.sqrt(dot(a, a))


@jitable
def subtract(a: Floats, scale: float, b: Floats) -> None:
    """a -= scale b"""
    for i in range(a.size):
        a[i] -= scale * b[i]


@jitable
def stretch(a: Floats, factor: float) -> None:
    """a *= factor"""
    for i in range(a.size):
        a[i] *= factor


@vectorised
def add_outer(matrix: Floats, scale: float, x: Floats) -> None:
    """M += scale x x^T, for an x that is no row of M."""
    for i in range(x.size):
        factor = scale * x[i]
        for j in range(x.size):
            matrix[i, j] += factor * x[j]


@jitable
def invert(matrix: Floats, out: Floats, factor: Floats) -> bool:
    """out = M^-1 of a symmetric positive definite M, by Cholesky; `factor` is scratch.

    False, and `out` is left alone, if M is not positive definite in all its digits.
    """
    dim = matrix.shape[0]
    if not cholesky(matrix, factor):
        return False
    for column in range(dim):
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
    for i in range(dim):
        for j in range(i):
            out[j, i] = out[i, j]
    return True


@jitable
def cholesky(matrix: Floats, out: Floats) -> bool:
    """The lower triangle L of M = L L^T; False if rounding leaves no digit of one of its pivots."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i > j:
                out[i, j] = total / out[j, j]
            elif total > LOST * matrix[i, i]:
                out[i, i] = math.sqrt(total)
            else:
                return False
    return True


@outlined
def invert_pivoted(matrix: Floats, floor: float, out: Floats, waiting: Floats) -> None:
    """out = M^-1 of a symmetric M >= `floor` I that is too badly conditioned for `invert`.

    By sweeps, the largest pivot first. What rounding has left of the last ones is noise: there M
    counts as `floor` I, which makes the inverse too large rather than too small. `waiting` is
    scratch.
    """
    dim = matrix.shape[0]
    copy_matrix(matrix, out, waiting)
    for _ in range(dim):
        p = largest_pivot(out, waiting)
        if not out[p, p] > max(LOST * matrix[p, p], 0.5 * floor):
            for i in range(dim):
                for j in range(dim):
                    if waiting[i] == 1.0 and waiting[j] == 1.0:
                        out[i, j] = floor if i == j else 0.0
        sweep(out, p)
        waiting[p] = 0.0
    for i in range(dim):
        for j in range(dim):
            out[i, j] = -out[i, j]


@outlined
def mend_inverse(matrix: Floats, floor: float, inverse: Floats, work: Floats, mark: Floats) -> None:
    """Bring an inverse that rank-one steps have made back to M, as far as M can still tell.

    For a symmetric M >= `floor` I that is too badly conditioned for `invert`. With P the rows of
    its large pivots, N the others and B = M^-1, B_PP = M_PP^-1 + B_PN B_NN^-1 B_NP. Where M is
    small, rounding has left no digit of it in M; but there B is large, and `inverse` has its
    digits. So M_PP^-1 is made anew, by sweeps, and B_PN and B_NN stay. `work` and `mark` are
    scratch: a matrix, and 1 for the rows of N.
    """
    dim = matrix.shape[0]
    copy_matrix(matrix, work, mark)
    for _ in range(dim):
        p = largest_pivot(work, mark)
        if mark[p] == 1.0 and work[p, p] > max(SURE * matrix[p, p], 0.5 * floor):
            sweep(work, p)
            mark[p] = 0.0
    for i in range(dim):
        for j in range(dim):
            if mark[i] == 0.0 and mark[j] == 0.0:
                inverse[i, j] = -work[i, j]
            work[i, j] = inverse[i, j]
    for _ in range(dim):
        p = largest_pivot(work, mark)
        if mark[p] == 1.0:
            complete(inverse, work, mark, p)


@jitable
def complete(inverse: Floats, work: Floats, mark: Floats, p: int) -> None:
    """B_PP += B_PN B_NN^-1 B_NP for one pivot of N, which is then done with."""
    least = LOST * abs(inverse[p, p])
    if not work[p, p] > least:  # rounding: B_NN must stay positive definite
        inverse[p, p] += least - work[p, p]
        work[p, p] = least
    for i in range(mark.size):
        for j in range(mark.size):
            update = work[i, p] * work[j, p] / work[p, p]
            if mark[i] == 0.0 and mark[j] == 0.0:
                inverse[i, j] += update
            elif i != p and j != p:
                work[i, j] -= update
    mark[p] = 2.0


@jitable
def copy_matrix(matrix: Floats, out: Floats, mark: Floats) -> None:
    """A copy to sweep, and a 1 for every row that waits for its turn."""
    for i in range(mark.size):
        mark[i] = 1.0
        for j in range(mark.size):
            out[i, j] = matrix[i, j]


@jitable
def largest_pivot(matrix: Floats, mark: Floats) -> int:
    """The row of the largest diagonal entry among those that wait; any, if none does."""
    p = 0
    for i in range(1, mark.size):
        if mark[i] == 1.0 and (mark[p] != 1.0 or matrix[i, i] > matrix[p, p]):
            p = i
    return p


@jitable
def sweep(matrix: Floats, p: int) -> None:
    """Exchange variable p of M x = y; swept over all rows of P, M_PP has become -M_PP^-1."""
    dim, pivot = matrix.shape[1], 1.0 / matrix[p, p]
    for i in range(dim):
        for j in range(dim):
            if i != p and j != p:
                matrix[i, j] -= matrix[i, p] * matrix[j, p] * pivot  # symmetric in every bit
    for i in range(dim):
        matrix[i, p] *= pivot
        matrix[p, i] = matrix[i, p]
    matrix[p, p] = -pivot


@jitable
def solve_cholesky(factor: Floats, b: Floats, out: Floats) -> None:
    """out = (L L^T)^-1 b for the lower triangle L of `cholesky`."""
    for i in range(b.size):
        total = b[i]
        for j in range(i):
            total -= factor[i, j] * out[j]
        out[i] = total / factor[i, i]
    for i in range(b.size - 1, -1, -1):
        total = out[i]
        for j in range(i + 1, b.size):
            total -= factor[j, i] * out[j]
        out[i] = total / factor[i, i]


@jitable
def eigen(matrix: Floats, values: Floats, vectors: Floats) -> None:
    """Eigenvalues and eigenvectors (columns) of a symmetric matrix, destroyed, by Jacobi."""
    dim = values.size
    for i in range(dim):
        for j in range(dim):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(60):
        rotated = False
        for p in range(dim - 1):
            for q in range(p + 1, dim):
                if abs(matrix[p, q]) > 1e-16 * math.sqrt(abs(matrix[p, p] * matrix[q, q])):
                    rotate(matrix, vectors, p, q, dim)
                    rotated = True
        if not rotated:
            break
    for i in range(dim):
        values[i] = matrix[i, i]


@jitable
def rotate(matrix: Floats, vectors: Floats, p: int, q: int, dim: int) -> None:
    """One Jacobi rotation: make matrix[p, q] zero."""
    ratio = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
    tangent = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    for i in range(dim):
        first, second = matrix[i, p], matrix[i, q]
        matrix[i, p] = cosine * first - sine * second
        matrix[i, q] = sine * first + cosine * second
    for i in range(dim):
        first, second = matrix[p, i], matrix[q, i]
        matrix[p, i] = cosine * first - sine * second
        matrix[q, i] = sine * first + cosine * second
    for i in range(dim):
        first, second = vectors[i, p], vectors[i, q]
        vectors[i, p] = cosine * first - sine * second
        vectors[i, q] = sine * first + cosine * second
