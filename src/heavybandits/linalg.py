"""The only place where loops over matrices are written.

All loops run over the contiguous index last, so they vectorise without reordering a sum: compiled
and uncompiled runs give the same bits.
"""

import math
from typing import Any

from .jitable import jitable


@jitable
def dot(a: Any, b: Any) -> float:
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
def largest(values: Any) -> float:
    """max_k values_k, for a number of values that is a multiple of four."""
    first, second, third, fourth = values[0], values[1], values[2], values[3]
    for k in range(4, values.size, 4):
        first = max(first, values[k])
        second = max(second, values[k + 1])
        third = max(third, values[k + 2])
        fourth = max(fourth, values[k + 3])
    return max(max(first, second), max(third, fourth))


@jitable
def norm(a: Any) -> float:
    """||a||_2"""
    return math.sqrt(dot(a, a))


@jitable
def combine(rows: Any, weights: Any, out: Any) -> None:
    """out = sum_i weights_i rows_i, two rows at a time: half the traffic through `out`."""
    i = 2 - weights.size % 2
    first, second = weights[0], weights[1] if i == 2 else 0.0
    for k in range(out.size):
        out[k] = first * rows[0, k] + second * rows[i - 1, k]
    while i < weights.size:
        first, second = weights[i], weights[i + 1]
        for k in range(out.size):
            out[k] += first * rows[i, k] + second * rows[i + 1, k]
        i += 2


@jitable
def add_outer(matrix: Any, scale: float, x: Any) -> None:
    """M += scale x x^T"""
    for i in range(x.size):
        factor = scale * x[i]
        for j in range(x.size):
            matrix[i, j] += factor * x[j]


@jitable
def squares(features: Any, matrix: Any, out: Any, above: Any, below: Any) -> None:
    """out_k = ||x_k||_M^2 for every column x_k and a symmetric M; `above` and `below` are scratch.

    Only the lower triangle of M is used, d(d+1)/2 products an arm, in blocks of two rows by four
    columns: what is loaded once serves several products.
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


@jitable
def invert(matrix: Any, out: Any, factor: Any) -> None:
    """out = M^-1 of a symmetric positive definite M, by Cholesky; `factor` is scratch."""
    dim = matrix.shape[0]
    cholesky(matrix, factor)
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


@jitable
def cholesky(matrix: Any, out: Any) -> None:
    """The lower triangle L of M = L L^T."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = math.sqrt(total) if i == j else total / out[j, j]


@jitable
def eigen(matrix: Any, values: Any, vectors: Any) -> None:
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
def rotate(matrix: Any, vectors: Any, p: int, q: int, dim: int) -> None:
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


@jitable
def gather(values: Any, low: int, high: int, pivot: float, ties: bool) -> int:
    """Bring what is below the pivot, or with `ties` not above it, to the front of values[low:high].

    Returns where it ends. Every element is swapped, needed or not: so there is no branch whose
    outcome nobody can predict. NaN counts as tied with any pivot.
    """
    end = low
    for i in range(low, high):
        value = values[i]
        values[i] = values[end]
        values[end] = value
        wanted = not value > pivot if ties else value < pivot
        end += 1 if wanted else 0
    return end


@jitable
def middle(a: float, b: float, c: float) -> float:
    """The second largest of three."""
    return max(min(a, b), min(max(a, b), c))


@jitable
def select_rank(values: Any, start: int, stop: int, rank: int) -> float:
    """The element of this rank of values[start:stop] (which is reordered), by quickselect."""
    low, high, wanted = start, stop, start + rank
    while high - low > 1:
        pivot = middle(values[low], values[(low + high) // 2], values[high - 1])
        below = gather(values, low, high, pivot, False)
        if wanted < below:
            high = below
        elif low < below:
            low = below
        else:  # the pivot is the smallest: get rid of all that equal it, and there is one at least
            low = gather(values, low, high, pivot, True)
            if wanted < low:
                break
    return values[wanted]


@jitable
def median(values: Any, start: int, stop: int) -> float:
    """The median of values[start:stop] (which is reordered); of an even number, the mean of two."""
    size = stop - start
    upper = select_rank(values, start, stop, size // 2)
    if size % 2 == 1:
        return upper
    lower = values[start]
    for i in range(start + 1, start + size // 2):
        lower = max(lower, values[i])
    return 0.5 * (lower + upper)
