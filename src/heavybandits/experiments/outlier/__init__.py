"""What one reward of -10^4 does to a bandit."""

import functools
import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, Series, View
from ..._utils.statistics import Array, bootstrap, difference, summary
from ..._utils.tables import Row, select, values
from ...algorithms.linear import linucb
from ...core.protocols import Filter
from ...parts.arms import Fixed
from ...parts.filters import Clip, Truncate
from ...parts.links import Identity
from ...parts.noises import Outlier, StudentT
from ...simulation.problem import Problem
from ...sweeps.search import Choice, log_grid, remark
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..roster import make_policy as make_named
from ..roster import make_setting
from ..rows import (
    PAPER,
    Compute,
    Group,
    choices,
    collect_rows,
    column,
    final_rows,
    simulation_group,
    tune_rows,
)

TITLE = "One outlier"

# Linear rewards, arms in all directions and little noise: a problem that every algorithm can solve.
DIM = 10
ARMS = Fixed(20, DIM, low=-1.0)
LINK = Identity()
PLAY, VALUE = 100, -1e4
BASE = StudentT(3.0, scale=0.1)
NOISES: dict[str, tuple[str, Any]] = {
    "clean": ("Student's t noise", BASE),
    "outlier": ("the same, with one reward of -10,000 at play 100", Outlier(BASE, PLAY, VALUE)),
}
FILTERED: dict[str, Filter] = {"LinUCB, truncated": Truncate(5.0), "LinUCB, clipped": Clip(2.0)}
ALGORITHMS = ["CRTM", "CRMM", "OL2M", "GLOC", "LinUCB", *FILTERED, "random play"]
UNTUNED = ["random play"]
ROBUST = ["CRTM", "CRMM", *FILTERED]
SHARE = 0.1  # unharmed: the outlier costs less than this share of what random play costs

_COMMON: dict[str, Any] = {"algorithms": ALGORITHMS, "checkpoints": 100, "seed": 0}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"horizon": 1000, "repetitions": 3, "constants": 2, "tuning_repetitions": 2}
    | {"checkpoints": 10, "algorithms": ["CRTM", "OL2M", "LinUCB", "random play"]},
    "quick": _COMMON
    | {"horizon": 10**4, "repetitions": 20, "constants": 5, "tuning_repetitions": 5},
    "default": _COMMON
    | {"horizon": 10**4, "repetitions": 40, "constants": 9, "tuning_repetitions": 20},
    "full": _COMMON
    | {"horizon": 10**5, "repetitions": 40, "constants": 9, "tuning_repetitions": 20},
}


# ---- cells and rows


def make_policy(name: str, horizon: int, constant: float) -> Any:
    """Return the algorithm of this name at this constant; it knows nothing of the outlier."""
    if name == "LinUCB":
        return linucb(dim=DIM, radius=constant)
    if name in FILTERED:
        return linucb(dim=DIM, radius=constant, filter=FILTERED[name])
    return make_named(name, make_setting(BASE, DIM, horizon, link=LINK), constant)


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Tune on rewards without outliers and other seeds; then run with and without the outlier."""
    names, start = given["algorithms"], log_grid(given["constants"])
    members = {("clean",): [name for name in names if name not in UNTUNED]}
    make = functools.partial(make_group, given, "tuning")
    tuning, best = tune_rows(make, members, start, PAPER, compute)
    report = [
        make_group(given, "report", noise, name, best.get(("clean", name), start[0]))
        for noise, name in product(NOISES, names)
    ]
    return tuning + collect_rows(report, compute)


def make_group(
    given: dict[str, Any], phase: str, noise: str, algorithm: str, constant: float
) -> Group:
    """Return the cells of one algorithm at one constant, and what names them."""
    named = {"phase": phase, "noise": noise, "algorithm": algorithm, "constant": constant}
    policy = make_policy(algorithm, given["horizon"], constant)
    return simulation_group("outlier", named, policy, Problem(ARMS, LINK, NOISES[noise][1]), given)


# ---- what the rows say


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the outlier experiment says."""
    reported = select(rows, phase="report")
    return Findings(
        tables=[harm_table(reported, found := tuned(rows))],
        figures=[regret_figure(reported)],
        verdicts=verdicts(reported, found),
    )


def tuned(rows: Sequence[Row]) -> dict[str, Choice]:
    """Return the constants that were chosen on rewards without outliers, by algorithm."""
    return choices(select(rows, phase="tuning"), "algorithm")


def finals(rows: Sequence[Row], noise: str, algorithm: str) -> Array:
    """Final regret, one number per repetition."""
    return column(final_rows(select(rows, noise=noise, algorithm=algorithm)))


def regret_figure(rows: Sequence[Row]) -> Figure:
    """Return mean regret with and without the outlier."""
    panels = []
    for noise, (title, _) in NOISES.items():
        mine = select(rows, noise=noise)
        series = []
        for name in values(mine, "algorithm"):
            part = select(mine, algorithm=name)
            plays = [float(play) for play in values(part, "play")]
            regret = column(part).reshape(-1, len(plays))
            low, high = np.quantile(regret, (0.1, 0.9), axis=0)
            curves = ([0.0, *ys.tolist()] for ys in (regret.mean(axis=0), low, high))
            series.append(Series(name, [0.0, *plays], *curves))
        panels.append(Panel(title, "plays", "cumulative regret", series))
    return Figure(
        "outlier",
        "What one reward of -10,000 does",
        "Mean regret and the middle 80% of the repetitions, same arms and noise in both panels; "
        "parameters tuned on rewards without outliers.",
        [View("with and without", panels)],
    )


def harm_table(rows: Sequence[Row], found: dict[str, Choice]) -> Table:
    """Regret with and without the outlier, and the paired difference."""
    table: list[dict[str, Any]] = []
    for name in values(rows, "algorithm"):
        clean, hit = (finals(rows, noise, name) for noise in NOISES)
        harm = difference(hit, clean)
        table.append(
            {"algorithm": name, "c": select(rows, algorithm=name)[0]["constant"]}
            | {
                "c at": found[name].at if name in found else "",
                "mean": float(clean.mean()),
            }
            | {"outlier, mean": float(hit.mean()), "outlier, median": summary(hit)["median"]}
            | {"harm": harm.value, "harm low": harm.low, "harm high": harm.high}
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
        claim = f"{name} is unharmed by one reward of -10,000"
        words = f"extra regret over that of random play (unharmed: below {SHARE})"
        note = "; ".join(note for note in notes if note)
        made.append(judge(claim, NOISES["outlier"][0], words, share, -math.inf, SHARE, note))
    return made
