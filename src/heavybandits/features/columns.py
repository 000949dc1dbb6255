"""Columns of a table and the features they become: numbers, categories and dates."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import NoneType
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from .._utils.errors import EncodingError, InvalidInputError, printable
from .._utils.validation import Interval, bounded_number, finite_number, flag, one_of, positive
from ..core.arrays import Floats
from .values import (
    EPOCH,
    ColumnValues,
    Lookup,
    is_missing,
    plain,
    read_moment,
    read_number,
    read_text,
)

Values = tuple[float, ...]
Reader = Callable[[object], Values]
Check = Callable[[str, object], object]

CLIP = 3.0  # robust standard deviations: numbers further out are clipped to this
CLIPS = Interval(1e-3, 1e3)  # all features are divided by it: more would make the others vanish
LONGEST_NAME, MOST_CATEGORIES = 1000, 10_000
SMALL = 100  # categories: the features of each are stored, more would take memory
MISSING, OTHER = "(missing)", "(other)"
RESERVED = re.compile(r'"*\((missing|other)\)"*')
LONGEST_FORMAT, EXAMPLE = 100, datetime(2026, 12, 31, 23, 59)
DECIMALS, NORMAL_FORMS = (".", ","), ("nfc", "casefold")
PERIODS = {"day": 86_400.0, "week": 604_800.0, "year": 31_556_952.0}  # seconds


@runtime_checkable
class Column(Protocol):
    """Encode a column of a table as features: `Number`, `Category` or `Date`.

    A missing value becomes zeros, and a one in a feature of its own (`allow_missing`).
    """

    type: ClassVar[str]

    @property
    def name(self) -> str: ...

    @property
    def allow_missing(self) -> bool: ...

    @property
    def size(self) -> int:
        """Return the number of features."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        ...

    @property
    def as_written(self) -> bool:
        """Return True if the column needs the text of a file as written, not its numbers."""
        ...

    def read(self, value: object) -> Values:
        """Return the features of one value, which may be missing.

        Parameters
        ----------
        value : object
            The value of the column.

        Returns
        -------
        tuple of float
            One number per feature.

        Raises
        ------
        EncodingError
            The value cannot be encoded.
        """
        ...

    def reader(self) -> Reader:
        """Return a function equal to `read` that is as fast as possible.

        Returns
        -------
        function
            A function of one value.
        """
        ...

    def read_many(self, values: ColumnValues) -> Floats:
        """Return the features of many values.

        Parameters
        ----------
        values : list or array
            One value per row.

        Returns
        -------
        array of shape (n, len(names))
            One row per value.

        Raises
        ------
        EncodingError
            A value cannot be encoded. The error names the row.
        """
        ...

    def bound(self) -> float:
        """Return the largest possible norm of the features.

        Returns
        -------
        float
            The norm.
        """
        ...

    def describe(self) -> str:
        """Describe in words what a value becomes.

        Returns
        -------
        str
            One phrase.
        """
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
    return (*(0.0,) * (column.size - 1), 1.0)


def read_each(column: Column, values: ColumnValues) -> Floats:
    """Read values one by one, (n, len(names)); an error names the row."""
    read, features = column.reader(), np.empty((len(values), column.size))
    for row, value in enumerate(values):
        try:
            features[row] = read(value)
        except EncodingError as error:
            raise error.at(f"in row {row}") from None
    return features


def check_name(what: str, name: object) -> str:
    """Return a name that is text of a reasonable length, or raise."""
    try:
        if isinstance(name, str) and name.encode() and len(name) <= LONGEST_NAME:
            return name
    except UnicodeEncodeError:  # half a character, which no file can hold
        pass
    raise InvalidInputError(
        f"{what} must be text of 1 to {LONGEST_NAME} characters, got {name!r:.80}"
    )


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


