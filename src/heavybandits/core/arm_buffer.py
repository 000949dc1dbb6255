"""What is on offer at a play, and the exact optimistic arm among finitely many."""

import math
from typing import NamedTuple

import numpy as np

from .allocation import aligned_zeros
from .arrays import Booleans, Floats, Integers
from .blocked import combine, largest, squares
from .confidence_region import SHRINK, STEP, STRAYED, UPDATES, Region
from .jit import jitable, outlined

LANES = 8  # columns of a view come in multiples of this: loops over arms leave no scalar rest


class View(NamedTuple):
    """What is on offer now, and scratch for the choice. Arms are the columns of `features`.

    There are a few columns more than arms, up to a multiple of LANES; like masked arms, they carry
    a penalty, and whoever takes a maximum over arms leaves them out.
    """

    features: Floats
    scores: Floats
    squares: Floats
    widths: Floats
    penalty: Floats  # 0 for an arm on offer, infinite for a masked one
    chosen: Floats
    synced: Integers  # the number of updates `scores` and `squares` are right for, -1 for none


def make_view(dim: int, size: int) -> View:
    """An empty view of `size` arms.

    >>> make_view(10, 20).features.shape, int(np.isinf(make_view(10, 20).penalty).sum())
    ((10, 24), 4)
    """
    columns = -(-size // LANES) * LANES
    row = (columns,)
    features, scores, squares, widths, penalty, chosen = aligned_zeros(
        (dim, columns), row, row, row, row, (dim,)
    )
    penalty[size:] = np.inf
    synced = np.full(1, -1, np.int64)
    return View(features, scores, squares, widths, penalty, chosen, synced)


@jitable
def entries(view: View) -> int:
    """How many numbers the features of all arms are: what a new set takes from its stream."""
    return view.features.size


@jitable
def fill_rows(
    view: View, rows: Floats, mask: Booleans | None = None, order: Integers | None = None
) -> None:
    """Put rows of features into the buffer, one arm each.

    Parameters
    ----------
    view : View
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
            view.penalty[k] = 0.0 if row >= 0 else math.inf
        if mask is not None:
            view.penalty[k] = 0.0 if row >= 0 and mask[row] else math.inf
        for i in range(rows.shape[1]):
            view.features[i, k] = rows[row, i] if row >= 0 else 0.0
    view.synced[0] = -1


@jitable
def fill_products(
    view: View, context: Floats, actions: Floats, mask: Booleans | None = None
) -> None:
    """Put the products of each action's features with those of the context into the buffer.

    Entry i p + j of arm k is actions[k, i] context[j], where p is the size of the context. No array
    of all products is needed, which for a long log would not fit into memory. `mask` is that of
    `fill_rows`.
    """
    for k in range(actions.shape[0]):
        if mask is not None:
            view.penalty[k] = 0.0 if mask[k] else math.inf
        place = 0
        for i in range(actions.shape[1]):
            for j in range(context.size):
                view.features[place, k] = actions[k, i] * context[j]
                place += 1
    view.synced[0] = -1


@jitable
def load_rows(view: View, rows: Floats) -> None:
    """Put the rows of an array into the buffer, all of them and in their order."""
    fill_rows(view, rows)


@jitable
def take(view: View, arm: int) -> None:
    """Copy the features of an arm into view.chosen."""
    for i in range(view.chosen.size):
        view.chosen[i] = view.features[i, arm]


@jitable
def best_score(view: View, theta: Floats) -> float:
    """The largest x.theta of the arms on offer."""
    combine(view.features, theta, view.widths)
    for k in range(view.widths.size):
        view.widths[k] -= view.penalty[k]
    return largest(view.widths)


@jitable
def measure_all(view: View, region: Region) -> None:
    """x.centre and ||x||^2_{V^-1} of every arm, from scratch: O(K d^2)."""
    squares(view.features, region.inverse, view.squares, view.scores, view.widths)
    combine(view.features, region.centre, view.scores)


@outlined
def measure_anew(view: View, region: Region) -> None:
    """`measure_all` for the few rounds in which fixed arms need it."""
    measure_all(view, region)


@jitable
def follow(view: View, region: Region) -> None:
    """The same for arms that were there before: O(K d) after one update.

    V^-1 lost shrink (V^-1 x)(V^-1 x)^T and the centre, unless it was projected, step V^-1 x; so one
    product with V^-1 x brings all widths and scores up to date.
    """
    updates = region.counts[UPDATES]
    if view.synced[0] == updates:
        return
    if view.synced[0] == updates - 1 and region.numbers[SHRINK] > 0.0:
        combine(view.features, region.direction, view.widths)
        shrink, step = region.numbers[SHRINK], region.numbers[STEP]
        for k in range(view.squares.size):
            view.squares[k] -= shrink * view.widths[k] * view.widths[k]
            view.scores[k] -= step * view.widths[k]
        if region.numbers[STRAYED] != 0.0:
            combine(view.features, region.centre, view.scores)
    else:
        measure_anew(view, region)
    view.synced[0] = updates


@jitable
def pick(view: View, width: float) -> int:
    """The lowest arm of the largest x.centre + width ||x||_{V^-1}; scores and squares are known."""
    for k in range(view.scores.size):
        index = view.scores[k] + width * math.sqrt(max(view.squares[k], 0.0))
        view.widths[k] = index if view.penalty[k] == 0.0 else -math.inf
    best = largest(view.widths)
    arm = 0
    while view.widths[arm] < best:
        arm += 1
    if view.penalty[arm] != 0.0:  # no index is a number: the lowest arm on offer
        arm = 0
        while view.penalty[arm] != 0.0:
            arm += 1
    take(view, arm)
    return arm
