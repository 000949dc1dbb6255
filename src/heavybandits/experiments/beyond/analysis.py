"""Rows of the experiment `beyond` to tables, figures and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, View, dots
from ..._utils.statistics import Array, Estimate, bootstrap, difference
from ..._utils.tables import Row, grouped, select, values
from ...sweeps.search import choose
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..realdata.analysis import difference as gain
from ..realdata.analysis import fraction_figure, fractions, tuned_rows
from ..realdata.settings import SETS
from ..roster import RANDOM
from ..rows import column, curve_of
from .settings import BATCH, CLAIMS, EXPONENTIAL_CLAIMS, LINKS, NOISES

OURS = "CRHL"
PROBLEM = ("part", "link", "intercept", "noise")


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the experiment says."""
    played = [row for row in rows if row["part"] != "real"]
    reported = select(played, phase="report")
    real = tuned_rows([row for row in rows if row["part"] == "real"])
    return Findings(
        tables=[ratio_table(reported), regret_table(played), *([real_table(real)] if real else [])],
        figures=[
            ratio_figure(reported),
            *([fraction_figure(real, "beyond_real", "On real data")] if real else []),
        ],
        verdicts=verdicts(reported) + real_verdicts(real),
        notes=[
            "Parameters were tuned on other seeds; the grids grew until no optimum was at an end. "
            "Algorithms receive the true moments of the noise, AdaptiveClip nothing.",
            f"{' and '.join(BATCH)} fit all rewards again and again: they are compared with two "
            "others at a short horizon of their own, in the part `batch`.",
        ],
    )


def regrets(rows: Sequence[Row], algorithm: str) -> Array:
    """Final regret, one number per repetition."""
    return column(select(rows, algorithm=algorithm))


def ratio(rows: Sequence[Row], algorithm: str, over: str = OURS) -> Estimate:
    """Return mean regret over that of CRHL, or of another, repetitions paired."""
    pair = np.column_stack([regrets(rows, algorithm), regrets(rows, over)])
    return bootstrap(pair, lambda means: means[:, 0] / means[:, 1])


def ratio_table(rows: Sequence[Row]) -> Table:
    """Every algorithm's regret over CRHL's: above 1 is worse than CRHL."""
    table: list[dict[str, Any]] = []
    names = [name for name in values(rows, "algorithm") if name != OURS]
    for *problem, mine in grouped(rows, *PROBLEM):
        row = dict(zip(PROBLEM, problem, strict=True))
        row |= {"T": mine[0]["play"], "CRHL": float(regrets(mine, OURS).mean())}
        own = values(mine, "algorithm")
        table.append(row | {n: spoken(ratio(mine, n)) if n in own else "" for n in names})
    return Table(
        "beyond_ratios",
        "Regret over that of CRHL",
        "CRHL: its mean regret; the others: their mean regret over it, with 95% intervals, paired. "
        "Above 1: CRHL has less regret.",
        table,
    )


def spoken(estimate: Estimate) -> str:
    """Return an estimate with its interval.

    >>> spoken(Estimate(2.04, 1.9, 2.2))
    '2.04 (1.9 to 2.2)'
    """
    return f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"


def regret_table(rows: Sequence[Row]) -> Table:
    """Every algorithm on every problem, at its constant."""
    table: list[dict[str, Any]] = []
    for *problem, mine in grouped(rows, *PROBLEM):
        for name in values(mine, "algorithm"):
            part = select(mine, algorithm=name, phase="report")
            tried = select(mine, algorithm=name, phase="tuning")
            constant, found = part[0]["constant"], bootstrap(regrets(part, name))
            table.append(
                dict(zip(PROBLEM, problem, strict=True))
                | {"algorithm": name, "constant": constant}
                | {"at": choose(curve_of(tried)).at if tried else ""}
                | {"mean": found.value, "low": found.low, "high": found.high}
                | {"truncated": float(np.mean([row["truncated"] / row["play"] for row in part]))}
            )
    return Table(
        "beyond",
        "Regret of every algorithm",
        "Mean final regret with its 95% interval, the tuned hyperparameter and its place on "
        "the grid, and the share of rewards that were clipped.",
        table,
    )


def ratio_figure(rows: Sequence[Row]) -> Figure:
    """Regret over random play's, one panel per noise and one view per kind of problem."""
    views = []
    for part, link, intercept, mine in grouped(rows, "part", "link", "intercept"):
        panels = []
        for noise, own in grouped(mine, "noise"):
            names = [name for name in values(own, "algorithm") if name != RANDOM]
            series = [dots("share of random play's regret", [ratio(own, n, RANDOM) for n in names])]
            label = "regret / random play's"
            panels.append(Panel(NOISES[noise][0], "", label, series, "linear", "log", names))
        words = f"{LINKS[link][0]}, {intercept} an intercept"
        views.append(View(words if part == "main" else f"{words}, {part}", panels))
    return Figure(
        "beyond",
        "Regret of every algorithm, tuned",
        "Mean final regret over that of random play, with 95% intervals, repetitions paired.",
        views,
    )


def reading(problem: Sequence[str], horizon: int) -> str:
    """Return what a verdict is about, in words."""
    part, link, intercept, noise = problem
    short = " (the short horizon of the batch algorithms)" if part == "batch" else ""
    words = f"{LINKS[link][0]}, {intercept} an intercept; {NOISES[noise][0]}"
    return f"{words}; T = {horizon:,}{short}"


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Where CRHL has less regret than another, and where not; when to use the exponential link."""
    made = []
    for *problem, mine in grouped(rows, *PROBLEM):
        where, played = reading(problem, mine[0]["play"]), values(mine, "algorithm")
        batch = [(f"CRHL has less regret than {name}", name) for name in BATCH]
        pairs = [(claim, theirs, OURS) for claim, theirs in (*CLAIMS, *batch)]
        if mine[0]["link"] == "exponential":
            pairs += [(claim, "LinUCB", name) for claim, name in EXPONENTIAL_CLAIMS]
        for claim, more, less in pairs:
            if more in played and less in played:
                lead = difference(regrets(mine, more), regrets(mine, less))
                made.append(judge(claim, where, f"regret of {more} minus that of {less}", lead))
    return made


# ---- real data


def real_table(rows: Sequence[Row]) -> Table:
    """Return the share of the oracle's gain, and what CRHL is ahead by."""
    table: list[dict[str, Any]] = []
    for name, mine in grouped(rows, "set"):
        ours = select(mine, policy=OURS)
        for policy, part in grouped(mine, "policy"):
            share, lead = bootstrap(fractions(part)), gain(ours, part)
            table.append(
                {"set": name, "policy": policy, "constant": part[0]["constant"]}
                | {"fraction": share.value, "low": share.low, "high": share.high}
                | {"CRHL ahead by": lead.value, "from": lead.low, "to": lead.high}
            )
    return Table(
        "beyond_real",
        "On real data",
        "fraction: of the in-sample oracle's gain over random play, with its 95% interval over "
        "orders of the rows; CRHL ahead by: paired difference of fractions.",
        table,
    )


def real_verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether CRHL earns more."""
    made = []
    for name, mine in grouped(rows, "set"):
        for claim, theirs in CLAIMS:
            lead = gain(select(mine, policy=OURS), select(mine, policy=theirs))
            claim = claim.replace("has less regret", "earns more")
            made.append(judge(claim, SETS[name][2], f"fraction of CRHL minus {theirs}'s", lead))
    return made
