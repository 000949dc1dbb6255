"""Arm sets of this experiment: what a shop offers, and features with a constant among them."""

import math
from typing import NamedTuple

from ..._utils.validation import Count
from ...core.arm_buffer import View, best_score, entries, make_view, measure_all, pick
from ...core.arrays import Floats, Key
from ...core.confidence_region import Region
from ...core.rng import uniform
from ...parts.arms.finite import Changes


class Offers(NamedTuple):
    """`size` offers, new at every play, or always the same if `still`.

    With `blocks` an offer's features are one context, the same for all, in a block of its own; else
    each has features of its own, uniform with variance 1/d, beside a constant one.
    """

    size: Count
    dim: Count
    blocks: bool
    still: bool

    @property
    def changes(self) -> Changes:
        return "fixed" if self.still else "fresh"

    def view(self) -> View:
        return make_view(self.dim, self.size)

    def refresh(self, view: View, key: Key, play: int) -> bool:
        if self.still and play > 0:
            return False
        start, spread = play * entries(view), math.sqrt(12.0 / self.dim)
        width = self.dim // self.size
        for k in range(self.size):
            for i in range(self.dim):
                mine = not self.blocks or i // width == k
                place = i % width if self.blocks else i
                draw = start + (place if self.blocks else k * self.dim + i)
                value = 1.0 if place == 0 else spread * (uniform(key, draw) - 0.5)
                view.features[i, k] = value if mine else 0.0
        view.synced[0] = -1
        return True

    def top(self, view: View, theta: Floats) -> float:
        return best_score(view, theta)

    def maximise(self, view: View, region: Region, width: float) -> int:
        measure_all(view, region)
        return pick(view, width)
