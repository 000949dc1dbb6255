"""What an analysis returns, as plain data: drawn by matplotlib and by the report's own script."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .verdicts import Verdict

Row = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """One line (or one column of dots): y over x, with a band from low to high where given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


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


@dataclass(frozen=True)
class View:
    """One reading of a figure: what its switch shows."""

    label: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Figure:
    """A figure of one or several views."""

    name: str
    title: str
    caption: str
    views: Sequence[View]


@dataclass(frozen=True)
class Table:
    """A table: the columns shown are those of the first row."""

    name: str
    title: str
    caption: str
    rows: Sequence[Row]

    @property
    def columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []


@dataclass(frozen=True)
class Findings:
    """All that an analysis makes of its rows."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def select(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """The rows with these values.

    >>> select([{"a": 1, "b": 2}, {"a": 2, "b": 3}], a=2)
    [{'a': 2, 'b': 3}]
    """
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def values(rows: Sequence[Row], name: str) -> list[Any]:
    """The different values of a column, in the order they first appear.

    >>> values([{"a": 2}, {"a": 1}, {"a": 2}], "a")
    [2, 1]
    """
    return list(dict.fromkeys(row[name] for row in rows))
