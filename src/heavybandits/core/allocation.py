"""Allocate the arrays of a state, aligned for speed, and compute their size beforehand."""

import math
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .arrays import Floats

LINE, PAGE = 64, 4096  # bytes


# While a state is only counted: a placeholder for each of its arrays, and their bytes.
_Sizes = dict[int, tuple[NDArray[Any], int]]
_counted: ContextVar[_Sizes | None] = ContextVar("_counted", default=None)


def _placeholder(sizes: _Sizes, axes: int, dtype: DTypeLike, size: int) -> NDArray[Any]:
    array = np.zeros((1,) * axes, dtype)
    sizes[id(array)] = array, size
    return array


def zeros(*shape: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Make zeros for a state. While `state_bytes` counts, one number replaces the array.

    Parameters
    ----------
    *shape : int
        Size of each axis.
    dtype : dtype, default float64
        Type of the numbers.

    Returns
    -------
    array
        Zeros of this shape.

    Examples
    --------
    >>> zeros(2, 3).shape, zeros(4, dtype=np.int64).tolist()
    ((2, 3), [0, 0, 0, 0])
    """
    sizes = _counted.get()
    if sizes is None:
        return np.zeros(shape, dtype)
    return _placeholder(sizes, len(shape), dtype, math.prod(shape) * np.dtype(dtype).itemsize)


def repeated(array: NDArray[Any], times: int) -> NDArray[Any]:
    """Repeat an array of a state `times` times, along a new first axis.

    >>> repeated(zeros(3), 5).shape
    (5, 3)
    """
    sizes = _counted.get()
    if sizes is None:
        return np.repeat(array[None], times, axis=0)
    return _placeholder(sizes, array.ndim + 1, array.dtype, times * _size_of(array))


def aligned_zeros(*shapes: tuple[int, ...]) -> Iterator[Floats]:
    """Make zeros of these shapes in one block at a page start, each at the start of a cache line.

    NumPy places small arrays at arbitrary addresses. Loads that cross a line, and a store to the
    same offset of a page as a load, cost up to a third of a round. With this layout every run takes
    the same time.

    Parameters
    ----------
    *shapes : tuple of int
        One shape per array.

    Yields
    ------
    array of float64
        One array per shape.

    Examples
    --------
    >>> first, second = aligned_zeros((2, 3), (4,))
    >>> first.shape, second.shape, second.ctypes.data - first.ctypes.data
    ((2, 3), (4,), 64)
    """
    if _counted.get() is not None:
        yield from (zeros(*shape) for shape in shapes)
        return
    sizes = [math.prod(shape) for shape in shapes]
    rooms = [-(-8 * size // LINE) * LINE // 8 for size in sizes]
    buffer = np.zeros(sum(rooms) + PAGE // 8)
    start = -buffer.ctypes.data % PAGE // 8
    for shape, size, room in zip(shapes, sizes, rooms, strict=True):
        yield buffer[start : start + size].reshape(shape)
        start += room


def state_bytes(part: Any, scratch: bool = True) -> int:
    """Return the bytes of the arrays of part.init() without allocating them.

    Arrays made by `zeros`, `aligned_zeros` and `repeated` are counted without being allocated;
    other arrays are made first.

    Parameters
    ----------
    part : NamedTuple
        A part with `init`.
    scratch : bool, default True
        Count scratch arrays, too. False counts only the arrays that a state file contains.

    Returns
    -------
    int
        Size in bytes.

    Examples
    --------
    >>> from heavybandits.estimators import Ridge
    >>> state_bytes(Ridge(dim=10, penalty=1.0)), state_bytes(Ridge(dim=10**9, penalty=1.0)) > 2**60
    (3936, True)
    """
    token = _counted.set({})
    try:
        return sum(_size_of(array) for array in _arrays(part.init(), scratch))
    finally:
        _counted.reset(token)


def _size_of(array: NDArray[Any]) -> int:
    known = (_counted.get() or {}).get(id(array))
    return array.nbytes if known is None else known[1]


def _arrays(state: Any, scratch: bool) -> Iterator[NDArray[Any]]:
    if not isinstance(state, tuple):
        yield state
        return
    for name, field in zip(state._fields, state, strict=True):  # type: ignore[attr-defined]
        if scratch or name != "scratch":
            yield from _arrays(field, scratch)
