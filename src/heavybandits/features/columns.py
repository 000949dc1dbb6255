"""Columns of a table and the features they become: numbers, categories and dates."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from .._utils.errors import EncodingError, InvalidInputError
from .._utils.validation import finite_number, flag, one_of, positive
from ..core.arrays import Floats
from .values import EPOCH, ColumnValues, is_missing, read_moment, read_number, read_text

Values = tuple[float, ...]
Reader = Callable[[object], Values]
Check = Callable[[str, object], object]

CLIP = 3.0  # robust standard deviations: numbers further out are clipped to this
LONGEST_NAME, MOST_CATEGORIES = 1000, 10_000
MISSING, OTHER = "(missing)", "(other)"
PERIODS = {"day": 86_400.0, "week": 604_800.0, "year": 31_556_952.0}  # seconds


@runtime_checkable
class Column(Protocol):
    """A column of a table that becomes features: `Number`, `Category` or `Date`.

    A missing value becomes zeros, and a one in a feature of its own (`allow_missing`).
    """

    type: ClassVar[str]

    @property
    def name(self) -> str: ...

    @property
    def allow_missing(self) -> bool: ...

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        ...

    def read(self, value: object) -> Values:
        """Return the features of one value, which may be missing."""
        ...

    def reader(self) -> Reader:
        """Return a function equal to `read` that is as fast as possible."""
        ...

    def read_many(self, values: ColumnValues) -> Floats:
        """Return the features of many values, (n, len(names))."""
        ...

    def bound(self) -> float:
        """Return the largest possible norm of the features."""
        ...

    def describe(self) -> str:
        """Describe in words what a value becomes."""
        ...


# ---- what all columns share


def name_features(column: Column, labels: Sequence[str]) -> tuple[str, ...]:
    """Add the feature for missing values to the names of the other features of a column."""
    missing = (f"{column.name}={MISSING}",) if column.allow_missing else ()
    return (*labels, *missing)


def mark_present(column: Column, features: Values) -> Values:
    """Add the feature for missing values to the features of a value that is present."""
    return (*features, 0.0) if column.allow_missing else features


def mark_missing(column: Column, value: object) -> Values:
    """Return the features of a missing value, or raise if the column does not allow it."""
    if not column.allow_missing:
        reason = "must not be missing (allow_missing=True allows it)"
        raise EncodingError(reason, column.name, value)
    return (*(0.0 for _ in column.names[1:]), 1.0)


def read_each(column: Column, values: ColumnValues) -> Floats:
    """Read values one by one, (n, len(names)); an error names the row."""
    read, features = column.reader(), np.empty((len(values), len(column.names)))
    for row, value in enumerate(values):
        try:
            features[row] = read(value)
        except EncodingError as error:
            raise error.at(f"in row {row}") from None
    return features


def check_name(what: str, name: object) -> str:
    """Return a name that is text of a reasonable length, or raise."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise InvalidInputError(
            f"{what} must be text of 1 to {LONGEST_NAME} characters, got {name!r:.80}"
        )
    return name


