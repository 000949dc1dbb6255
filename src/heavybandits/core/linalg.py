"""Linear algebra on small arrays, as loops.

The contiguous index runs last, so the loops vectorise without reordering a sum: compiled and
uncompiled runs give bit-for-bit identical results.
"""

import math

from .arrays import Floats
from .jit import jitable, outlined, vectorised

LARGEST = 1e100  # absolute value of rewards, predictions and radii: no square or sum overflows
LOST = 1e-13  # pivot over the entry it came from, below which rounding leaves no digit
SURE = 1e-10  # the same, above which M is more exact than an inverse kept by rank-one steps


@jitable
def bounded(number: float) -> float:
    """Return the nearest number in [-LARGEST, LARGEST]; LARGEST for nan."""
    return max(number, -LARGEST) if number < LARGEST else LARGEST


@jitable
def limited(number: float) -> float:
    """Return the nearest number in [-LARGEST, LARGEST]; nan stays nan."""
    if number > LARGEST:
        return LARGEST
    return -LARGEST if number < -LARGEST else number


@jitable
def clamp(rewards: Floats) -> None:
    """Limit rewards to [-LARGEST, LARGEST], so that no sum overflows."""
    for i in range(rewards.size):
        rewards[i] = bounded(rewards[i])


@jitable
def dot(a: Floats, b: Floats) -> float:
    """Return a.b, in four independent sums.

    A single sum would wait for every addition to end.

    Parameters
    ----------
    a : array of shape (d,)
        First vector.
    b : array of shape (d,)
        Second vector.

    Returns
    -------
    float
        a.b.
    """
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
    """Return ||a||_2.

    Parameters
    ----------
    a : array of shape (d,)
        The vector.

    Returns
    -------
    float
        The Euclidean norm.
    """
    return math.sqrt(dot(a, a))


@jitable
def subtract(a: Floats, scale: float, b: Floats) -> None:
    """Subtract scale b from a in place.

    Parameters
    ----------
    a : array of shape (d,)
        Changes in place.
    scale : float
        Multiplier.
    b : array of shape (d,)
        The vector to subtract.
    """
    for i in range(a.size):
        a[i] -= scale * b[i]


@jitable
def stretch(a: Floats, factor: float) -> None:
    """Multiply a vector by a factor in place.

    Parameters
    ----------
    a : array of shape (d,)
        Changes in place.
    factor : float
        The factor.
    """
    for i in range(a.size):
        a[i] *= factor


@vectorised
def add_outer(matrix: Floats, scale: float, x: Floats) -> None:
    """Add scale x x^T to a matrix in place. x must not be a row of the matrix.

    Parameters
    ----------
    matrix : array of shape (d, d)
        Changes in place.
    scale : float
        Multiplier.
    x : array of shape (d,)
        The vector.
    """
    for i in range(x.size):
        factor = scale * x[i]
        for j in range(x.size):
            matrix[i, j] += factor * x[j]


