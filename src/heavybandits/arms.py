"""Arm sets: the arms on offer at a play, and the exact optimistic arm among them."""

import math
from typing import Any, NamedTuple

import numpy as np

from .jitable import jitable, outlined
from .linalg import combine, largest, squares
from .memory import carve
from .regions import REPAIR_EVERY, SHRINK, STEP, STRAYED, UPDATES
from .streams import uniform

STATIC, FROZEN, FRESH = "static", "frozen", "fresh"


LANES = 8  # columns of a view come in multiples of this: loops over arms leave no scalar rest


class View(NamedTuple):
    """What is on offer now, and scratch for the choice. Arms are the columns of `features`.

    There are a few columns more than arms, up to a multiple of LANES; like masked arms, they carry
    an infinite penalty, so whoever takes a maximum over arms subtracts the penalty first.
    """

    features: Any
    scores: Any
    squares: Any
    widths: Any
    penalty: Any  # 0 for an arm on offer, infinite for a masked one
    chosen: Any
    synced: Any  # the number of updates `scores` and `squares` are right for, -1 for none


def make_view(dim: int, size: int) -> View:
    """An empty view of `size` arms.

    >>> make_view(10, 20).features.shape, int(np.isinf(make_view(10, 20).penalty).sum())
    ((10, 24), 4)
    """
    columns = -(-size // LANES) * LANES
    row = (columns,)
    features, scores, squares, widths, penalty, chosen = carve(
        (dim, columns), row, row, row, row, (dim,)
    )
    penalty[size:] = np.inf
    synced = np.full(1, -1, np.int64)
    return View(features, scores, squares, widths, penalty, chosen, synced)


@jitable
def draw_features(view: Any, key: Any, start: int, low: float) -> None:
    """Components uniform on [low, 1], each arm scaled to length one."""
    dim, columns = view.features.shape
    flat = view.features.reshape(dim * columns)
    for i in range(flat.size):
        flat[i] = low + (1.0 - low) * uniform(key, start + i)
    for k in range(columns):
        view.widths[k] = 0.0
    for i in range(dim):
        for k in range(columns):
            view.widths[k] += view.features[i, k] * view.features[i, k]
    for k in range(columns):
        view.widths[k] = 1.0 / math.sqrt(view.widths[k])
    for i in range(dim):
        for k in range(columns):
            view.features[i, k] *= view.widths[k]
    view.synced[0] = -1


@jitable
def take(view: Any, arm: int) -> None:
    """Copy the features of an arm into view.chosen."""
    for i in range(view.chosen.size):
        view.chosen[i] = view.features[i, arm]


@jitable
def best_score(view: Any, theta: Any) -> float:
    """The largest x.theta of the arms on offer."""
    combine(view.features, theta, view.widths)
    for k in range(view.widths.size):
        view.widths[k] -= view.penalty[k]
    return largest(view.widths)


@jitable
def measure_all(view: Any, region: Any) -> None:
    """x.centre and ||x||^2_{V^-1} of every arm, from scratch: O(K d^2)."""
    squares(view.features, region.inverse, view.squares, view.scores, view.widths)
    combine(view.features, region.centre, view.scores)


@outlined
def measure_anew(view: Any, region: Any) -> None:
    """`measure_all` for the few rounds in which fixed arms need it."""
    measure_all(view, region)


@jitable
def follow(view: Any, region: Any) -> None:
    """The same for arms that were there before: O(K d) after one update.

    V^-1 lost shrink (V^-1 x)(V^-1 x)^T and the centre, unless it was projected, step V^-1 x; so one
    product with V^-1 x brings all widths and scores up to date.
    """
    updates = region.counts[UPDATES]
    if view.synced[0] == updates:
        return
    if view.synced[0] == updates - 1 and updates % REPAIR_EVERY != 0:
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
def pick(view: Any, width: float) -> int:
    """The lowest arm of the largest x.centre + width ||x||_{V^-1}; scores and squares are known."""
    for k in range(view.scores.size):
        bonus = width * math.sqrt(max(view.squares[k], 0.0))
        view.widths[k] = view.scores[k] + bonus - view.penalty[k]
    best = largest(view.widths)
    arm = 0
    while view.widths[arm] < best:
        arm += 1
    take(view, arm)
    return arm


class FreshArms(NamedTuple):
    """A new random set at every play: `size` unit vectors, uniform on [low, 1]^d before scaling.

    Policies that play an arm several times a decision refuse it.

    >>> FreshArms(20, 10).changes
    'fresh'
    """

    size: int
    dim: int
    low: float = 0.0

    @property
    def changes(self) -> str:
        return FRESH

    def view(self) -> View:
        return make_view(self.dim, self.size)

    def refresh(self, view: Any, key: Any, play: int) -> bool:
        draw_features(view, key, play * view.features.size, self.low)
        return True

    def top(self, view: Any, theta: Any) -> float:
        return best_score(view, theta)

    def maximise(self, view: Any, region: Any, width: float) -> int:
        measure_all(view, region)
        return pick(view, width)


class FrozenArms(FreshArms):
    """A new random set at every decision, kept while the policy plays its arm several times.

    A policy with one play a decision meets the very sets of `FreshArms`.

    >>> FrozenArms(20, 10).changes
    'frozen'
    """

    __slots__ = ()

    @property
    def changes(self) -> str:
        return FROZEN


class FixedArms(FreshArms):
    """One random set for ever, drawn at the first play.

    The widths of a fixed set are kept up to date in O(Kd) a round instead of O(Kd^2).

    >>> FixedArms(20, 10).changes
    'static'
    """

    __slots__ = ()

    @property
    def changes(self) -> str:
        return STATIC

    def refresh(self, view: Any, key: Any, play: int) -> bool:
        if play == 0:
            draw_features(view, key, 0, self.low)
        return play == 0

    def maximise(self, view: Any, region: Any, width: float) -> int:
        follow(view, region)
        return pick(view, width)


class GivenArms(NamedTuple):
    """A fixed set that you name: the rows of `features`, shape (K, d).

    >>> GivenArms(np.eye(3)).size, GivenArms(np.eye(3)).changes
    (3, 'static')
    """

    features: Any

    @property
    def changes(self) -> str:
        return STATIC

    @property
    def dim(self) -> int:
        return int(self.features.shape[1])

    @property
    def size(self) -> int:
        return int(self.features.shape[0])

    def view(self) -> View:
        return make_view(self.dim, self.size)

    def refresh(self, view: Any, key: Any, play: int) -> bool:
        if play == 0:
            for k in range(self.features.shape[0]):
                for i in range(self.features.shape[1]):
                    view.features[i, k] = self.features[k, i]
            view.synced[0] = -1
        return play == 0

    def top(self, view: Any, theta: Any) -> float:
        return best_score(view, theta)

    def maximise(self, view: Any, region: Any, width: float) -> int:
        follow(view, region)
        return pick(view, width)
