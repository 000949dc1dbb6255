"""Figures as plain data, and matplotlib to draw them: the same bytes for the same data.

matplotlib is imported only when a figure is drawn. All figures and the report's page share one
palette.
"""

import functools
import io
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import InvalidInputError, optional
from .files import replace_atomically
from .validation import Interval, bounded_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any  # matplotlib is optional

FORMATS = ("png", "svg", "pdf")
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_ABOUT = {"png": "Description", "svg": "Description", "pdf": "Subject"}  # where `about` is
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "heavybandits",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType: journals reject Type 3
    "ps.fonttype": 42,
    "font.size": 9,
}
PANEL = (4.4, 3.5)  # inches of one panel, unless a size is given
_PER_INCH = 13.0  # characters of the legend
_TITLE = 60  # characters in a line above a panel of the usual width
_ROW = 0.18  # inches of a row of the legend, if there are many
_SAMPLE = 8  # characters that the line beside a name in the legend takes

# Okabe and Ito's colours, distinct for everyone; the second of each pair is for dark pages.
PALETTE = (
    ("#0072B2", "#56B4E9"),
    ("#D55E00", "#FF8C42"),
    ("#009E73", "#2FD3A2"),
    ("#CC79A7", "#E7A1C8"),
    ("#B8860B", "#F0C040"),
    ("#6A4FB3", "#A58CF0"),
    ("#555555", "#BBBBBB"),
    ("#8B5A2B", "#C99A66"),
)
COLOURS = tuple(light for light, _ in PALETTE)
GREY = COLOURS[6]
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # for print in black and white
LINES = ("-", "--", "-.", ":")


class Look(NamedTuple):
    """How a figure looks: size in inches, colours, font; None and 0 for those of the library."""

    size: tuple[float, float] | None = None
    palette: Sequence[str] = COLOURS
    font_family: str | None = None
    font_size: float = 9.0

    @property
    def title_size(self) -> float:
        """Size of the title of a panel in points."""
        return 9.5 / 9.0 * self.font_size

    @property
    def style(self) -> dict[str, Any]:
        """The settings of matplotlib."""
        family = {"font.family": self.font_family} if self.font_family else {}
        return _STYLE | {"font.size": self.font_size} | family


def make_look(
    size: tuple[float, float] | None = None,
    palette: Sequence[str] | None = None,
    font_family: str | None = None,
    font_size: float | None = None,
) -> Look:
    """Return a validated look.

    >>> make_look(palette=["black", "no colour"])
    Traceback (most recent call last):
    heavybandits.InvalidInputError: palette must have colours of matplotlib, got 'no colour'
    """
    optional("matplotlib", "lab")
    from matplotlib.colors import is_color_like

    chosen = COLOURS if palette is None else tuple(palette)
    wrong = [each for each in chosen if not is_color_like(each)]
    if wrong or not chosen or isinstance(palette, str):
        given = wrong[0] if wrong else palette
        raise InvalidInputError(f"palette must have colours of matplotlib, got {given!r}")
    points = bounded_number("font_size", 9.0 if font_size is None else font_size, Interval(1, 100))
    return Look(None if size is None else check_size(size), chosen, font_family, points)


def style_of(place: int, palette: Sequence[str] = COLOURS) -> dict[str, str]:
    """Return colour, marker and line of a place: a colour that comes again has another marker.

    >>> style_of(0)["color"] == style_of(8)["color"], style_of(0) == style_of(8)
    (True, False)
    """
    turn, colour = divmod(place, len(palette))
    marker, line = MARKERS[(colour + turn) % len(MARKERS)], LINES[turn % len(LINES)]
    return {"color": palette[colour], "marker": marker, "linestyle": line}


def colour_places(names: Sequence[str], own: Mapping[str, int]) -> dict[str, int]:
    """Return a place in the palette for every name: its own if it has one, else the next free one.

    >>> colour_places(["CRMM", "something"], own={"CRMM": 1})
    {'CRMM': 1, 'something': 0}
    """
    taken = {own[name] for name in names if name in own}
    others = [name for name in dict.fromkeys(names) if name not in own]
    free = [i for i in range(len(taken) + len(others)) if i not in taken]
    found = dict(zip(others, free, strict=False))
    return {name: own[name] if name in own else found[name] for name in names}


