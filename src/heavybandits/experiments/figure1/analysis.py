"""Rows of Figure 1 to figures, tables and verdicts: pure functions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, Series, View
from ..._utils.statistics import Array, Estimate, bootstrap, difference, margin, summary
from ..._utils.tables import Row, grouped, select, values
from ...core.protocols import Tally
from ...sweeps.search import Choice, remark
from ...sweeps.tune import loss_series
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..rows import choices, column, curve_of, grid_table
from .settings import CLAIMS, HORIZON, NOISES, UPDATES_CLAIM, WIDER


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that Figure 1 says."""
    return Findings(
        tables=[regret_table(rows), published_grid(rows)],
        figures=[figure := regret_figure(rows), logarithmic(figure), constant_figure(rows)],
        verdicts=verdicts(rows),
        notes=notes(rows),
    )


def curves(rows: Sequence[Row]) -> tuple[Array, Array]:
    """Checkpoints, and regret with one row per repetition, of the rows of one algorithm."""
    plays = np.array(values(rows, "play"), dtype=np.float64)
    return plays, column(rows).reshape(-1, plays.size)


def finals(rows: Sequence[Row]) -> dict[str, Array]:
    """Final regret by algorithm, one number per repetition, under one reading and noise."""
    return {name: curves(mine)[1][:, -1] for name, mine in grouped(rows, "algorithm")}


def split(rows: Sequence[Row], phase: str = "report") -> list[tuple[Any, ...]]:
    """Return the rows of a phase by reading and noise."""
    return grouped(select(rows, phase=phase), "reading", "noise")


def band(regret: Array) -> tuple[Array, Array]:
    """Bootstrap intervals of the mean at every checkpoint."""
    made = [bootstrap(column, draws=2000) for column in regret.T]
    return np.array([e.low for e in made]), np.array([e.high for e in made])


def curve_series(name: str, rows: Sequence[Row]) -> Series:
    """Return the mean curve of an algorithm with its band, from zero."""
    plays, regret = curves(rows)
    low, high = band(regret)
    x, y, below, above = ([0.0, *a.tolist()] for a in (plays, regret.mean(axis=0), low, high))
    return Series(name, x, y, below, above)


def regret_figure(rows: Sequence[Row]) -> Figure:
    """Return the paper's figure: mean regret over time."""
    views: dict[str, list[Panel]] = {}
    for reading, noise, mine in split(rows):
        series = [curve_series(*named) for named in grouped(mine, "algorithm")]
        panel = Panel(NOISES[noise][0], "plays", "cumulative regret", series)
        views.setdefault(reading, []).append(panel)
    return Figure(
        "figure1",
        "Figure 1: cumulative regret",
        "Mean over the repetitions, the constant tuned per algorithm and noise on other seeds; "
        "the bands are 95% bootstrap intervals of the mean.",
        [View(reading, panels) for reading, panels in views.items()],
    )


def positive(series: Series) -> Series:
    """Return what of it a logarithmic axis can show."""
    points = zip(series.x, series.y, series.low, series.high, strict=True)
    shown = [point for point in points if point[0] > 0.0 and point[2] > 0.0]
    return Series(series.name, *(list(column) for column in zip(*shown, strict=True)))


def logarithmic(figure: Figure) -> Figure:
    """Return the same curves on logarithmic axes, where the low ones do not hide each other."""

    def redraw(panel: Panel) -> Panel:
        series = [positive(s) for s in panel.series if s.low[-1] > 0.0]
        return replace(panel, series=series, x_scale="log", y_scale="log")

    return Figure(
        "figure1_log",
        "Figure 1 on logarithmic axes",
        "The same curves: the low ones apart, and a slope of 1/2 where regret grows as the root of "
        "the plays.",
        [View(view.label, [redraw(panel) for panel in view.panels]) for view in figure.views],
    )


def constant_figure(rows: Sequence[Row]) -> Figure:
    """Return the whole grid: final regret over the constant c, on the tuning seeds."""
    views: dict[str, list[Panel]] = {}
    for reading, noise, mine in split(rows, "tuning"):
        series = [loss_series(name, curve_of(own)) for name, own in grouped(mine, "algorithm")]
        title = f"{NOISES[noise][0]}\n{remark(chosen(mine))}".strip()
        panel = Panel(title, "constant c", "final regret", series, "log", "log")
        views.setdefault(reading, []).append(panel)
    return Figure(
        "figure1_constants",
        "The grid of constants",
        "Mean final regret on the tuning seeds; the bands are the smallest and the largest run. "
        "The same c means different radii in different algorithms.",
        [View(reading, panels) for reading, panels in views.items()],
    )