def check_formats(column: object, formats: object) -> tuple[str, ...]:
    """Return formats of dates, or raise if a date that is written with one cannot be read.

    >>> check_formats("when", ["%d.%m"])
    Traceback (most recent call last):
    heavybandits.InvalidInputError: a date format of 'when' must have year, month and day, such as
    '%d.%m.%Y', got '%d.%m'
    """
    given = _listed(f"date formats of {column!r}", [formats] if type(formats) is str else formats)
    for each in given:
        try:
            text = str(each) if isinstance(each, str) and len(each) <= LONGEST_FORMAT else ""
            if datetime.strptime(EXAMPLE.strftime(text), text).date() == EXAMPLE.date():
                continue
        except (ValueError, re.error):
            pass
        raise InvalidInputError(
            f"a date format of {column!r} must have year, month and day, such as '%d.%m.%Y', got "
            f"{each!r:.80}"
        )
    return tuple(str(each) for each in given)


def fold(text: str) -> str:
    """Return the text that upper and lower case share, in Unicode's form NFC."""
    return unicodedata.normalize("NFC", text.casefold())


def _check_clip(what: str, value: object) -> float:
    return bounded_number(what, value, CLIPS)


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
        Largest absolute value of the feature, 0.001 to 1000. It limits the effect of an outlier.
    allow_missing : bool, default False
        Encode a missing value as 0 and a feature of its own instead of raising an error.
    decimal : {".", ","}, default "."
        Decimal mark of numbers that are given as text. With "," the text 1.234 raises an error.

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
    decimal: str = "."
    type: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        _validate(self, centre=finite_number, scale=positive, clip=_check_clip, allow_missing=flag)
        one_of(f"decimal of {self.name!r}", self.decimal, DECIMALS)

    @property
    def size(self) -> int:
        """Return the number of features."""
        return 1 + self.allow_missing

    @property
    def as_written(self) -> bool:
        """Return True if numbers have a decimal mark that readers of files do not know."""
        return self.decimal != "."

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        return name_features(self, [self.name])

    def read(self, value: object) -> Values:
        """Return the features of one number; numbers may be given as text."""
        number = read_number(value, self.name, self.decimal)
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
        if isinstance(values, list) and all(type(v) in (int, float, NoneType) for v in values):
            try:
                return self.read_many(np.array(values, np.float64))  # None becomes nan
            except (OverflowError, EncodingError):
                return read_each(self, values)  # raises an error that shows the value
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

    Values are compared by their canonical text: 1, 1.0 and "1" are the same category, and True,
    "true" and "True". A text that is not known is the first known text of the same number: 1.1 is
    "1.10", unless there is a category "1.1" too.

    Parameters
    ----------
    name : str
        Name of the column.
    categories : sequence of str
        Texts that get a feature of their own. All other texts share the feature "(other)".
    allow_missing : bool, default False
        Encode a missing value as zeros and a feature of its own instead of raising an error.
    normalize : {"nfc", "casefold"}, default "nfc"
        Normal form of text. Unicode can write a letter with an accent in several ways; both forms
        treat them as equal. "casefold" also treats upper and lower case as equal.

    Examples
    --------
    >>> city = Category("city", ("Oslo", "Rome"))
    >>> city.names, city.read("Rome"), city.read("Lima")
    (('city=Oslo', 'city=Rome', 'city=(other)'), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    >>> Category("city", ("Oslo",), normalize="casefold").read("OSLO")
    (1.0, 0.0)
    """

    name: str
    categories: Sequence[str]
    allow_missing: bool = False
    normalize: str = "nfc"
    type: ClassVar[str] = "category"
    as_written: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _validate(self, allow_missing=flag)
        one_of(f"normalize of {self.name!r}", self.normalize, NORMAL_FORMS)
        what = f"categories of {self.name!r}"
        given = _listed(what, self.categories)
        if len(given) > MOST_CATEGORIES:
            raise InvalidInputError(f"{what} must be at most {MOST_CATEGORIES}, got {len(given)}")
        texts = tuple(check_name(f"a category of {self.name!r}", self.text(c)) for c in given)
        if len(set(texts)) != len(texts):
            raise InvalidInputError(f"{what} must differ, got {texts!r:.200}")
        object.__setattr__(self, "categories", texts)
        object.__setattr__(self, "_lookup", Lookup(texts))

    @property
    def size(self) -> int:
        """Return the number of features."""
        return len(self.categories) + 1 + self.allow_missing

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features; a category "(other)" has quotes around it."""
        texts = [f'"{text}"' if RESERVED.fullmatch(text) else text for text in self.categories]
        return name_features(self, [f"{self.name}={each}" for each in (*texts, OTHER)])

    def text(self, value: object) -> str:
        """Return the text by which a value is compared.

        Parameters
        ----------
        value : object
            The value of the column.

        Returns
        -------
        str
            The canonical text.
        """
        text = read_text(value, self.name)
        return fold(text) if self.normalize == "casefold" else text

    def place(self, value: object) -> int:
        """Return the index of the feature that is 1.

        Parameters
        ----------
        value : object
            The value of the column.

        Returns
        -------
        int
            Index of the feature, from 0.
        """
        given = plain(value)
        if is_missing(given):
            mark_missing(self, value)
            return self.size - 1
        lookup: Lookup = self._lookup  # type: ignore[attr-defined]
        place = lookup.find(self.text(given))
        return len(self.categories) if place is None else place

    def read(self, value: object) -> Values:
        """Return the features of one category; numbers are read as text."""
        place = self.place(value)
        return (*(0.0,) * place, 1.0, *(0.0,) * (self.size - place - 1))

    def reader(self) -> Reader:
        """Return a fast `read` that looks known texts up in a table."""
        slow = self.read
        table = {text: slow(text) for text in self.categories[:SMALL]}

        def read(value: object) -> Values:
            found = table.get(value) if type(value) is str else None
            return slow(value) if found is None else found

        return read

    def read_many(self, values: ColumnValues) -> Floats:
        """Return the features of many categories, (n, len(names))."""
        features, known = np.zeros((len(values), self.size)), dict[str, int]()
        for row, value in enumerate(values):
            place = known.get(value) if type(value) is str else None
            if place is None:
                try:
                    place = self.place(value)
                except EncodingError as error:
                    raise error.at(f"in row {row}") from None
                if type(value) is str:
                    known[value] = place
            features[row, place] = 1.0
        return features

    def bound(self) -> float:
        """Return the largest possible norm of the features."""
        return 1.0

    def describe(self) -> str:
        """Describe in words what a value becomes."""
        shown = ", ".join(self.categories[:8]) + (", ..." if len(self.categories) > 8 else "")
        folded = ", in any case" if self.normalize == "casefold" else ""
        return f"one of {printable(shown)}, or any other{folded}"


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
        Largest absolute value of the trend, 0.001 to 1000.
    allow_missing : bool, default False
        Encode a missing value as zeros and a feature of its own instead of raising an error.
    formats : sequence of str, default ()
        Formats of dates that are given as text, as in `datetime.strptime`, such as "%d.%m.%Y". They
        are tried in this order, ISO 8601 after them.

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
    formats: Sequence[str] = ()
    type: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        numbers: dict[str, Check] = {
            "centre": finite_number,
            "scale": positive,
            "clip": _check_clip,
        }
        object.__setattr__(self, "formats", check_formats(self.name, self.formats))
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
    def size(self) -> int:
        """Return the number of features."""
        return 2 * len(self.cycles) + self.trend + self.allow_missing

    @property
    def as_written(self) -> bool:
        """Return True if dates have formats that readers of files do not know."""
        return bool(self.formats)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        waves = [f"{self.name}: {wave} of {c}" for c in self.cycles for wave in ("sine", "cosine")]
        return name_features(self, waves + ([f"{self.name}: trend"] if self.trend else []))

    def read(self, value: object) -> Values:
        """Return the features of one date; dates may be given as ISO 8601 text."""
        if is_missing(value):
            return mark_missing(self, value)
        seconds = (read_moment(value, self.name, self.formats) - EPOCH).total_seconds()
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
