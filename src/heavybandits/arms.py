"""Arm sets: the arms on offer at a play, and the exact optimistic arm among them."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from .linalg import scores, squares
from .regions import REPAIR_EVERY, SHRINK, UPDATES
from .streams import uniform

STATIC, FROZEN, FRESH = "static", "frozen", "fresh"


class View(NamedTuple):
    """What is on offer now, and scratch for the choice. Arms are the columns of `features`."""

    features: Any
    scores: Any
    squares: Any
    widths: Any
    penalty: Any  # 0 for an arm on offer, infinite for a masked one
    chosen: Any
    synced: Any  # the number of updates `squares` is right for, -1 for none


def make_view(dim: int, size: int) -> View:
    """An empty view of `size` arms."""
    return View(
        features=np.zeros((dim, size)),
        scores=np.zeros(size),
        squares=np.zeros(size),
        widths=np.zeros(size),
        penalty=np.zeros(size),
        chosen=np.zeros(dim),
        synced=np.full(1, -1, np.int64),
    )


@register_jitable
def draw_features(view: Any, key: Any, start: int, low: float) -> None:
    """Components uniform on [low, 1], each arm scaled to length one."""
    dim, size = view.features.shape
    for k in range(size):
        view.widths[k] = 0.0
    for i in range(dim):
        for k in range(size):
            component = low + (1.0 - low) * uniform(key, start + i * size + k)
            view.features[i, k] = component
            view.widths[k] += component * component
    for k in range(size):
        view.widths[k] = 1.0 / math.sqrt(view.widths[k])
    for i in range(dim):
        for k in range(size):
            view.features[i, k] *= view.widths[k]
    view.synced[0] = -1


@register_jitable
def take(view: Any, arm: int) -> None:
    """Copy the features of an arm into view.chosen."""
    for i in range(view.chosen.size):
        view.chosen[i] = view.features[i, arm]


@register_jitable
def best_score(view: Any, theta: Any) -> float:
    """The largest x.theta among the columns."""
    scores(view.features, theta, view.scores)
    best = view.scores[0]
    for k in range(1, view.scores.size):
        best = max(best, view.scores[k])
    return best


@register_jitable
def pick(view: Any, region: Any, width: float) -> int:
    """Lowest arm of the largest x.centre + width ||x||_{V^-1}, view.squares being up to date."""
    scores(view.features, region.centre, view.scores)
    for k in range(view.scores.size):
        view.widths[k] = width * math.sqrt(max(view.squares[k], 0.0))
    arm = 0
    best = -math.inf
    for k in range(view.scores.size):
        index = view.scores[k] + view.widths[k] - view.penalty[k]
        if index > best:
            best = index
            arm = k
    take(view, arm)
    return arm


@register_jitable
def follow(view: Any, region: Any) -> None:
    """Bring view.squares up to the region: O(Kd) after one rank-one step, else from scratch."""
    updates = region.counts[UPDATES]
    if view.synced[0] == updates:
        return
    if view.synced[0] == updates - 1 and updates % REPAIR_EVERY != 0:
        scores(view.features, region.direction, view.scores)
        shrink = region.numbers[SHRINK]
        for k in range(view.squares.size):
            view.squares[k] -= shrink * view.scores[k] * view.scores[k]
    else:
        squares(view.features, region.inverse, view.squares, view.scores)
    view.synced[0] = updates


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

    def refresh(self, view: Any, key: Any, play: int) -> None:
        draw_features(view, key, play * self.size * self.dim, self.low)

    def top(self, view: Any, theta: Any) -> float:
        return best_score(view, theta)

    def maximise(self, view: Any, region: Any, width: float) -> int:
        squares(view.features, region.inverse, view.squares, view.scores)
        return pick(view, region, width)


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

    def refresh(self, view: Any, key: Any, play: int) -> None:
        if play == 0:
            draw_features(view, key, 0, self.low)

    def maximise(self, view: Any, region: Any, width: float) -> int:
        follow(view, region)
        return pick(view, region, width)


class GivenArms(NamedTuple):
    """A fixed set that you name: the rows of `features`, shape (K, d).

    >>> GivenArms(np.eye(3)).view().features.shape
    (3, 3)
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

    def refresh(self, view: Any, key: Any, play: int) -> None:
        if play == 0:
            for k in range(self.features.shape[0]):
                for i in range(self.features.shape[1]):
                    view.features[i, k] = self.features[k, i]
            view.synced[0] = -1

    def top(self, view: Any, theta: Any) -> float:
        return best_score(view, theta)

    def maximise(self, view: Any, region: Any, width: float) -> int:
        follow(view, region)
        return pick(view, region, width)
