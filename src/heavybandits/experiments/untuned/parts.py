"""Parts of this study: arms with one context or a constant feature, and a drift of the effects."""

import math
from typing import NamedTuple

from ..._utils.validation import Count
from ...core.arm_buffer import (
    ArmBuffer,
    best_score,
    entries,
    make_arm_buffer,
    mark_stale,
    measure_all,
    pick,
)
from ...core.arrays import Floats, Key
from ...core.confidence_region import Region
from ...core.protocols import Redraw
from ...core.rng import uniform


class ShopArms(NamedTuple):
    """`size` arms, new at every play, or always the same if `still`.

    With `blocks`, the features of an arm are one context, the same for all arms, in a block of its
    own. Without, each arm has a constant feature and others that are uniform with variance 1/d.
    """

    size: Count
    dim: Count
    blocks: bool
    still: bool

    @property
    def redraw(self) -> Redraw:
        return "never" if self.still else "round"

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(self.dim, self.size)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        if self.still and play > 0:
            return False
        start, spread = play * entries(buffer), math.sqrt(12.0 / self.dim)
        width = self.dim // self.size
        for k in range(self.size):
            for i in range(self.dim):
                mine = not self.blocks or i // width == k
                place = i % width if self.blocks else i
                draw = start + (place if self.blocks else k * self.dim + i)
                value = 1.0 if place == 0 else spread * (uniform(key, draw) - 0.5)
                buffer.features[i, k] = value if mine else 0.0
        mark_stale(buffer)
        return True

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        measure_all(buffer, region)
        return pick(buffer, width)


class Reversal(NamedTuple):
    """Move effects to other features and reverse every second sign, at play `at`, from 0.

    >>> import numpy as np
    >>> theta, start = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    >>> Reversal(5).move(theta, start, np.uint64(0), 5), theta.tolist()
    (True, [3.0, -1.0, 2.0])
    """

    at: Count

    def move(self, theta: Floats, start: Floats, key: Key, play: int) -> bool:
        if play != self.at:
            return False
        shift = theta.size // 2
        for i in range(theta.size):
            sign = 1.0 if i % 2 == 0 else -1.0
            theta[i] = sign * start[i - shift]
        return True
