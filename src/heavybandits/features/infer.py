"""Columns from data: the type of a column, its centre and scale, its categories, its cycles."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError
from .._utils.validation import LARGEST, SMALLEST, one_of, whole
from ..core.arrays import Floats
from . import tables as frames
from .columns import PERIODS, Category, Column, Date, Number, check_names
from .serialization import TYPES
from .values import (
    EPOCH,
    ColumnValues,
    is_missing,
    looks_like_a_date,
    plain,
    read_moment,
    read_number,
    read_text,
)

NORMAL = 1.349  # interquartile range of the normal distribution, in standard deviations
DAY = PERIODS["day"]


def infer_sides(
    frame: frames.Frame,
    context: Sequence[str],
    action: Sequence[str],
    *,
    column_types: Mapping[str, str],
    allow_missing: bool | Iterable[str],
    max_categories: int,
) -> tuple[list[Column], list[Column]]:
    """Return the columns of the context and of the actions, from their names."""
    used = (*context, *action)
    missing = used if allow_missing is True else check_names("allow_missing", allow_missing or ())
    _check_used(used, column_types=column_types, allow_missing=missing)
    frames.length(frame)  # raises if the lengths of the columns differ
    whole("max_categories", max_categories)
    for name, given in column_types.items():
        one_of(f"column_types[{name!r}]", given, TYPES)

    def infer(name: str) -> Column:
        values = frames.values(frame, name)
        present = find_present(values)
        if len(present) == 0:
            raise InvalidInputError(f"column {name!r} must have a value in some row, got none")
        allow = len(present) < len(values) or name in missing
        found = column_types.get(name) or infer_type(present)
        if found == "number":
            return infer_number(name, present, allow)
        if found == "date":
            return infer_date(name, present, allow)
        return infer_category(name, present, allow, max_categories=max_categories)

    return [infer(name) for name in context], [infer(name) for name in action]


def _check_used(columns: Sequence[str], **given: Iterable[str]) -> None:
    """Raise if an argument names a column that the encoder does not use.

    >>> _check_used(["age"], column_types={"aeg": "number"})
    Traceback (most recent call last):
    heavybandits.InvalidInputError: column_types must name columns of context_columns or
    action_columns (age), got 'aeg'
    """
    for what, names in given.items():
        for name in names:
            if name not in columns:
                raise InvalidInputError(
                    f"{what} must name columns of context_columns or action_columns "
                    f"({', '.join(columns)}), got {name!r}"
                )


def is_numeric(values: Sequence[Any] | ColumnValues) -> TypeGuard[NDArray[Any]]:
    return isinstance(values, np.ndarray) and values.dtype.kind in "biuf"


def find_present(values: ColumnValues) -> ColumnValues:
    """Return the values that are not missing."""
    if is_numeric(values):
        return values[~np.isnan(values)]
    return [value for value in values if not is_missing(value)]


def infer_type(values: ColumnValues) -> str:
    """Return the type that the values of a column look like.

    >>> infer_type([1, 2.5]), infer_type(["2026-03-01"]), infer_type(["1", "a"])
    ('number', 'date', 'category')
    """
    given = () if is_numeric(values) else [plain(value) for value in values]
    if all(isinstance(value, Real | Decimal) for value in given):
        return "number"
    if all(isinstance(value, date | np.datetime64) or looks_like_a_date(value) for value in values):
        return "date"
    return "category"


def infer_number(name: str, values: ColumnValues, allow_missing: bool = False) -> Number:
    """Centre and scale numbers by median and interquartile range; map two numbers to 0 and 1.

    >>> infer_number("visits", [1, 2, 3, 4, 1000])
    Number(name='visits', centre=3.0, scale=1.4825796886582654, clip=3.0, allow_missing=False)
    >>> infer_number("member", [0, 1, 0, 0])
    Number(name='member', centre=0.0, scale=1.0, clip=3.0, allow_missing=False)
    """
    if is_numeric(values) and np.isfinite(values).all():
        numbers = np.asarray(values, np.float64)
    else:
        numbers = np.array([read_number(value, name) for value in values])
    present = numbers[~np.isnan(numbers)]
    if present.size == 0:
        raise InvalidInputError(f"column {name!r} must have a number in some row, got none")
    missing = allow_missing or present.size < numbers.size
    return Number(name, *centre_and_scale(present), allow_missing=missing)


def centre_and_scale(numbers: Floats) -> tuple[float, float]:
    """Return a centre and a scale that ignore outliers; the scale is 1 if all numbers are equal.

    >>> centre_and_scale(np.array([0.0] * 8 + [5.0, 15.0]))  # the quartiles are equal
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


def infer_category(
    name: str, values: ColumnValues, allow_missing: bool = False, *, max_categories: int = 30
) -> Category:
    """Return the most frequent categories, in alphabetical order.

    >>> infer_category("city", ["Rome", "Oslo", "Lima", "Oslo", "Rome"], max_categories=2)
    Category(name='city', categories=('Oslo', 'Rome'), allow_missing=False)
    """
    counts = Counter(read_text(value) for value in values)
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[:max_categories]
    return Category(name, tuple(sorted(frequent)), allow_missing=allow_missing)


def infer_date(name: str, values: ColumnValues, allow_missing: bool = False) -> Date:
    """Return the cycles that the dates complete at least once, and their trend.

    >>> infer_date("when", ["2026-03-01T09:00", "2026-03-20T17:30"]).cycles
    ('day', 'week')
    """
    moments = [read_moment(value, name) for value in values]
    seconds = np.array([(moment - EPOCH).total_seconds() for moment in moments])
    length = float(seconds.max() - seconds.min())
    cycles = ["day"] if (seconds % DAY).any() else []
    cycles += [cycle for cycle in ("week", "year") if length >= PERIODS[cycle]]
    centre, scale = centre_and_scale(seconds)
    return Date(name, cycles, True, centre, max(scale, DAY), allow_missing=allow_missing)


def distinct(values: Iterable[object], name: str) -> list[str]:
    """Return the different texts of a column, which must have no missing values."""
    for row, value in enumerate(values):
        if is_missing(value):
            raise InvalidInputError(
                f"column {name!r} must not be missing, got {value!r} in row {row}"
            )
    return sorted({read_text(value) for value in values})