@dataclass(frozen=True)
class Series:
    """One line (or one column of dots): y over x, with a band from low to high where given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def dots(name: str, estimates: Sequence[Any], first: int = 0) -> Series:
    """Return a column of dots: one (value, low, high) per category, from the `first` of them on.

    >>> dots("here", [(2.0, 1.0, 3.0)]).high
    [3.0]
    """
    x = [float(first + place) for place in range(len(estimates))]
    return Series(name, x, *([float(e[i]) for e in estimates] for i in range(3)))


@dataclass(frozen=True)
class Panel:
    """One set of axes. With `categories`, x counts them and every value is a dot."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_scale: str = "linear"
    y_scale: str = "linear"
    categories: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The names in the legend."""
        return [series.name for series in self.series]


@dataclass(frozen=True)
class Tile:
    """One square of a map: whose it is, how clearly (0 to 1), and whether that is in doubt."""

    name: str
    strength: float
    hatched: bool


@dataclass(frozen=True)
class Tiles(Panel):
    """A map: one tile per (x, y), evenly spaced. It is shown as a picture, without switches."""

    series: Sequence[Series] = ()
    tiles: Mapping[tuple[float, float], Tile] = field(default_factory=dict)
    legend: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        return list(self.legend)


@dataclass(frozen=True)
class Strip:
    """The values of one name in every group."""

    name: str
    groups: Sequence[Sequence[float]]


@dataclass(frozen=True)
class Strips(Panel):
    """Values along x, one small dot each and a large mark for the mean, by group and name.

    Groups are named on the left, from top to bottom. `line` is a value to compare with. It is shown
    as a picture, without switches.
    """

    series: Sequence[Series] = ()
    strips: Sequence[Strip] = ()
    groups: Sequence[str] = ()
    line: float = 1.0
    line_label: str = ""

    @property
    def names(self) -> list[str]:
        return [strip.name for strip in self.strips]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches: large letters for small screens."""
        rows = len(self.strips) * len(self.groups)
        return 5.2, 1.1 + 0.075 * rows + 0.11 * len(self.groups) + 0.1 * len(self.strips)


@dataclass(frozen=True)
class View:
    """One reading of a figure: what its switch shows."""

    label: str
    panels: Sequence[Panel]


# ---- a whole view


def draw_view(view: View, colours: Mapping[str, int], look: Look = Look()) -> Any:
    """Return the view as a matplotlib figure: panels in rows of three, one legend below them.

    Four panels are two by two.

    colours: names that have a place of their own in the palette, wherever they appear.
    """
    matplotlib = optional("matplotlib", "lab")
    named = [name for panel in view.panels for name in panel.names]
    colours = colour_places(named, colours)  # one for all panels, as there is one legend
    columns = 2 if len(view.panels) == 4 else min(len(view.panels), 3)
    rows = -(-len(view.panels) // columns)
    with matplotlib.rc_context(look.style):
        below = _ROW * max(legend_rows(set(named), PANEL[0] * columns) - 2, 0)
        usual = (PANEL[0] * columns, PANEL[1] * rows + 0.4 + below)
        if len(view.panels) == 1 and isinstance(view.panels[0], Strips):
            usual = view.panels[0].size
        canvas = new_figure(look.size or usual)
        grid = canvas.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, view.panels, strict=False):
            if isinstance(panel, Tiles):
                draw_tiles(axes, panel, colours)
            elif isinstance(panel, Strips):
                draw_strips(axes, panel, colours)
            else:
                draw_panel(axes, panel, colours, look)
        for axes in grid[len(view.panels) :]:
            axes.set_visible(False)
        add_legend(canvas, list(grid[: len(view.panels)]))
        canvas.draw_without_rendering()
    return canvas


