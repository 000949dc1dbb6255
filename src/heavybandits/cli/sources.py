"""Options and helpers of the commands that read data: diagnose, replay, evaluate and uplift."""

from pathlib import Path
from typing import Any, Protocol

import click

from .._utils.errors import InvalidInputError
from ..features import Encoder
from ..ledger.address import is_address
from ..ledger.reader import LedgerReader
from ..offline.log import FeatureColumns, Log

FEATURES = click.option("--features", help="Columns of features, separated by commas.")
ENCODER = click.option(
    "--encoder", help='Encoder file that "encode fit" wrote, instead of --features.'
)
DROP = click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")
SQLITE = b"SQLite format 3\0"  # the first bytes of a ledger


class Plottable(Protocol):
    """A result that can be drawn to a file."""

    def plot(self, path: Path) -> object: ...


def is_ledger(file: str) -> bool:
    """Return True for the address of a ledger on a server, and for a SQLite database."""
    if is_address(file):
        return True
    try:
        with Path(file).open("rb") as opened:
            return opened.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def read_log(file: str, features: FeatureColumns, columns: dict[str, Any]) -> Log:
    """Return the log in a table, or the feedback of an agent from its ledger.

    A value of `columns` that is None or False was not given. A ledger knows its columns.
    """
    given = {name: value for name, value in columns.items() if value}
    if not is_ledger(file):
        return Log(file, features=features, **given)
    if given or (isinstance(features, list) and features):
        name = next(iter(given), "features").replace("_", "-")
        raise InvalidInputError(f"--{name} is for tables, and {file} is a ledger: leave it out")
    with LedgerReader(file) as reader:
        return reader.feedback(features if isinstance(features, Encoder) else None)


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
