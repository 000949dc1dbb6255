"""Results of simulation cells made into tidy rows."""

from collections.abc import Sequence
from typing import Any

from ..reporting.outputs import Row
from ..sweep import Cell
from .cells import Compute, Result

COUNTS = ("regret", "updates", "projections", "truncated")


def simulated_rows(groups: Sequence[tuple[Row, list[Cell]]], compute: Compute) -> list[Row]:
    """Run the cells of all groups at once; one row for each repetition and checkpoint.

    groups: the columns that name a group of cells, and the cells.
    """
    results = iter(compute([cell for _, cells in groups for cell in cells]))
    rows: list[Row] = []
    for named, cells in groups:
        for cell in cells:
            rows += unfold(named, cell.settings, next(results))
    return rows


def unfold(named: Row, settings: dict[str, Any], result: Result) -> list[Row]:
    """One row for each repetition and checkpoint of a cell.

    >>> import numpy as np
    >>> made = {name: np.ones((1, 1)) for name in COUNTS}
    >>> unfold({}, {"repetitions_from": 3, "checkpoints": [10]}, made)[0]["repetition"]
    3
    """
    first, plays = settings["repetitions_from"], settings["checkpoints"]
    return [
        named
        | {"repetition": first + r, "play": play}
        | {name: result[name][r][i].item() for name in COUNTS}
        for r in range(len(result["regret"]))
        for i, play in enumerate(plays)
    ]


def final_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last checkpoint.

    >>> final_rows([{"play": 1}, {"play": 2}])
    [{'play': 2}]
    """
    last = max(row["play"] for row in rows)
    return [row for row in rows if row["play"] == last]
