"""Hand-blocked kernels: what is loaded once serves several products.

The docstring of each is its plain formula, and the tests compute that.
"""

from .arrays import Floats
from .jit import jitable, vectorised


@jitable
def largest(values: Floats) -> float:
    """max_k values_k, for a number of values that is a multiple of four."""
    first, second, third, fourth = values[0], values[1], values[2], values[3]
    for k in range(4, values.size, 4):
        first = max(first, values[k])
        second = max(second, values[k + 1])
        third = max(third, values[k + 2])
        fourth = max(fourth, values[k + 3])
    return max(max(first, second), max(third, fourth))


@vectorised
def combine(rows: Floats, weights: Floats, out: Floats) -> None:
    """out = sum_i weights_i rows_i, two rows at a time: half the traffic through `out`.

    `out` shares no memory with the others.
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
