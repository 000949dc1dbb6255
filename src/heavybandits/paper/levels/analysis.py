"""Rows of the levels experiment to tables, a figure and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...reporting.outputs import Figure, Findings, Panel, Table, Verdict, View, dots, judge
from ...support.statistics import Array, Estimate, bootstrap, summary
from ...support.tables import Row, grouped, select, values
from .settings import ADAPTIVE, FAR, FIXED, JUDGED, NOISES, PROBLEMS


def analyse(rows: Sequence[Row]) -> Findings:
    """All that the levels experiment says."""
    return Findings(
        tables=[ratio_table(rows), regret_table(rows)],
        figures=[regret_figure(rows)],
        verdicts=verdicts(rows),
        notes=[
            "The fixed level that a filter is compared with is the best one for that noise, chosen "
            "in hindsight on the very runs that are reported: nobody could have known it.",
            "All filters share estimator, radius, arms and noise.",
        ],
    )


def regret(rows: Sequence[Row], name: str) -> Array:
    """Final regret with this filter, one number per repetition."""
    return np.array([row["regret"] for row in select(rows, filter=name)])


def fixed_names(rows: Sequence[Row]) -> list[str]:
    """The fixed levels that were run."""
    return [name for name in values(rows, "filter") if name in FIXED]


def best_fixed(rows: Sequence[Row]) -> str:
    """The fixed level of the smallest mean regret."""
    return min(fixed_names(rows), key=lambda name: float(regret(rows, name).mean()))


def ratio(rows: Sequence[Row], name: str) -> Estimate:
    """Regret with this filter over that with the best fixed level (best in every resample anew)."""
    columns = [regret(rows, name), *(regret(rows, fixed) for fixed in fixed_names(rows))]
    return bootstrap(np.column_stack(columns), lambda m: m[:, 0] / m[:, 1:].min(axis=1))


def ratio_table(rows: Sequence[Row]) -> Table:
    """How far each filter that sets itself is from the best fixed level."""
    table: list[dict[str, Any]] = []
    for problem, noise, mine in grouped(rows, "problem", "noise"):
        best = best_fixed(mine)
        row: dict[str, Any] = {"problem": problem, "noise": noise, "best fixed level": best}
        for name in values(mine, "filter"):
            if name in ADAPTIVE or name == "none":
                row[name] = ratio(mine, name).value
        table.append(row)
    return Table(
        "levels_ratio",
        "Levels that set themselves, over the best fixed level",
        "Mean regret divided by that of the best fixed level chosen in hindsight; below 1 is "
        "better than every fixed level that was tried.",
        table,
    )


def regret_table(rows: Sequence[Row]) -> Table:
    """Every filter on every problem."""
    table: list[dict[str, Any]] = []
    for problem, noise, mine in grouped(rows, "problem", "noise"):
        for name in values(mine, "filter"):
            found, part = summary(regret(mine, name)), select(mine, filter=name)
            cut = [row["truncated"] / row["play"] for row in part]
            table.append(
                {"problem": problem, "noise": noise, "filter": name}
                | {key: found[key] for key in ("mean", "mean low", "mean high", "median")}
                | {"truncated": float(np.mean(cut))}
            )
    return Table(
        "levels",
        "Regret with every filter",
        "Mean final regret with its 95% interval, the median, and the share of rewards cut.",
        table,
    )


def regret_figure(rows: Sequence[Row]) -> Figure:
    """Regret over the fixed level, with the judged filter as a line across."""
    views = []
    for problem, mine in grouped(rows, "problem"):
        panels = [_panel(NOISES[noise][0], part) for noise, part in grouped(mine, "noise")]
        views.append(View(PROBLEMS[problem], panels))
    return Figure(
        "levels",
        "A level that sets itself, and fixed ones",
        "Mean final regret with 95% intervals of every fixed level; the adaptive clip beside them.",
        views,
    )


def _panel(title: str, rows: Sequence[Row]) -> Panel:
    names = [*fixed_names(rows), JUDGED]
    *fixed, judged = [bootstrap(regret(rows, name)) for name in names]
    series = [dots("fixed level", fixed), dots(JUDGED, [judged], first=len(fixed))]
    return Panel(title, "filter", "final regret", series, categories=names)


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Whether the level that sets itself is ever far behind."""
    return [
        judge(
            f"the adaptive clip is not far behind the best fixed level (ratio below {FAR})",
            f"{PROBLEMS[problem]}; {NOISES[noise][0]}; best fixed: {best_fixed(mine)}",
            "regret over that of the best fixed level in hindsight",
            ratio(mine, JUDGED),
            float("-inf"),
            FAR,
        )
        for problem, noise, mine in grouped(rows, "problem", "noise")
        if JUDGED in values(mine, "filter")
    ]
