"""Rows of the real-data experiment to tables, a figure and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, View, dots
from ..._utils.statistics import Array, Estimate, bootstrap
from ..._utils.statistics import difference as paired
from ..._utils.tables import Row, grouped, select, values
from ...sweeps.search import Choice, choose, remark
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..rows import column, curve_of
from .settings import PLAIN, POLICIES, SETS

Z = 1.96  # standard errors of a 95% interval


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the real data says."""
    if not rows:
        return Findings(notes=['No data set is installed: pip install "heavybandits[data]".'])
    report, untuned = tuned_rows(rows), select(rows, phase="report")
    return Findings(
        tables=[learnable_table(report), tuned_table(report), twin_table(untuned)],
        figures=[fraction_figure(report)],
        verdicts=verdicts(report),
        notes=[
            "Constants were chosen on other orders of the same rows; the intervals speak of other "
            "orders of these rows, not of other data.",
            "The oracle is the linear score that least squares fits to all rows and rewards. "
            "A policy can beat it where one outlier bends that fit.",
            *missing_notes(rows),
        ],
    )


def missing_notes(rows: Sequence[Row]) -> list[str]:
    """Which sets were not there."""
    missing = [name for name in SETS if name not in values(rows, "set")]
    words = f"Not run (package not installed, or not in this profile): {', '.join(missing)}."
    return [words] if missing else []


def tuned_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the reported rows of each policy at the parameter that was best on the tuning orders.

    The place on the grid is noted in a column of its own.
    """
    kept: list[Row] = []
    for *_, mine in grouped(rows, "set", "policy"):
        best = choose(curve_of(select(mine, phase="tuning"), "value", -1.0))
        reported = select(mine, phase="report", constant=best.constant)
        kept += [row | {"at": best.at} for row in reported]
    return kept


def place_of(rows: Sequence[Row]) -> Choice:
    """Return the place of these rows' parameter on its grid."""
    return Choice(rows[0]["constant"], rows[0]["at"], -float(column(rows, "value").mean()))


def fractions(rows: Sequence[Row]) -> Array:
    """(value - random) / (oracle - random), one number per order."""
    value, random, oracle = (column(rows, name) for name in ("value", "random", "oracle"))
    return np.asarray((value - random) / (oracle - random))


def difference(rows: Sequence[Row], others: Sequence[Row]) -> Estimate:
    """By how much the fraction of one policy exceeds that of another, order by order."""
    return paired(fractions(rows), fractions(others))


def learnable_table(rows: Sequence[Row]) -> Table:
    """Is there anything to learn at all?"""
    table = []
    for name, (first, *_) in grouped(rows, "set"):
        gain, error = first["holdout"], first["holdout_error"]
        low, high = gain - Z * error, gain + Z * error
        table.append(
            {"set": name, "rounds": first["rounds"], "random": first["random"]}
            | {"in-sample oracle": first["oracle"], "held-out gain": gain, "low": low, "high": high}
            | {"to learn": "something" if low > 0.0 else "nothing found"}
        )
    return Table(
        "realdata_learnable",
        "Is there anything to learn?",
        "Mean reward per round of random play and of the in-sample oracle, and what a linear score "
        "fitted on one half of the rounds makes above random play on the other half.",
        table,
    )


def tuned_table(rows: Sequence[Row]) -> Table:
    """Every policy at its tuned constant."""
    table: list[dict[str, Any]] = []
    for name, mine in grouped(rows, "set"):
        plain = select(mine, policy="LinUCB")
        for policy, part in grouped(mine, "policy"):
            share = bootstrap(fractions(part))
            beyond = difference(part, plain)
            table.append(
                {"set": name, "policy": policy, "constant": part[0]["constant"]}
                | {"constant at": part[0]["at"]}
                | {"value": float(column(part, "value").mean())}
                | {"fraction": share.value, "low": share.low, "high": share.high}
                | {"against LinUCB": beyond.value, "from": beyond.low, "to": beyond.high}
                | {"truncated": float(column(part, "truncated").mean())}
                | {"in data order": fractions(part)[0]}
            )
    return Table(
        "realdata",
        "Policies on real data",
        "fraction: of the in-sample oracle's gain over random play, mean over the orders with its "
        "95% interval; against LinUCB: paired difference of fractions; truncated: rewards per "
        "pass; in data order: the pass in the order of the calendar (days) or the first order "
        "(rows).",
        table,
    )


def twin_table(rows: Sequence[Row]) -> Table:
    """Each robust policy next to its untruncated twin at one parameter, and LinUCB with a clip."""
    table: list[dict[str, Any]] = []
    for name, policy, constant, part in grouped(rows, "set", "policy", "constant"):
        twin = PLAIN.get(POLICIES[policy][0], policy)
        plain = select(rows, set=name, policy=twin, constant=constant)
        if twin != policy and plain:
            beyond = difference(part, plain)
            table.append(
                {"set": name, "policy": policy, "constant": constant}
                | {"fraction": float(fractions(part).mean())}
                | {"untruncated twin": float(fractions(plain).mean())}
                | {"difference": beyond.value, "low": beyond.low, "high": beyond.high}
                | {"truncated": float(column(part, "truncated").mean())}
            )
    return Table(
        "realdata_twins",
        "The same estimator at the same constant, with and without truncation",
        "Fractions of the oracle's gain, and their paired difference with its 95% interval.",
        table,
    )


def fraction_figure(
    rows: Sequence[Row], name: str = "realdata", title: str = "Policies on real data"
) -> Figure:
    """Return the fraction of the oracle's gain of every policy, one panel per set."""
    panels = []
    for data, mine in grouped(rows, "set"):
        policies = grouped(mine, "policy")
        series = [dots("fraction", [bootstrap(fractions(part)) for _, part in policies])]
        names, label = [policy for policy, _ in policies], "share of the oracle's gain"
        panels.append(Panel(SETS[data][2], "policy", label, series, categories=names))
    return Figure(
        name,
        title,
        "Share of the in-sample oracle's gain over random play, with 95% intervals over orders.",
        [View("tuned", panels)],
    )


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge if robustness, and CRTM's own threshold, pay on each set at tuned parameters."""
    claims = (
        (
            "clipping at an adaptive threshold pays for LinUCB",
            "LinUCB, adaptive clip",
            "LinUCB",
        ),
        ("clipping at a fixed threshold pays for LinUCB", "LinUCB, clip", "LinUCB"),
        ("CRTM's truncation pays", "CRTM", "Newton"),
        ("CRTM beats LinUCB with a clip", "CRTM", "LinUCB, clip"),
    )
    made = []
    for name, mine in grouped(rows, "set"):
        for claim, robust, plain in claims:
            pair = [select(mine, policy=policy) for policy in (robust, plain)]
            if all(pair):
                words = f"fraction of {robust} minus that of {plain}"
                note = remark({part[0]["policy"]: place_of(part) for part in pair})
                made.append(judge(claim, SETS[name][2], words, difference(*pair), note=note))
    return made
