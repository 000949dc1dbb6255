"""Figures of regret. matplotlib is imported only when one is drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.drawing import Panel, Series, View, draw_panel, draw_view
from .._utils.errors import InvalidInputError
from .._utils.validation import one_of


def plot_regret(
    result: Any, places: Sequence[Any], axes: Any, band: tuple[float, float], scale: str
) -> Any:
    """One panel per problem, in a figure of its own or in given axes; the figure."""
    one_of("scale", scale, ("linear", "log"))
    panels = [regret_panel(result, problem, band, scale) for _, problem in places]
    if axes is None:
        return draw_view(View("", panels), {})
    if len(panels) > 1:
        raise InvalidInputError(
            f"axes are for one problem, got {len(panels)} of them: leave axes out"
        )
    draw_panel(axes, panels[0], {})
    where: dict[str, Any] = {}
    if axes.figure.get_layout_engine() is not None:  # which makes room; else there is none below
        columns = min(4, len(panels[0].series))
        where = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": columns}
    axes.legend(frameon=False, **where)
    return axes.figure


def regret_panel(result: Any, problem: str | None, band: tuple[float, float], scale: str) -> Panel:
    """Mean regret of every policy on one problem, with a band between two quantiles."""
    series = []
    for name in result.policies:
        plays, regret = result.curves(name, problem)
        low, high = np.quantile(regret, band, axis=0)
        means = regret.mean(axis=0)
        series.append(Series(name, *(a.tolist() for a in (plays, means, low, high))))
    return Panel(problem or "", "plays", "cumulative regret", series, scale, scale)
