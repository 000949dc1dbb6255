"""The picture of an evaluation."""

from typing import Any

import numpy as np

from ..._utils.drawing import COLOURS, GREY
from .means import METHODS, robust_mean


def plot_evaluation(evaluation: Any, figure: Any = None) -> Any:
    """Left the value by every mean of the same terms, right the share of the largest rows."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(9.0, 3.4), layout="constrained") if figure is None else figure
    left, right = made.subplots(1, 2)
    _draw_means(left, evaluation)
    _draw_shares(right, evaluation)
    return made


def _draw_means(axes: Any, evaluation: Any) -> None:
    """One interval per method; the one that was asked for in colour."""
    for place, method in enumerate(METHODS):
        found = robust_mean(evaluation.terms, method, evaluation.how["delta"])
        colour = COLOURS[0] if method == evaluation.how["mean"] else GREY
        axes.plot([found.low, found.high], [place, place], color=colour, linewidth=2)
        axes.plot(found.value, place, "o", color=colour)
    axes.axvline(evaluation.weights.logged, color=COLOURS[1], linewidth=0.8, linestyle="--")
    axes.set(
        yticks=range(len(METHODS)),
        yticklabels=[name.replace("_", " ") for name in METHODS],
        xlabel="value (dashed: the log itself)",
    )
    axes.invert_yaxis()
    axes.grid(alpha=0.25, axis="x")


def _draw_shares(axes: Any, evaluation: Any) -> None:
    """What share of the sum of |terms| lies in the largest rows."""
    sizes = np.sort(np.abs(evaluation.terms))[::-1]
    shares = np.cumsum(sizes) / (sizes.sum() or 1.0)
    axes.plot(np.arange(1, sizes.size + 1), shares, color=COLOURS[0])
    axes.axvline(10, color=GREY, linewidth=0.8)
    axes.set(xscale="log", ylim=(0.0, 1.0), xlabel="largest rows", ylabel="share of the estimate")
    axes.grid(alpha=0.25)