def check_size(size: Any) -> tuple[float, float]:
    """Return width and height of a figure in inches.

    >>> check_size((5.5, 0.0))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: size must be a pair (width, height) of inches from 0.5 to 100,
    got (5.5, 0.0)
    """
    try:
        width, height = (float(side) for side in size)
    except (TypeError, ValueError):
        width = height = 0.0
    if not (0.5 <= width <= 100.0 and 0.5 <= height <= 100.0):
        raise InvalidInputError(
            f"size must be a pair (width, height) of inches from 0.5 to 100, got {size!r}"
        )
    return width, height


def plot_view(
    view: View,
    path: str | Path | None = None,
    axes: Axes | None = None,
    look: Look = Look(),
    about: str = "",
) -> Figure:
    """Draw a view in a figure of its own, or its one panel in given axes; return the figure.

    path: the PDF, SVG or PNG file to write, if any.
    about: what the file says of its origin, in its metadata.
    """
    optional("matplotlib", "lab")
    if path is not None:
        check_picture(path)
    if axes is not None and look.size is not None:
        raise InvalidInputError("size is for a figure of its own: leave out size, or axes")
    if axes is None:
        return finish(draw_view(view, {}, look), path, about)
    return finish(draw_into(axes, view.panels, look), path, about)


def draw_into(axes: Axes, panels: Sequence[Panel], look: Look = Look()) -> Any:
    """Draw one panel and its legend in given axes; return their figure."""
    if len(panels) > 1:
        raise InvalidInputError(
            f"axes are for one problem, got {len(panels)} of them: leave axes out"
        )
    draw_panel(axes, panels[0], {}, look)
    where: dict[str, Any] = {}
    if axes.figure.get_layout_engine() is not None:  # it makes room; else there is none below
        columns = min(4, len(panels[0].series))
        where = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": columns}
    axes.legend(frameon=False, **where)
    return axes.figure


def save(canvas: Any, form: str, about: str = "") -> bytes:
    """Return the figure in one of the FORMATS, with `about` in its metadata."""
    buffer = io.BytesIO()
    said = {_ABOUT[form]: about} if about else {}
    save_styled(canvas, buffer, format=form, metadata=_METADATA[form] | said, dpi=140)
    return buffer.getvalue()


def save_styled(canvas: Any, *arguments: Any, **options: Any) -> None:
    """Save a figure as matplotlib does, with the fonts of the library."""
    with optional("matplotlib", "lab").rc_context(_STYLE):
        type(canvas).savefig(canvas, *arguments, **options)


def check_picture(path: str | Path) -> Path:
    """Return a path whose ending says how to draw.

    >>> check_picture("figure.bmp")
    Traceback (most recent call last):
    heavybandits.InvalidInputError: path must end in .png, .svg or .pdf, got 'figure.bmp'
    """
    if Path(path).suffix.lower().removeprefix(".") not in FORMATS:
        raise InvalidInputError(f"path must end in .png, .svg or .pdf, got {str(path)!r}")
    return Path(path)


