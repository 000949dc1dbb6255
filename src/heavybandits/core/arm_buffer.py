"""The arms that are available at a play, and the exact optimistic arm among finitely many."""

import math
from typing import NamedTuple

import numpy as np

from .allocation import aligned_zeros
from .arrays import Booleans, Floats, Integers
from .confidence_region import Region, has_strayed, last_step, update_count
from .jit import jitable, outlined
from .linalg import combine, largest, squares

LANES = 8  # the columns of a buffer are a multiple of this: loops over arms leave no scalar rest


class ArmBuffer(NamedTuple):
    """Store the available arms, and scratch space for the choice.

    Arms are the columns of `features`. There are a few more columns than arms, up to a multiple of
    LANES. These columns, like masked arms, have an infinite penalty, and every maximum over arms
    leaves them out.

    Attributes
    ----------
    features : array of shape (d, columns)
        One arm per column.
    scores : array of shape (columns,)
        x.centre of every arm.
    squares : array of shape (columns,)
        ||x||^2_{V^-1} of every arm.
    widths : array of shape (columns,)
        Scratch space.
    penalty : array of shape (columns,)
        0 for an available arm, infinite for a masked arm.
    chosen : array of shape (d,)
        Features of the chosen arm.
    synced : array of int64
        Number of the update after which `scores` and `squares` were computed, -1 for none.
    """

    features: Floats
    scores: Floats
    squares: Floats
    widths: Floats
    penalty: Floats
    chosen: Floats
    synced: Integers


