"""Options and helpers of the commands that read data: diagnose, replay and evaluate."""

from pathlib import Path
from typing import NamedTuple, Protocol

import click

from .._utils.errors import InvalidInputError
from ..experiments.data import LOADERS, load_data
from ..features import Encoder
from ..offline.log import FeatureColumns, Log

FEATURES = click.option("--features", help="Columns of features, separated by commas.")
ENCODER = click.option("--encoder", help='File of "encode fit", instead of --features.')
DROP = click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")


class Plottable(Protocol):
    """A result that can be drawn to a file."""

    def plot(self, path: Path) -> object: ...


class Source(NamedTuple):
    """A log, and the keyword arguments of `replay` by protocol if it is a named data set."""

    log: Log
    protocols: dict[str, dict[str, object]]


def open_source(
    name: str, reward: str | None, features: FeatureColumns, drop_missing: bool
) -> Source:
    """Open a named data set or a file."""
    if name in LOADERS and not Path(name).exists():
        data = load_data(name)
        click.echo(f"{name}: {data.about}", err=True)
        columns, paid = features or data.features, reward or data.reward
        log = Log(data.frame, features=columns, reward=paid, drop_missing=drop_missing)
        return Source(log, data.protocols)
    paid = reward or "reward"
    return Source(Log(name, features=features, reward=paid, drop_missing=drop_missing), {})


def read_features(columns: str | None, encoder: str | None) -> FeatureColumns:
    """Return the columns between commas, or the encoder of a file."""
    names = read_names(columns)
    if encoder is None:
        return names
    if names:
        raise InvalidInputError("one of --features and --encoder must be given, not both")
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
