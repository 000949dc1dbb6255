"""Continuous arm sets: the ball, the sphere and the box."""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Count, Point, finite_array
from ...core.arm_buffer import ArmBuffer
from ...core.arrays import Floats, Key
from ...core.confidence_region import Region
from ...core.jit import jitable
from ...core.linalg import combine, dot, eigen, norm
from ...core.protocols import Redraw


def make_scratch_buffer(dim: int) -> ArmBuffer:
    """Make a buffer without arms: its arrays are scratch for the maximiser, of exactly size d."""
    scores, squares, widths, penalty, chosen = (np.zeros(dim) for _ in range(5))
    synced = np.full(1, -1, np.int64)
    return ArmBuffer(np.zeros((dim, dim)), scores, squares, widths, penalty, chosen, synced)


@jitable
def longest(buffer: ArmBuffer, region: Region, width: float) -> None:
    """Into buffer.chosen, the longest theta of {||theta - c||_V <= width}.

    In the eigenbasis of W = V^-1 (eigenvalues w) it is c_i nu / (nu - w_i), where nu > max w solves
    the secular equation sum_i c_i^2 w_i / (nu - w_i)^2 = width^2, whose left side falls in nu. The
    component along the largest w takes what the others leave of width^2, so that the hard case,
    a centre without that component, needs no branch of its own.
    """
    dim = buffer.chosen.size
    matrix, values, vectors, centre = region.scratch, buffer.squares, buffer.features, buffer.scores
    for i in range(dim):
        for j in range(dim):
            matrix[i, j] = region.inverse[i, j]
    eigen(matrix, values, vectors)
    top = 0
    for i in range(dim):
        centre[i] = 0.0
        for j in range(dim):
            centre[i] += vectors[j, i] * region.centre[j]
        if values[i] > values[top]:
            top = i
    nu = secular_root(values, centre, values[top], width)
    budget = width * width
    for i in range(dim):
        if i != top and nu > values[i]:
            shift = centre[i] * values[i] / (nu - values[i])
            budget -= shift * shift / values[i]
            centre[i] += shift
    reach = math.sqrt(max(budget, 0.0) * values[top])
    centre[top] += reach if centre[top] >= 0.0 else -reach
    for i in range(dim):
        buffer.chosen[i] = 0.0
        for j in range(dim):
            buffer.chosen[i] += vectors[i, j] * centre[j]


@jitable
def secular_root(values: Floats, centre: Floats, largest: float, width: float) -> float:
    """nu > largest with sum_i c_i^2 w_i / (nu - w_i)^2 = width^2 (`largest` if none)."""
    low, total = 0.0, 0.0
    for i in range(values.size):
        total += centre[i] * centre[i] * values[i]
    high = math.sqrt(total) / max(width, 1e-150)
    for _ in range(200):
        gap = 0.5 * (low + high)
        if gap <= low or gap >= high:
            break
        total = 0.0
        for i in range(values.size):
            ratio = centre[i] / (gap + (largest - values[i]))
            total += ratio * ratio * values[i]
        if total > width * width:
            low = gap
        else:
            high = gap
    return largest + high


@jitable
def maximise_on_sphere(buffer: ArmBuffer, region: Region, width: float) -> int:
    """Set buffer.chosen to the direction of the longest theta; return -1, which is no row."""
    longest(buffer, region, width)
    length = norm(buffer.chosen)
    if length == 0.0:
        buffer.chosen[0], length = 1.0, 1.0
    for i in range(buffer.chosen.size):
        buffer.chosen[i] /= length
    return -1


