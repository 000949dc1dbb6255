"""Where truncation matters: heavier tails, a sweep of the threshold and of the radius."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from ..._utils.drawing import Panel, View, dots
from ..._utils.statistics import Array, Estimate, bootstrap, difference, summary
from ..._utils.tables import Row, grouped, select, values
from ...parts.arms import Fixed
from ...parts.links import Identity, Logistic
from ...parts.noises import Pareto, StudentT
from ...parts.radii import Constant
from ...simulation.problem import Problem
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..roster import make_policy as make_named
from ..roster import make_setting
from ..rows import Compute, Group, collect_rows, column, simulation_group

TITLE = "Tails: where truncation matters"

# Arms in all directions: under those of Figure 1, which all point the same way, no algorithm learns
# enough in such noise for the estimators to differ.
DIM = 10
ARMS = Fixed(20, DIM, low=-1.0)
PROBLEMS: dict[str, tuple[str, Any]] = {
    "logistic": ("logistic rewards", Logistic()),
    "linear": ("linear rewards", Identity()),
}

# name: (what it is, noise, epsilon)
NOISES: dict[str, tuple[str, Any, float]] = {
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5), 0.4),
    "t2": ("Student's t, 2 degrees of freedom", StudentT(2.0), 0.9),
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0), 1.0),
    "pareto1.5": ("centred Pareto, s = 1.5, from 1", Pareto(1.5, 1.0), 0.4),
    "pareto2": ("centred Pareto, s = 2, from 1", Pareto(2.0, 1.0), 0.9),
    "pareto3": ("centred Pareto, s = 3, from 1", Pareto(3.0, 1.0), 1.0),
}

NONE = 0.0  # stands for "no truncation": the online Newton step of the same radius
LEVELS = [NONE, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003]  # multiples of Algorithm 1's Gamma
RADII = [0.1, 1.0, 10.0]  # of the confidence region, the same with and without truncation

_COMMON: dict[str, Any] = {"levels": LEVELS, "radii": RADII, "seed": 0}
_COMMON |= {"noises": list(NOISES), "problems": list(PROBLEMS)}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"horizon": 500, "repetitions": 4, "noises": ["t1.5"], "problems": ["logistic"]}
    | {"levels": [NONE, 0.1], "radii": [1.0]},
    "quick": _COMMON | {"horizon": 10**4, "repetitions": 10},
    "default": _COMMON | {"horizon": 3 * 10**4, "repetitions": 20},
    "full": _COMMON | {"horizon": 10**5, "repetitions": 30},
}


# ---- cells and rows


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """CRTM at every threshold and radius, and the same without truncation."""
    points = product(given["problems"], given["noises"], given["radii"], given["levels"])
    return collect_rows([make_group(given, *point) for point in points], compute)


def make_policy(problem: str, noise: str, horizon: int, radius: float, level: float) -> Any:
    """CRTM with this radius and this multiple of Algorithm 1's Gamma (0: no truncation)."""
    _, made, epsilon = NOISES[noise]
    known = make_setting(made, DIM, horizon, epsilon=epsilon, link=PROBLEMS[problem][1])
    printed: Any = make_named("CRTM", known, None)
    cut = math.inf if level == NONE else level * printed.filter.threshold
    policy: Any = make_named("CRTM", known, None, truncation=cut)
    return policy._replace(radius=Constant(radius * radius))


def make_group(
    given: dict[str, Any], problem: str, noise: str, radius: float, level: float
) -> Group:
    """Return the cells of one threshold and radius, and what names them."""
    named = {"problem": problem, "noise": noise, "radius": radius, "level": level}
    policy = make_policy(problem, noise, given["horizon"], radius, level)
    where = Problem(ARMS, PROBLEMS[problem][1], NOISES[noise][1])
    return simulation_group("tails", named, policy, where, given)


# ---- what the rows say


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the tails experiment says."""
    return Findings(
        tables=[level_table(rows)],
        figures=[level_figure(rows)],
        verdicts=verdicts(rows),
        notes=[
            "Both sides of every comparison have the same radius, so that exploration is not "
            "mistaken for robustness.",
            "The best threshold and radius are chosen on the first half of the repetitions and "
            "judged on the second.",
        ],
    )


def regret(rows: Sequence[Row], radius: float, level: float) -> Array:
    """Final regret at one radius and threshold, one number per repetition."""
    return column(select(rows, radius=radius, level=level))


def gain(rows: Sequence[Row], radius: float, level: float) -> Estimate:
    """Regret without truncation minus regret with it, repetition by repetition."""
    return difference(regret(rows, radius, NONE), regret(rows, radius, level))


def level_name(level: float) -> str:
    """Return what to call a threshold.

    >>> level_name(0.0), level_name(0.3)
    ('none', '0.3 Gamma')
    """
    return "none" if level == NONE else f"{level:g} Gamma"


def level_table(rows: Sequence[Row]) -> Table:
    """Every problem, noise, radius and threshold."""
    return Table(
        "tails",
        "Tails: regret at every threshold and radius",
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
    """Return one line of the table."""
    part, made = select(rows, radius=radius, level=level), gain(rows, radius, level)
    found = summary(regret(rows, radius, level))
    return (
        {"radius": radius, "truncation": level_name(level)}
        | {name: found[name] for name in ("mean", "mean low", "mean high", "median")}
        | {"gain": made.value, "gain low": made.low, "gain high": made.high}
        | {"truncated": float(column(part, "truncated").mean())}
    )


def level_figure(rows: Sequence[Row]) -> Figure:
    """Final regret over the threshold: colours are radii, panels noises, views problems."""
    views: dict[str, list[Panel]] = {}
    for problem, noise, mine in grouped(rows, "problem", "noise"):
        levels = values(mine, "level")
        series = [
            dots(f"radius {radius:g}", [bootstrap(regret(mine, radius, level)) for level in levels])
            for radius in values(mine, "radius")
        ]
        names = [level_name(level) for level in levels]
        panel = Panel(
            NOISES[noise][0], "truncation threshold", "final regret", series, categories=names
        )
        views.setdefault(PROBLEMS[problem][0], []).append(panel)
    return Figure(
        "tails",
        "Where truncation matters",
        "Mean final regret with 95% intervals over the truncation threshold, as a multiple of "
        "Algorithm 1's Gamma, at three radii of the confidence region.",
        [View(label, panels) for label, panels in views.items()],
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether truncation pays, at Algorithm 1's threshold and at the best one."""
    made = []
    for problem, noise, mine in grouped(rows, "problem", "noise"):
        half = (max(row["repetition"] for row in mine) + 1) // 2
        early = [row for row in mine if row["repetition"] < half]
        late = [row for row in mine if row["repetition"] >= half]
        levels = [level for level in values(mine, "level") if level != NONE]
        for which, options in (("Algorithm 1's", [1.0]), ("the best", levels)):
            if set(options) <= set(levels):
                radius, level = best(early, options)
                claim = (
                    f"truncation at {which} threshold lowers the regret of the online Newton step"
                )
                where = f"{PROBLEMS[problem][0]}, {NOISES[noise][0]}; radius {radius:g}"
                words, found = "regret without minus with, same radius", gain(late, radius, level)
                made.append(judge(claim, f"{where}, {level_name(level)}", words, found))
    return made


def best(rows: Sequence[Row], levels: Sequence[float]) -> tuple[float, float]:
    """Return the radius and the threshold of the smallest mean regret."""
    points = [(radius, level) for radius in values(rows, "radius") for level in levels]
    return min(points, key=lambda point: float(regret(rows, *point).mean()))
