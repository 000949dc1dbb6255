"""Rows of the replays to tables and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.statistics import Array, Estimate, bootstrap
from ..._utils.tables import Row, grouped, select, values
from ..outputs import Table, Verdict, judge
from ..rows import column
from .policies import AUTO, OUR_NAMES
from .settings import BEHIND


def fraction(rows: Sequence[Row], policy: str) -> Array:
    """Return the share of the oracle's gain, one number per pass or stretch of days."""
    return column(select(rows, policy=policy), "fraction")


def best_gain(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return the policy of the largest mean share."""
    return max(names, key=lambda name: float(fraction(rows, name).mean()))


def rivals(rows: Sequence[Row], name: str) -> list[str]:
    """Return whom `auto` must not be behind: the grid, or plain LinUCB if few rows pay."""
    grid = [policy for policy in values(rows, "policy") if policy not in OUR_NAMES]
    plain = [policy for policy in grid if policy.startswith("none,")]
    return plain if plain and name.endswith("pay") else grid


def next_to(rows: Sequence[Row], name: str) -> Array:
    """Return the shares of `auto`, in the first column, and of its rivals."""
    policies = [AUTO, *rivals(rows, name)]
    return np.column_stack([fraction(rows, policy) for policy in policies])


def behind(rows: Sequence[Row], name: str) -> Estimate:
    """Estimate by how much the best rival in hindsight is ahead of `auto`, pass by pass."""
    return bootstrap(next_to(rows, name), lambda m: m[:, 1:].max(axis=1) - m[:, 0])


def behind_chosen(rows: Sequence[Row], name: str) -> Estimate:
    """Estimate the same for a rival that was chosen on other passes (or stretches of days).

    The rival of the even ones is the best of the odd ones, and the other way round.
    """
    columns = next_to(rows, name)
    ahead = np.empty(len(columns))
    for half in (0, 1):
        chosen = 1 + int(columns[1 - half :: 2, 1:].mean(axis=0).argmax())
        ahead[half::2] = columns[half::2, chosen] - columns[half::2, 0]
    return bootstrap(ahead)


def gain_table(rows: Sequence[Row]) -> Table:
    """Return `auto` next to the best of the grid, on real and on sparse rows."""
    table: list[dict[str, Any]] = []
    for name, mine in grouped(rows, "rows"):
        best, ahead = best_gain(mine, rivals(mine, name)), behind(mine, name)
        table.append(
            {"rows": name, "auto": float(fraction(mine, AUTO).mean()), "best in hindsight": best}
            | {"its share": float(fraction(mine, best).mean()), "behind": ahead.value}
            | {"low": ahead.low, "high": ahead.high}
        )
    return Table(
        "untuned_gain",
        "Share of the oracle's gain, replayed",
        "The best of the grid in hindsight (if few rows pay: of plain LinUCB), and by how much "
        "it is ahead of `auto`, with a 95% interval over passes.",
        table,
    )


def chance_table(replayed: Sequence[Row], by_days: Sequence[Row]) -> Table:
    """Return by how much a rival is ahead that was chosen elsewhere: other passes, other days."""
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
        "untuned_chance",
        "How much of that is random?",
        "By how much a rival is ahead of `auto`, with 95% intervals: the best in hindsight; and "
        "the best of one half of the passes (or stretches), judged by the other half. Passes are "
        "other orders of the same days: only intervals over stretches of days, each paid as in "
        "all passes, show what other days would have done.",
        table,
    )


def gain_verdicts(replayed: Sequence[Row], by_days: Sequence[Row]) -> list[Verdict]:
    """Judge `auto` against a rival of the grid that was chosen on other passes or other days."""
    kinds = ("passes", "rows", replayed), ("stretches of days", "days", by_days)
    return [
        judge(
            f"auto is at most {BEHIND:g} of the oracle's gain behind a rival",
            f"{name}, the rival chosen on other {kind}",
            "share of the rival minus that of auto",
            behind_chosen(mine, name),
            float("-inf"),
            BEHIND,
        )
        for kind, key, rows in kinds
        for name, mine in grouped(rows, key)
    ]
