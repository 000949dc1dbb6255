"""Table 1 of the paper, measured: how CPU time grows with the horizon and with the dimension."""

from collections.abc import Callable, Sequence
from itertools import product
from math import inf, log
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, Series, View
from ..._utils.statistics import Estimate, slope
from ..._utils.tables import Row, select, values
from ...parts.arms import Fixed
from ...parts.noises import StudentT
from ...simulation.problem import Problem
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..roster import LINK, make_policy, make_setting
from ..rows import Compute, timed_rows

TITLE = "Table 1: growth of the time"

NOISE = StudentT(3.0)
ARMS = 20

# The column CC of the paper's Table 1, and the same as a function of T and d.
PAPER: dict[str, tuple[str, Callable[[int, int], float]]] = {
    "CRTM": ("d^2 T", lambda T, d: d**2 * T),
    "CRT": ("d^2 T", lambda T, d: d**2 * T),
    "TOFU": ("d^3 T + d^2 T^2", lambda T, d: d**3 * T + d**2 * T**2),
    "SupBTC": ("d^2 T^2", lambda T, d: d**2 * T**2),
    "CRMM": ("d^2 T / log T", lambda T, d: d**2 * T / log(T)),
    "MoM": ("d^2 T / log T", lambda T, d: d**2 * T / log(T)),
    "MENU": ("d^2 T log T", lambda T, d: d**2 * T * log(T)),
    "SupBMM": ("d^2 T", lambda T, d: d**2 * T),
}
QUADRATIC = ["TOFU", "SupBTC"]  # their time grows with T^2: smaller sizes


def sizes(horizons: list[int], dim: int, dims: list[int], horizon: int) -> dict[str, Any]:
    """Return a ladder of horizons at one dim, and one of dims at one horizon."""
    return {"horizons": horizons, "dim": dim, "dims": dims, "horizon": horizon}


_DIMS = [16, 32, 64, 128]
# Sizes of the algorithms of linear and of quadratic time.
PROFILES: dict[str, dict[str, Any]] = {
    "smallest": {"runs": 2, "seed": 0}
    | {"linear": sizes([100, 200], 3, [2, 4], 100)}
    | {"quadratic": sizes([30, 60], 3, [2, 4], 30)},
    "quick": {"runs": 2, "seed": 0}
    | {"linear": sizes([4000, 16_000, 64_000], 20, [16, 32, 64], 8000)}
    | {"quadratic": sizes([500, 1000, 2000], 10, [16, 32, 64], 500)},
    "default": {"runs": 3, "seed": 0}
    | {"linear": sizes([4000, 16_000, 64_000, 256_000], 20, _DIMS, 20_000)}
    | {"quadratic": sizes([500, 1000, 2000, 4000], 20, _DIMS, 1000)},
    "full": {"runs": 3, "seed": 0}
    | {"linear": sizes([4000, 16_000, 64_000, 256_000], 20, [*_DIMS, 256], 20_000)}
    | {"quadratic": sizes([500, 1000, 2000, 4000, 8000], 20, _DIMS, 1500)},
}


# ---- cells and rows


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Time every algorithm over a ladder of horizons and over a ladder of dimensions."""
    runs = []
    for name in PAPER:
        own = given["quadratic" if name in QUADRATIC else "linear"]
        ladder = [("T", horizon, own["dim"]) for horizon in own["horizons"]]
        ladder += [("d", own["horizon"], dim) for dim in own["dims"]]
        for axis, horizon, dim in ladder:
            policy = make_policy(name, make_setting(NOISE, dim, horizon), None)
            problem = Problem(Fixed(ARMS, dim), LINK, NOISE)
            names = {"algorithm": name, "axis": axis, "horizon": horizon, "dim": dim}
            runs.append((names, policy, problem, horizon, given["runs"]))
    return timed_rows(runs, given["seed"], compute)


# ---- what the rows say

SIZES = {"T": "horizon", "d": "dim"}
SLACK = 0.25  # a slope this far above the formula's, and no further, still agrees with it


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that Table 1 says."""
    return Findings(
        tables=[slope_table(rows)],
        figures=[growth_figure(rows)],
        verdicts=verdicts(rows),
        notes=[
            "The paper's column is an upper bound on multiplications that leaves out the search "
            "among K arms and the r plays of an epoch; its slope is that of the formula at the "
            "sizes measured. Fixed arms cost O(K d) per round to search, not O(K d^2)."
        ],
    )


def measured(rows: Sequence[Row], name: str, axis: str) -> Estimate:
    """Return the log-log slope of CPU time."""
    mine = select(rows, algorithm=name, axis=axis)
    return slope([row[SIZES[axis]] for row in mine], [row["seconds"] for row in mine])


def predicted(rows: Sequence[Row], name: str, axis: str) -> float:
    """Return the slope of the paper's formula at the same sizes."""
    mine = select(rows, algorithm=name, axis=axis)
    cost = [PAPER[name][1](row["horizon"], row["dim"]) for row in mine]
    return slope([row[SIZES[axis]] for row in mine], cost).value


def slope_table(rows: Sequence[Row]) -> Table:
    """Slopes next to the paper's column."""
    table: list[dict[str, Any]] = []
    for name in values(rows, "algorithm"):
        row: dict[str, Any] = {"algorithm": name, "paper": PAPER[name][0]}
        for axis in SIZES:
            made = measured(rows, name, axis)
            row |= {f"slope in {axis}": made.value, f"{axis} low": made.low}
            row |= {f"{axis} high": made.high, f"formula in {axis}": predicted(rows, name, axis)}
        table.append(row)
    return Table(
        "table1_slopes",
        "Table 1: growth of the time",
        "Log-log slopes of CPU time in T (d fixed) and d (T fixed) with 95% intervals, next to the "
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
            ladder = sorted(values(mine, column))
            logs = [[np.log(r["seconds"]) for r in select(mine, **{column: x})] for x in ladder]
            taken = [float(np.exp(np.mean(part))) for part in logs]
            series.append(Series(name, [float(size) for size in ladder], taken))
        panels.append(Panel(f"time over {axis}", axis, "CPU seconds", series, "log", "log"))
    return Figure(
        "table1",
        "Table 1: CPU time over T and d",
        "Geometric means of the runs; TOFU and SupBTC at smaller sizes.",
        [View("measured", panels)],
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether the time grows no faster than the paper's column says."""
    made = []
    for name, axis in product(values(rows, "algorithm"), SIZES):
        formula, found = predicted(rows, name, axis), measured(rows, name, axis)
        claim = f"{name} costs O({PAPER[name][0]}): growth in {axis}"
        where = f"slope of the formula here {formula:.2f}, plus {SLACK}"
        words = f"log-log slope of time in {axis}"
        made.append(judge(claim, where, words, found, -inf, formula + SLACK))
    return made
