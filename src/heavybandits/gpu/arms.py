"""Divide the arms among a team: lane l computes the arms l, l + lanes, l + 2 lanes, ...

The lanes share arms that never change, and all arms of a team of several warps: one column of the
buffer per arm. Otherwise each lane keeps its own arms in registers, and its buffer has columns for
these arms only (own_arms.py). The code reads only the size of `penalty`, which is the number of
arms. It reads the first number of `synced`, and the size of `synced`, which is the number of
columns of the CPU's buffer. Sums run in the CPU's order.
"""

import math
from typing import Any

import numpy as np
from numba import cuda

from ..core.arm_buffer import (
    best_score,
    entries,
    follow,
    load_rows,
    measure_again,
    measure_all,
    pick,
    take,
)
from ..core.confidence_region import has_strayed, last_step, update_count
from ..core.jit import jitable
from ..core.linalg import combine, squares
from ..core.rng import uniform
from ..parts.arms.finite import draw_features
from . import own_arms
from .layout import WARP
from .rng import further
from .team import Shared, lane, maximum, members, opaque, sync, twin, value_of, writable


def in_common(buffer: Any) -> bool:
    """Return True if the lanes of a team share a buffer of this type."""
    return isinstance(buffer[0], Shared)


@twin(entries)
def _(lanes, buffer):
    return lambda buffer: buffer.features.shape[0] * buffer.synced.size


@twin(draw_features, alone=True)
def _(lanes, buffer, key, start, low):
    if not lanes:
        return draw_alone
    if not in_common(buffer):
        return own_arms.draw(lanes)

    if lanes > WARP:
        return draw_by_entries(lanes)

    def draw(buffer, key, start, low):
        features, columns = writable(buffer.features), buffer.synced.size
        # Without `opaque` the lanes would draw the numbers even where they are not used.
        first = further(opaque(key), start)
        sync(lanes)
        k = lane(lanes)
        while k < features.shape[1]:
            own_arms.draw_arm(features, k, further(first, k), columns, low)
            k += lanes
        sync(lanes)
        buffer.synced[0] = -1

    return draw


def draw_by_entries(lanes: int) -> Any:
    """Make `draw_features` for a team of several warps, whose lanes divide the entries of all arms.

    Such a team usually has more lanes than there are arms.
    """

    def draw(buffer, key, start, low):
        features, columns = writable(buffer.features), buffer.synced.size
        scales, (dim, size) = writable(buffer.squares), features.shape
        first, down, right = further(key, start), lanes // size, lanes % size
        sync(lanes)
        i, k = lane(lanes) // size, lane(lanes) % size
        while i < dim:
            features[i, k] = low + (1.0 - low) * uniform(first, i * columns + k)
            i, k = i + down, k + right
            if k >= size:
                i, k = i + 1, k - size
        sync(lanes)
        k = lane(lanes)
        while k < size:
            square = 0.0
            for i in range(dim):
                square += features[i, k] * features[i, k]
            scales[k] = 1.0 / math.sqrt(square)
            k += lanes
        sync(lanes)
        i, k = lane(lanes) // size, lane(lanes) % size
        while i < dim:
            features[i, k] *= scales[k]
            i, k = i + down, k + right
            if k >= size:
                i, k = i + 1, k - size
        sync(lanes)
        buffer.synced[0] = -1

    return draw


def draw_alone(buffer, key, start, low):
    """Draw the CPU's features into a buffer whose rows are far apart, one arm after another."""
    columns = buffer.features.shape[1]
    for k in range(columns):
        own_arms.draw_arm(buffer.features, k, further(key, start + k), columns, low)
    buffer.synced[0] = -1


@twin(load_rows)
def _(lanes, buffer, rows):
    def load(buffer, rows):
        features = writable(buffer.features)
        sync(lanes)
        k = lane(lanes)
        while k < rows.shape[0]:
            for i in range(rows.shape[1]):
                features[i, k] = rows[k, i]
            k += lanes
        sync(lanes)
        buffer.synced[0] = -1

    return load if in_common(buffer) else own_arms.load(lanes)


@jitable
def product(rows: Any, weights: Any, k: int) -> float:
    """Return entry k of the result of `combine`."""
    odd = weights.size % 2
    value = weights[0] * rows[0, k]
    if odd == 0:
        value += weights[1] * rows[1, k]
    for i in range(2 - odd, weights.size, 2):
        value += weights[i] * rows[i, k] + weights[i + 1] * rows[i + 1, k]
    return value