def chosen(rows: Sequence[Row]) -> dict[str, Choice]:
    """Return the constants that the tuning rows of one reading and noise lead to, by algorithm."""
    return choices(rows, "algorithm")


def tuned(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Choice]]:
    """Return the constants that were chosen, by reading and noise and by algorithm."""
    return {(reading, noise): chosen(mine) for reading, noise, mine in split(rows, "tuning")}


def regret_table(rows: Sequence[Row]) -> Table:
    """Final regret of every algorithm, and its paired difference to CRTM."""
    table: list[dict[str, Any]] = []
    constants = tuned(rows)
    for reading, noise, mine in split(rows):
        ends, found = finals(mine), constants.get((reading, noise), {})
        for name, regret in ends.items():
            last = select(mine, play=mine[-1]["play"], algorithm=name)
            constant = last[0]["constant"]
            table.append(
                {"reading": reading, "noise": noise, "algorithm": name, "c": constant}
                | {"c at": found[name].at if name in found else ""}
                | summary(regret)
                | _difference(ends, name)
                | {name: float(column(last, name).mean()) for name in Tally._fields}
            )
    return Table(
        "figure1_regret",
        "Figure 1: final regret",
        "Mean with its 95% interval, median, quartiles and extremes over the repetitions; minus "
        "CRTM: mean paired difference; updates, projections and truncated: means per run.",
        table,
    )


def _difference(ends: dict[str, Array], name: str) -> dict[str, float]:
    if "CRTM" not in ends:
        return {}
    made = difference(ends[name], ends["CRTM"])
    return {"minus CRTM": made.value, "minus CRTM low": made.low, "minus CRTM high": made.high}


def published_grid(rows: Sequence[Row]) -> Table:
    """Return the whole tuning grid."""
    return Table(
        "figure1_grid",
        "Figure 1: the whole tuning grid",
        "Mean final regret on the tuning seeds for every constant; the smallest is the one chosen, "
        "and c at is its place on the grid.",
        grid_table(select(rows, phase="tuning"), ("reading", "noise", "algorithm")),
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Return the paper's claims about the figure, for every reading and noise that was run."""
    made: list[Verdict] = []
    constants = tuned(rows)
    for reading, noise, mine in split(rows):
        ends, where = finals(mine), f"{NOISES[noise][0]}; {reading}"
        found = constants.get((reading, noise), {})
        for claim, panel, ours, rest in CLAIMS:
            if noise in panel and set(ours + rest) <= set(ends):
                note = remark({name: found[name] for name in ours + rest if name in found})
                words = "regret: best of the rest minus worst of these"
                made.append(judge(claim, where, words, lead(ends, ours, rest), note=note))
        made += updates_verdict(mine, where) if noise == "t3" else []
    return made


def lead(ends: dict[str, Array], ours: list[str], rest: list[str]) -> Estimate:
    """How far the worst of `ours` stays below the best of `rest`, repetitions resampled jointly."""
    names = [*ours, *rest]
    table = np.column_stack([ends[name] for name in names])
    first, second = list(range(len(ours))), list(range(len(ours), len(names)))
    return bootstrap(table, lambda means: margin(means, first, second))


def updates_verdict(rows: Sequence[Row], where: str) -> list[Verdict]:
    """Return how often the mean-of-medians versions update, at the horizon the claim is about."""
    claim, low, high = UPDATES_CLAIM
    play = rows[-1]["play"]
    last = select(rows, play=play)
    counts = [row["updates"] for row in last if row["algorithm"].endswith("_mom")]
    if not counts or play != HORIZON:
        return []
    return [judge(claim, where, "updates per run", bootstrap(counts), low, high)]


def notes(rows: Sequence[Row]) -> list[str]:
    """Return what a reader of the figure must know."""
    last = select(rows, phase="report", algorithm="CRTM")
    if not last:
        return []
    play = last[-1]["play"]
    cut = grouped(select(last, play=play), "noise")
    shown = ", ".join(f"{column(rows, 'truncated').mean():.3g} ({noise})" for noise, rows in cut)
    low, high = WIDER
    return [
        f"Rewards that CRTM truncated, mean per run of {play}: {shown}.",
        "Constants come from the paper's grid in [1e-4, 1]; where a reading says so, the grid of "
        f"all algorithms grew within [{low:g}, {high:g}] until no optimum was at an end. A verdict "
        "that rests on a constant at an end of its grid, or on a flat curve, has a note.",
    ]
