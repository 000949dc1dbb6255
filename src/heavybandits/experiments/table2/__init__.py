"""Table 2 of the paper: what eight algorithms cost in CPU time."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, Series, View, dots
from ..._utils.statistics import Estimate, pooled_deviation, ratio, student_quantile
from ..._utils.tables import Row, grouped, select
from ...parts.arms import Fixed
from ...parts.noises import StudentT
from ...simulation.problem import Problem
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..roster import LINK, make_policy, make_setting
from ..rows import Compute, timed_rows
from ..table1 import PAPER as COSTS

TITLE = "Table 2: runtime"

NOISE = StudentT(3.0)
ARMS = 20

# Seconds the paper prints (Python, laptop at 2.5 GHz).
PAPER = {"CRT": 3.1737, "TOFU": 3931.9963, "SupBTC": 1187.1863, "CRTM": 2.2909}
PAPER |= {"MoM": 0.0630, "MENU": 24.1990, "SupBMM": 0.0685, "CRMM": 0.0514}
TRUNCATION = ["CRTM", "CRT", "TOFU", "SupBTC"]
MEDIANS = ["CRMM", "MoM", "MENU", "SupBMM"]

# reading: what stands in for what, and the algorithms whose claims it touches. The paper's seconds
# fit the base routines better than the Sup masters, and are too short for the exact projection.
READINGS: dict[str, dict[str, str]] = {
    "all as published": {},
    "BTC and BMM without their Sup masters": {"SupBTC": "BTC", "SupBMM": "BMM"},
    "CRTM and CRMM rescaled, not projected": {"CRTM": "CRTM, rescaled", "CRMM": "CRMM, rescaled"},
}
STAND_INS = {name: master for swap in READINGS.values() for master, name in swap.items()}

SLOW = ["SupBTC", "BTC"]  # run fewer times

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": {"horizon": 100, "dim": 4, "runs": 2, "slow_runs": 1, "seed": 0},
    "quick": {"horizon": 2000, "dim": 40, "runs": 5, "slow_runs": 2, "seed": 0},
    "default": {"horizon": 10**4, "dim": 100, "runs": 5, "slow_runs": 2, "seed": 0},
    "full": {"horizon": 10**4, "dim": 100, "runs": 5, "slow_runs": 2, "seed": 0},
}


# ---- cells and rows


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Time every algorithm alone, with the theorems' constants."""
    horizon, dim = given["horizon"], given["dim"]
    known = make_setting(NOISE, dim, horizon)
    problem = Problem(Fixed(ARMS, dim), LINK, NOISE)
    runs = []
    for name in [*PAPER, *STAND_INS]:
        repeats = given["slow_runs" if name in SLOW else "runs"]
        names = {"algorithm": name, "horizon": horizon, "dim": dim}
        runs.append((names, make_policy(name, known, None), problem, horizon, repeats))
    return timed_rows(runs, given["seed"], compute)


# ---- what the rows say

SLIGHTLY, MUCH = 2.0, 10.0  # how we read "slightly longer" and "significantly longer"


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that Table 2 says."""
    return Findings(
        tables=[runtime_table(rows)],
        figures=[runtime_figure(rows)],
        verdicts=verdicts(rows),
        notes=[
            "Ours are compiled loops, the paper's are Python: compare the ratios, not the seconds.",
            "TOFU is computed here by a shorter way to the same numbers: a reward is looked at "
            "again only when it could have crossed the truncation threshold. The claim that it "
            "takes over a hundred times longer is about the published procedure, whose "
            "multiplications are in the table.",
            "Seconds are CPU time of one thread, run alone; intervals pool the deviation of "
            "ln(time) over all algorithms.",
        ],
    )


def times(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Seconds of every run by algorithm."""
    return {name: [row["seconds"] for row in mine] for name, mine in grouped(rows, "algorithm")}


def seconds(taken: dict[str, list[float]], name: str) -> Estimate:
    """Geometric mean of the seconds of an algorithm."""
    deviation, dof = pooled_deviation(list(taken.values()))
    logs = np.log(taken[name])
    middle = float(logs.mean())
    if not dof:
        return Estimate(math.exp(middle), 0.0, math.inf)
    half = student_quantile(0.975, dof) * deviation / math.sqrt(logs.size)
    return Estimate(math.exp(middle), math.exp(middle - half), math.exp(middle + half))


def compare(taken: dict[str, list[float]], above: str, below: str) -> Estimate:
    """Return how many times longer one algorithm takes than another."""
    return ratio(taken[above], taken[below], *pooled_deviation(list(taken.values())))


def operations(sizes: Row, above: str, below: str) -> float:
    """Return the ratio of the multiplications that the paper's Table 1 counts at these sizes."""
    cost = {name: COSTS[name][1](sizes["horizon"], sizes["dim"]) for name in (above, below)}
    return cost[above] / cost[below]


