"""Single values of a table: missing values, numbers, texts and dates."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import EncodingError

ColumnValues = list[Any] | NDArray[Any]  # a column: numbers as an array, everything else as a list

# texts that mean a missing number, in any case
MISSING = {"", "na", "nan", "null", "none", "n/a", "?"}
EPOCH = datetime(1970, 1, 1)


def is_missing(value: object) -> bool:
    """Return True for None, nan, empty text, and pandas' NA and NaT.

    >>> [is_missing(value) for value in (None, float("nan"), " ", 0, "no")]
    [True, True, True, False, False]
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # pandas' NA is neither True nor False
        return type(value).__name__ == "NAType"


def plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python value; return any other value as it is.

    >>> plain(np.int64(3)), plain("a")
    (3, 'a')
    """
    if isinstance(value, np.datetime64):  # nanoseconds would become a number
        value = value.astype("datetime64[us]")
    return value.item() if isinstance(value, np.generic) else value


def read_number(value: object, column: str) -> float:
    """Return a finite number, or nan if it is missing; numbers may be given as text.

    >>> read_number("1.5", "price"), read_number("NA", "price")
    (1.5, nan)
    """
    given = plain(value)
    if is_missing(given) or (isinstance(given, str) and given.strip().lower() in MISSING):
        return math.nan
    number = math.nan
    if isinstance(given, str | Real | Decimal):
        try:
            number = float(given)
        except (ValueError, OverflowError):
            pass
    if not math.isfinite(number):
        raise EncodingError("must be a finite number", column, given)
    return number


def read_text(value: object) -> str:
    """Return the text of a category: 1, 1.0 and "1" are the same category.

    >>> read_text(1.0), read_text(np.int64(1)), read_text(True), read_text(" Oslo ")
    ('1', '1', 'True', 'Oslo')
    """
    given = plain(value)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return str(given).strip()


def read_moment(value: object, column: str) -> datetime:
    """Return a date and time, in UTC if it has a time zone; text must be ISO 8601.

    >>> read_moment("2026-03-01T09:30:00+02:00", "when")
    datetime.datetime(2026, 3, 1, 7, 30)
    """
    given: Any = value
    if isinstance(given, np.datetime64):
        given = given.astype("datetime64[us]").item()
    if hasattr(given, "to_pydatetime"):
        given = given.to_pydatetime(warn=False)
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given.strip())
        except ValueError:
            pass
    if isinstance(given, datetime):
        try:
            return given.astimezone(UTC).replace(tzinfo=None) if given.tzinfo else given
        except OverflowError:  # the first or last possible day, with a time zone: close enough
            return given.replace(tzinfo=None)
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day)
    raise EncodingError("must be a date, or ISO 8601 text such as 2026-12-31T23:59", column, value)


def looks_like_a_date(value: object) -> bool:
    """Return True for an ISO date with dashes; digits alone may be a number.

    >>> looks_like_a_date("2026-03-01"), looks_like_a_date("20260301"), looks_like_a_date("Oslo")
    (True, False, False)
    """
    text = value.strip() if isinstance(value, str) else ""
    if len(text) < 10 or text[4] != "-":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