def write_picture(canvas: Any, path: Path, about: str = "") -> bytes:
    """Write the figure, at once or not at all; return the bytes that were written."""
    data = save(canvas, path.suffix.lower().removeprefix("."), about)
    replace_atomically(path, lambda target: target.write_bytes(data))
    return data


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure that a notebook shows, and that saves itself in our style.

    The layout is found again whenever the figure is drawn, so that it may be resized.
    """
    optional("matplotlib", "lab")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    figure: Any = Canvas(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure._repr_png_ = functools.partial(save, figure, "png")
    figure.savefig = functools.partial(save_styled, figure)
    return figure


def new_axes(size: tuple[float, float], columns: int = 1, title: str = "") -> list[Axes]:
    """Return the axes of a new figure, next to each other."""
    figure = new_figure(size)
    if title:
        figure.suptitle(title, fontsize=11)
    return list(figure.subplots(1, columns, squeeze=False).ravel())


def finish(figure: Any, path: str | Path | None, about: str = "") -> Any:
    """Write the figure to the path, if there is one, and return it."""
    if path is not None:
        write_picture(figure, check_picture(path), about)
    return figure


def legend_rows(names: Collection[str], width: float) -> int:
    """Return the rows of a legend in a figure of this width, in inches, beyond the first."""
    if not names:
        return 0
    most = min(6, max(1, int(_PER_INCH * width // (max(map(len, names)) + _SAMPLE))))
    return -(-len(names) // most) - 1


def add_legend(canvas: Any, panels: Sequence[Any]) -> None:
    """Names below all panels, where they cover no curve, in as many columns as fit."""
    found: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        found |= {label: handle for handle, label in zip(handles, labels, strict=True)}
    if len(found) > 1:
        columns = -(-len(found) // (1 + legend_rows(found, canvas.get_figwidth())))
        where = {"loc": "outside lower center", "ncols": columns, "frameon": False}
        canvas.legend(found.values(), found.keys(), **where)


# ---- one panel


def draw_panel(axes: Any, panel: Panel, colours: Mapping[str, int], look: Look = Look()) -> None:
    """Draw one set of axes."""
    from matplotlib.ticker import EngFormatter

    spec = axes.get_gridspec()
    width = axes.figure.get_figwidth() / (spec.ncols if spec is not None else 1)
    fitting = _TITLE if width >= PANEL[0] else max(10, int(0.85 * _TITLE * width / PANEL[0]))
    lines = [line for piece in panel.title.splitlines() for line in textwrap.wrap(piece, fitting)]
    label_panel(axes, panel, "\n".join(lines), look.title_size)
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    axes.grid(alpha=0.25)
    places = colour_places(panel.names, colours)
    for i, series in enumerate(panel.series):
        style = style_of(places[series.name], look.palette)
        (draw_dots if panel.categories else draw_line)(axes, series, i, len(panel.series), style)
    if panel.y_scale == "log":
        label_plainly(axes)
    if panel.categories:
        label_categories(axes, panel.categories)
    elif panel.x_scale == "log":
        label_few(axes, sorted({x for series in panel.series for x in series.x}))
    elif panel.x_scale == panel.y_scale == "linear":
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def label_panel(axes: Any, panel: Panel, title: str, size: float = Look().title_size) -> None:
    """Set the title and the labels of both axes."""
    axes.set_title(label_of(title), fontsize=size, wrap=True)  # once more, if it is resized
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)


def label_plainly(axes: Any) -> None:
    """On a log axis of two decades or less, 0.06 and not 6 times a power of ten."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    low, high = axes.get_ylim()
    if low > 0.001 and high <= 100.0 * low and high < 1000.0:
        axes.yaxis.set_major_formatter(Plain())
        axes.yaxis.set_minor_formatter(Plain(minor_thresholds=(1.5, 0.6)))


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


def label_of(name: str) -> str:
    """The name as a label that matplotlib does not leave out; formulas stay, dollars are dollars.

    >>> label_of("_own"), label_of("$5"), label_of("OL$^2$M")
    (' _own', '\\\\$5', 'OL$^2$M')
    """
    shown = f"{' ' if name.startswith('_') else ''}{name}"
    return shown if _has_formulas(name) else shown.replace("$", r"\$")


@functools.lru_cache(1024)
def _has_formulas(name: str) -> bool:
    """Return True if the dollars of a name enclose formulas that matplotlib can draw."""
    pieces = name.split("$")[1::2]
    if name.count("$") % 2 or not all(re.search(r"[\\^_{]", piece) for piece in pieces):
        return False
    from matplotlib.mathtext import MathTextParser

    try:
        for piece in pieces:
            MathTextParser("path").parse(f"${piece}$")
    except Exception:  # a formula that it does not know
        return False
    return bool(pieces)


