"""Arms of a team: lane l owns the arms l, l + lanes, l + 2 lanes, ...

A view has columns for a lane's own arms alone, and `chosen` in common; `synced`, of which only the
first number counts, is as long as the CPU's view is wide, and `penalty`, of which none does, has
the size of the arm set. Sums run in the CPU's order.
"""

import math
from typing import Any

import numpy as np
from numba import cuda

from ..arms.finite import draw_features
from ..engine.blocked import combine, squares
from ..engine.jitable import jitable
from ..engine.streams import uniform
from ..engine.views import best_score, entries, load_rows, measure_all, measure_anew, pick, take
from .streams import further
from .teams import Shared, lane, maximum, members, opaque, sync, twin, writable


@twin(entries)
def _(lanes, view):
    return lambda view: view.features.shape[0] * view.synced.size


@twin(draw_features, alone=True)
def _(lanes, view, key, start, low):
    if not lanes:
        return draw_alone

    def draw_own(view, key, start, low):
        dim, own = view.features.shape
        columns = view.synced.size
        first = further(opaque(key), start + lane(lanes))  # else drawn even where it is not used
        for k in range(own):
            square = 0.0
            for i in range(dim):
                value = low + (1.0 - low) * uniform(first, i * columns + k * lanes)
                view.features[i, k] = value
                square += value * value
            scale = 1.0 / math.sqrt(square)
            for i in range(dim):
                view.features[i, k] *= scale
        view.synced[0] = -1

    return draw_own


def draw_alone(view, key, start, low):
    """That of the CPU for a view whose rows lie far apart."""
    dim, columns = view.features.shape
    for k in range(columns):
        square = 0.0
        for i in range(dim):
            value = low + (1.0 - low) * uniform(key, start + i * columns + k)
            view.features[i, k] = value
            square += value * value
        scale = 1.0 / math.sqrt(square)
        for i in range(dim):
            view.features[i, k] *= scale
    view.synced[0] = -1


@twin(load_rows)
def _(lanes, view, rows):
    def load(view, rows):
        dim, own = view.features.shape
        for k in range(own):
            arm = k * lanes + lane(lanes)
            for i in range(dim):
                view.features[i, k] = rows[arm, i] if arm < rows.shape[0] else 0.0
        view.synced[0] = -1

    return load


@twin(best_score)
def _(lanes, view, theta):
    def best(view, theta):
        combine(view.features, theta, view.widths)
        most = -math.inf
        for k in range(view.widths.size):
            if k * lanes + lane(lanes) < view.penalty.size:
                most = max(most, view.widths[k])
        return maximum(most, lanes)

    return best


@twin(take)
def _(lanes, view, arm):
    def copy(view, arm):
        chosen = writable(view.chosen)
        sync(lanes)
        for k in range(view.widths.size):
            if k * lanes + lane(lanes) == arm:
                for i in range(view.features.shape[0]):
                    chosen[i] = view.features[i, k]
        sync(lanes)

    return copy


@jitable
def lowest(arm: int, lanes: int) -> Any:
    """The lowest arm that a lane names. No vote: teams whose votes differ would go apart."""
    found, offset = np.int32(arm), lanes // 2
    while offset > 0:
        found = min(found, cuda.shfl_xor_sync(members(lanes), found, offset))
        offset //= 2
    return np.int64(found)


@twin(pick)
def _(lanes, view, width):
    def choose(view, width):
        best, own = -math.inf, 0
        for k in range(view.scores.size):
            bonus = width * math.sqrt(max(view.squares[k], 0.0))
            index = view.scores[k] + bonus
            if index > best and k * lanes + lane(lanes) < view.penalty.size:
                best, own = index, k
        none = view.scores.size * lanes
        mine = own * lanes + lane(lanes) if best == maximum(best, lanes) else none
        arm = lowest(mine, lanes)
        take(view, arm)
        return arm

    return choose


@twin(measure_anew)
def _(lanes, view, region):
    return lambda view, region: measure_all(view, region)


@twin(combine)
def _(lanes, rows, weights, out):
    if isinstance(out, Shared):
        return image_of(lanes)
    if isinstance(rows, Shared):
        return None  # each lane has a result of its own

    def own_arms(rows, weights, out):
        """The CPU's pairs of rows, over as many rows as are known when this is compiled."""
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

    return own_arms


def image_of(lanes: int) -> Any:
    """combine(V^-1, x, out) = V^-1 x: two rows of a lane at once, so that neither waits."""

    def image(rows, weights, out):
        out, last = writable(out), out.size - 1
        odd = weights.size % 2
        sync(lanes)
        for start in range(0, out.size, 2 * lanes):
            i, j = start + lane(lanes), start + lanes + lane(lanes)
            one, other = min(i, last), min(j, last)
            first, second = weights[0] * rows[0, one], weights[0] * rows[0, other]
            if odd == 0:
                first += weights[1] * rows[1, one]
                second += weights[1] * rows[1, other]
            for m in range(2 - odd, weights.size, 2):
                first += weights[m] * rows[m, one] + weights[m + 1] * rows[m + 1, one]
                second += weights[m] * rows[m, other] + weights[m + 1] * rows[m + 1, other]
            if i <= last:
                out[i] = first
            if j <= last:
                out[j] = second
        sync(lanes)

    return image


@twin(squares)
def _(lanes, features, matrix, out, above, below):
    def own_arms(features, matrix, out, above, below):
        """The CPU's blocks of two rows by four columns."""
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

    return own_arms
