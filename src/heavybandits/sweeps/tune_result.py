"""What tuning returns: the curves, the choices, and the tuned policies on other seeds."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.drawing import Panel, Series, View, check_picture, draw_view, write_picture
from .._utils.records import Records
from .._utils.statistics import Array
from .._utils.tables import to_latex
from ..core.protocols import Policy
from ..simulation.result import Result
from .search import Choice, choose, mean_losses, remark

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Key = tuple[str, str]  # problem, policy
COLUMNS = ("problem", "policy", "constant", "repetition", "regret")


class Tuning(Records):
    """What `tune` returns: one row per problem, policy, constant and tuning run, held by column.

    `choices` has the best constant of every (problem, policy) and where it lies: "inside" its grid,
    or else "flat", "flat below", "lower end" and so on, which says that the grid was measured and
    not the policy. `result` has the tuned policies on seeds that no constant was chosen on, and
    `within` the range in which the grid could grow.

    >>> curve = {c: np.array([abs(c - 0.1)]) for c in (0.01, 0.1, 1.0)}
    >>> Tuning({("p", "a"): curve}, {}, None, (0.01, 1.0)).choices["p", "a"]
    Choice(constant=0.1, at='inside', loss=0.0)
    """

    def __init__(
        self,
        curves: Mapping[Key, Mapping[float, Array]],
        made: Mapping[Key, Policy],
        result: Any,
        within: tuple[float, float],
    ) -> None:
        rows = [
            (place, name, constant, repetition, regret)
            for (place, name), curve in curves.items()
            for constant in sorted(curve)
            for repetition, regret in enumerate(curve[constant].tolist())
        ]
        super().__init__(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))
        self.curves, self.made, self.within = curves, made, within
        self.result: Result = result
        self.choices: dict[Key, Choice] = {key: choose(curve) for key, curve in curves.items()}

    def tuned(self, problem: str | None = None) -> dict[str, Policy]:
        """The policies at their best constants, by name, for a problem (the first if not named)."""
        where = self.names("problem")[0] if problem is None else problem
        if where not in self.names("problem"):
            there = ", ".join(self.names("problem"))
            raise KeyError(f"no problem {where!r} here; there are {there}")
        return {name: policy for (place, name), policy in self.made.items() if place == where}

    def summary(self) -> list[dict[str, Any]]:
        """One row per problem and policy: its constant, where that lies, and the regret it has.

        `tuning` is the mean regret on the tuning seeds; `mean` and what follows is of the others.
        """
        reported = {self._key(row): row for row in self.result.summary()}
        return [self._row(key) | _rest(reported[key]) for key in self.made]

    def _key(self, row: dict[str, Any]) -> Key:
        return row.get("problem", self.names("problem")[0]), row["policy"]

    def _row(self, key: Key) -> dict[str, Any]:
        named = {"problem": key[0]} if self.result.problems else {}
        named |= {"policy": key[1]}
        if key not in self.choices:
            return named | {"constant": float("nan"), "at": "not tuned", "tuning": float("nan")}
        choice = self.choices[key]
        return named | {"constant": choice.constant, "at": choice.at, "tuning": choice.loss}

    def to_latex(self, caption: str | None = None) -> str:
        """The table of the constants and where they lie, and the regret on other seeds."""
        low, high = self.within
        told = (
            "Constants chosen on tuning seeds from one grid per problem, which could grow within "
            f"[{low:g}, {high:g}], and mean final regret on other seeds."
        )
        names = ("problem", "policy", "constant", "at", "mean", "standard_error")
        rows = [{name: row[name] for name in names if name in row} for row in self.summary()]
        return to_latex(rows, told if caption is None else caption)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Mean regret over the constant on the tuning seeds, one panel per problem; the figure.

        The bands are the smallest and the largest run. A choice that does not lie inside its grid
        is named above the panel.
        """
        target = None if path is None else check_picture(path)
        several = len(self.names("problem")) > 1
        panels = [self._panel(name, name if several else "") for name in self.names("problem")]
        canvas = draw_view(View("", panels), {})
        if target is not None:
            write_picture(canvas, target)
        return canvas

    def _panel(self, problem: str, title: str) -> Panel:
        mine = {name: curve for (place, name), curve in self.curves.items() if place == problem}
        series = [loss_series(name, curve) for name, curve in mine.items()]
        head = f"{title}\n{remark({name: self.choices[problem, name] for name in mine})}".strip()
        return Panel(head, "constant", "final regret", series, "log", "log")


def loss_series(name: str, curve: Mapping[float, Array]) -> Series:
    """Mean loss over the constants, the band from the smallest run to the largest."""
    means = mean_losses(curve)
    lows, highs = ([float(f(curve[c])) for c in means] for f in (np.min, np.max))
    return Series(name, list(means), list(means.values()), lows, highs)


def _rest(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("problem", "policy")}
