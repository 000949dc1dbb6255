"""The search for constants (`sweeping.search`) over the cells of an experiment, as tidy rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..support.statistics import Array
from ..support.tables import Row, grouped
from ..sweeping import Cell
from ..sweeping.search import Choice, choose, mean_losses, search
from .rows import Compute, collect_groups

PAPER = (1e-4, 1.0)  # the range of the paper's grid


def tune_rows(
    make: Callable[..., tuple[Row, list[Cell]]],
    members: Mapping[Any, Sequence[str]],
    start: Sequence[float],
    within: tuple[float, float],
    compute: Compute,
) -> tuple[list[Row], dict[tuple[str, ...], float]]:
    """The rows of all tuning runs, and the best constant of every member of every place.

    make: the cells of (*place, member, constant) and what names them. Members of one place share a
    grid.
    """
    rows: list[Row] = []

    def evaluate(points: Sequence[tuple[Any, str, float]]) -> list[Array]:
        groups = [make(*place, member, constant) for place, member, constant in points]
        found = collect_groups(groups, compute)
        rows.extend(row for mine in found for row in mine)
        return [np.array([row["regret"] for row in mine]) for mine in found]

    def ahead(points: Sequence[tuple[Any, str, float]]) -> None:
        groups = [make(*place, member, constant) for place, member, constant in points]
        compute([cell for _, cells in groups for cell in cells])

    device = getattr(compute, "device", "cpu")
    curves = search(evaluate, members, start, within, None if device == "cpu" else ahead)
    return rows, {(*p, member): choose(curve).constant for (p, member), curve in curves.items()}


def curve_of(rows: Iterable[Row], loss: str = "regret", sign: float = 1.0) -> dict[float, Array]:
    """The losses at every constant; `sign` is -1 if large values are good.

    >>> curve_of([{"constant": c, "regret": abs(c - 0.1)} for c in (0.1, 1.0)])
    {0.1: array([0.]), 1.0: array([0.9])}
    """
    found = grouped(list(rows), "constant")
    return {c: sign * np.array([row[loss] for row in mine]) for c, mine in found}


def choices(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], Choice]:
    """The choice that tuning rows lead to, by these columns."""
    return {tuple(key): choose(curve_of(mine)) for *key, mine in grouped(list(rows), *keys)}


def grid_table(rows: Iterable[Row], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """The whole grid, one row for each value of the keys and one column per constant.

    >>> rows = [{"algorithm": "A", "constant": c, "regret": c} for c in (0.1, 1.0)]
    >>> grid_table(rows, ("algorithm",))
    [{'algorithm': 'A', 'c at': 'lower end', 'c = 0.1': 0.1, 'c = 1': 1.0}]
    """
    every = sorted({row["constant"] for row in rows})
    table = []
    for *key, mine in grouped(list(rows), *keys):
        curve = curve_of(mine)
        means = mean_losses(curve)
        named = dict(zip(keys, key, strict=True)) | {"c at": choose(curve).at}
        table.append(named | {f"c = {c:g}": means.get(c, np.nan) for c in every})
    return table
