"""Rows of the evaluation experiment to tables, a figure and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, View, dots
from ..._utils.statistics import Array, Estimate, bootstrap, wilson
from ..._utils.tables import Row, grouped, select, values
from ..outputs import Figure, Findings, Table, Verdict, judge
from .settings import BOUNDED, CLIPPED, LAWS, LIGHT, NO_VARIANCE, OURS, PLAIN, PROMISE

COVERAGE = (PLAIN, "plain DR", OURS, BOUNDED)  # what the figures show
ERRORS = ("plain DR", OURS, CLIPPED)
TABLE_DRAWS = 1_000  # of the bootstrap, for every method of every law


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the evaluation experiment says."""
    return Findings(
        tables=[error_table(rows)],
        figures=[coverage_figure(rows), error_figure(rows)],
        verdicts=verdicts(rows),
    )


def errors(rows: Sequence[Row]) -> Array:
    """Value less truth, run by run."""
    return np.array([row["value"] - row["truth"] for row in rows])


def with_interval(rows: Sequence[Row]) -> list[Row]:
    """Return the runs with an interval."""
    return [row for row in rows if np.isfinite(row["high"] - row["low"])]


def holds(rows: Sequence[Row], below: bool = True, above: bool = True) -> Estimate:
    """The share of runs whose lower end, upper end or both are right, of those with an interval."""
    right = [
        (row["low"] <= row["truth"] or not below) and (row["truth"] <= row["high"] or not above)
        for row in with_interval(rows)
    ]
    return wilson(sum(right), len(right))


def error_ratio(mine: Sequence[Row], others: Sequence[Row]) -> Estimate:
    """Root mean squared error over that of others, on the same logs."""
    squares = np.column_stack([errors(mine) ** 2, errors(others) ** 2])
    return bootstrap(squares, lambda means: np.sqrt(means[:, 0] / means[:, 1]))


def median_width(rows: Sequence[Row]) -> float:
    """Return the median width of the intervals; nan if there is none."""
    widths = [row["high"] - row["low"] for row in with_interval(rows)]
    return float(np.median(widths)) if widths else float("nan")


def error_table(rows: Sequence[Row]) -> Table:
    """Bias, error, coverage and width of every method."""
    table: list[dict[str, Any]] = []
    for law, size, method, mine in grouped(rows, "law", "rows", "method"):
        made = errors(mine)
        error = bootstrap(made**2, lambda means: np.sqrt(means[:, 0]), draws=TABLE_DRAWS)
        table.append(
            {"law": law, "rows": size, "method": method, "runs": len(mine)}
            | {"bias": float(made.mean()), "root mean squared error": error.value}
            | {"error from": error.low, "error to": error.high}
            | {"largest run's share": float(np.max(made**2) / np.sum(made**2))}
            | {"median |error|": float(np.median(np.abs(made)))}
            | {"with interval": len(with_interval(mine)) / len(mine), "coverage": holds(mine).value}
            | {"lower end holds": holds(mine, above=False).value}
            | {"upper end holds": holds(mine, below=False).value}
            | {"median width": median_width(mine)}
        )
    return Table(
        "evaluation",
        "Evaluation from logs",
        "Every method on the same logs; intervals at 95%, coverage among the runs with an "
        "interval. The error is between 'error from' and 'error to' (bootstrap over the logs); "
        "the largest run's share is that of the squared errors: where one log makes most of it, "
        "the next set of logs has another error. Methods called plain, and sub-Gaussian, are Open "
        "Bandit Pipeline's formulas with its bootstrap, written down again.",
        table,
    )


def coverage_figure(rows: Sequence[Row], shown: Sequence[str] = COVERAGE) -> Figure:
    """Return how often the intervals of the shown methods contain the truth."""
    panels = []
    for size, mine in grouped(rows, "rows"):
        laws = values(mine, "law")
        series = [
            dots(method, [holds(select(part, law=law)) for law in laws])
            for method, part in grouped(mine, "method")
            if method in shown
        ]
        panels.append(Panel(f"{size:,} rows", "", "coverage", series, categories=laws))
    return Figure(
        "evaluation-coverage",
        "How often 95% intervals contain the truth",
        "Share of runs, Wilson's 95% interval.",
        [View("all", panels)],
    )


def error_figure(rows: Sequence[Row], shown: Sequence[str] = ERRORS) -> Figure:
    """Root mean squared error, in units of plain IPS, of the methods that are shown."""
    panels = []
    for size, mine in grouped(rows, "rows"):
        laws = values(mine, "law")
        series = []
        for method, part in grouped(mine, "method"):
            if method in shown:
                plain = select(mine, method=PLAIN)
                ratios = [error_ratio(select(part, law=a), select(plain, law=a)) for a in laws]
                series.append(dots(method, ratios))
        label = "error / that of plain IPS"
        panels.append(Panel(f"{size:,} rows", "", label, series, "linear", "log", laws))
    return Figure(
        "evaluation-error",
        "Root mean squared error over that of plain IPS",
        "Below one is better; 95% intervals by bootstrap over the logs.",
        [View("all", panels)],
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether the default keeps what its page promises, and where plain IPS does not."""
    return [
        verdict
        for law, size, mine in grouped(rows, "law", "rows")
        for verdict in verdicts_of(law, f"{LAWS[law][0]}, {size:,} rows", mine)
    ]


def verdicts_of(law: str, reading: str, rows: Sequence[Row]) -> list[Verdict]:
    """Return the claims of one law at one size."""
    ours, clipped, plain = (select(rows, method=name) for name in (OURS, CLIPPED, PLAIN))
    share, made = f"share of {len(ours)} runs", []
    reported = len(with_interval(ours))
    if reported:
        claim = f"{OURS}: the interval contains the truth in {PROMISE:.0%}"
        measure = f"share of {reported} runs with an interval"
        made.append(judge(claim, reading, measure, holds(ours), PROMISE))
    if law in NO_VARIANCE:
        bounded = holds(select(rows, method=BOUNDED))
        claim = f"with a known moment the interval contains the truth in {PROMISE:.0%}"
        made.append(judge(claim, reading, share, bounded, PROMISE))
    limits = {"t1.5": (clipped, 0.25)} | dict.fromkeys(LIGHT, (ours, 1.1))
    if law in limits:
        mine, most = limits[law]
        claim = f"{mine[0]['method']}: error at most {most:g} times that of plain IPS"
        ratio = error_ratio(mine, plain)
        made.append(judge(claim, reading, "ratio of the errors", ratio, 0.0, most))
    claim = f"plain IPS: the interval contains the truth in {PROMISE:.0%}"
    made.append(judge(claim, reading, share, holds(plain), PROMISE, note="the usual method"))
    return made