@twin(best_score)
def _(lanes, buffer, theta):
    def best(buffer, theta):
        most, k = -math.inf, lane(lanes)
        while k < buffer.penalty.size:
            most = max(most, product(buffer.features, theta, k))
            k += lanes
        return maximum(most, lanes)

    return best if in_common(buffer) else own_arms.best(lanes)


@twin(take)
def _(lanes, buffer, arm):
    def copy(buffer, arm):
        chosen = writable(buffer.chosen)
        sync(lanes)
        i = lane(lanes)
        while i < chosen.size:
            chosen[i] = buffer.features[i, arm]
            i += lanes
        sync(lanes)

    return copy if in_common(buffer) else own_arms.copy(lanes)


@jitable
def lowest(arm: int, lanes: int) -> Any:
    """Return the lowest of the arms that the lanes of a team pass.

    The lanes do not vote, because teams of one warp with different votes would diverge.
    """
    if lanes > WARP:
        return np.int64(-maximum(-np.float64(arm), lanes))
    found, offset = np.int32(arm), lanes // 2
    while offset > 0:
        found = min(found, cuda.shfl_xor_sync(members(lanes), found, offset))
        offset //= 2
    return np.int64(found)


@twin(pick)
def _(lanes, buffer, width):
    optimistic = find_in_common(lanes) if in_common(buffer) else own_arms.find(lanes)
    optimistic = jitable(optimistic)

    def choose(buffer, width):
        """Return the first arm with the largest index, and copy it into buffer.chosen.

        If every index is NaN, each lane passes its first arm, so the result is arm 0 as on the CPU.
        """
        best, mine = optimistic(buffer, width)
        arm = lowest(mine if best == maximum(best, lanes) else buffer.penalty.size, lanes)
        take(buffer, arm)
        return arm

    return choose


def find_in_common(lanes: int) -> Any:
    def find(buffer, width):
        """Return the largest index of this lane's arms, and the number of that arm."""
        best, arm, k = -math.inf, lane(lanes), lane(lanes)
        while k < buffer.penalty.size:
            index = buffer.scores[k] + width * math.sqrt(max(buffer.squares[k], 0.0))
            if index > best:
                best, arm = index, k
            k += lanes
        return best, arm

    return find


@twin(follow)
def _(lanes, buffer, region):
    def follow_in_common(buffer, region):
        updates, (shrink, step) = update_count(region), last_step(region)
        if buffer.synced[0] == updates - 1 and shrink > 0.0:
            advance(buffer, region.direction, (shrink, step), lanes)
            if has_strayed(region):
                combine(buffer.features, region.centre, buffer.scores)
        elif buffer.synced[0] != updates:
            measure_all(buffer, region)
        buffer.synced[0] = updates

    return follow_in_common if in_common(buffer) else None


@jitable
def advance(buffer: Any, direction: Any, last: tuple[float, float], lanes: int) -> None:
    """Update the squares and scores of all arms after one update of the region."""
    measured, scores, k = writable(buffer.squares), writable(buffer.scores), lane(lanes)
    shrink, step = last
    while k < scores.size:
        width = product(buffer.features, direction, k)
        measured[k] -= shrink * width * width
        scores[k] -= step * width
        k += lanes


@twin(measure_again)
def _(lanes, buffer, region):
    return lambda buffer, region: measure_all(buffer, region)


@twin(combine)
def _(lanes, rows, weights, out):
    if isinstance(out, Shared):
        return image_of(lanes)
    return None if isinstance(rows, Shared) else own_arms.combine_rows


def image_of(lanes: int) -> Any:
    """Make `combine` for a shared `out`, as in V^-1 x.

    A lane computes two columns at the same time, so that neither sum waits for the other.
    """
    if lanes > WARP:
        return image_by_columns(lanes)

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


def image_by_columns(lanes: int) -> Any:
    """Make `combine` for a team of several warps, in which a lane computes one column at a time.

    Such a team usually has a lane for every column.
    """

    def image(rows, weights, out):
        out, k = writable(out), lane(lanes)
        sync(lanes)
        while k < out.size:
            out[k] = product(rows, weights, k)
            k += lanes
        sync(lanes)

    return image


@twin(squares)
def _(lanes, features, matrix, out, above, below):
    if lanes > WARP and isinstance(features, Shared):
        return squares_by_rows(lanes)

    def measure(features, matrix, out, above, below):
        out, k = writable(out), lane(lanes)
        while k < out.size:
            out[k] = square_of(features, matrix, k)
            k += lanes

    return measure if isinstance(features, Shared) else own_arms.squares_of_rows


