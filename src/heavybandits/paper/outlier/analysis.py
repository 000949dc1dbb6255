"""Rows of the outlier experiment to a figure, a table and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...reporting.outputs import Figure, Findings, Panel, Series, Table, Verdict, View, judge
from ...support.statistics import Array, bootstrap, difference, summary
from ...support.tables import Row, select, values
from ...sweeping.search import Choice, remark
from ..rows import final_rows
from ..tuning import choices
from .settings import NOISES, ROBUST, SHARE


def analyse(rows: Sequence[Row]) -> Findings:
    """All that the outlier experiment says."""
    reported = select(rows, phase="report")
    return Findings(
        tables=[harm_table(reported, found := tuned(rows))],
        figures=[regret_figure(reported)],
        verdicts=verdicts(reported, found),
    )


def tuned(rows: Sequence[Row]) -> dict[str, Choice]:
    """The constants that were chosen on clean rewards, by algorithm."""
    return {
        name: choice
        for (name,), choice in choices(select(rows, phase="tuning"), "algorithm").items()
    }


def finals(rows: Sequence[Row], noise: str, algorithm: str) -> Array:
    """Final regret, one number per repetition."""
    mine = final_rows(select(rows, noise=noise, algorithm=algorithm))
    return np.array([row["regret"] for row in mine])


def regret_figure(rows: Sequence[Row]) -> Figure:
    """Mean regret with and without the outlier."""
    panels = []
    for noise, (title, _) in NOISES.items():
        mine = select(rows, noise=noise)
        series = []
        for name in values(mine, "algorithm"):
            part = select(mine, algorithm=name)
            plays = [float(play) for play in values(part, "play")]
            regret = np.array([row["regret"] for row in part]).reshape(-1, len(plays))
            low, high = np.quantile(regret, (0.1, 0.9), axis=0)
            curves = ([0.0, *ys.tolist()] for ys in (regret.mean(axis=0), low, high))
            series.append(Series(name, [0.0, *plays], *curves))
        panels.append(Panel(title, "plays", "cumulative regret", series))
    return Figure(
        "outlier",
        "What one reward of -10,000 does",
        "Mean regret and the middle 80% of the repetitions, same arms and noise in both panels; "
        "constants tuned on clean rewards.",
        [View("with and without", panels)],
    )


def harm_table(rows: Sequence[Row], found: dict[str, Choice]) -> Table:
    """Regret with and without the outlier, and the paired difference."""
    table: list[dict[str, Any]] = []
    for name in values(rows, "algorithm"):
        clean, hit = (finals(rows, noise, name) for noise in NOISES)
        harm = difference(hit, clean)
        table.append(
            {
                "algorithm": name,
                "c": select(rows, algorithm=name)[0]["constant"],
                "c at": found[name].at if name in found else "",
                "clean, mean": float(clean.mean()),
                "outlier, mean": float(hit.mean()),
                "outlier, median": summary(hit)["median"],
                "harm": harm.value,
                "harm low": harm.low,
                "harm high": harm.high,
            }
        )
    return Table(
        "outlier",
        "What one reward of -10,000 costs",
        "Final regret without and with the outlier; harm: mean paired difference, 95% interval.",
        table,
    )


def verdicts(rows: Sequence[Row], found: dict[str, Choice]) -> list[Verdict]:
    """Which algorithms are unharmed: no claim of the paper, but what its methods are for."""
    names = values(rows, "algorithm")
    if "random play" not in names:
        return []
    random = finals(rows, "clean", "random play")
    made = []
    for name in names:
        if name == "random play":
            continue
        columns = np.column_stack([*(finals(rows, noise, name) for noise in NOISES), random])
        share = bootstrap(columns, lambda m: (m[:, 1] - m[:, 0]) / m[:, 2])
        notes = [] if name in ROBUST else ["not made for heavy tails"]
        notes += [remark({name: found[name]})] if name in found else []
        made.append(
            judge(
                f"{name} is unharmed by one reward of -10,000",
                NOISES["outlier"][0],
                f"extra regret over that of random play (unharmed: below {SHARE})",
                share,
                float("-inf"),
                SHARE,
                "; ".join(note for note in notes if note),
            )
        )
    return made