def check_names(what: str, names: object) -> tuple[str, ...]:
    """Return names of columns; one name alone is not a list of them.

    >>> check_names("allow_missing", "age")
    Traceback (most recent call last):
    heavybandits.InvalidInputError: allow_missing must be a list of columns, got 'age'
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInputError(f"{what} must be a list of columns, got {names!r:.80}")
    return tuple(check_name(f"a name in {what}", name) for name in names)


def _validate(column: Column, **checks: Check) -> None:
    """Validate fields of a frozen column, and store them as plain values."""
    check_name("name", column.name)
    for field, check in checks.items():
        value = check(f"{field} of {column.name!r}", getattr(column, field))
        object.__setattr__(column, field, value)


def _listed(what: str, values: object) -> tuple[object, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidInputError(f"{what} must be a list, got {values!r:.80}")
    return tuple(values)


# ---- the three types


@dataclass(frozen=True)
class Number:
    """Encode a number as (value - centre) / scale, clipped to +-clip.

    `Encoder.from_data` sets the centre to the median and the scale to the interquartile range
    divided by 1.349, which estimates the standard deviation of normal data and ignores outliers.
    A column with two different numbers is mapped to 0 and 1.

    Parameters
    ----------
    name : str
        Name of the column.
    centre : float, default 0.0
        Value that becomes 0.
    scale : float, default 1.0
        Distance from the centre that becomes 1.
    clip : float, default 3.0
        Largest absolute value of the feature. It limits the effect of an outlier.
    allow_missing : bool, default False
        Encode a missing value as 0 and a feature of its own instead of raising an error.

    Examples
    --------
    >>> Number("age", centre=40.0, scale=12.0).read(46)
    (0.5,)
    >>> Number("age", allow_missing=True).names
    ('age', 'age=(missing)')
    """

    name: str
    centre: float = 0.0
    scale: float = 1.0
    clip: float = CLIP
    allow_missing: bool = False
    type: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        _validate(self, centre=finite_number, scale=positive, clip=positive, allow_missing=flag)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        return name_features(self, [self.name])

    def read(self, value: object) -> Values:
        """Return the features of one number; numbers may be given as text."""
        number = read_number(value, self.name)
        if math.isnan(number):
            return mark_missing(self, value)
        scaled = (number - self.centre) / self.scale
        return mark_present(self, (min(max(scaled, -self.clip), self.clip),))

    def reader(self) -> Reader:
        """Return a fast `read` for numbers that need no conversion and no clipping."""
        centre, scale, high = self.centre, self.scale, self.clip
        low, slow, allow_missing = -high, self.read, self.allow_missing

        def read(value: object) -> Values:
            if type(value) is float or (type(value) is int and -(2**53) < value < 2**53):
                number = (value - centre) / scale
                if low <= number <= high:  # not nan and not clipped
                    return (number, 0.0) if allow_missing else (number,)
            return slow(value)

        return read

    def read_many(self, values: ColumnValues) -> Floats:
        """Return the features of many numbers, (n, len(names))."""
        if not (isinstance(values, np.ndarray) and values.dtype.kind in "biuf"):
            return read_each(self, values)
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
        if np.isinf(numbers).any() or (missing.any() and not self.allow_missing):
            return read_each(self, values)  # raises an error that names the row
        with np.errstate(over="ignore"):
            scaled = np.clip((numbers - self.centre) / self.scale, -self.clip, self.clip)
        if not self.allow_missing:
            return scaled[:, None]
        return np.column_stack([np.where(missing, 0.0, scaled), missing])

    def bound(self) -> float:
        """Return the largest possible norm of the features."""
        return max(self.clip, 1.0) if self.allow_missing else self.clip

    def describe(self) -> str:
        """Describe in words what a value becomes."""
        return f"(value - {self.centre:.6g}) / {self.scale:.6g}, clipped to +-{self.clip:g}"


@dataclass(frozen=True)
class Category:
    """Encode a category as one feature per known text, and one that all other texts share.

    Values are compared as text: 1, 1.0 and "1" are the same category.

    Parameters
    ----------
    name : str
        Name of the column.
    categories : sequence of str
        Texts that get a feature of their own. All other texts share the feature "(other)".
    allow_missing : bool, default False
        Encode a missing value as zeros and a feature of its own instead of raising an error.

    Examples
    --------
    >>> city = Category("city", ("Oslo", "Rome"))
    >>> city.names, city.read("Rome"), city.read("Lima")
    (('city=Oslo', 'city=Rome', 'city=(other)'), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """

    name: str
    categories: Sequence[str]
    allow_missing: bool = False
    type: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        _validate(self, allow_missing=flag)
        what = f"categories of {self.name!r}"
        given = _listed(what, self.categories)
        if len(given) > MOST_CATEGORIES:
            raise InvalidInputError(f"{what} must be at most {MOST_CATEGORIES}, got {len(given)}")
        texts = tuple(check_name(f"a category of {self.name!r}", read_text(c)) for c in given)
        if len(set(texts)) != len(texts):
            raise InvalidInputError(f"{what} must differ, got {texts!r:.200}")
        object.__setattr__(self, "categories", texts)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        return name_features(self, [f"{self.name}={each}" for each in (*self.categories, OTHER)])

    def read(self, value: object) -> Values:
        """Return the features of one category; numbers are read as text."""
        if is_missing(value):
            return mark_missing(self, value)
        if isinstance(value, list | tuple | set | dict | np.ndarray):
            raise EncodingError("must be one text or number", self.name, value)
        text = read_text(value)
        known = tuple(float(text == each) for each in self.categories)
        return mark_present(self, (*known, float(text not in self.categories)))

    def reader(self) -> Reader:
        """Return a fast `read` that looks known texts up in a table."""
        slow = self.read
        table = {text: slow(text) for text in self.categories}

        def read(value: object) -> Values:
            found = table.get(value) if type(value) is str else None
            return slow(value) if found is None else found

        return read

    def read_many(self, values: ColumnValues) -> Floats:
        """Return the features of many categories, (n, len(names))."""
        return read_each(self, values)

    def bound(self) -> float:
        """Return the largest possible norm of the features."""
        return 1.0

    def describe(self) -> str:
        """Describe in words what a value becomes."""
        shown = ", ".join(self.categories[:8]) + (", ..." if len(self.categories) > 8 else "")
        return f"one of {shown}, or any other"


@dataclass(frozen=True)
class Date:
    """Encode a date as sine and cosine of its position in each cycle, and a linear trend.

    A date with a time zone is converted to UTC. A date without a time zone is used as written.

    Parameters
    ----------
    name : str
        Name of the column.
    cycles : sequence of {"day", "week", "year"}, default ("week",)
        Cycles that get a sine and a cosine. "day" is the time of day.
    trend : bool, default True
        Add the feature (seconds since 1970 - centre) / scale, clipped to +-clip.
    centre : float, default 0.0
        Seconds since 1970 at which the trend is 0.
    scale : float, default 31,556,952 (one year)
        Seconds in which the trend grows by 1.
    clip : float, default 3.0
        Largest absolute value of the trend.
    allow_missing : bool, default False
        Encode a missing value as zeros and a feature of its own instead of raising an error.

    Examples
    --------
    >>> Date("when", cycles=("day",), trend=False).read("2026-03-01T06:00")
    (1.0, 6.123233995736766e-17)
    """

    name: str
    cycles: Sequence[str] = ("week",)
    trend: bool = True
    centre: float = 0.0
    scale: float = PERIODS["year"]
    clip: float = CLIP
    allow_missing: bool = False
    type: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        numbers: dict[str, Check] = {"centre": finite_number, "scale": positive, "clip": positive}
        _validate(self, trend=flag, **numbers, allow_missing=flag)
        what = f"cycles of {self.name!r}"
        object.__setattr__(self, "cycles", _listed(what, self.cycles))
        for cycle in self.cycles:
            one_of(f"a cycle of {self.name!r}", cycle, PERIODS)
        if len(set(self.cycles)) != len(self.cycles):
            raise InvalidInputError(f"{what} must differ, got {self.cycles}")
        if not (self.cycles or self.trend):
            raise InvalidInputError(f"{what} must not be empty if trend is False, got ()")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        waves = [f"{self.name}: {wave} of {c}" for c in self.cycles for wave in ("sine", "cosine")]
        return name_features(self, waves + ([f"{self.name}: trend"] if self.trend else []))

    def read(self, value: object) -> Values:
        """Return the features of one date; dates may be given as ISO 8601 text."""
        if is_missing(value):
            return mark_missing(self, value)
        seconds = (read_moment(value, self.name) - EPOCH).total_seconds()
        features: list[float] = []
        for cycle in self.cycles:
            period = PERIODS[cycle]
            angle = 2.0 * math.pi * (seconds % period / period)
            features += (math.sin(angle), math.cos(angle))
        if self.trend:
            trend = (seconds - self.centre) / self.scale
            features.append(min(max(trend, -self.clip), self.clip))
        return mark_present(self, tuple(features))

    def reader(self) -> Reader:
        """Return `read`, which is as fast as possible already."""
        return self.read

    def read_many(self, values: ColumnValues) -> Floats:
        """Return the features of many dates, (n, len(names))."""
        return read_each(self, values)

    def bound(self) -> float:
        """Return the largest possible norm of the features."""
        return max(1.0, math.hypot(self.clip * self.trend, math.sqrt(len(self.cycles))))

    def describe(self) -> str:
        """Describe in words what a value becomes."""
        parts = [f"sine and cosine of the {cycle}" for cycle in self.cycles]
        if self.trend:
            middle = f"{np.datetime64(int(self.centre), 's')}"[:10]
            parts.append(f"days since {middle} / {self.scale / 86_400.0:.6g}")
        return ", ".join(parts)
