"""Figures of replays."""

from typing import Any

import numpy as np

from ..._utils.drawing import COLOURS, GREY


def plot_replay(result: Any, axes: Any = None) -> Any:
    """Fraction of the oracle's gain (of a log: the value) of every policy: dots, and their mean."""
    from matplotlib.figure import Figure

    names = result.policies
    if axes is None:
        figure = Figure(figsize=(7.2, 0.5 * len(names) + 1.4), layout="constrained")
        axes = figure.subplots()
    column = "fraction" if "fraction" in result.columns else "value"
    for place, name in enumerate(names):
        values, colour = result.values(name, column), COLOURS[place % len(COLOURS)]
        axes.plot(values, np.full(values.size, place), "o", color=colour, alpha=0.3, markersize=4)
        axes.plot(values.mean(), place, "D", color=colour, markersize=8)
    baseline = 0.0 if column == "fraction" else float(result.data["random"].mean())
    axes.axvline(baseline, color=GREY, linewidth=0.8)
    label = "share of the oracle's gain over random play" if column == "fraction" else "mean reward"
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel=label)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(alpha=0.25, axis="x")
    return axes
