"""Findings of an analysis as plain data: figures, tables and verdicts; the files of a figure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._utils.drawing import FORMATS, Strips, Tiles, View, draw_view, write_picture
from .._utils.statistics import Estimate
from .._utils.tables import Row


@dataclass(frozen=True)
class Figure:
    """A figure of one or several views."""

    name: str
    title: str
    caption: str
    views: Sequence[View]

    @property
    def still(self) -> bool:
        """Return True for a picture that no script draws."""
        stills = (Strips, Tiles)
        return any(isinstance(panel, stills) for view in self.views for panel in view.panels)


def file_name(figure: Figure, view: View) -> str:
    """Return the name of a view's files, without its ending.

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
        canvas, path = draw_view(view, colours), folder / file_name(figure, view)
        for form in FORMATS:
            picture = write_picture(canvas, path.with_name(f"{path.name}.{form}"))
            if form == "png":
                images[view.label] = picture
    return images


@dataclass(frozen=True)
class Table:
    """A table: the columns shown are those of the first row."""

    name: str
    title: str
    caption: str
    rows: Sequence[Row]


HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured, and what that says: never without an interval.

    >>> verdict = judge("CRTM is lowest", "fixed arms", "margin", Estimate(5.0, 2.0, 9.0))
    >>> verdict.outcome, verdict.interval
    ('holds', (2.0, 9.0))
    """

    claim: str
    reading: str
    quantity: str
    measured: float
    interval: tuple[float, float]
    outcome: str
    note: str = ""

    def as_row(self) -> dict[str, Any]:
        """Return the verdict as a flat row."""
        row = asdict(self)
        row["low"], row["high"] = row.pop("interval")
        return row


def judge(
    claim: str,
    reading: str,
    quantity: str,
    estimate: Estimate,
    low: float = 0.0,
    high: float = math.inf,
    note: str = "",
) -> Verdict:
    """Judge the claim that the quantity is between `low` and `high`.

    The claim holds if the interval is inside, and does not hold if the interval is outside.
    Otherwise it is undecided at this number of repetitions.

    >>> [judge("", "", "", Estimate(v, v - 1, v + 1)).outcome for v in (2.0, 0.5, -2.0)]
    ['holds', 'undecided', 'does not hold']
    """
    if math.isnan(estimate.value):
        outcome = UNDECIDED
    elif low < estimate.low and estimate.high < high:
        outcome = HOLDS
    elif estimate.high <= low or estimate.low >= high:
        outcome = FAILS
    else:
        outcome = UNDECIDED
    span = (estimate.low, estimate.high)
    return Verdict(claim, reading, quantity, estimate.value, span, outcome, note)


@dataclass(frozen=True)
class Findings:
    """All that an analysis makes of its rows."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()
