"""Rows of the replays without constants to tables and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.statistics import Array, Estimate, bootstrap
from ..._utils.tables import Row, grouped, select, values
from ..outputs import Table, Verdict, judge
from ..rows import column
from .settings import AUTO, BEHIND


def fraction(rows: Sequence[Row], policy: str) -> Array:
    """The share of the oracle's gain, one number per pass or stretch of days."""
    return column(select(rows, policy=policy), "fraction")


def best_gain(rows: Sequence[Row], names: Sequence[str]) -> str:
    """The policy of the largest mean share."""
    return max(names, key=lambda name: float(fraction(rows, name).mean()))


def rivals(rows: Sequence[Row], name: str) -> list[str]:
    """Whom `auto` must not be behind: the whole grid, or plain LinUCB where few rows pay."""
    grid = [policy for policy in values(rows, "policy") if policy != AUTO]
    plain = [policy for policy in grid if policy.startswith("none,")]
    return plain if plain and name.endswith("pay") else grid


def beside(rows: Sequence[Row], name: str) -> Array:
    """The shares of `auto`, in the first column, and of its rivals."""
    policies = [AUTO, *rivals(rows, name)]
    return np.column_stack([fraction(rows, policy) for policy in policies])


def behind(rows: Sequence[Row], name: str) -> Estimate:
    """By how much the best rival in hindsight is ahead of `auto`, pass by pass."""
    return bootstrap(beside(rows, name), lambda m: m[:, 1:].max(axis=1) - m[:, 0])


def behind_chosen(rows: Sequence[Row], name: str) -> Estimate:
    """The same for a rival that was not chosen on what it is judged by: where passes (or stretches)
    have even numbers, the one that is best where they have odd ones, and the other way round."""
    columns = beside(rows, name)
    ahead = np.empty(len(columns))
    for half in (0, 1):
        chosen = 1 + int(columns[1 - half :: 2, 1:].mean(axis=0).argmax())
        ahead[half::2] = columns[half::2, chosen] - columns[half::2, 0]
    return bootstrap(ahead)


def gain_table(rows: Sequence[Row]) -> Table:
    """`auto` beside the best of the grid, on real and on sparse rows."""
    table: list[dict[str, Any]] = []
    for name, mine in grouped(rows, "rows"):
        best, ahead = best_gain(mine, rivals(mine, name)), behind(mine, name)
        table.append(
            {"rows": name, "auto": float(fraction(mine, AUTO).mean()), "best in hindsight": best}
            | {"its share": float(fraction(mine, best).mean()), "behind": ahead.value}
            | {"low": ahead.low, "high": ahead.high}
        )
    return Table(
        "noconstants_gain",
        "Share of the oracle's gain, replayed",
        "The best of the grid in hindsight (where few rows pay: of plain LinUCB), and by how much "
        "it is ahead of `auto`, with a 95% interval over passes.",
        table,
    )


def chance_table(replayed: Sequence[Row], by_days: Sequence[Row]) -> Table:
    """How much of what the best in hindsight is ahead is chance: of orders, and of days."""
    table: list[dict[str, Any]] = []
    kinds = (("passes", "rows", replayed), ("stretches of days", "days", by_days))
    for kind, key, rows in kinds:
        for name, mine in grouped(rows, key):
            ahead, chosen = behind(mine, name), behind_chosen(mine, name)
            table.append(
                {"rows": name, "intervals over": kind, "in hindsight": ahead.value}
                | {"low": ahead.low, "high": ahead.high, "chosen elsewhere": chosen.value}
                | {"from": chosen.low, "to": chosen.high}
            )
    return Table(
        "noconstants_chance",
        "How much of that is chance?",
        "By how much a rival is ahead of `auto`, with 95% intervals: the best in hindsight; and "
        "the best of one half of the passes (or stretches), judged by the other half. Passes are "
        "other orders of the same days: only intervals over stretches of days, each paid as in "
        "all passes, show what other days would have done.",
        table,
    )


def gain_verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Whether `auto` is close enough to the best of the grid."""
    return [
        judge(
            f"auto is at most {BEHIND:g} of the oracle's gain behind the best in hindsight",
            name,
            "share of the best in hindsight minus that of auto",
            behind(mine, name),
            float("-inf"),
            BEHIND,
        )
        for name, mine in grouped(rows, "rows")
    ]
