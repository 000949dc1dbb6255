"""Tidy rows, stored by column, and frames of a few rows."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .errors import InvalidInputError, optional
from .files import replace_atomically
from .tables import to_csv as csv_text
from .tables import write_parquet

if TYPE_CHECKING:
    import pandas
    import polars


ONE = {"policies": "policy"}  # the names of one thing that do not only lose their last letter
Columns = dict[str, NDArray[Any]]
Frame = Any  # a pandas.DataFrame; a list of dictionaries where pandas is not installed


def to_frame(records: Sequence[dict[str, Any]]) -> Frame:
    """Return the records as a pandas DataFrame, or as they are if pandas is not installed.

    >>> to_records(to_frame([{"policy": "a", "mean": 0.5}]))
    [{'policy': 'a', 'mean': 0.5}]
    """
    try:
        import pandas
    except ModuleNotFoundError:
        return list(records)
    return pandas.DataFrame(list(records))


def to_records(frame: Frame) -> list[dict[str, Any]]:
    """Return the rows of what `to_frame` made, as dictionaries of plain Python values."""
    return frame if isinstance(frame, list) else frame.to_dict("records")


# ---- what every result with `data`, columns of equal length by name, can do


class HasData(Protocol):
    """Rows stored by column."""

    data: Columns


def to_columns(data: Mapping[str, Any]) -> Columns:
    """Return the columns as arrays."""
    return {name: np.asarray(column) for name, column in data.items()}


def column_names(result: HasData) -> tuple[str, ...]:
    """Return the names of the columns."""
    return tuple(result.data)


def policy_names(result: HasData) -> list[str]:
    """Return the names of the policies, in the order they were given."""
    return distinct(result, "policy")


def distinct(result: HasData, column: str) -> list[Any]:
    """Return the different values of a column in the order in which they first appear.

    Parameters
    ----------
    column : str
        Name of the column.

    Returns
    -------
    list
        The values; empty if there is no such column.
    """
    return list(dict.fromkeys(result.data[column].tolist())) if column in result.data else []


def need(result: HasData, use: str, columns: Sequence[str]) -> None:
    """Raise InvalidInputError if the rows do not have the columns that a use needs."""
    missing = [name for name in columns if name not in result.data]
    if missing:
        raise InvalidInputError(
            f"{use} needs columns {', '.join(columns)}; no {missing[0]} is here"
        )


def count_rows(result: HasData) -> int:
    """Return the number of rows."""
    return len(next(iter(result.data.values()), ()))


def iterate(result: HasData) -> Iterator[dict[str, Any]]:
    """Iterate over the rows as dictionaries."""
    return iter(rows(result))


def describe(result: HasData) -> str:
    """Return how many policies, problems, repetitions and plays the rows are of.

    >>> from heavybandits import Result
    >>> describe(Result({"policy": ["a", "a"], "play": [1000, 2000]}))
    '1 policy, 2,000 plays, 2 rows'
    """
    counts = {f"{name}s": len(distinct(result, name)) for name in ("problem", "repetition")}
    counts = {"policies": len(policy_names(result)), **counts}
    if count_rows(result) and "play" in result.data:
        counts["plays"] = int(result.data["play"].max())
    named = [
        f"{n:,} {name if n > 1 else ONE.get(name, name[:-1])}" for name, n in counts.items() if n
    ]
    return ", ".join([*named, f"{count_rows(result):,} rows"])


def rows(result: HasData) -> list[dict[str, Any]]:
    """Return the rows as dictionaries of plain Python values.

    Returns
    -------
    list of dict
        One dictionary per row.
    """
    columns = [column.tolist() for column in result.data.values()]
    return [dict(zip(result.data, row, strict=True)) for row in zip(*columns, strict=True)]


def to_pandas(result: HasData) -> "pandas.DataFrame":
    """Return the rows as a pandas DataFrame.

    Returns
    -------
    pandas.DataFrame
        One row per row of the result.
    """
    return optional("pandas", "lab").DataFrame(dict(result.data))


def to_polars(result: HasData) -> "polars.DataFrame":
    """Return the rows as a Polars DataFrame.

    Returns
    -------
    polars.DataFrame
        One row per row of the result.
    """
    return optional("polars", "polars").DataFrame(dict(result.data))


def to_csv(result: HasData, path: str | Path) -> None:
    """Write the rows to a CSV file. The file appears complete or not at all.

    Text that a spreadsheet would run as a formula gets an apostrophe in front.

    Parameters
    ----------
    path : str or Path
        File to write. An existing file is replaced.
    """
    text = csv_text(rows(result), column_names(result))
    replace_atomically(Path(path), lambda target: target.write_text(text, "utf-8"))


def to_parquet(result: HasData, path: str | Path) -> None:
    """Write the rows to a Parquet file. The file appears complete or not at all.

    Parameters
    ----------
    path : str or Path
        File to write. An existing file is replaced.
    """
    write_parquet(result.data, Path(path), about=getattr(result, "about", ""))
