"""Logs of the commands `diagnose` and `replay`: files, and the data sets of the experiments."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from .._utils.errors import InvalidInputError
from .._utils.validation import closest
from ..experiments.data import LOADERS, load_data
from ..offline.log import Log
from .sources import is_ledger, read_features, read_log


class Source(NamedTuple):
    """A log, and the keyword arguments of `replay` by protocol if it is a named data set."""

    log: Log
    protocols: dict[str, dict[str, object]]


def open_source(name: str, options: dict[str, Any]) -> Source:
    """Open a named data set or a file; take the options that describe its columns."""
    columns, reward = read_features(options), options.pop("reward")
    drop_missing = options.pop("drop_missing")
    is_file = Path(name).exists() or is_ledger(name)
    if name not in LOADERS and not Path(name).suffix and not is_file:
        close = closest(name, LOADERS)
        hint = f"; did you mean {close!r}?" if close else ""
        raise InvalidInputError(
            f"{name!r} must be a file or one of the data sets {', '.join(LOADERS)}{hint}"
        )
    if name not in LOADERS or is_file:
        given = {"reward": reward, "drop_missing": drop_missing}
        return Source(read_log(name, columns, given), {})
    data = load_data(name)
    click.echo(f"{name}: {data.about}", err=True)
    columns, reward = columns or data.features, reward or data.reward
    log = Log(data.frame, features=columns, reward=reward, drop_missing=drop_missing)
    return Source(log, data.protocols)
