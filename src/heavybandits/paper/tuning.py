"""The constant c: the same grid and budget for every algorithm, chosen on seeds of its own."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..support.tables import Row, grouped

TUNING_SEEDS = 1_000_000  # added to the seed, so that no tuning run is ever reported


def grid(size: int, low: float = 1e-4, high: float = 1.0) -> list[float]:
    """`size` log-spaced constants, both ends included, rounded to four digits.

    >>> grid(5)
    [0.0001, 0.001, 0.01, 0.1, 1.0]
    """
    return [float(f"{c:.4g}") for c in np.geomspace(low, high, size)]


def best_constant(rows: Iterable[Row]) -> float:
    """The constant of the smallest mean final regret; the smaller one of equals.

    >>> best_constant([{"constant": c, "regret": abs(c - 0.1)} for c in (0.01, 0.1, 1.0)])
    0.1
    """
    means = mean_regrets(rows)
    return min(means, key=lambda c: means[c])


def mean_regrets(rows: Iterable[Row]) -> dict[float, float]:
    """The mean regret at every constant, the smallest constant first."""
    found = sorted(grouped(list(rows), "constant"), key=lambda group: group[0])
    return {c: float(np.mean([row["regret"] for row in mine])) for c, mine in found}


def at_edge(constant: float, constants: Iterable[float]) -> str:
    """Whether the chosen constant is an end of the grid, so that a wider grid might do better.

    >>> at_edge(1.0, [0.1, 1.0])
    'upper end'
    """
    ordered = sorted(constants)
    if constant == ordered[-1]:
        return "upper end"
    return "lower end" if constant == ordered[0] else ""


def next_constants(rows: Iterable[Row]) -> list[float]:
    """One more constant beyond the end of the grid where the best is, if it is at an end.

    >>> next_constants([{"constant": c, "regret": c} for c in (0.01, 0.1, 1.0)])
    [0.001]
    """
    means = mean_regrets(rows)
    constants, best = list(means), min(means, key=lambda c: means[c])
    if best not in (constants[0], constants[-1]) or len(constants) < 2:
        return []
    beside = constants[1] if best == constants[0] else constants[-2]
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
    chosen = {point: best_constant(found) for point, found in rows.items()}
    return chosen, [row for found in rows.values() for row in found]


def grid_table(rows: Iterable[Row], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """The whole grid, one row for each value of the keys and one column per constant.

    >>> grid_table([{"algorithm": "A", "constant": 0.1, "regret": 2.0}], ("algorithm",))
    [{'algorithm': 'A', 'c = 0.1': 2.0}]
    """
    return [
        dict(zip(keys, key, strict=True))
        | {f"c = {c:g}": mean for c, mean in mean_regrets(mine).items()}
        for *key, mine in grouped(list(rows), *keys)
    ]
