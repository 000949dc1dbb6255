"""Any function over a list of settings, as rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from ..simulation.result import Result
from .cell import Cell, name_of

Compute = Callable[[Sequence[Cell]], list[dict[str, Any]]]  # results in the order of the cells


def call_all(function: Any, settings: Any, compute: Compute) -> Result:
    """Call a function with each of the settings; one row per call, or per entry of its arrays."""
    name = name_of(function, "function")
    given = [dict(one) for one in settings]
    cells = [Cell(name, one, label=f"{function.__name__} {one}") for one in given]
    if not cells:
        raise InvalidInputError("settings must hold at least one call, got none")
    pieces = [unfold_call(one, found) for one, found in zip(given, compute(cells), strict=True)]
    columns = list(dict.fromkeys(column for piece in pieces for column in piece))
    for piece, one in zip(pieces, given, strict=True):
        if set(piece) != set(columns):
            lost = ", ".join(set(columns) - set(piece))
            raise InvalidInputError(f"every call must have the same columns; {one} has no {lost}")
    return Result({name: np.concatenate([piece[name] for piece in pieces]) for name in columns})


def unfold_call(settings: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The columns of one call: its plain settings and what it returned, as long as its arrays.

    >>> unfold_call({"n": 2}, {"square": np.array([4.0, 5.0])})
    {'n': array([2, 2]), 'square': array([4., 5.])}
    """
    twice = sorted(set(settings) & set(found))
    if twice:
        raise InvalidInputError(
            f"a result must differ in name from the settings, got {twice[0]!r} twice"
        )
    sizes = {value.shape for value in found.values() if isinstance(value, np.ndarray)}
    if len(sizes) > 1 or any(len(shape) != 1 for shape in sizes):
        raise InvalidInputError(
            f"arrays of a result must have one axis and one length, got {sizes}"
        )
    rows = next(iter(sizes), (1,))[0]
    plain = {n: v for n, v in settings.items() if not isinstance(v, dict | list | tuple)}
    return {
        name: np.broadcast_to(np.asarray(value), rows) for name, value in (plain | found).items()
    }
