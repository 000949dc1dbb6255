"""Figures. matplotlib is imported only when one is drawn."""

from typing import Any

import numpy as np

from ..support.palette import COLOURS, MARKERS


def plot_regret(result: Any, axes: Any = None, band: tuple[float, float] = (0.1, 0.9)) -> Any:
    """Mean regret of every policy against plays, with a band between two quantiles."""
    from matplotlib import pyplot
    from matplotlib.ticker import EngFormatter

    if axes is None:
        _, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    for i, name in enumerate(result.policies):
        plays, regret = result.curves(name)
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        every = max(1, plays.size // 8)
        style = {"color": colour, "marker": marker, "markevery": (every * i // 8, every)}
        axes.plot(plays, regret.mean(axis=0), label=name, markersize=5, **style)
        low, high = np.quantile(regret, band, axis=0)
        axes.fill_between(plays, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("plays")
    axes.set_ylabel("cumulative regret")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return axes
