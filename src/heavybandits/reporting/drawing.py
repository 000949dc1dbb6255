"""The files of a figure: every view as PNG, SVG and PDF."""

from collections.abc import Mapping
from pathlib import Path

from ..support.drawing import FORMATS, draw_view, write_picture
from .outputs import Figure, View


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
        canvas, path = draw_view(view, colours), folder / file_name(figure, view)
        data = {
            form: write_picture(canvas, path.with_name(f"{path.name}.{form}")) for form in FORMATS
        }
        images[view.label] = data["png"]
    return images
