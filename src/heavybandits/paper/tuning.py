"""The constant c: the same grid and budget for every algorithm, chosen on seeds of its own."""

from collections.abc import Iterable
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