@jitable
def square_of(features: Any, matrix: Any, k: int) -> float:
    """Return ||x_k||_M^2, computed in the CPU's blocks of two rows by four columns."""
    dim, total = features.shape[0], 0.0
    for i in range(0, dim - 1, 2):
        above = 0.5 * matrix[i, i] * features[i, k]
        below = 0.5 * matrix[i + 1, i + 1] * features[i + 1, k] + matrix[i + 1, i] * features[i, k]
        for j in range(0, i - 3, 4):
            p, q, r, s = features[j, k], features[j + 1, k], features[j + 2, k], features[j + 3, k]
            above += (matrix[i, j] * p + matrix[i, j + 1] * q) + (
                matrix[i, j + 2] * r + matrix[i, j + 3] * s
            )
            below += (matrix[i + 1, j] * p + matrix[i + 1, j + 1] * q) + (
                matrix[i + 1, j + 2] * r + matrix[i + 1, j + 3] * s
            )
        if i % 4 == 2:
            p, q = features[i - 2, k], features[i - 1, k]
            above += matrix[i, i - 2] * p + matrix[i, i - 1] * q
            below += matrix[i + 1, i - 2] * p + matrix[i + 1, i - 1] * q
        total += features[i, k] * above + features[i + 1, k] * below
    if dim % 2 == 1:
        for j in range(dim):
            across = matrix[dim - 1, j] if j < dim - 1 else 0.5 * matrix[dim - 1, dim - 1]
            total += across * features[j, k] * features[dim - 1, k]
    return 2.0 * total


def squares_by_rows(lanes: int) -> Any:
    """Make `squares` for a team of several warps: some lanes of a warp divide the rows of an arm.

    A lane computes four rows of M at a time. The lanes add these results in the CPU's order.
    """

    def measure(features, matrix, out, above, below):
        out, (dim, size) = writable(out), features.shape
        share = WARP
        while share > 1 and lanes < size * share:
            share //= 2
        mine, first = lane(lanes) & (share - 1), lane(WARP) & (WARP - share)
        for start in range(0, size, lanes // share):
            # False for a warp that has no arms.
            if start + (lane(lanes) - lane(WARP)) // share < size:
                arm = start + lane(lanes) // share
                k, total = min(arm, size - 1), 0.0
                for block in range(0, dim - 1, 4 * share):
                    one, other = four_rows(features, matrix, block + 4 * mine, k)
                    for place in range(share):
                        i = block + 4 * place
                        upper, lower = value_of(one, first + place), value_of(other, first + place)
                        if i + 1 < dim:
                            total += upper
                        if i + 3 < dim:
                            total += lower
                if dim % 2 == 1:
                    last = dim - 1
                    for j in range(dim):
                        across = matrix[last, j] if j < last else 0.5 * matrix[last, last]
                        total += across * features[j, k] * features[last, k]
                if arm < size and mine == 0:
                    out[arm] = 2.0 * total
        sync(lanes)

    return measure


@jitable
def four_rows(features: Any, matrix: Any, i: int, k: int) -> tuple[float, float]:
    """Return what rows i and i + 1 add to half of ||x_k||_M^2, and what rows i + 2 and i + 3 add.

    In the place of a row that does not exist, the function reads the last row.
    """
    last = features.shape[0] - 1
    a, b, c, d = min(i, last), min(i + 1, last), min(i + 2, last), min(i + 3, last)
    first = 0.5 * matrix[a, a] * features[a, k]
    second = 0.5 * matrix[b, b] * features[b, k] + matrix[b, a] * features[a, k]
    third = 0.5 * matrix[c, c] * features[c, k]
    fourth = 0.5 * matrix[d, d] * features[d, k] + matrix[d, c] * features[c, k]
    for j in range(0, min(i, last) - 3, 4):
        p, q, r, s = features[j, k], features[j + 1, k], features[j + 2, k], features[j + 3, k]
        first += (matrix[a, j] * p + matrix[a, j + 1] * q) + (
            matrix[a, j + 2] * r + matrix[a, j + 3] * s
        )
        second += (matrix[b, j] * p + matrix[b, j + 1] * q) + (
            matrix[b, j + 2] * r + matrix[b, j + 3] * s
        )
        third += (matrix[c, j] * p + matrix[c, j + 1] * q) + (
            matrix[c, j + 2] * r + matrix[c, j + 3] * s
        )
        fourth += (matrix[d, j] * p + matrix[d, j + 1] * q) + (
            matrix[d, j + 2] * r + matrix[d, j + 3] * s
        )
    p, q = features[a, k], features[b, k]
    third += matrix[c, a] * p + matrix[c, b] * q
    fourth += matrix[d, a] * p + matrix[d, b] * q
    upper = p * first + q * second
    return upper, features[c, k] * third + features[d, k] * fourth
