"""Loops over vectors and matrices.

The contiguous index runs last, so they vectorise without reordering a sum: compiled and
uncompiled runs give the same bits.
"""

import math

from .arrays import Floats
from .jitable import jitable, outlined, vectorised

LARGEST = 1e100  # in size, of rewards, predictions and radii: no square or sum of them overflows
LOST = 1e-13  # of the entry a pivot came from: below this, rounding has left no digit of it


@jitable
def bounded(number: float) -> float:
    """The number, or the nearest one in [-LARGEST, LARGEST]; LARGEST for one that is none."""
    return max(number, -LARGEST) if number < LARGEST else LARGEST


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
    """M += scale x x^T"""
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
def invert_pivoted(matrix: Floats, floor: float, out: Floats, done: Floats) -> None:
    """out = M^-1 of a symmetric M >= `floor` I that is too badly conditioned for `invert`.

    By sweeps, the largest pivot first. What rounding has left of the last ones is noise: there M
    counts as `floor` I, which makes the inverse too large rather than too small. `done` is scratch.
    """
    dim = matrix.shape[0]
    for i in range(dim):
        done[i] = 0.0
        for j in range(dim):
            out[i, j] = matrix[i, j]
    for _ in range(dim):
        p = -1
        for i in range(dim):
            if done[i] == 0.0 and (p < 0 or out[i, i] > out[p, p]):
                p = i
        if not out[p, p] > max(LOST * matrix[p, p], 0.5 * floor):
            for i in range(dim):
                for j in range(dim):
                    if done[i] == 0.0 and done[j] == 0.0:
                        out[i, j] = floor if i == j else 0.0
        pivot, done[p] = 1.0 / out[p, p], 1.0
        for i in range(dim):
            for j in range(dim):
                if i != p and j != p:
                    out[i, j] -= out[i, p] * out[j, p] * pivot  # symmetric in every bit
        for i in range(dim):
            out[i, p] *= pivot
            out[p, i] = out[i, p]
        out[p, p] = -pivot
    for i in range(dim):
        for j in range(dim):
            out[i, j] = -out[i, j]


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
