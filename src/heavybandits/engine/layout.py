"""Arrays of one state side by side: where they lie decides how fast a round is."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LINE, PAGE = 64, 4096  # bytes


def aligned_zeros(*shapes: tuple[int, ...]) -> Iterator[NDArray[np.float64]]:
    """Zeros of these shapes in one block that begins a page, each at the start of a cache line.

    NumPy places every small array by chance. Loads that cross a line, and a store to the same place
    in its page as a load, cost up to a third of a round; so placed, every run is as fast as the
    last.

    >>> first, second = aligned_zeros((2, 3), (4,))
    >>> first.shape, second.shape, second.ctypes.data - first.ctypes.data
    ((2, 3), (4,), 64)
    """
    sizes = [math.prod(shape) for shape in shapes]
    rooms = [-(-8 * size // LINE) * LINE // 8 for size in sizes]
    buffer = np.zeros(sum(rooms) + PAGE // 8)
    start = -buffer.ctypes.data % PAGE // 8
    for shape, size, room in zip(shapes, sizes, rooms, strict=True):
        yield buffer[start : start + size].reshape(shape)
        start += room
