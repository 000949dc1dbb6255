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
    """Offer a new random set of arms at every play.

    The arms are unit vectors, uniform on [low, 1]^d before scaling. Policies with several plays per
    decision cannot play this set.

    Parameters
    ----------
    size : int
        Number K of arms.
    dim : int
        Dimension d of the arms.
    low : float, default 0.0
        Smallest feature before scaling, at most 1.

    Examples
    --------
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
    """Offer a new random set of arms at every decision.

    The set stays the same while a policy plays its arm several times. A policy with one play per
    decision meets the same sets as with `PerRound`.

    Parameters
    ----------
    size : int
        Number K of arms.
    dim : int
        Dimension d of the arms.
    low : float, default 0.0
        Smallest feature before scaling, at most 1.

    Examples
    --------
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
    """Offer one random set of arms in all rounds.

    The arms are unit vectors, uniform on [low, 1]^d before scaling. The widths of a fixed set are
    updated in O(Kd) per round instead of O(Kd^2).

    Parameters
    ----------
    size : int
        Number K of arms.
    dim : int
        Dimension d of the arms.
    low : float, default 0.0
        Smallest feature before scaling, at most 1.

    Examples
    --------
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
    """Offer the rows of an array in all rounds.

    Parameters
    ----------
    features : array of shape (K, d)
        One arm per row.

    Examples
    --------
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
    """Offer the arms that the caller puts into the buffer.

    `Agent.select`, `evaluate` and `replay` use this set for the features they are given. The set
    draws no arms itself, so `simulate` rejects it: use `FromArray` for one array that stays the
    same.

    Parameters
    ----------
    size : int
        Largest number of arms per decision.
    dim : int
        Dimension d of the arms.

    Examples
    --------
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
