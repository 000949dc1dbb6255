"""The only place where loops over matrices are written.

All loops run over the contiguous index last, so they vectorise without reordering a sum: compiled
and uncompiled runs give the same bits.
"""

import math
from typing import Any

from numba.extending import register_jitable


@register_jitable
def dot(a: Any, b: Any) -> float:
    """a.b"""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@register_jitable
def norm(a: Any) -> float:
    """||a||_2"""
    return math.sqrt(dot(a, a))


@register_jitable
def multiply(matrix: Any, x: Any, out: Any) -> None:
    """out = M x for a symmetric M, as a sum of its rows."""
    for i in range(out.size):
        out[i] = 0.0
    for j in range(x.size):
        factor = x[j]
        for i in range(out.size):
            out[i] += factor * matrix[j, i]


@register_jitable
def add_outer(matrix: Any, scale: float, x: Any) -> None:
    """M += scale x x^T"""
    for i in range(x.size):
        factor = scale * x[i]
        for j in range(x.size):
            matrix[i, j] += factor * x[j]


@register_jitable
def scores(features: Any, theta: Any, out: Any) -> None:
    """out_k = x_k.theta, the arms being the columns of `features`."""
    for k in range(out.size):
        out[k] = 0.0
    for i in range(theta.size):
        factor = theta[i]
        for k in range(out.size):
            out[k] += factor * features[i, k]


@register_jitable
def squares(features: Any, matrix: Any, out: Any, scratch: Any) -> None:
    """out_k = ||x_k||_M^2 for a symmetric M, from its lower triangle: d(d+1)/2 products an arm."""
    for k in range(out.size):
        out[k] = 0.0
    for i in range(features.shape[0]):
        factor = 0.5 * matrix[i, i]
        for k in range(out.size):
            scratch[k] = factor * features[i, k]
        for j in range(i):
            factor = matrix[i, j]
            for k in range(out.size):
                scratch[k] += factor * features[j, k]
        for k in range(out.size):
            out[k] += features[i, k] * scratch[k]
    for k in range(out.size):
        out[k] = 2.0 * out[k]


@register_jitable
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


@register_jitable
def cholesky(matrix: Any, out: Any) -> None:
    """The lower triangle L of M = L L^T."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = math.sqrt(total) if i == j else total / out[j, j]


@register_jitable
def solve_shifted(
    inverse: Any, shift: float, target: Any, x: Any, residual: Any, step: Any, image: Any
) -> None:
    """x with (I + shift W) x = target, by conjugate gradients started at the x given."""
    multiply(inverse, x, image)
    for i in range(x.size):
        residual[i] = target[i] - x[i] - shift * image[i]
        step[i] = residual[i]
    error = dot(residual, residual)
    goal = 1e-30 * dot(target, target)
    for _ in range(4 * x.size + 10):
        if error <= goal:
            break
        multiply(inverse, step, image)
        for i in range(x.size):
            image[i] = step[i] + shift * image[i]
        length = error / dot(step, image)
        for i in range(x.size):
            x[i] += length * step[i]
            residual[i] -= length * image[i]
        previous = error
        error = dot(residual, residual)
        for i in range(x.size):
            step[i] = residual[i] + (error / previous) * step[i]


@register_jitable
def project_ball(inverse: Any, x: Any, limit: float, scratch: Any) -> None:
    """Bring x, outside the ball of radius `limit`, to its nearest point there in the V-norm.

    The nearest point is x(nu) = (I + nu V^-1)^-1 x at the nu where its length is `limit`. There
    1 / ||x(nu)|| is increasing and concave in nu, so a tangent at nu = 0 and then secants come up
    from the left to the root and never pass it. Only V^-1 = `inverse` is needed, and only products
    with it: no decomposition. `scratch` has five rows.
    """
    target, point = scratch[0], scratch[1]
    for i in range(x.size):
        target[i] = x[i]
        point[i] = x[i]
    length = norm(x)
    multiply(inverse, x, scratch[4])
    slope = dot(x, scratch[4]) / (length * length * length)
    shift, height = 0.0, 1.0 / length
    goal = 1.0 / limit
    for _ in range(60):
        advance = (goal - height) / slope
        shift += advance
        solve_shifted(inverse, shift, target, point, scratch[2], scratch[3], scratch[4])
        length = norm(point)
        slope = (1.0 / length - height) / advance
        height = 1.0 / length
        if height >= goal * (1.0 - 1e-14) or slope <= 0.0:
            break
    for i in range(x.size):
        x[i] = point[i] * (limit / length)


@register_jitable
def eigen(matrix: Any, values: Any, vectors: Any) -> None:
    """Eigenvalues and eigenvectors (columns) of a symmetric matrix, destroyed, by Jacobi."""
    dim = matrix.shape[0]
    for i in range(dim):
        for j in range(dim):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(60):
        rotated = False
        for p in range(dim - 1):
            for q in range(p + 1, dim):
                if abs(matrix[p, q]) > 1e-16 * math.sqrt(abs(matrix[p, p] * matrix[q, q])):
                    rotate(matrix, vectors, p, q)
                    rotated = True
        if not rotated:
            break
    for i in range(dim):
        values[i] = matrix[i, i]


@register_jitable
def rotate(matrix: Any, vectors: Any, p: int, q: int) -> None:
    """One Jacobi rotation: make matrix[p, q] zero."""
    dim = matrix.shape[0]
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


@register_jitable
def select_rank(values: Any, start: int, stop: int, rank: int) -> float:
    """The element of this rank of values[start:stop] (which is reordered), by quickselect."""
    low, high, wanted = start, stop - 1, start + rank
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return values[wanted]


@register_jitable
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
