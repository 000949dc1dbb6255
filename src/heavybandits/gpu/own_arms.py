"""Compute with arms that change with every decision.

A lane keeps its own arms in registers and drops them after the decision. Its buffer has columns for
these arms only (see arms.py).
"""

import math
from typing import Any

from ..core.jit import jitable
from ..core.linalg import combine
from ..core.rng import uniform
from .rng import further
from .team import lane, maximum, opaque, sync, writable


@jitable
def draw_arm(features: Any, k: int, key: Any, columns: int, low: float) -> None:
    """Draw column k, from every `columns`-th number of the stream."""
    square = 0.0
    for i in range(features.shape[0]):
        value = low + (1.0 - low) * uniform(key, i * columns)
        features[i, k] = value
        square += value * value
    scale = 1.0 / math.sqrt(square)
    for i in range(features.shape[0]):
        features[i, k] *= scale


def draw(lanes: int) -> Any:
    def draw(buffer, key, start, low):
        features, columns = buffer.features, buffer.synced.size
        # Without `opaque` the lane would draw the numbers even where they are not used.
        first = further(opaque(key), start + lane(lanes))
        for k in range(features.shape[1]):
            draw_arm(features, k, further(first, k * lanes), columns, low)
        buffer.synced[0] = -1

    return draw


def load(lanes: int) -> Any:
    def load(buffer, rows):
        dim, own = buffer.features.shape
        for k in range(own):
            arm = k * lanes + lane(lanes)
            for i in range(dim):
                buffer.features[i, k] = rows[arm, i] if arm < rows.shape[0] else 0.0
        buffer.synced[0] = -1

    return load


def best(lanes: int) -> Any:
    def best(buffer, theta):
        combine(buffer.features, theta, buffer.widths)
        most = -math.inf
        for k in range(buffer.widths.size):
            if k * lanes + lane(lanes) < buffer.penalty.size:
                most = max(most, buffer.widths[k])
        return maximum(most, lanes)

    return best


def copy(lanes: int) -> Any:
    def copy(buffer, arm):
        chosen = writable(buffer.chosen)
        sync(lanes)
        for k in range(buffer.widths.size):
            if k * lanes + lane(lanes) == arm:
                for i in range(buffer.features.shape[0]):
                    chosen[i] = buffer.features[i, k]
        sync(lanes)

    return copy


def find(lanes: int) -> Any:
    def find(buffer, width):
        """Return the largest index of this lane's arms, and the number of that arm."""
        best, column = -math.inf, 0
        for k in range(buffer.scores.size):
            bonus = width * math.sqrt(max(buffer.squares[k], 0.0))
            index = buffer.scores[k] + bonus
            if index > best and k * lanes + lane(lanes) < buffer.penalty.size:
                best, column = index, k
        return best, column * lanes + lane(lanes)

    return find


def combine_rows(rows, weights, out):
    """Do what `combine` does, in the CPU's pairs of rows."""
    dim = rows.shape[0]
    odd = dim % 2
    for k in range(out.size):
        out[k] = weights[0] * rows[0, k]
    if odd == 0:
        for k in range(out.size):
            out[k] += weights[1] * rows[1, k]
    for i in range(2 - odd, dim, 2):
        for k in range(out.size):
            out[k] += weights[i] * rows[i, k] + weights[i + 1] * rows[i + 1, k]


def squares_of_rows(features, matrix, out, above, below):
    """Do what `squares` does, in the CPU's blocks of two rows by four columns.

    The loops over arms are innermost, so an entry of the matrix that is loaded serves all arms.
    """
    dim, own = features.shape
    for k in range(own):
        out[k] = 0.0
    for i in range(0, dim - 1, 2):
        first, second, across = 0.5 * matrix[i, i], 0.5 * matrix[i + 1, i + 1], matrix[i + 1, i]
        for k in range(own):
            above[k] = first * features[i, k]
            below[k] = second * features[i + 1, k] + across * features[i, k]
        for j in range(0, i - 3, 4):
            for k in range(own):
                p, q = features[j, k], features[j + 1, k]
                r, s = features[j + 2, k], features[j + 3, k]
                above[k] += (matrix[i, j] * p + matrix[i, j + 1] * q) + (
                    matrix[i, j + 2] * r + matrix[i, j + 3] * s
                )
                below[k] += (matrix[i + 1, j] * p + matrix[i + 1, j + 1] * q) + (
                    matrix[i + 1, j + 2] * r + matrix[i + 1, j + 3] * s
                )
        if i % 4 == 2:
            for k in range(own):
                p, q = features[i - 2, k], features[i - 1, k]
                above[k] += matrix[i, i - 2] * p + matrix[i, i - 1] * q
                below[k] += matrix[i + 1, i - 2] * p + matrix[i + 1, i - 1] * q
        for k in range(own):
            out[k] += features[i, k] * above[k] + features[i + 1, k] * below[k]
    if dim % 2 == 1:
        for j in range(dim):
            across = matrix[dim - 1, j] if j < dim - 1 else 0.5 * matrix[dim - 1, dim - 1]
            for k in range(own):
                out[k] += across * features[j, k] * features[dim - 1, k]
    for k in range(own):
        out[k] = 2.0 * out[k]