def runtime_table(rows: Sequence[Row]) -> Table:
    """Seconds, ours and the paper's, and the ratio to the paper's own algorithm of the family."""
    taken = times(rows)
    table: list[dict[str, Any]] = []
    for name in taken:
        printed = STAND_INS.get(name, name)
        leader = "CRTM" if printed in TRUNCATION else "CRMM"
        ours, relative = seconds(taken, name), compare(taken, name, leader)
        table.append(
            {"algorithm": name, "runs": len(taken[name])}
            | {"seconds": ours.value, "low": ours.low, "high": ours.high, "compared with": leader}
            | {"ratio": relative.value, "ratio low": relative.low, "ratio high": relative.high}
            | {"paper's seconds": PAPER[printed], "paper's ratio": PAPER[printed] / PAPER[leader]}
            | {"published operations, ratio": operations(rows[0], printed, leader)}
            | {"updates": select(rows, algorithm=name)[0]["updates"]}
        )
    sizes = rows[0]
    return Table(
        "table2_runtime",
        "Table 2: runtime",
        f"CPU seconds at T = {sizes['horizon']}, d = {sizes['dim']}, K = 20 (the paper: T = 10^4, "
        "d = 100), and ratios next to the paper's and to those of the operations that its "
        "Table 1 counts.",
        table,
    )


def runtime_figure(rows: Sequence[Row]) -> Figure:
    """Ratios, ours next to the paper's, on a log axis."""
    return Figure(
        "table2",
        "Table 2: how many times longer",
        "CPU time relative to the paper's own algorithm of the family, with 95% intervals.",
        [View(reading, ratio_panels(swapped(rows, swap))) for reading, swap in READINGS.items()],
    )


def swapped(rows: Sequence[Row], swap: dict[str, str]) -> dict[str, list[float]]:
    """Seconds by the paper's names, with their replacements."""
    taken = times(rows)
    return {name: taken[swap.get(name, name)] for name in PAPER}


def ratio_panels(taken: dict[str, list[float]]) -> list[Panel]:
    """Return one panel per family."""
    panels = []
    for family, names in (("truncation", TRUNCATION), ("medians", MEDIANS)):
        made = [compare(taken, name, names[0]) for name in names]
        here = dots("here", made)
        series = [here, Series("paper", here.x, [PAPER[name] / PAPER[names[0]] for name in names])]
        title = f"{family}: time relative to {names[0]}"
        panels.append(Panel(title, "", "ratio", series, "linear", "log", names))
    return panels


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Return the paper's claims about runtime under every reading that touches them."""
    size = f"T = {rows[0]['horizon']}, d = {rows[0]['dim']}"
    return [
        verdict
        for reading, swap in READINGS.items()
        for touched, verdict in family_verdicts(swapped(rows, swap), f"{reading}; {size}")
        if not swap or touched & set(swap)
    ]


Touching = tuple[set[str], Verdict]  # the algorithms a claim is about, and the verdict


def family_verdicts(taken: dict[str, list[float]], where: str) -> list[Touching]:
    """Return the claims about the two families."""

    def longer(claim: str, above: str, below: str, low: float, high: float = math.inf) -> Verdict:
        words = f"time of {above} over that of {below}"
        return judge(claim, where, words, compare(taken, above, below), low, high)

    def ranked(names: Sequence[str]) -> list[str]:
        return sorted(names, key=lambda name: float(np.log(taken[name]).mean()))

    fastest, quickest = ranked(TRUNCATION[1:])[0], ranked(MEDIANS[1:])[0]
    slowest = ranked([name for name in MEDIANS if name != "MENU"])[-1]
    family, medians = set(TRUNCATION), set(MEDIANS)
    least = "consumes the least time of the truncation-based algorithms"
    shortest = "has the shortest runtime of the median-based algorithms"
    slightly = f"only slightly longer than CRTM (1 to {SLIGHTLY:g} times)"
    much = f"significantly longer (over {MUCH:g} times) than the other median-based algorithms"
    hundred = "takes over a hundred times longer than CRTM"
    return [
        (family, longer(f"CRTM {least}", fastest, "CRTM", 1.0)),
        ({"TOFU", "CRTM"}, longer(f"TOFU {hundred}", "TOFU", "CRTM", 100.0)),
        ({"SupBTC", "CRTM"}, longer(f"SupBTC {hundred}", "SupBTC", "CRTM", 100.0)),
        ({"CRT", "CRTM"}, longer(f"CRT takes {slightly}", "CRT", "CRTM", 1.0, SLIGHTLY)),
        (medians, longer(f"CRMM {shortest}", quickest, "CRMM", 1.0)),
        (medians, longer(f"MENU takes {much}", "MENU", slowest, MUCH)),
    ]
