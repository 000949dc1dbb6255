"""Finite arm sets: drawn at random, or given."""

import math
from typing import Annotated, NamedTuple

from ..._utils.validation import LARGEST_FEATURE, Count, Features, Interval
from ...core.arm_buffer import (
    ArmBuffer,
    best_score,
    entries,
    follow,
    load_rows,
    make_arm_buffer,
    mark_stale,
    measure_all,
    pick,
)
from ...core.arrays import Floats, Key
from ...core.confidence_region import Region
from ...core.jit import vectorised
from ...core.protocols import Redraw
from ...core.rng import uniform

Low = Annotated[float, Interval(-LARGEST_FEATURE, 1.0)]


@vectorised
def draw_features(buffer: ArmBuffer, key: Key, start: int, low: float) -> None:
    """Components uniform on [low, 1], each arm scaled to length one."""
    dim, columns = buffer.features.shape
    flat = buffer.features.reshape(dim * columns)
    for i in range(flat.size):
        flat[i] = low + (1.0 - low) * uniform(key, start + i)
    for k in range(columns):
        buffer.widths[k] = 0.0
    for i in range(dim):
        for k in range(columns):
            buffer.widths[k] += buffer.features[i, k] * buffer.features[i, k]
    for k in range(columns):
        buffer.widths[k] = 1.0 / math.sqrt(buffer.widths[k])
    for i in range(dim):
        for k in range(columns):
            buffer.features[i, k] *= buffer.widths[k]
    mark_stale(buffer)


class PerRound(NamedTuple):
    """A new random set at every play: `size` unit vectors, uniform on [low, 1]^d before scaling.

    Policies that play an arm several times per decision cannot play it.

    >>> PerRound(20, 10).redraw
    'round'
    """

    size: Count
    dim: Count
    low: Low = 0.0

    @property
    def redraw(self) -> Redraw:
        return "round"

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(self.dim, self.size)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        draw_features(buffer, key, play * entries(buffer), self.low)
        return True

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        measure_all(buffer, region)
        return pick(buffer, width)


class PerDecision(NamedTuple):
    """A new random set at every decision, kept while the policy plays its arm several times.

    A policy with one play a decision meets the very sets of `PerRound`.

    >>> PerDecision(20, 10).redraw
    'decision'
    """

    size: Count
    dim: Count
    low: Low = 0.0

    @property
    def redraw(self) -> Redraw:
        return "decision"

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(self.dim, self.size)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        draw_features(buffer, key, play * entries(buffer), self.low)
        return True

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        measure_all(buffer, region)
        return pick(buffer, width)


class Fixed(NamedTuple):
    """One random set, drawn at the first play and kept.

    The widths of a fixed set are kept up to date in O(Kd) a round instead of O(Kd^2).

    >>> Fixed(20, 10).redraw
    'never'
    """

    size: Count
    dim: Count
    low: Low = 0.0

    @property
    def redraw(self) -> Redraw:
        return "never"

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(self.dim, self.size)

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        if play == 0:
            draw_features(buffer, key, 0, self.low)
        return play == 0

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        follow(buffer, region)
        return pick(buffer, width)


class FromArray(NamedTuple):
    """A given set that stays: the rows of `features`, shape (K, d).

    >>> import numpy as np
    >>> FromArray(np.eye(3)).size, FromArray(np.eye(3)).redraw
    (3, 'never')
    """

    features: Features

    @property
    def redraw(self) -> Redraw:
        return "never"

    @property
    def dim(self) -> int:
        return int(self.features.shape[1])

    @property
    def size(self) -> int:
        return int(self.features.shape[0])

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(self.dim, self.size)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        if play == 0:
            load_rows(buffer, self.features)
        return play == 0

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        follow(buffer, region)
        return pick(buffer, width)


class Rows(NamedTuple):
    """Arms that the caller puts into the buffer: up to `size` rows of features per decision.

    `Agent.select`, `evaluate` and `replay` use it for the features they are given. It draws nothing
    itself, so `simulate` rejects it: use `FromArray` for one array that stays the same.

    >>> Rows(20, 10).redraw
    'decision'
    """

    size: Count
    dim: Count

    @property
    def redraw(self) -> Redraw:
        return "decision"

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(self.dim, self.size)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        """Leave the rows as they are: the caller has filled the buffer with `fill_rows`."""
        return True

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        measure_all(buffer, region)
        return pick(buffer, width)
