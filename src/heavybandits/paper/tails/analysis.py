"""Rows of the tails experiment to figures, tables and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...reporting.outputs import Figure, Findings, Panel, Table, Verdict, View, dots, judge
from ...support.statistics import Array, Estimate, bootstrap, difference, summary
from ...support.tables import Row, grouped, select, values
from .settings import NOISES, NONE, PROBLEMS


def analyse(rows: Sequence[Row]) -> Findings:
    """All that the tails experiment says."""
    return Findings(
        tables=[level_table(rows)],
        figures=[level_figure(rows)],
        verdicts=verdicts(rows),
        notes=[
            "Both sides of every comparison have the same radius, so that exploration is not "
            "mistaken for robustness.",
            "The best level and radius are chosen on the first half of the repetitions and judged "
            "on the second.",
        ],
    )


def regret(rows: Sequence[Row], radius: float, level: float) -> Array:
    """Final regret at one radius and level, one number per repetition."""
    return np.array([row["regret"] for row in select(rows, radius=radius, level=level)])


def gain(rows: Sequence[Row], radius: float, level: float) -> Estimate:
    """Regret without truncation minus regret with it, repetition by repetition."""
    return difference(regret(rows, radius, NONE), regret(rows, radius, level))


def level_name(level: float) -> str:
    """What to call a level.

    >>> level_name(0.0), level_name(0.3)
    ('none', '0.3 Gamma')
    """
    return "none" if level == NONE else f"{level:g} Gamma"


def level_table(rows: Sequence[Row]) -> Table:
    """Every problem, noise, radius and level."""
    return Table(
        "tails",
        "Tails: regret at every level and radius",
        "gain: regret of the untruncated online Newton step of the same radius minus this one's, "
        "paired, with its 95% interval; truncated: rewards per run.",
        [
            {"problem": problem, "noise": noise} | level_row(mine, radius, level)
            for problem, noise, mine in grouped(rows, "problem", "noise")
            for radius in values(mine, "radius")
            for level in values(mine, "level")
        ],
    )


def level_row(rows: Sequence[Row], radius: float, level: float) -> dict[str, Any]:
    """One line of the table."""
    part, made = select(rows, radius=radius, level=level), gain(rows, radius, level)
    found = summary(regret(rows, radius, level))
    return (
        {"radius": radius, "truncation": level_name(level)}
        | {name: found[name] for name in ("mean", "mean low", "mean high", "median")}
        | {"gain": made.value, "gain low": made.low, "gain high": made.high}
        | {"truncated": float(np.mean([row["truncated"] for row in part]))}
    )


def level_figure(rows: Sequence[Row]) -> Figure:
    """Final regret over the level: a colour per radius, a panel per noise, a view per problem."""
    views: dict[str, list[Panel]] = {}
    for problem, noise, mine in grouped(rows, "problem", "noise"):
        levels = values(mine, "level")
        series = [
            dots(f"radius {radius:g}", [bootstrap(regret(mine, radius, level)) for level in levels])
            for radius in values(mine, "radius")
        ]
        names = [level_name(level) for level in levels]
        panel = Panel(
            NOISES[noise][0], "truncation level", "final regret", series, categories=names
        )
        views.setdefault(PROBLEMS[problem][0], []).append(panel)
    return Figure(
        "tails",
        "Where truncation matters",
        "Mean final regret with 95% intervals over the truncation level, as a multiple of "
        "Algorithm 1's Gamma, at three radii of the confidence region.",
        [View(label, panels) for label, panels in views.items()],
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Whether truncation pays, at Algorithm 1's level and at the best one."""
    made = []
    for problem, noise, mine in grouped(rows, "problem", "noise"):
        half = (max(row["repetition"] for row in mine) + 1) // 2
        early = [row for row in mine if row["repetition"] < half]
        late = [row for row in mine if row["repetition"] >= half]
        levels = [level for level in values(mine, "level") if level != NONE]
        for which, options in (("Algorithm 1's", [1.0]), ("the best", levels)):
            if set(options) <= set(levels):
                radius, level = best(early, options)
                where = f"{PROBLEMS[problem][0]}, {NOISES[noise][0]}; radius {radius:g}"
                made.append(
                    judge(
                        f"truncation at {which} level lowers the regret of the online Newton step",
                        f"{where}, {level_name(level)}",
                        "regret without minus with, same radius",
                        gain(late, radius, level),
                    )
                )
    return made


def best(rows: Sequence[Row], levels: Sequence[float]) -> tuple[float, float]:
    """The radius and the level of the smallest mean regret."""
    points = [(radius, level) for radius in values(rows, "radius") for level in levels]
    return min(points, key=lambda point: float(regret(rows, *point).mean()))
