"""The search for the constant of each algorithm by itself, on a grid that grows where it must."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...support.tables import Row, grouped


def mean_regrets(rows: Iterable[Row]) -> dict[float, float]:
    """The mean regret at every constant, the smallest constant first.

    >>> mean_regrets([{"constant": 0.1, "regret": r} for r in (1.0, 2.0)])
    {0.1: 1.5}
    """
    found = sorted(grouped(list(rows), "constant"), key=lambda group: group[0])
    return {c: float(np.mean([row["regret"] for row in mine])) for c, mine in found}


def best_end(rows: Iterable[Row]) -> str:
    """Which end of the grid the best constant is, so that a wider one might do better; or "".

    >>> best_end([{"constant": c, "regret": c} for c in (0.01, 0.1, 1.0)])
    'lower end'
    """
    means = mean_regrets(rows)
    place = list(means.values()).index(min(means.values()))
    if place == len(means) - 1:
        return "upper end"
    return "lower end" if place == 0 else ""


def next_constants(rows: Sequence[Row]) -> list[float]:
    """One more constant beyond the end of the grid where the best is, if it is at an end.

    >>> next_constants([{"constant": c, "regret": c} for c in (0.01, 0.1, 1.0)])
    [0.001]
    """
    constants, end = list(mean_regrets(rows)), best_end(rows)
    if not end:
        return []
    best, beside = constants[-1:-3:-1] if end == "upper end" else constants[:2]
    return [float(f"{best * best / beside:.4g}")]


def tune(
    points: Iterable[Any],
    start: Callable[[Any], Sequence[float]],
    run: Callable[[dict[Any, Sequence[float]]], dict[Any, list[Row]]],
    growth: int,
) -> tuple[dict[Any, float], list[Row]]:
    """The best constant of every point, and all rows that were looked at.

    The grid of a point begins as `start` says; while its best constant is at an end, it grows there
    by one step, at most `growth` times. run: constants by point to rows by point.

    >>> hill = lambda grids: {
    ...     p: [{"constant": c, "regret": abs(c - 100.0)} for c in cs] for p, cs in grids.items()
    ... }
    >>> tune(["A"], lambda point: [1.0, 10.0], hill, growth=5)[0]
    {'A': 100.0}
    """
    wanted = {point: start(point) for point in points}
    rows: dict[Any, list[Row]] = {point: [] for point in wanted}
    for _ in range(growth + 1):
        for point, found in run(wanted).items():
            rows[point] += found
        further = {point: next_constants(found) for point, found in rows.items()}
        wanted = {point: constants for point, constants in further.items() if constants}
        if not wanted:
            break
    means = {point: mean_regrets(found) for point, found in rows.items()}
    chosen = {point: min(curve, key=curve.__getitem__) for point, curve in means.items()}
    return chosen, [row for found in rows.values() for row in found]
