"""Figures drawn by matplotlib: PNG, SVG and PDF, the same bytes for the same data."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..support.files import replace_atomically
from ..support.optional import optional
from ..support.palette import COLOURS, MARKERS, colour_places
from .outputs import Figure, Panel, Series, View

FORMATS = ("png", "svg", "pdf")
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def file_name(figure: Figure, view: View) -> str:
    """The name of a view's files, without its ending.

    >>> view = View("fixed, projected", ())
    >>> file_name(Figure("figure1", "", "", (view,)), view)
    'figure1'
    """
    if len(figure.views) == 1:
        return figure.name
    slug = "".join(c if c.isalnum() else "-" for c in view.label.lower())
    return f"{figure.name}_{'-'.join(piece for piece in slug.split('-') if piece)}"


def write_figure(figure: Figure, folder: Path, colours: Mapping[str, int]) -> dict[str, bytes]:
    """Write every view in every format; returns the PNG of each view by its label.

    colours: names that have a place of their own in the palette, wherever they appear.
    """
    images = {}
    for view in figure.views:
        for form, data in draw(view, colours).items():
            path = folder / f"{file_name(figure, view)}.{form}"
            replace_atomically(path, lambda target, data=data: target.write_bytes(data))  # type: ignore[misc]
            if form == "png":
                images[view.label] = data
    return images


def draw(view: View, colours: Mapping[str, int]) -> dict[str, bytes]:
    """One view in every format."""
    matplotlib = optional("matplotlib", "lab")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    settings = {"svg.hashsalt": "heavybandits", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(settings):
        columns = min(len(view.panels), 3)
        rows = -(-len(view.panels) // columns)
        canvas = Canvas(figsize=(4.4 * columns, 3.5 * rows + 0.4), layout="constrained")
        FigureCanvasAgg(canvas)
        grid = canvas.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, view.panels, strict=False):
            draw_panel(axes, panel, colours)
        for axes in grid[len(view.panels) :]:
            axes.set_visible(False)
        add_legend(canvas, grid[0])
        return {form: save(canvas, form) for form in FORMATS}


def save(canvas: Any, form: str) -> bytes:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format=form, metadata=_METADATA[form], dpi=140)
    return buffer.getvalue()


def add_legend(canvas: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        where = {
            "loc": "outside lower center",
            "ncols": -(-len(labels) // -(-len(labels) // 6)),
            "frameon": False,
        }
        canvas.legend(handles, labels, **where)


def draw_panel(axes: Any, panel: Panel, colours: Mapping[str, int]) -> None:
    """One set of axes."""
    from matplotlib.ticker import EngFormatter

    axes.set_title(panel.title, fontsize=9.5)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    axes.grid(alpha=0.25)
    places = colour_places([series.name for series in panel.series], colours)
    for i, series in enumerate(panel.series):
        style = {"color": COLOURS[places[series.name]], "marker": MARKERS[i % len(MARKERS)]}
        (draw_dots if panel.categories else draw_line)(axes, series, i, len(panel.series), style)
    if panel.categories:
        label_categories(axes, panel.categories)
    elif panel.x_scale == "log":
        label_few(axes, sorted({x for series in panel.series for x in series.x}))
    elif panel.x_scale == panel.y_scale == "linear":
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def label_few(axes: Any, stops: Sequence[float]) -> None:
    """A few sizes on a log axis are named one by one: powers of ten would miss most of them."""
    if len(stops) <= 6:
        axes.set_xticks(stops, [f"{stop:g}" for stop in stops])
        axes.set_xticks([], minor=True)


def label_categories(axes: Any, names: Sequence[str]) -> None:
    turned = sum(len(name) for name in names) > 34
    axes.set_xticks(
        range(len(names)), names, rotation=25 if turned else 0, ha="right" if turned else "center"
    )
    axes.set_xlim(-0.6, len(names) - 0.4)


def draw_line(axes: Any, series: Series, place: int, count: int, style: dict[str, Any]) -> None:
    every = max(1, len(series.x) // 8)
    marks = {"markevery": (every * place // count, every), "markersize": 4, "linewidth": 1.4}
    axes.plot(series.x, series.y, label=series.name, **style, **marks)
    if series.low:
        axes.fill_between(
            series.x, series.low, series.high, color=style["color"], alpha=0.15, linewidth=0
        )


def draw_dots(axes: Any, series: Series, place: int, count: int, style: dict[str, Any]) -> None:
    shift = (place - (count - 1) / 2) * 0.5 / count
    x = [value + shift for value in series.x]
    axes.plot(x, series.y, linestyle="none", label=series.name, markersize=5, **style)
    if series.low:
        axes.vlines(x, series.low, series.high, color=style["color"], linewidth=1.4)
