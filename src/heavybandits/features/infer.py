"""Columns made out of data: which kind a column is, its centre and scale, its words, its cycles."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.validation import LARGEST, SMALLEST, one_of, whole
from ..core.arrays import Floats
from . import tables as frames
from .columns import Category, Column, Number
from .dates import PERIODS, Date
from .serialization import KINDS
from .values import EPOCH, is_missing, looks_like_a_date, plain, read_moment, read_number, read_text

NORMAL = 1.349  # the interquartile range of the normal law, in deviations
DAY = PERIODS["day"]


def fit_columns(
    frame: Any,
    names: Sequence[str],
    kinds: Mapping[str, str],
    missing: Sequence[str],
    most_values: int,
) -> list[Column]:
    """A column of its kind for each of these names."""
    whole("most_values", most_values)
    for name, kind in kinds.items():
        one_of(f"kinds[{name!r}]", kind, KINDS)
    made = []
    for name in names:
        values = frames.values(frame, name)
        there = present(values)
        kind = kinds.get(name) or infer_kind(there)
        gaps = len(there) < len(values) or name in missing
        if len(there) == 0:
            raise InvalidInputError(f"column {name!r} must have a value in some row, got none")
        made.append(_fit(kind, name, there, gaps, most_values))
    return made


def is_numeric(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "biuf"


def present(values: Any) -> Any:
    """The values that are not missing."""
    if is_numeric(values):
        return values[~np.isnan(values)]
    return [value for value in values if not is_missing(value)]


def _fit(kind: str, name: str, there: Sequence[Any], gaps: bool, most_values: int) -> Column:
    if kind == "number":
        return fit_number(name, there, gaps)
    if kind == "date":
        return fit_date(name, there, gaps)
    return fit_category(name, there, gaps, most_values)


def infer_kind(values: Sequence[Any]) -> str:
    """What the values of a column look like.

    >>> infer_kind([1, 2.5]), infer_kind(["2026-03-01"]), infer_kind(["1", "a"])
    ('number', 'date', 'category')
    """
    given = () if is_numeric(values) else [plain(value) for value in values]
    if all(isinstance(value, Real | Decimal) for value in given):
        return "number"
    if all(isinstance(value, date | np.datetime64) or looks_like_a_date(value) for value in values):
        return "date"
    return "category"


def fit_number(name: str, values: Sequence[Any], gaps: bool = False) -> Number:
    """Median and interquartile range; of two different numbers the lower is 0, the other 1.

    >>> fit_number("visits", [1, 2, 3, 4, 1000])
    Number(name='visits', centre=3.0, scale=1.4825796886582654, limit=3.0, missing=False)
    >>> fit_number("member", [0, 1, 0, 0])
    Number(name='member', centre=0.0, scale=1.0, limit=3.0, missing=False)
    """
    if is_numeric(values) and np.isfinite(values).all():
        numbers = np.asarray(values, np.float64)
    else:
        numbers = np.array([read_number(value, name) for value in values])
    there = numbers[~np.isnan(numbers)]
    if there.size == 0:
        raise InvalidInputError(f"column {name!r} must have a number in some row, got none")
    return Number(name, *centre_and_scale(there), missing=gaps or there.size < numbers.size)


def centre_and_scale(numbers: Floats) -> tuple[float, float]:
    """Where numbers are and how far apart, whatever a few of them do; 1 if they are all the same.

    >>> centre_and_scale(np.array([0.0] * 8 + [5.0, 15.0]))  # the quartiles are the same
    (0.0, 2.0)
    """
    ordered = np.unique(numbers)
    if ordered.size <= 2:
        width = float(ordered[-1] - ordered[0])
        return float(ordered[0]), _inside(width)
    low, centre, high = np.quantile(numbers, (0.25, 0.5, 0.75))
    with np.errstate(over="ignore"):
        spread = (high - low) / NORMAL or np.abs(numbers - centre).mean()
    return float(centre), _inside(float(spread))


def _inside(scale: float) -> float:
    return min(max(scale, SMALLEST), LARGEST) if scale > 0.0 else 1.0


def fit_category(
    name: str, values: Sequence[Any], gaps: bool = False, most_values: int = 30
) -> Category:
    """The most frequent words, in the order of the alphabet.

    >>> fit_category("city", ["Rome", "Oslo", "Lima", "Oslo", "Rome"], most_values=2).values
    ('Oslo', 'Rome')
    """
    counts = Counter(read_text(value) for value in values)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:most_values]
    return Category(name, tuple(sorted(frequent)), missing=gaps)


def fit_date(name: str, values: Sequence[Any], gaps: bool = False) -> Date:
    """The cycles that the dates go through once at least, and their trend.

    >>> fit_date("when", ["2026-03-01T09:00", "2026-03-20T17:30"]).cycles
    ('day', 'week')
    """
    moments = [read_moment(value, name) for value in values]
    seconds = np.array([(moment - EPOCH).total_seconds() for moment in moments])
    length = float(seconds.max() - seconds.min())
    cycles = ["day"] if (seconds % DAY).any() else []
    cycles += [cycle for cycle in ("week", "year") if length >= PERIODS[cycle]]
    centre, scale = centre_and_scale(seconds)
    return Date(name, tuple(cycles), True, centre, max(scale, DAY), missing=gaps)


def distinct(values: Iterable[Any], name: str) -> list[str]:
    """The different words of a column that must have no gaps."""
    for row, value in enumerate(values):
        if is_missing(value):
            raise InvalidInputError(
                f"column {name!r} must not be missing, got {value!r} in row {row}"
            )
    return sorted({read_text(value) for value in values})