def make_arm_buffer(dim: int, size: int) -> ArmBuffer:
    """Make an empty buffer for `size` arms.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    size : int
        Number K of arms.

    Returns
    -------
    ArmBuffer
        A new buffer.

    Examples
    --------
    >>> buffer = make_arm_buffer(10, 20)
    >>> buffer.features.shape, int(np.isinf(buffer.penalty).sum())
    ((10, 24), 4)
    """
    columns = -(-size // LANES) * LANES
    row = (columns,)
    features, scores, squares, widths, penalty, chosen = aligned_zeros(
        (dim, columns), row, row, row, row, (dim,)
    )
    penalty[size:] = np.inf
    synced = np.full(1, -1, np.int64)
    return ArmBuffer(features, scores, squares, widths, penalty, chosen, synced)


@jitable
def entries(buffer: ArmBuffer) -> int:
    """Return the number of entries of `features`: the uniforms that a random set takes."""
    return buffer.features.size


@jitable
def mark_stale(buffer: ArmBuffer) -> None:
    """Mark that `scores` and `squares` belong to other arms or to an older state.

    Parameters
    ----------
    buffer : ArmBuffer
        The available arms.
    """
    buffer.synced[0] = -1


@jitable
def fill_rows(
    buffer: ArmBuffer, rows: Floats, mask: Booleans | None = None, order: Integers | None = None
) -> None:
    """Put rows of features into the buffer, one arm each.

    Parameters
    ----------
    buffer : ArmBuffer
        The buffer.
    rows : array of shape (n, d)
        Features.
    mask : array of n booleans, optional
        False for a row that cannot be chosen. Without it, and without `order`, the penalties of the
        arms stay as they are.
    order : array of K integers, optional
        The row that each arm shows, -1 for an arm that is missing. By default arm k is row k.

    An option that is not given costs nothing: numba removes its branch.
    """
    size = rows.shape[0]
    if order is not None:
        size = order.size
    for k in range(size):
        row = k
        if order is not None:
            row = order[k]
            buffer.penalty[k] = 0.0 if row >= 0 else math.inf
        if mask is not None:
            buffer.penalty[k] = 0.0 if row >= 0 and mask[row] else math.inf
        for i in range(rows.shape[1]):
            buffer.features[i, k] = rows[row, i] if row >= 0 else 0.0
    mark_stale(buffer)


@jitable
def fill_products(
    buffer: ArmBuffer, context: Floats, actions: Floats, mask: Booleans | None = None
) -> None:
    """Put the products of each action's features with those of the context into the buffer.

    Entry i p + j of arm k is actions[k, i] context[j], where p is the size of the context. No array
    of all products is needed, which for a long log would not fit into memory. `mask` is that of
    `fill_rows`.
    """
    for k in range(actions.shape[0]):
        if mask is not None:
            buffer.penalty[k] = 0.0 if mask[k] else math.inf
        place = 0
        for i in range(actions.shape[1]):
            for j in range(context.size):
                buffer.features[place, k] = actions[k, i] * context[j]
                place += 1
    mark_stale(buffer)


@jitable
def load_rows(buffer: ArmBuffer, rows: Floats) -> None:
    """Put the rows of an array into the buffer, all of them and in their order.

    Parameters
    ----------
    buffer : ArmBuffer
        Receives the arms.
    rows : array of shape (K, d)
        One arm per row.
    """
    fill_rows(buffer, rows)


@jitable
def take(buffer: ArmBuffer, arm: int) -> None:
    """Copy the features of an arm into buffer.chosen.

    Parameters
    ----------
    buffer : ArmBuffer
        The available arms.
    arm : int
        Number of the arm.
    """
    for i in range(buffer.chosen.size):
        buffer.chosen[i] = buffer.features[i, arm]


@jitable
def best_score(buffer: ArmBuffer, theta: Floats) -> float:
    """Return the largest x.theta of the available arms.

    Parameters
    ----------
    buffer : ArmBuffer
        The available arms.
    theta : array of shape (d,)
        The parameter.

    Returns
    -------
    float
        The largest x.theta.
    """
    combine(buffer.features, theta, buffer.widths)
    for k in range(buffer.widths.size):
        buffer.widths[k] -= buffer.penalty[k]
    return largest(buffer.widths)


@jitable
def measure_all(buffer: ArmBuffer, region: Region) -> None:
    """Compute x.centre and ||x||^2_{V^-1} of every arm. O(K d^2).

    Parameters
    ----------
    buffer : ArmBuffer
        The available arms; `scores` and `squares` change.
    region : Region
        The region.
    """
    squares(buffer.features, region.inverse, buffer.squares, buffer.scores, buffer.widths)
    combine(buffer.features, region.centre, buffer.scores)


@outlined
def measure_again(buffer: ArmBuffer, region: Region) -> None:
    """Call `measure_all`, in the few rounds in which arms that stay need it."""
    measure_all(buffer, region)


@jitable
def follow(buffer: ArmBuffer, region: Region) -> None:
    """Update x.centre and ||x||^2_{V^-1} of arms that stay. O(K d) after one update.

    V^-1 lost shrink (V^-1 x)(V^-1 x)^T and the centre, unless it was projected, step V^-1 x. So one
    product with V^-1 x updates all widths and scores.

    Parameters
    ----------
    buffer : ArmBuffer
        The available arms.
    region : Region
        The region after an update.
    """
    updates = update_count(region)
    if buffer.synced[0] == updates:
        return
    shrink, step = last_step(region)
    if buffer.synced[0] == updates - 1 and shrink > 0.0:
        combine(buffer.features, region.direction, buffer.widths)
        for k in range(buffer.squares.size):
            buffer.squares[k] -= shrink * buffer.widths[k] * buffer.widths[k]
            buffer.scores[k] -= step * buffer.widths[k]
        if has_strayed(region):
            combine(buffer.features, region.centre, buffer.scores)
    else:
        measure_again(buffer, region)
    buffer.synced[0] = updates


@jitable
def pick(buffer: ArmBuffer, width: float) -> int:
    """Return the arm of the largest x.centre + width ||x||_{V^-1}, and copy it into buffer.chosen.

    Of several equal arms it is the first. `scores` and `squares` must be right.

    Parameters
    ----------
    buffer : ArmBuffer
        The available arms.
    width : float
        Radius of the region.

    Returns
    -------
    int
        Number of the arm.
    """
    for k in range(buffer.scores.size):
        index = buffer.scores[k] + width * math.sqrt(max(buffer.squares[k], 0.0))
        buffer.widths[k] = index if buffer.penalty[k] == 0.0 else -math.inf
    best = largest(buffer.widths)
    arm = 0
    while buffer.widths[arm] < best:
        arm += 1
    if buffer.penalty[arm] != 0.0:  # no index is a number: the lowest available arm
        arm = 0
        while buffer.penalty[arm] != 0.0:
            arm += 1
    take(buffer, arm)
    return arm
