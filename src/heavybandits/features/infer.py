"""Columns from data: the type of a column, its centre and scale, its categories, its cycles."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import EncodingError, InvalidInputError, printable, warn_caller
from .._utils.validation import LARGEST, SMALLEST, one_of, whole
from ..core.arrays import Floats
from . import tables as frames
from .columns import (
    DECIMALS,
    NORMAL_FORMS,
    PERIODS,
    Category,
    Column,
    Date,
    Number,
    check_formats,
    check_names,
)
from .hints import CategoryCounts, count_categories, count_texts, find_hint
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
PerColumn = str | Mapping[str, str]  # one value for all columns, or one by column


@dataclass
class Inference:
    """Infer columns from a frame, and count what their categories cover."""

    frame: frames.Frame
    column_types: Mapping[str, str]
    allow_missing: Sequence[str]
    max_categories: int
    decimal: PerColumn
    date_formats: Mapping[str, str | Sequence[str]]
    normalize: PerColumn
    counts: dict[str, CategoryCounts] = field(default_factory=dict)

    def infer(self, name: str) -> Column:
        """Infer one column; warn if a category looks like numbers or dates, or covers little."""
        typed = frames.values(self.frame, name)
        present = find_present(typed)
        if len(present) == 0:
            raise InvalidInputError(f"column {name!r} must have a value in some row, got none")
        allow = len(present) < len(typed) or name in self.allow_missing
        decimal = _of(self.decimal, name, ".")
        formats = check_formats(name, self.date_formats.get(name, ()))
        given = self.column_types.get(name) or ("date" if formats else None)
        found = given or infer_type(present, decimal)
        if found == "date" and not formats:
            return infer_date(name, present, allow)
        if found == "number" and decimal == ".":
            return infer_number(name, present, allow)
        written = find_present(frames.values(self.frame, name, as_written=True))
        if found == "date":
            return infer_date(name, written, allow, formats=formats)
        if found == "number":
            return infer_number(name, written, allow, decimal=decimal)
        normalize = _of(self.normalize, name, "nfc")
        column = infer_category(
            name, written, allow, max_categories=self.max_categories, normalize=normalize
        )
        counts = self.counts[name] = count_categories(column, written)
        hint = find_hint(column, counts, looks=given is None)
        if hint:
            warn_caller(hint)
        return column


def _of(given: PerColumn, name: str, default: str) -> str:
    return given if isinstance(given, str) else given.get(name, default)


def infer_sides(
    frame: frames.Frame,
    context: Sequence[str],
    action: Sequence[str],
    *,
    column_types: Mapping[str, str],
    allow_missing: bool | Iterable[str],
    max_categories: int,
    decimal: PerColumn = ".",
    date_formats: Mapping[str, str | Sequence[str]] = {},
    normalize: PerColumn = "nfc",
) -> tuple[list[Column], list[Column], dict[str, CategoryCounts]]:
    """Return the columns of the context and of the actions, from their names, and counts."""
    used = (*context, *action)
    missing = used if allow_missing is True else check_names("allow_missing", allow_missing or ())
    decimals = _by_column("decimal", decimal, DECIMALS)
    forms = _by_column("normalize", normalize, NORMAL_FORMS)
    types = _by_column("column_types", column_types, TYPES)
    named = {"column_types": types, "allow_missing": missing, "date_formats": date_formats}
    _check_used(used, **named, decimal=decimals, normalize=forms)
    frames.length(frame)  # raises if the lengths of the columns differ
    whole("max_categories", max_categories)
    inference = Inference(
        frame, types, missing, max_categories, decimals or decimal, date_formats, forms or normalize
    )
    left, right = ([inference.infer(name) for name in side] for side in (context, action))
    return left, right, inference.counts


def _by_column(what: str, given: PerColumn, allowed: Iterable[str]) -> Mapping[str, str]:
    """Validate words by column; one word for all columns gives none by column."""
    if isinstance(given, str):
        one_of(what, given, allowed)
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{what} must be a dictionary by column, got {given!r:.80}")
    for name, word in given.items():
        one_of(f"{what}[{name!r}]", word, allowed)
    return given


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
                    f"({printable(', '.join(columns))}), got {name!r}"
                )


def is_numeric(values: Sequence[Any] | ColumnValues) -> TypeGuard[NDArray[Any]]:
    return isinstance(values, np.ndarray) and values.dtype.kind in "biuf"


def find_present(values: ColumnValues) -> ColumnValues:
    """Return the values that are not missing."""
    if is_numeric(values):
        return values[~np.isnan(values)]
    return [value for value in values if not is_missing(value)]


def infer_type(values: ColumnValues, decimal: str = ".") -> str:
    """Return the type that the values of a column look like.

    With the decimal mark "," texts that are all numbers are numbers.

    >>> infer_type([1, 2.5]), infer_type(["2026-03-01"]), infer_type(["1", "a"])
    ('number', 'date', 'category')
    >>> infer_type(["1,5", "2"]), infer_type(["1,5", "2"], decimal=",")
    ('category', 'number')
    """
    given = () if is_numeric(values) else [plain(value) for value in values]
    if all(isinstance(value, Real | Decimal) for value in given):
        return "number"
    if all(isinstance(value, date | np.datetime64) or looks_like_a_date(value) for value in values):
        return "date"
    if decimal != "." and all(_is_number(value, decimal) for value in given):
        return "number"
    return "category"


def _is_number(value: object, decimal: str) -> bool:
    try:
        read_number(value, "", decimal)
    except EncodingError:
        return False
    return True


def infer_number(
    name: str, values: ColumnValues, allow_missing: bool = False, *, decimal: str = "."
) -> Number:
    """Centre and scale numbers by median and interquartile range; map two numbers to 0 and 1.

    >>> infer_number("visits", [1, 2, 3, 4, 1000]).describe()
    '(value - 3) / 1.48258, clipped to +-3'
    >>> infer_number("member", [0, 1, 0, 0]).describe()
    '(value - 0) / 1, clipped to +-3'
    """
    if is_numeric(values) and np.isfinite(values).all():
        numbers = np.asarray(values, np.float64)
    else:
        numbers = np.array([read_number(value, name, decimal) for value in values])
    present = numbers[~np.isnan(numbers)]
    if present.size == 0:
        raise InvalidInputError(f"column {name!r} must have a number in some row, got none")
    missing = allow_missing or present.size < numbers.size
    return Number(name, *centre_and_scale(present), allow_missing=missing, decimal=decimal)


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
    name: str,
    values: ColumnValues,
    allow_missing: bool = False,
    *,
    max_categories: int = 30,
    normalize: str = "nfc",
) -> Category:
    """Return the most frequent categories, in alphabetical order.

    >>> infer_category("city", ["Rome", "Oslo", "Lima", "Oslo", "Rome"], max_categories=2).names
    ('city=Oslo', 'city=Rome', 'city=(other)')
    """
    counts = Counter[str]()
    form = Category(name, (), normalize=normalize)
    for text, rows in count_texts(form, values).items():
        counts[form.text(text)] += rows
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[:max_categories]
    return Category(name, tuple(sorted(frequent)), allow_missing, normalize)


def infer_date(
    name: str,
    values: ColumnValues,
    allow_missing: bool = False,
    *,
    formats: Sequence[str] = (),
) -> Date:
    """Return the cycles that the dates complete at least once, and their trend.

    >>> infer_date("when", ["2026-03-01T09:00", "2026-03-20T17:30"]).cycles
    ('day', 'week')
    """
    moments = [read_moment(value, name, formats) for value in values]
    seconds = np.array([(moment - EPOCH).total_seconds() for moment in moments])
    length = float(seconds.max() - seconds.min())
    cycles = ["day"] if (seconds % DAY).any() else []
    cycles += [cycle for cycle in ("week", "year") if length >= PERIODS[cycle]]
    centre, scale = centre_and_scale(seconds)
    scale = max(scale, DAY)
    return Date(name, cycles, True, centre, scale, allow_missing=allow_missing, formats=formats)


def distinct(values: Iterable[object], name: str) -> list[str]:
    """Return the different texts of a column, which must have no missing values."""
    for row, value in enumerate(values):
        if is_missing(value):
            raise InvalidInputError(
                f"column {name!r} must not be missing, got {value!r} in row {row}"
            )
    return sorted({read_text(value, name) for value in values})