class UnitBall(NamedTuple):
    """Offer all x with ||x|| <= 1.

    The optimistic x is exact: it is the direction of the longest theta of the confidence region,
    because max over x of max over theta of x.theta is max ||theta||. It costs an
    eigendecomposition, O(d^3), per decision.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.

    Examples
    --------
    >>> import numpy as np
    >>> UnitBall(3).top(UnitBall(3).make_buffer(), np.array([0.6, 0.0, 0.8]))
    1.0
    """

    dim: Count

    @property
    def redraw(self) -> Redraw:
        return "never"

    @property
    def size(self) -> int:
        return 0

    def make_buffer(self) -> ArmBuffer:
        return make_scratch_buffer(self.dim)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        return play == 0

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return norm(theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        return maximise_on_sphere(buffer, region, width)


class UnitSphere(NamedTuple):
    """Offer all x with ||x|| = 1.

    The index is convex in x, so its maximum over the ball is on the sphere, too.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.

    Examples
    --------
    >>> import numpy as np
    >>> UnitSphere(2).top(UnitSphere(2).make_buffer(), np.array([3.0, 4.0]))
    5.0
    """

    dim: Count

    @property
    def redraw(self) -> Redraw:
        return "never"

    @property
    def size(self) -> int:
        return 0

    def make_buffer(self) -> ArmBuffer:
        return make_scratch_buffer(self.dim)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        return play == 0

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        return norm(theta)

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        return maximise_on_sphere(buffer, region, width)


@jitable
def climb(buffer: ArmBuffer, region: Region, width: float, low: Floats, high: Floats) -> float:
    """Flip single coordinates of buffer.chosen between low and high while the index grows."""
    x, image = buffer.chosen, buffer.scores
    combine(region.inverse, x, image)
    square = max(dot(x, image), 0.0)
    linear = dot(x, region.centre)
    improved = True
    while improved:
        improved = False
        for i in range(x.size):
            move = (low[i] if x[i] == high[i] else high[i]) - x[i]
            there = max(square + move * (2.0 * image[i] + move * region.inverse[i, i]), 0.0)
            gain = move * region.centre[i] + width * (math.sqrt(there) - math.sqrt(square))
            if gain > 1e-12 * (1.0 + abs(linear) + width * math.sqrt(square)):
                x[i] = low[i] if x[i] == high[i] else high[i]
                linear += move * region.centre[i]
                square = there
                for j in range(x.size):
                    image[j] += move * region.inverse[i, j]
                improved = True
    return linear + width * math.sqrt(square)


class Box(NamedTuple):
    """Offer all x with low <= x <= high, componentwise.

    The index is convex, so its maximum is at a corner, but finding the best of the 2^d corners is
    NP-hard in general. The search climbs by single flips from 2d + 1 corners: the greedy corner,
    and two along each row of V^-1. It is exact in most rounds at small d, and always ends at a
    corner that no single flip improves.

    Parameters
    ----------
    low : array of shape (d,)
        Smallest value of each feature.
    high : array of shape (d,)
        Largest value of each feature.

    Examples
    --------
    >>> import numpy as np
    >>> box = Box(np.array([-0.5, -0.5]), np.array([0.5, 0.5]))
    >>> float(box.top(box.make_buffer(), np.array([1.0, -1.0])))
    1.0
    """

    low: Point
    high: Point

    def check(self) -> None:
        finite_array("Box.high", self.high, self.low.shape)
        if (self.low > self.high).any():
            place = int((self.low > self.high).argmax())
            raise InvalidInputError(f"Box.low must not exceed Box.high, but does at {place}")

    @property
    def redraw(self) -> Redraw:
        return "never"

    @property
    def dim(self) -> int:
        return int(self.low.size)

    @property
    def size(self) -> int:
        return 0

    def make_buffer(self) -> ArmBuffer:
        return make_scratch_buffer(self.dim)

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        return play == 0

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        best = 0.0
        for i in range(theta.size):
            best += max(self.low[i] * theta[i], self.high[i] * theta[i])
        return best

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        dim = buffer.chosen.size
        best = -math.inf
        for start in range(2 * dim + 1):
            sign = 1.0 if start <= dim else -1.0
            for i in range(dim):
                slope = (
                    region.centre[i] if start == 0 else sign * region.inverse[(start - 1) % dim, i]
                )
                buffer.chosen[i] = self.high[i] if slope >= 0.0 else self.low[i]
            index = climb(buffer, region, width, self.low, self.high)
            if index > best:
                best = index
                for i in range(dim):
                    buffer.widths[i] = buffer.chosen[i]
        for i in range(dim):
            buffer.chosen[i] = buffer.widths[i]
        return -1