def draw_line(axes: Any, series: Series, place: int, count: int, style: dict[str, Any]) -> None:
    every = max(1, len(series.x) // 8)
    marks = {"markevery": (every * place // count, every), "markersize": 4, "linewidth": 1.4}
    axes.plot(series.x, series.y, label=label_of(series.name), **style, **marks)
    if series.low:
        axes.fill_between(
            series.x, series.low, series.high, color=style["color"], alpha=0.15, linewidth=0
        )


def draw_dots(axes: Any, series: Series, place: int, count: int, style: dict[str, Any]) -> None:
    shift = (place - (count - 1) / 2) * 0.5 / count
    x = [value + shift for value in series.x]
    style = style | {"linestyle": "none"}
    axes.plot(x, series.y, label=label_of(series.name), markersize=5, **style)
    if series.low:
        axes.vlines(x, series.low, series.high, color=style["color"], linewidth=1.4)


def draw_tiles(axes: Any, panel: Any, colours: Mapping[str, int]) -> None:
    """One map: squares in the colours of those they belong to, hatched where that is in doubt."""
    from matplotlib.patches import Rectangle

    label_panel(axes, panel, panel.title)
    places = colour_places(panel.names, colours)
    stops = [sorted({place[i] for place in panel.tiles}) for i in range(2)]
    for place, tile in panel.tiles.items():
        left, bottom = (stops[i].index(place[i]) - 0.5 for i in range(2))
        face = faded(style_of(places[tile.name])["color"], tile.strength)
        hatch = {"hatch": "////", "edgecolor": "white"} if tile.hatched else {"edgecolor": face}
        axes.add_patch(Rectangle((left, bottom), 1.0, 1.0, facecolor=face, linewidth=0.0, **hatch))
    for name in panel.legend:
        colour = style_of(places[name])["color"]
        axes.plot([], [], "s", color=colour, label=label_of(name), markersize=8)
    for axis, values in zip((axes.xaxis, axes.yaxis), stops, strict=True):
        every = max(1, len(values) // 6)
        axis.set_ticks(range(0, len(values), every), [f"{v:.2g}" for v in values[::every]])
    axes.set_xlim(-0.5, len(stops[0]) - 0.5)
    axes.set_ylim(-0.5, len(stops[1]) - 0.5)


def draw_strips(axes: Any, panel: Any, colours: Mapping[str, int]) -> None:
    """One row of dots per name in every group; a value beyond the edge is drawn on the edge."""
    label_panel(axes, panel, panel.title)
    places = colour_places(panel.names, colours)
    edge, height = 1.25 * panel.line, len(panel.strips) + 1.5
    axes.axvline(panel.line, color=GREY, linewidth=1.0, zorder=0)
    above = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
    axes.text(panel.line, 1.005, panel.line_label, color=GREY, **above)
    for place, strip in enumerate(panel.strips):
        style = style_of(places[strip.name]) | {"linestyle": "none"}
        for group, values in enumerate(strip.groups):
            if len(values):
                row, mean = group * height + place, sum(values) / len(values)
                x = [min(value, edge) for value in values]
                axes.plot(x, [row] * len(x), **style | {"marker": "o"}, ms=2.2, alpha=0.35, mew=0)
                axes.plot(min(mean, edge), row, **style, ms=5.5, mec="white", mew=0.5)
        axes.plot([], [], label=label_of(strip.name), **style, markersize=5.5)
    for group in range(1, len(panel.groups)):
        axes.axhline(group * height - 1.25, color=GREY, linewidth=0.4, alpha=0.4)
    middle = (len(panel.strips) - 1) / 2.0
    axes.set_yticks([group * height + middle for group in range(len(panel.groups))], panel.groups)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(panel.groups) * height - 1.0, -1.4)
    axes.set_xlim(-0.02 * panel.line, edge + 0.02 * panel.line)
    axes.grid(axis="x", alpha=0.25)


def faded(colour: str, strength: float) -> tuple[float, ...]:
    """Return the colour mixed with white: a third of it at strength 0, all of it at 1.

    >>> faded("#000000", 1.0)
    (0.0, 0.0, 0.0)
    """
    share = (1.0 + 2.0 * strength) / 3.0
    levels = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    return tuple(1.0 - share * (1.0 - level) for level in levels)
