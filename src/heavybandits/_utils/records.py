"""Tidy rows, held by column, and frames of a few rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InvalidInputError, optional
from .tables import write_parquet

if TYPE_CHECKING:
    import pandas
    import polars


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


class Records:
    """Rows held by column.

    >>> Records({"policy": ["a"], "play": [3], "regret": [0.5]}).rows()
    [{'policy': 'a', 'play': 3, 'regret': 0.5}]
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = {name: np.asarray(column) for name, column in data.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.data)

    @property
    def policies(self) -> list[str]:
        """The names of the policies, in the order they were given."""
        return self.names("policy")

    def names(self, column: str) -> list[Any]:
        """The different values of a column in the order they first appear; none without it."""
        return list(dict.fromkeys(self.data[column].tolist())) if column in self.data else []

    def need(self, use: str, columns: Sequence[str]) -> None:
        """Raise an error if the rows do not have the columns that a use needs."""
        missing = [name for name in columns if name not in self.data]
        if missing:
            raise InvalidInputError(
                f"{use} needs columns {', '.join(columns)}; no {missing[0]} is here"
            )

    def __len__(self) -> int:
        return len(next(iter(self.data.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows: {', '.join(self.policies)})"

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain Python values."""
        columns = [column.tolist() for column in self.data.values()]
        return [dict(zip(self.data, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a pandas DataFrame."""
        return optional("pandas", "lab").DataFrame(dict(self.data))

    def to_polars(self) -> "polars.DataFrame":
        """The rows as a Polars DataFrame."""
        return optional("polars", "polars").DataFrame(dict(self.data))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows to a Parquet file, at once or not at all."""
        write_parquet(self.data, Path(path))
