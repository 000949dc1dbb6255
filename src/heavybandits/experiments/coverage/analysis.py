"""Rows of the coverage experiment to a table, a figure and verdicts: pure functions."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, View, dots
from ..._utils.statistics import Estimate, wilson
from ..._utils.tables import Row, grouped, values
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..rows import column
from .settings import LABELS, PROMISES


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the coverage experiment says."""
    return Findings(
        tables=[coverage_table(rows)], figures=[size_figure(rows)], verdicts=verdicts(rows)
    )


def always(rows: Sequence[Row]) -> Estimate:
    """Return the share of repetitions in which the region contained theta* after every update."""
    return wilson(sum(row["covered"] == row["checks"] for row in rows), len(rows))


def coverage_table(rows: Sequence[Row]) -> Table:
    """Return how often, and how much too large."""
    table: list[dict[str, Any]] = []
    for noise, algorithm, region, mine in grouped(rows, "noise", "algorithm", "region"):
        share, worst = always(mine), column(mine, "worst")
        updates = float(np.mean([r["covered"] / max(r["checks"], 1) for r in mine]))
        table.append(
            {"noise": noise, "algorithm": algorithm, "region": region, "repetitions": len(mine)}
            | {"always covered": share.value, "low": share.low, "high": share.high}
            | {"updates covered": updates}
            | {"final radius": math.sqrt(float(column(mine, "squared_radius").mean()))}
            | {"final distance": math.sqrt(float(column(mine, "squared_distance").mean()))}
            | {"worst share of the radius, median": math.sqrt(float(np.median(worst)))}
            | {"largest": math.sqrt(float(worst.max()))}
        )
    return Table(
        "coverage",
        "Coverage of the confidence regions",
        "Share of repetitions in which ||theta* - centre||_V stayed within the radius after every "
        "update (Wilson's 95% interval); the largest ratio of distance to radius met in a run.",
        table,
    )


def size_figure(rows: Sequence[Row]) -> Figure:
    """Worst distance over radius in a run: below one is covered."""
    panels = []
    for noise, mine in grouped(rows, "noise"):
        series, regions, label = [], values(mine, "region"), "worst distance / radius"
        for algorithm, part in grouped(mine, "algorithm"):
            worst = [[math.sqrt(row["worst"]) for row in own] for _, own in grouped(part, "region")]
            made = dots(algorithm, [np.quantile(w, (0.5, 0.025, 0.975)) for w in worst])
            places = [float(regions.index(region)) for region in values(part, "region")]
            series.append(replace(made, x=places))
        panels.append(Panel(LABELS[noise], "", label, series, "linear", "log", regions))
    return Figure(
        "coverage",
        "How much of the region is used",
        "Largest ||theta* - centre||_V over the radius in a run: median and central 95% of the "
        "repetitions. Above one the region missed theta*; far below one it is too large.",
        [View("all", panels)],
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether the theorems keep their promise where their assumptions are met."""
    made = []
    for noise, algorithm, region, mine in grouped(rows, "noise", "algorithm", "region"):
        theorem, share, noises = PROMISES[algorithm]
        if region == "theorem" and noise in noises:
            claim = f"{theorem}: the region of {algorithm} contains theta* at all times "
            claim += f"with probability {share}"
            words = f"share of {len(mine)} repetitions always covered"
            made.append(judge(claim, LABELS[noise], words, always(mine), share))
    return made