@jitable
def invert(matrix: Floats, out: Floats, factor: Floats) -> bool:
    """Write M^-1 of a symmetric positive definite M into `out`, by Cholesky.

    Parameters
    ----------
    matrix : array of shape (d, d)
        M.
    out : array of shape (d, d)
        Receives M^-1. It does not change if M is not positive definite in all its digits.
    factor : array of shape (d, d)
        Scratch space.

    Returns
    -------
    bool
        False if M is not positive definite in all its digits.
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
    """Write the lower triangle L of M = L L^T into `out`.

    Parameters
    ----------
    matrix : array of shape (d, d)
        M, symmetric.
    out : array of shape (d, d)
        Receives L.

    Returns
    -------
    bool
        False if rounding leaves a pivot without digits.
    """
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

    By sweeps, the largest pivot first. What rounding leaves of the last pivots is noise: there M
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
def correct_inverse(
    matrix: Floats, floor: float, inverse: Floats, work: Floats, mark: Floats
) -> None:
    """Bring an inverse made by rank-one steps closer to M^-1, as far as the digits of M allow.

    For a symmetric M >= `floor` I that is too badly conditioned for `invert`. With P the rows of
    its large pivots, N the others, B = M^-1 and K = M_PP^-1 M_PN:

        B_PN = -K B_NN,    B_PP = M_PP^-1 + K B_NN K^T

    Where M is small, rounding leaves no digit of it in M; but there B is large, and `inverse` has
    its digits. So B_NN stays, and the rest is computed again from M, by sweeps. This is positive
    definite if B_NN is, and no error of B_PN or B_PP survives. `work` and `mark` are scratch: a
    matrix, and 1 for the rows of N.
    """
    dim = matrix.shape[0]
    copy_matrix(matrix, work, mark)
    for _ in range(dim):
        p = largest_pivot(work, mark)
        if mark[p] == 1.0 and work[p, p] > max(SURE * matrix[p, p], 0.5 * floor):
            sweep(work, p)
            mark[p] = 0.0
    for i in range(dim):
        if mark[i] == 1.0:
            limit_entry(inverse, i, 1.0 / matrix[i, i], 1.0 / floor)
    for i in range(dim):
        for j in range(dim):
            if mark[i] == 0.0 and mark[j] == 1.0:
                inverse[i, j] = -known_part(work, inverse, mark, i, j)
    for i in range(dim):
        for j in range(i + 1):
            if mark[i] == 0.0 and mark[j] == 0.0:
                inverse[i, j] = -work[i, j] - known_part(inverse, work, mark, i, j)
            elif mark[i] == 1.0 and mark[j] == 0.0:
                inverse[i, j] = inverse[j, i]
            inverse[j, i] = inverse[i, j]


@jitable
def limit_entry(inverse: Floats, p: int, least: float, most: float) -> None:
    """Bring B_pp into [least, most], as M^-1 has it, and keep B positive definite if it is."""
    entry = inverse[p, p]
    factor = 1.0 if entry <= most else math.sqrt(most / entry)
    if not entry >= least:  # rounding, and so is the rest of the row
        factor = 0.0
    for j in range(inverse.shape[0]):
        if j != p and factor != 1.0:
            inverse[p, j] *= factor
            inverse[j, p] *= factor
    inverse[p, p] = min(max(entry, least), most)


@jitable
def known_part(left: Floats, right: Floats, mark: Floats, i: int, j: int) -> float:
    """Return sum_n left_in right_nj over the rows n of N, for a symmetric `right`."""
    total = 0.0
    for n in range(mark.size):
        if mark[n] == 1.0:
            total += left[i, n] * right[n, j]
    return total


@jitable
def copy_matrix(matrix: Floats, out: Floats, mark: Floats) -> None:
    """Copy M into `out`, and set `mark` to 1 for every row, which waits for its sweep."""
    for i in range(mark.size):
        mark[i] = 1.0
        for j in range(mark.size):
            out[i, j] = matrix[i, j]


@jitable
def largest_pivot(matrix: Floats, mark: Floats) -> int:
    """Return the row of the largest diagonal entry among rows that wait; any row if none does."""
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
                matrix[i, j] -= matrix[i, p] * matrix[j, p] * pivot  # symmetric bit for bit
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
    """Write the eigenvalues and eigenvectors of a symmetric matrix, by Jacobi rotations.

    Parameters
    ----------
    matrix : array of shape (d, d)
        Symmetric; its content is destroyed.
    values : array of shape (d,)
        Receives the eigenvalues.
    vectors : array of shape (d, d)
        Receives the eigenvectors, one per column.
    """
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


# ---- loops blocked by hand: what is loaded once serves several products. The docstring of each is
# its plain formula, which the tests compute.


@jitable
def largest(values: Floats) -> float:
    """Return max_k values_k, for a number of values that is a multiple of four."""
    first, second, third, fourth = values[0], values[1], values[2], values[3]
    for k in range(4, values.size, 4):
        first = max(first, values[k])
        second = max(second, values[k + 1])
        third = max(third, values[k + 2])
        fourth = max(fourth, values[k + 3])
    return max(max(first, second), max(third, fourth))


@vectorised
def combine(rows: Floats, weights: Floats, out: Floats) -> None:
    """Write sum_i weights_i rows_i into `out`.

    Two rows are added at a time, which halves the traffic through `out`. `out` must not share
    memory with the other arguments.

    Parameters
    ----------
    rows : array of shape (n, k)
        The rows.
    weights : array of shape (n,)
        One weight per row.
    out : array of shape (k,)
        Receives the sum.
    """
    i = 2 - weights.size % 2
    first, second = weights[0], weights[1] if i == 2 else 0.0
    for k in range(out.size):
        out[k] = first * rows[0, k] + second * rows[i - 1, k]
    while i < weights.size:
        first, second = weights[i], weights[i + 1]
        for k in range(out.size):
            out[k] += first * rows[i, k] + second * rows[i + 1, k]
        i += 2


@vectorised
def squares(features: Floats, matrix: Floats, out: Floats, above: Floats, below: Floats) -> None:
    """Write ||x_k||_M^2 of every column x_k into `out`, for a symmetric M.

    Only the lower triangle of M is used, d(d+1)/2 products per arm, in blocks of two rows by four
    columns.

    Parameters
    ----------
    features : array of shape (d, columns)
        One arm per column.
    matrix : array of shape (d, d)
        M.
    out : array of shape (columns,)
        Receives the squares.
    above : array of shape (columns,)
        Scratch space.
    below : array of shape (columns,)
        Scratch space.
    """
    dim = features.shape[0]
    for k in range(out.size):
        out[k], above[k] = 0.0, 0.0
    i = 0
    while i + 2 <= dim:
        first, second, across = 0.5 * matrix[i, i], 0.5 * matrix[i + 1, i + 1], matrix[i + 1, i]
        for k in range(out.size):
            above[k] = first * features[i, k]
            below[k] = second * features[i + 1, k] + across * features[i, k]
        for j in range(0, i - 3, 4):
            a, b, c, d = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2], matrix[i, j + 3]
            e, f, g, h = (
                matrix[i + 1, j],
                matrix[i + 1, j + 1],
                matrix[i + 1, j + 2],
                matrix[i + 1, j + 3],
            )
            for k in range(out.size):
                p, q, r, s = (
                    features[j, k],
                    features[j + 1, k],
                    features[j + 2, k],
                    features[j + 3, k],
                )
                above[k] += (a * p + b * q) + (c * r + d * s)
                below[k] += (e * p + f * q) + (g * r + h * s)
        if i % 4 == 2:
            a, b, e, f = (
                matrix[i, i - 2],
                matrix[i, i - 1],
                matrix[i + 1, i - 2],
                matrix[i + 1, i - 1],
            )
            for k in range(out.size):
                p, q = features[i - 2, k], features[i - 1, k]
                above[k] += a * p + b * q
                below[k] += e * p + f * q
        for k in range(out.size):
            out[k] += features[i, k] * above[k] + features[i + 1, k] * below[k]
        i += 2
    if i < dim:
        for j in range(i + 1):
            across = matrix[i, j] if j < i else 0.5 * matrix[i, i]
            for k in range(out.size):
                out[k] += across * features[j, k] * features[i, k]
    for k in range(out.size):
        out[k] = 2.0 * out[k]
