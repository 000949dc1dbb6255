"""Filters that set their own threshold against fixed thresholds, over the problems of `tails`."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, View, dots
from ..._utils.statistics import Array, Estimate, bootstrap, summary
from ..._utils.tables import Row, grouped, select, values
from ...algorithms.glm import crtm
from ...algorithms.linear import linucb
from ...parts.arms import Fixed, PerRound
from ...parts.filters import AdaptiveClip, Clip, NoFilter, Truncate
from ...parts.links import Identity, Logistic
from ...parts.noises import Gaussian, Pareto, StudentT
from ...parts.radii import Constant
from ...simulation.problem import Problem
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..rows import Compute, Group, collect_rows, column, simulation_group

TITLE = "Thresholds that set themselves"

DIM, ARMS = 10, 20
RADIUS = 1.0  # of the confidence region, the same for all

NOISES: dict[str, tuple[str, Any]] = {
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5)),
    "t2": ("Student's t, 2 degrees of freedom", StudentT(2.0)),
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0)),
    "pareto1.5": ("centred Pareto, s = 1.5, from 1", Pareto(1.5, 1.0)),
    "pareto2": ("centred Pareto, s = 2, from 1", Pareto(2.0, 1.0)),
    "pareto3": ("centred Pareto, s = 3, from 1", Pareto(3.0, 1.0)),
    "gauss": ("Gaussian, a control", Gaussian(1.0)),
}

# Both problems have 20 arms in 10 dimensions; ridge regression meets fresh arms of any sign.
PROBLEMS = {
    "logistic": "logistic rewards, fixed arms, online Newton step",
    "linear": "linear rewards, fresh arms, ridge regression",
}

FIXED: dict[str, Any] = {
    "none": NoFilter(),
    **{f"truncate {level:g}": Truncate(level) for level in (0.3, 1.0, 3.0, 10.0, 30.0)},
    **{f"clip {level:g}": Clip(level) for level in (0.3, 1.0, 3.0, 10.0, 30.0)},
}
ADAPTIVE: dict[str, Any] = {
    "adaptive clip": AdaptiveClip(),
    "adaptive clip, 0.95": AdaptiveClip(quantile=0.95),
    "adaptive clip, raw": AdaptiveClip(residual=False),
    "adaptive clip, weighted": AdaptiveClip(weighted=True),
    "adaptive truncate": AdaptiveClip(truncate=True),
    "adaptive truncate, raw": AdaptiveClip(residual=False, truncate=True),
}
JUDGED = "adaptive clip"
FAR = 1.25  # "not far behind": at most a quarter more regret than the best fixed level

_COMMON: dict[str, Any] = {
    "noises": list(NOISES),
    "problems": list(PROBLEMS),
    "filters": [*FIXED, *ADAPTIVE],
    "seed": 1,  # the default quantile was set on seed 7
}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"horizon": 300, "repetitions": 3, "noises": ["t1.5"], "problems": ["linear"]}
    | {"filters": ["none", "clip 1", "clip 10", JUDGED]},
    "quick": _COMMON
    | {"horizon": 5_000, "repetitions": 10, "filters": [*FIXED, JUDGED], "problems": ["linear"]},
    "default": _COMMON | {"horizon": 20_000, "repetitions": 20},
    "full": _COMMON | {"horizon": 20_000, "repetitions": 30},
}


# ---- cells and rows


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Every filter on every problem and noise, at one radius."""
    points = product(given["problems"], given["noises"], given["filters"])
    return collect_rows([make_group(given, *point) for point in points], compute)


def make_policy(problem: str, horizon: int, name: str) -> Any:
    """Return the estimator of this problem with the filter of this name."""
    filter = (FIXED | ADAPTIVE)[name]
    if problem == "linear":
        return linucb(dim=DIM, radius=RADIUS, filter=filter)
    policy = crtm(dim=DIM, horizon=horizon, raw_moment=1.0, radius_scale=1.0, truncation=filter)
    return policy._replace(radius=Constant(RADIUS**2))


