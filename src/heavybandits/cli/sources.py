"""Options and helpers of the commands that read data: diagnose, replay and evaluate."""

from pathlib import Path
from typing import Any, Protocol

import click

from .._utils.errors import InvalidInputError
from ..features import Encoder
from ..offline.log import FeatureColumns

FEATURES = click.option("--features", help="Columns of features, separated by commas.")
ENCODER = click.option(
    "--encoder", help='Encoder file that "encode fit" wrote, instead of --features.'
)
DROP = click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")


class Plottable(Protocol):
    """A result that can be drawn to a file."""

    def plot(self, path: Path) -> object: ...


def read_features(options: dict[str, Any]) -> FeatureColumns:
    """Take --features and --encoder from the options; return the columns, or the encoder."""
    names, encoder = read_names(options.pop("features")), options.pop("encoder")
    if encoder is None:
        return names
    if names:
        raise InvalidInputError("give one of --features and --encoder, not both")
    return Encoder.load(encoder)


def read_names(columns: str | None) -> list[str]:
    """Return the names between commas.

    >>> read_names("age, visits")
    ['age', 'visits']
    """
    return [name.strip() for name in (columns or "").split(",") if name.strip()]


def draw(result: Plottable, path: Path | None) -> None:
    """Draw a result to a file, if one is given, and print its path to stderr."""
    if path is not None:
        result.plot(path)
        click.echo(f"wrote {path}", err=True)
