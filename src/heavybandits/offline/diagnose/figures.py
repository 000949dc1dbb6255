"""The figure of a diagnosis."""

from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ..._utils.drawing import COLOURS, GREY, Axes, Figure, finish, new_axes
from ...core.arrays import Floats
from .tail_index import Tail

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

UPPER, LOWER = COLOURS[:2]


def plot_diagnosis(
    diagnosis: "Diagnosis", path: str | Path | None, axes: Sequence[Axes] | None
) -> Figure:
    """Draw survival on log axes, the Hill plot, and quantiles; a new figure has a title."""
    survival, hill, quantiles = (
        new_axes((11.0, 4.4), 3, _title(diagnosis)) if axes is None else axes
    )
    _plot_survival(survival, diagnosis)
    _plot_hill(hill, diagnosis)
    _plot_quantiles(quantiles, diagnosis)
    return finish(survival.figure, path)


def _title(diagnosis: "Diagnosis") -> str:
    index = diagnosis.tail_index.value
    shown = "above 20" if index > 20.0 else f"{index:.2f}"
    verdict = "heavy-tailed" if diagnosis.heavy else "not heavy-tailed"
    ten = diagnosis.square_shares.get("10", 1.0)
    return (
        f"{diagnosis.rows:,} rewards, {verdict}: tail index {shown}, the 10 largest rows carry "
        f"{ten:.0%} of the sum of squares"
    )


def _sides(diagnosis: "Diagnosis") -> list[tuple[str, Tail | None, str, Floats]]:
    noise = diagnosis.noise
    return [("upper", diagnosis.upper, UPPER, noise), ("lower", diagnosis.lower, LOWER, -noise)]


def _plot_survival(axes: Axes, diagnosis: "Diagnosis") -> None:
    """Draw P(X > x) of both sides, with the fitted power law."""
    for name, tail, colour, values in _sides(diagnosis):
        if tail is None:
            continue
        side = np.sort(values[values > 0.0])[::-1]
        survival = np.arange(1, side.size + 1) / values.size
        look = {"color": colour, "markersize": 3, "label": f"{name} side", "rasterized": True}
        axes.loglog(side, survival, ".", **look)
        start = survival[tail.count]
        ends = np.array([tail.threshold, side[0]])
        axes.loglog(ends, start * (ends / tail.threshold) ** -tail.index, color=GREY, linewidth=1.2)
        axes.set_ylim(bottom=0.5 / values.size, top=1.5)
    _limit_left(axes, diagnosis)
    axes.set(title="survival, with Hill's power law", xlabel="distance from the middle")
    axes.set(ylabel="share beyond it")
    _finish(axes)


def _limit_left(axes: Axes, diagnosis: "Diagnosis") -> None:
    """Leave out the near-zero values, which would squeeze the tail into a corner."""
    sides = [values for _, tail, _, values in _sides(diagnosis) if tail is not None]
    if sides:
        positive = np.concatenate([side[side > 0.0] for side in sides])
        axes.set_xlim(left=float(np.quantile(positive, 0.05)))


def _plot_hill(axes: Axes, diagnosis: "Diagnosis") -> None:
    """Draw Hill's index against k, the chosen k, and the index of the generalised Pareto law."""
    most = 6.0
    for name, tail, colour, _ in _sides(diagnosis):
        if tail is None:
            continue
        ladder = tail.ladder
        index = np.where(np.isfinite(ladder.index), ladder.index, np.nan)  # of equal rows, no line
        error = 1.645 * index / np.sqrt(ladder.count)
        axes.plot(ladder.count, index, color=colour, label=f"{name} side")
        band = index - error, index + error
        axes.fill_between(ladder.count, *band, color=colour, alpha=0.15, linewidth=0)
        axes.plot(tail.count, tail.index, "o", color=colour, markersize=7)
        if tail.pareto > 0.0:
            axes.axhline(1.0 / tail.pareto, color=colour, linestyle=":", linewidth=1.2)
        most = max(most, 1.6 * tail.index)
    axes.set(title="Hill plot (dot: k chosen, dotted: 1/xi)", xlabel="rows used, k", xscale="log")
    axes.set(ylabel="tail index", ylim=(0.0, min(most, 12.0)))
    axes.axhspan(0.0, 2.0, color=GREY, alpha=0.08, linewidth=0)
    axes.text(0.02, 0.02, "below 2: no variance", transform=axes.transAxes, fontsize=8, color=GREY)
    _finish(axes)


def _plot_quantiles(axes: Axes, diagnosis: "Diagnosis") -> None:
    """Draw quantiles of the noise against normal ones, with a line through the quartiles."""
    noise = np.sort(diagnosis.noise)
    places = np.unique(np.geomspace(1, noise.size / 2, 200).astype(int)) - 1
    rows = np.unique(np.concatenate([places, noise.size - 1 - places]))
    normal = np.array([NormalDist().inv_cdf((row + 0.5) / noise.size) for row in rows])
    axes.plot(normal, noise[rows], ".", color=UPPER, markersize=4)
    low, high = np.quantile(noise, (0.25, 0.75))
    slope = (high - low) / (2.0 * 0.6744897501960817)
    ends = np.array([normal[0], normal[-1]])
    axes.plot(ends, 0.5 * (low + high) + slope * ends, color=GREY, linewidth=1.2, label="normal")
    axes.set(title="quantiles against normal", xlabel="standard normal", ylabel="noise")
    _finish(axes)


def _finish(axes: Axes) -> None:
    axes.grid(alpha=0.25)
    axes.title.set_fontsize(10)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8)
    else:
        words = "no tail: too few different values"
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", fontsize=9, color=GREY)
