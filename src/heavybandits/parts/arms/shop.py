"""The actions of a shop, as each of its visitors sees them."""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Count, Positive, Share
from ...core.arm_buffer import ArmBuffer, best_score, make_arm_buffer, mark_stale, measure_all, pick
from ...core.arrays import Floats, Key
from ...core.confidence_region import Region
from ...core.protocols import Redraw
from ...core.rng import uniform

KINDS = 4  # of products; action k is of kind k % KINDS, and kind 0 has no column
COLUMNS = 4 + 2 * (KINDS - 1)
NORM = math.sqrt(6.0)  # largest norm of an arm whose price is 1
_SHELF = np.uint64(0x2545F4914F6CDD1D)  # separates the stream of the range from that of visitors


class Storefront(NamedTuple):
    """Offer priced actions to a new visitor at every play; actions come and go.

    The features of an action are its price, multiplied by ten numbers and divided by
    sqrt(6) `highest`, so that no arm is longer than 1. The numbers are 1; 1 on a mobile device;
    the loyalty of the visitor, uniform on [0, 1]; how expensive the action is, from 0 at the lowest
    price to 1 at the highest, on a logarithmic scale; indicators of three of the four kinds of
    products; and these indicators on a mobile device. Mean rewards that are linear in them are
    price times a conversion rate, as in `hb.worlds.shop`.

    Parameters
    ----------
    size : int, default 20
        Number K of actions. Their prices are evenly spaced on a logarithmic scale.
    lowest : float, default 0.1
        Lowest price.
    highest : float, default 1.0
        Highest price.
    availability : float, default 0.8
        Probability that an action is available in a period. At least one action is.
    period : int, default 1000
        Plays after which other actions are available.

    Examples
    --------
    >>> import numpy as np
    >>> arms = Storefront(size=4)
    >>> buffer = arms.make_buffer()
    >>> arms.refresh(buffer, np.uint64(1), 0), arms.dim
    (True, 10)
    >>> (buffer.features[0, :4] * np.sqrt(6.0)).round(3).tolist()
    [0.1, 0.215, 0.464, 1.0]
    """

    size: Count = 20
    lowest: Positive = 0.1
    highest: Positive = 1.0
    availability: Share = 0.8
    period: Count = 1000

    def check(self) -> None:
        if self.lowest > self.highest:
            raise InvalidInputError(
                f"Storefront.lowest must be at most highest = {self.highest:g}, got {self.lowest:g}"
            )

    @property
    def dim(self) -> int:
        return COLUMNS

    @property
    def redraw(self) -> Redraw:
        return "round"

    def make_buffer(self) -> ArmBuffer:
        return make_arm_buffer(COLUMNS, self.size)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        x, last = buffer.features, max(self.size - 1, 1)
        if x[0, 0] == 0.0:  # prices and kinds do not depend on the visitor
            for k in range(self.size):
                dear = k / last
                price = (self.lowest / self.highest) ** (1.0 - dear) / NORM
                x[0, k], x[3, k] = price, price * dear
                if k % KINDS > 0:
                    x[3 + k % KINDS, k] = price
        mobile = 1.0 if uniform(key, 2 * play) < 0.5 else 0.0
        loyal = uniform(key, 2 * play + 1)
        shelf, first = key ^ _SHELF, (play // self.period) * (self.size + 1)
        kept = int(uniform(shelf, first + self.size) * self.size)
        for k in range(self.size):
            there = k == kept or uniform(shelf, first + k) < self.availability
            buffer.penalty[k] = 0.0 if there else math.inf
            x[1, k], x[2, k] = mobile * x[0, k], loyal * x[0, k]
        for i in range(KINDS - 1):
            for k in range(self.size):
                x[3 + KINDS + i, k] = mobile * x[4 + i, k]
        mark_stale(buffer)
        return True

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return best_score(buffer, theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        measure_all(buffer, region)
        return pick(buffer, width)