def make_problem(problem: str, noise: str) -> Problem:
    """Return one of the two problems with one of the noises."""
    made = NOISES[noise][1]
    if problem == "linear":
        return Problem(PerRound(ARMS, DIM, -1.0), Identity(), made)
    return Problem(Fixed(ARMS, DIM), Logistic(), made)


def make_group(given: dict[str, Any], problem: str, noise: str, name: str) -> Group:
    """Return the cells of one filter, and what names them."""
    named = {"problem": problem, "noise": noise, "filter": name}
    policy = make_policy(problem, given["horizon"], name)
    return simulation_group("levels", named, policy, make_problem(problem, noise), given)


# ---- what the rows say


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the experiment `levels` says."""
    return Findings(
        tables=[ratio_table(rows), regret_table(rows)],
        figures=[regret_figure(rows)],
        verdicts=verdicts(rows),
        notes=[
            "A filter is compared with the best fixed threshold for that noise, chosen in "
            "hindsight on the same runs that are reported: no user could have known it.",
            "All filters share estimator, radius, arms and noise.",
        ],
    )


def regret(rows: Sequence[Row], name: str) -> Array:
    """Final regret with this filter, one number per repetition."""
    return column(select(rows, filter=name))


def fixed_names(rows: Sequence[Row]) -> list[str]:
    """Return the fixed thresholds that were run."""
    return [name for name in values(rows, "filter") if name in FIXED]


def best_fixed(rows: Sequence[Row]) -> str:
    """Return the fixed threshold of the smallest mean regret."""
    return min(fixed_names(rows), key=lambda name: float(regret(rows, name).mean()))


def ratio(rows: Sequence[Row], name: str) -> Estimate:
    """Regret with this filter over that with the best fixed threshold of every resample."""
    columns = [regret(rows, name), *(regret(rows, fixed) for fixed in fixed_names(rows))]
    return bootstrap(np.column_stack(columns), lambda m: m[:, 0] / m[:, 1:].min(axis=1))


def ratio_table(rows: Sequence[Row]) -> Table:
    """Return how far each filter that sets itself is from the best fixed threshold."""
    table: list[dict[str, Any]] = []
    for problem, noise, mine in grouped(rows, "problem", "noise"):
        best = best_fixed(mine)
        row: dict[str, Any] = {"problem": problem, "noise": noise, "best fixed threshold": best}
        for name in values(mine, "filter"):
            if name in ADAPTIVE or name == "none":
                row[name] = ratio(mine, name).value
        table.append(row)
    return Table(
        "levels_ratio",
        "Thresholds that set themselves, over the best fixed threshold",
        "Mean regret divided by that of the best fixed threshold chosen in hindsight; below 1 is "
        "better than every fixed threshold that was tried.",
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
        "Mean final regret with its 95% interval, the median, and the share of clipped rewards.",
        table,
    )


def regret_figure(rows: Sequence[Row]) -> Figure:
    """Regret over the fixed threshold, with the judged filter as a line across."""
    views = []
    for problem, mine in grouped(rows, "problem"):
        panels = [_panel(NOISES[noise][0], part) for noise, part in grouped(mine, "noise")]
        views.append(View(PROBLEMS[problem], panels))
    return Figure(
        "levels",
        "A threshold that sets itself, and fixed ones",
        "Mean final regret with 95% intervals: every fixed threshold, and the adaptive clip.",
        views,
    )


def _panel(title: str, rows: Sequence[Row]) -> Panel:
    names = [*fixed_names(rows), JUDGED]
    *fixed, judged = [bootstrap(regret(rows, name)) for name in names]
    series = [dots("fixed threshold", fixed), dots(JUDGED, [judged], first=len(fixed))]
    return Panel(title, "filter", "final regret", series, categories=names)


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether the threshold that sets itself is ever far behind."""
    return [
        judge(
            f"the adaptive clip is not far behind the best fixed threshold (ratio below {FAR})",
            f"{PROBLEMS[problem]}; {NOISES[noise][0]}; best fixed: {best_fixed(mine)}",
            "regret over that of the best fixed threshold in hindsight",
            ratio(mine, JUDGED),
            float("-inf"),
            FAR,
        )
        for problem, noise, mine in grouped(rows, "problem", "noise")
        if JUDGED in values(mine, "filter")
    ]
