"""Kinds of columns, each of which knows the features it becomes: numbers and categories."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import EncodingError, InvalidInputError
from .._utils.validation import finite_number, flag, positive
from ..core.arrays import Floats
from .values import is_missing, read_number, read_text

Values = tuple[float, ...]
Reader = Callable[[Any], Values]

LIMIT = 3.0  # robust deviations: beyond, a number is as good as this far out
LONGEST_NAME, MOST_VALUES = 1000, 10_000
MISSING, OTHER = "(missing)", "(other)"


def check_name(what: str, name: Any) -> str:
    """Text that is not empty and not endless."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise InvalidInputError(
            f"{what} must be text of 1 to {LONGEST_NAME} letters, got {name!r:.80}"
        )
    return name


def settle(column: Any, field: str, check: Callable[[str, Any], Any]) -> None:
    """Check a field of a frozen column, and keep it as a plain value."""
    value = check(f"{field} of {column.name!r}", getattr(column, field))
    object.__setattr__(column, field, value)


class Column:
    """What all kinds of columns share; `missing` says whether a row may lack the value.

    A missing value is neutral (zeros) and has a feature of its own that is one.
    """

    name: str
    missing: bool
    kind: ClassVar[str]

    def labels(self) -> list[str]:
        """The names of the features without the one for missing values."""
        raise NotImplementedError

    def read(self, value: Any) -> Values:
        """The features of a value that is there, from whatever it may be."""
        raise NotImplementedError

    def reader(self) -> Reader:
        """What makes features of a value, as fast as it can be done: the tables are made here."""
        return self.read_or_gap

    def bound(self) -> float:
        """The greatest norm of the features."""
        return 1.0

    def describe(self) -> str:
        """What becomes of a value, in words."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        gap = [f"{self.name}={MISSING}"] if self.missing else []
        return tuple(self.labels() + gap)

    @property
    def gap(self) -> Values:
        """What stands for a missing value."""
        return (*(0.0 for _ in self.labels()), 1.0)

    def read_or_gap(self, value: Any) -> Values:
        if not is_missing(value):
            return self.read(value) + ((0.0,) if self.missing else ())
        return self.read_gap(value)

    def read_gap(self, value: Any) -> Values:
        """The features of a missing value, which `value` is a word for."""
        if not self.missing:
            raise EncodingError("must not be missing (missing=True allows it)", self.name, value)
        return self.gap

    def read_many(self, values: Sequence[Any] | NDArray[Any]) -> Floats:
        """The features of many values, (n, width); a refusal names the row."""
        read, made = self.reader(), np.empty((len(values), len(self.names)))
        for row, value in enumerate(values):
            try:
                made[row] = read(value)
            except EncodingError as error:
                raise error.at(f"in row {row}") from None
        return made


@dataclass(frozen=True)
class Number(Column):
    """A number in robust units: (value - centre) / scale, held within +-limit.

    `Encoder.fit` takes the median for the centre and the interquartile range / 1.349 for the
    scale, the deviation if the numbers were normal; of two different numbers the lower becomes 0
    and the other 1. The limit keeps one odd row from speaking louder than all others.

    >>> Number("age", centre=40.0, scale=12.0).read(46)
    (0.5,)
    >>> Number("age", missing=True).names
    ('age', 'age=(missing)')
    """

    name: str
    centre: float = 0.0
    scale: float = 1.0
    limit: float = LIMIT
    missing: bool = False
    kind = "number"

    def __post_init__(self) -> None:
        check_name("name", self.name)
        settle(self, "centre", finite_number)
        settle(self, "scale", positive)
        settle(self, "limit", positive)
        settle(self, "missing", flag)

    def labels(self) -> list[str]:
        return [self.name]

    def bound(self) -> float:
        return max(self.limit, 1.0) if self.missing else self.limit

    def read(self, value: Any) -> Values:
        number = (read_number(value, self.name) - self.centre) / self.scale
        return (min(max(number, -self.limit), self.limit),)

    def reader(self) -> Reader:
        centre, scale, limit = self.centre, self.scale, self.limit
        low, slow, missing = -limit, self.read_or_gap, self.missing

        def read(value: Any) -> Values:
            if type(value) is float or (type(value) is int and -(2**53) < value < 2**53):
                number = (value - centre) / scale
                if low <= number <= limit:  # neither nan nor far out
                    return (number, 0.0) if missing else (number,)
            return slow(value)

        return read

    def read_or_gap(self, value: Any) -> Values:
        if math.isnan(read_number(value, self.name)):  # there are more words for a missing number
            return self.read_gap(value)
        return super().read_or_gap(value)

    def read_many(self, values: Sequence[Any] | NDArray[Any]) -> Floats:
        if not (isinstance(values, np.ndarray) and values.dtype.kind in "biuf"):
            return super().read_many(values)
        numbers = values.astype(np.float64)
        gaps = np.isnan(numbers)
        if np.isinf(numbers).any() or (gaps.any() and not self.missing):
            return super().read_many(values)  # which names the row
        with np.errstate(over="ignore"):
            scaled = np.clip((numbers - self.centre) / self.scale, -self.limit, self.limit)
        if not self.missing:
            return scaled[:, None]
        return np.column_stack([np.where(gaps, 0.0, scaled), gaps])

    def describe(self) -> str:
        return f"(value - {self.centre:.6g}) / {self.scale:.6g}, within +-{self.limit:g}"


@dataclass(frozen=True)
class Category(Column):
    """One of several words: a feature for each, and one more that all other words share.

    A word that was never seen is therefore learned about as "(other)". Words are compared as text.

    >>> city = Category("city", ("Oslo", "Rome"))
    >>> city.names, city.read("Rome"), city.read("Lima")
    (('city=Oslo', 'city=Rome', 'city=(other)'), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """

    name: str
    values: Sequence[str]
    missing: bool = False
    kind = "category"

    def __post_init__(self) -> None:
        check_name("name", self.name)
        settle(self, "missing", flag)
        if isinstance(self.values, str) or not isinstance(self.values, Sequence):
            raise InvalidInputError(
                f"values of {self.name!r} must be a list, got {self.values!r:.80}"
            )
        if len(self.values) > MOST_VALUES:
            raise InvalidInputError(
                f"values of {self.name!r} must be at most {MOST_VALUES}, got {len(self.values)}"
            )
        words = tuple(read_text(value) for value in self.values)
        for word in words:
            check_name(f"a value of {self.name!r}", word)
        if len(set(words)) != len(words):
            raise InvalidInputError(f"values of {self.name!r} must differ, got {words!r:.200}")
        object.__setattr__(self, "values", words)

    def labels(self) -> list[str]:
        return [f"{self.name}={value}" for value in (*self.values, OTHER)]

    def read(self, value: Any) -> Values:
        if isinstance(value, list | tuple | set | dict | np.ndarray):
            raise EncodingError("must be one word", self.name, value)
        word = read_text(value)
        known = word in self.values
        return (*(float(word == each) for each in self.values), float(not known))

    def reader(self) -> Reader:
        slow = self.read_or_gap
        table = {word: slow(word) for word in self.values}

        def read(value: Any) -> Values:
            found = table.get(value) if type(value) is str else None
            return slow(value) if found is None else found

        return read

    def describe(self) -> str:
        shown = ", ".join(self.values[:8]) + (", ..." if len(self.values) > 8 else "")
        return f"one of {shown}, or any other"
