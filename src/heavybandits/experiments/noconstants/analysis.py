"""Rows of the experiment without constants to tables, a figure and verdicts: pure functions."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._utils.drawing import Panel, Series, View
from ..._utils.statistics import Array, Estimate, bootstrap
from ..._utils.tables import Row, grouped
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..rows import column
from .replays import chance_table, gain_table, gain_verdicts
from .settings import AUTO, DEFAULT, EASY, JUDGED, MEDIAN, MOST, PROBLEMS, WORST

COMPARED = ((AUTO, AUTO), (f"{JUDGED}, radius 1", DEFAULT))  # policy, and what it is called


def analyse(rows: Sequence[Row]) -> Findings:
    """All that the experiment says."""
    played = gather([row for row in rows if "problem" in row])
    replayed = [row for row in rows if "rows" in row]
    by_days = [row for row in rows if "days" in row]
    return Findings(
        tables=[summary_table(played), problem_table(played)]
        + ([gain_table(replayed), chance_table(replayed, by_days)] if replayed else []),
        figures=[scale_figure(played)],
        verdicts=ratio_verdicts(played) + gain_verdicts(replayed),
        notes=[
            "The best constant radius is the best one for that very problem, chosen in hindsight "
            f"on the runs that are reported, with the filter {JUDGED}; at other scales of the "
            "rewards the same radius times the scale, which no user could have known.",
            f"Problems whose best regret is below {EASY:g} d times the largest gap are reported "
            "apart: every algorithm has to learn its d directions.",
            "The best of a grid in hindsight is also lucky: on real rows, where passes differ "
            "much, part of what it is ahead is chance.",
        ],
    )


# ---- regret


class Played(NamedTuple):
    """One problem: regret by scale and policy, one number per repetition; and its largest gap."""

    problem: str
    gap: float
    regret: dict[float, dict[str, Array]]

    @property
    def constants(self) -> list[str]:
        """The policies of the grid."""
        return [name for name in self.regret[1.0] if name != AUTO]

    @property
    def radii(self) -> list[str]:
        """Those with the filter that bars are about."""
        return [name for name in self.constants if name.startswith(f"{JUDGED},")]

    def best(self, names: Sequence[str]) -> str:
        """The one of the smallest mean regret."""
        return min(names, key=lambda name: float(self.regret[1.0][name].mean()))

    @property
    def easy(self) -> bool:
        """Whether the best regret is below what the d directions cost."""
        least = EASY * PROBLEMS[self.problem].dim * self.gap
        return bool(self.regret[1.0][self.best(self.radii)].mean() < least)

    def ratio(self, scale: float, policy: str = AUTO) -> float:
        """Mean regret over that of the best constant radius."""
        best = self.regret[1.0][self.best(self.radii)].mean()
        return float(self.regret[scale][policy].mean() / best)


def gather(rows: Sequence[Row]) -> list[Played]:
    """The rows by problem."""
    found = []
    for problem, mine in grouped(rows, "problem"):
        regret = {
            scale: {policy: column(runs) for policy, runs in grouped(part, "policy")}
            for scale, part in grouped(mine, "scale")
        }
        found.append(Played(problem, float(column(mine, "gap").mean()), regret))
    return found


def summary_table(problems: Sequence[Played]) -> Table:
    """Median, 90% and worst of the ratios, at every scale."""
    table: list[dict[str, Any]] = []
    for policy, name in COMPARED:
        for scale in problems[0].regret:
            for easy in (False, True):
                found = [one.ratio(scale, policy) for one in problems if one.easy == easy]
                if found:
                    table.append(
                        {"policy": name, "rewards x": scale, "problems": len(found)}
                        | {"kind": "easy" if easy else "all others"}
                        | {"median": float(np.median(found))}
                        | {"90%": float(np.quantile(found, 0.9)), "worst": max(found)}
                    )
    return Table(
        "noconstants_summary",
        "Regret over that of the best constant radius in hindsight",
        "Of `auto` and of a radius of 1, at three scales of the rewards.",
        table,
    )


def problem_table(problems: Sequence[Played]) -> Table:
    """Every problem."""
    table: list[dict[str, Any]] = []
    for one in problems:
        radius, any_one = one.best(one.radii), one.best(one.constants)
        mine = one.regret[1.0]
        row: dict[str, Any] = {"problem": one.problem, "easy": one.easy}
        row |= {"best radius": radius.rsplit(" ", 1)[1], "its regret": float(mine[radius].mean())}
        row |= {"best of all": any_one}
        row |= {"auto over best of all": float(mine[AUTO].mean() / mine[any_one].mean())}
        for policy, name in COMPARED:
            row |= {f"{name} x {scale:g}": one.ratio(scale, policy) for scale in one.regret}
        table.append(row)
    return Table(
        "noconstants",
        "Every problem",
        "The best constant radius in hindsight and its mean regret; the best radius and filter of "
        "all; and the regret of `auto` and of radius 1 over that of the best radius, by the factor "
        "of the rewards.",
        table,
    )


def scale_figure(problems: Sequence[Played]) -> Figure:
    """The median ratio against the scale of the rewards."""
    scales = sorted(problems[0].regret)
    hard = [one for one in problems if not one.easy] or problems
    series = [
        Series(name, scales, [float(np.median([o.ratio(s, policy) for o in hard])) for s in scales])
        for policy, name in COMPARED
    ]
    label = "regret over that of the best radius"
    panel = Panel("median problem", "rewards times", label, series, x_scale="log", y_scale="log")
    return Figure(
        "noconstants",
        "Regret against the scale of the rewards",
        "The median over problems of regret over that of the best constant radius in hindsight.",
        [View("all problems", [panel])],
    )


def ratio_verdicts(problems: Sequence[Played]) -> list[Verdict]:
    """Whether `auto` is as near to the best radius as it must be, at every scale."""
    bars: tuple[tuple[str, Callable[[Array], Any], float], ...] = (
        ("median", lambda found: np.median(found, axis=1), MEDIAN),
        ("90% of the problems", lambda found: np.quantile(found, 0.9, axis=1), MOST),
        ("worst problem", lambda found: found.max(axis=1), WORST),
    )
    hard = [one for one in problems if not one.easy]
    return [
        judge(
            f"auto's regret is at most {most:g} times that of the best radius, {name}",
            f"rewards x {scale:g}; problems that are not easy",
            "regret over that of the best constant radius in hindsight",
            spread(hard, scale, statistic),
            float("-inf"),
            most,
        )
        for scale in (hard[0].regret if hard else ())
        for name, statistic, most in bars
    ]


def spread(problems: Sequence[Played], scale: float, statistic: Callable[[Array], Any]) -> Estimate:
    """A statistic of the ratios; the best radius is chosen again in every resample."""
    groups = [[o.regret[scale][AUTO], *(o.regret[1.0][n] for n in o.radii)] for o in problems]
    starts = np.cumsum([0, *map(len, groups)])

    def over_best(means: Array) -> Array:
        ends = pairwise(starts)
        found = [means[:, a] / means[:, a + 1 : b].min(axis=1) for a, b in ends]
        return np.asarray(statistic(np.column_stack(found)))

    return bootstrap(np.column_stack([column for group in groups for column in group]), over_best)
