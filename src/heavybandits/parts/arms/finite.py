"""Finite arm sets: drawn at random, or given."""

import math
from typing import Annotated, Literal, NamedTuple

from ..._utils.validation import LARGEST_FEATURE, Count, Features, Interval
from ...core.arm_buffer import (
    View,
    best_score,
    entries,
    follow,
    load_rows,
    make_view,
    measure_all,
    pick,
)
from ...core.arrays import Floats, Key
from ...core.confidence_region import Region
from ...core.jit import vectorised
from ...core.rng import uniform

Changes = Literal["fixed", "frozen", "fresh"]  # never, with every decision, with every play


@vectorised
def draw_features(view: View, key: Key, start: int, low: float) -> None:
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


class PerRound(NamedTuple):
    """A new random set at every play: `size` unit vectors, uniform on [low, 1]^d before scaling.

    Policies that play an arm several times a decision refuse it.

    >>> PerRound(20, 10).changes
    'fresh'
    """

    size: Count
    dim: Count
    low: Annotated[float, Interval(-LARGEST_FEATURE, 1.0)] = 0.0

    @property
    def changes(self) -> Changes:
        return "fresh"

    def view(self) -> View:
        return make_view(self.dim, self.size)

    def refresh(self, view: View, key: Key, play: int) -> bool:
        draw_features(view, key, play * entries(view), self.low)
        return True

    def top(self, view: View, theta: Floats) -> float:
        return best_score(view, theta)

    def maximise(self, view: View, region: Region, width: float) -> int:
        measure_all(view, region)
        return pick(view, width)


class PerDecision(PerRound):
    """A new random set at every decision, kept while the policy plays its arm several times.

    A policy with one play a decision meets the very sets of `PerRound`.

    >>> PerDecision(20, 10).changes
    'frozen'
    """

    __slots__ = ()

    @property
    def changes(self) -> Changes:
        return "frozen"


class Fixed(PerRound):
    """One random set for ever, drawn at the first play.

    The widths of a fixed set are kept up to date in O(Kd) a round instead of O(Kd^2).

    >>> Fixed(20, 10).changes
    'fixed'
    """

    __slots__ = ()

    @property
    def changes(self) -> Changes:
        return "fixed"

    def refresh(self, view: View, key: Key, play: int) -> bool:
        if play == 0:
            draw_features(view, key, 0, self.low)
        return play == 0

    def maximise(self, view: View, region: Region, width: float) -> int:
        follow(view, region)
        return pick(view, width)


class FromArray(NamedTuple):
    """A fixed set that you name: the rows of `features`, shape (K, d).

    >>> import numpy as np
    >>> FromArray(np.eye(3)).size, FromArray(np.eye(3)).changes
    (3, 'fixed')
    """

    features: Features

    @property
    def changes(self) -> Changes:
        return "fixed"

    @property
    def dim(self) -> int:
        return int(self.features.shape[1])

    @property
    def size(self) -> int:
        return int(self.features.shape[0])

    def view(self) -> View:
        return make_view(self.dim, self.size)

    def refresh(self, view: View, key: Key, play: int) -> bool:
        if play == 0:
            load_rows(view, self.features)
        return play == 0

    def top(self, view: View, theta: Floats) -> float:
        return best_score(view, theta)

    def maximise(self, view: View, region: Region, width: float) -> int:
        follow(view, region)
        return pick(view, width)


class Rows(NamedTuple):
    """Arms that the caller puts into the buffer: up to `size` rows of features per decision.

    `Agent.select`, `evaluate` and `replay` use it for the features they are given. It draws nothing
    itself, so `simulate` rejects it: use `FromArray` for one array that stays the same.

    >>> Rows(20, 10).changes
    'frozen'
    """

    size: Count
    dim: Count

    @property
    def changes(self) -> Changes:
        return "frozen"

    def view(self) -> View:
        return make_view(self.dim, self.size)

    def refresh(self, view: View, key: Key, play: int) -> bool:
        """Leave the rows as they are: the caller has filled the buffer with `fill_rows`."""
        return True

    def top(self, view: View, theta: Floats) -> float:
        return best_score(view, theta)

    def maximise(self, view: View, region: Region, width: float) -> int:
        measure_all(view, region)
        return pick(view, width)
