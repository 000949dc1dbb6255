"""Rows of Table 1 to slopes, figures and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...reporting.outputs import Figure, Findings, Panel, Series, Table, Verdict, View, judge
from ...support.statistics import Estimate, slope
from ...support.tables import Row, select, values
from .settings import PAPER

SIZES = {"T": "horizon", "d": "dim"}
SLACK = 0.25  # a slope this far above the formula's, and no further, still agrees with it


def analyse(rows: Sequence[Row]) -> Findings:
    """All that Table 1 says."""
    return Findings(
        tables=[slope_table(rows)],
        figures=[growth_figure(rows)],
        verdicts=verdicts(rows),
        notes=[
            "The paper's column is an upper bound on multiplications that leaves out the search "
            "among K arms and the r plays of an epoch; its slope is that of the formula at the "
            "sizes measured. Arms that stand still cost O(K d) per round to search, not O(K d^2)."
        ],
    )


def measured(rows: Sequence[Row], name: str, axis: str) -> Estimate:
    """The log-log slope of CPU time."""
    mine = select(rows, algorithm=name, axis=axis)
    return slope([row[SIZES[axis]] for row in mine], [row["seconds"] for row in mine])


def predicted(rows: Sequence[Row], name: str, axis: str) -> float:
    """The slope of the paper's formula at the same sizes."""
    mine = select(rows, algorithm=name, axis=axis)
    cost = [PAPER[name][1](row["horizon"], row["dim"]) for row in mine]
    return slope([row[SIZES[axis]] for row in mine], cost).value


def slope_table(rows: Sequence[Row]) -> Table:
    """Slopes beside the paper's column."""
    table: list[dict[str, Any]] = []
    for name in values(rows, "algorithm"):
        row: dict[str, Any] = {"algorithm": name, "paper": PAPER[name][0]}
        for axis in SIZES:
            made = measured(rows, name, axis)
            row |= {
                f"slope in {axis}": made.value,
                f"{axis} low": made.low,
                f"{axis} high": made.high,
                f"formula in {axis}": predicted(rows, name, axis),
            }
        table.append(row)
    return Table(
        "table1_slopes",
        "Table 1: growth of the time",
        "Log-log slopes of CPU time in T (d fixed) and d (T fixed) with 95% intervals, beside the "
        "slopes of the paper's formula over the same sizes.",
        table,
    )


def growth_figure(rows: Sequence[Row]) -> Figure:
    """CPU time over T and over d."""
    panels = []
    for axis, column in SIZES.items():
        series = []
        for name in values(rows, "algorithm"):
            mine = select(rows, algorithm=name, axis=axis)
            sizes = sorted(values(mine, column))
            taken = [
                float(
                    np.exp(np.mean([np.log(r["seconds"]) for r in select(mine, **{column: size})]))
                )
                for size in sizes
            ]
            series.append(Series(name, [float(size) for size in sizes], taken))
        panels.append(Panel(f"time over {axis}", axis, "CPU seconds", series, "log", "log"))
    return Figure(
        "table1",
        "Table 1: CPU time over T and d",
        "Geometric means of the runs; TOFU and SupBTC at smaller sizes.",
        [View("measured", panels)],
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Whether the time grows no faster than the paper's column says."""
    made = []
    for name in values(rows, "algorithm"):
        for axis in SIZES:
            formula = predicted(rows, name, axis)
            made.append(
                judge(
                    f"{name} costs O({PAPER[name][0]}): growth in {axis}",
                    f"slope of the formula here {formula:.2f}, plus {SLACK}",
                    f"log-log slope of time in {axis}",
                    measured(rows, name, axis),
                    float("-inf"),
                    formula + SLACK,
                )
            )
    return made
