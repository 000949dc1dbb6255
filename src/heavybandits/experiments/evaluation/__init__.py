"""Off-policy evaluation: bias, error and coverage on logs whose truth is known."""

from itertools import product
from typing import Any

from ..._utils.tables import Row
from ...core.sources import digest
from ...sweeps import Cell
from ..rows import Compute, Group, Result, collect_rows
from . import settings
from .analysis import analyse
from .logs import evaluation_cell, make_world
from .settings import PROFILES, TITLE

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]

CELL = f"{evaluation_cell.__module__}:{evaluation_cell.__name__}"
CHUNK = 50  # runs in a cell


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Every method on the same logs, law by law and size by size."""
    points = product(given["laws"], given["sizes"])
    return collect_rows([make_group(given, *point) for point in points], compute, unfold)


def make_group(given: dict[str, Any], law: str, rows: int) -> Group:
    """Return the cells of one law at one size."""
    runs, common = given["runs"][str(rows)], {"law": law, "rows": rows, "seed": given["seed"]}
    cells = [
        Cell(
            function=CELL,
            settings=common | {"runs_from": first, "runs_to": min(first + CHUNK, runs)},
            code=digest({evaluation_cell.__module__}),
            label=f"evaluation, {law}, {rows} rows",
            weight=float(rows),
        )
        for first in range(0, runs, CHUNK)
    ]
    return {"law": law, "rows": rows, "truth": make_world().truth}, cells


def unfold(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per run and method."""
    return [
        named
        | {"run": given["runs_from"] + run, "method": method}
        | {name: result[name][run][place].item() for name in ("value", "low", "high")}
        for run in range(len(result["value"]))
        for place, method in enumerate(settings.METHODS)
    ]
