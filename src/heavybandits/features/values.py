"""Single values of a table: missing values, numbers, dates, and the text of a category.

`read_text` is the only place that says which text a value has as a category. Every source gives
the same: dictionaries, frames, CSV and Parquet files, and the JSON of a ledger (`to_plain`).
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import EncodingError

ColumnValues = list[Any] | NDArray[Any]  # a column: numbers as an array, everything else as a list

# texts that mean a missing number, in any case
MISSING = {"", "na", "nan", "null", "none", "n/a", "?"}
BOOLEANS = {"true": 1.0, "false": 0.0}
EPOCH = datetime(1970, 1, 1)
NEVER_MISSING = frozenset({bool, int, datetime, date})
PLAIN = frozenset({bool, int, float, str, datetime, date, Decimal})

MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
TIME = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?")
# Neither a leading zero nor "12e4": those are codes. Programs write 1e-07, 1.5e+20 and 1e16.
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE](?:[+-]\d+|\d\d+))?", re.ASCII)
LONGEST_NUMBER = 400  # digits before or after the point; a double has at most 324


def is_missing(value: object) -> bool:
    """Return True for None, nan, empty text, masked values, and pandas' NA and NaT.

    >>> [is_missing(value) for value in (None, float("nan"), " ", 0, "no")]
    [True, True, True, False, False]
    """
    if type(value) in NEVER_MISSING:
        return False
    if value is None or _is_masked(value):
        return True
    if isinstance(value, str | bytes):
        return not value.strip()
    try:
        return bool(value != value)
    except Exception:  # pandas' NA is neither True nor False; other types have errors of their own
        return type(value).__name__ == "NAType"


def _is_masked(value: object) -> bool:
    """Return True for a single value of a masked array that its mask hides."""
    return isinstance(value, np.ma.MaskedArray) and value.ndim == 0 and bool(value.mask)


def plain(value: Any) -> Any:
    """Convert a NumPy scalar or a member of an Enum to a Python value; None if it is masked.

    >>> plain(np.int64(3)), plain("a")
    (3, 'a')
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, np.datetime64):  # nanoseconds would become a number
        moment = value.astype("datetime64[us]").item()
        return value if isinstance(moment, int) else moment  # after the year 9999
    if isinstance(value, np.timedelta64):  # a whole number for NumPy, but it has a unit
        return value
    if _is_masked(value):  # its item is 0.0
        return None
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return value


# ---- numbers


def read_number(value: object, column: str, decimal: str = ".") -> float:
    """Return a finite number, or nan if it is missing; numbers may be given as text.

    >>> read_number("1.5", "price"), read_number("NA", "price"), read_number("1,5", "price", ",")
    (1.5, nan, 1.5)
    """
    if type(value) is float and math.isfinite(value):
        return value
    given = plain(value)
    if is_missing(given):
        return math.nan
    number: Any = given
    if isinstance(given, str):
        number = given.strip().lower()
        if number in MISSING:
            return math.nan
        if number in BOOLEANS:
            return BOOLEANS[number]
        if decimal != ".":  # a point would be a separator of thousands: 1.234 is not a fraction
            number = "" if "." in number else number.replace(decimal, ".")
    read = math.nan
    if isinstance(number, str | Real | Decimal) and not isinstance(number, np.timedelta64):
        try:
            read = float(number)
        except (ValueError, OverflowError):
            pass
    if not math.isfinite(read):
        comma = "" if decimal == "." else f" with the decimal mark {decimal!r}"
        raise EncodingError(f"must be a finite number{comma}", column, given)
    return read


def number_text(number: Decimal) -> str:
    """Return the shortest text of a number without an exponent, exact to the last digit.

    >>> number_text(Decimal("1.10")), number_text(Decimal("12e4")), number_text(Decimal("-0.0"))
    ('1.1', '120000', '0')
    """
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    short = written.rstrip("0")
    power = int(exponent) + len(written) - len(short)
    if abs(power) > LONGEST_NUMBER:
        text = f"{short}e{power}"
    elif power >= 0:
        text = short + "0" * power
    else:
        wide = short.rjust(1 - power, "0")
        text = f"{wide[:power]}.{wide[power:]}"
    return f"-{text}" if sign else text


def number_key(text: str) -> str | None:
    """Return the text of the number that a text is, or None.

    >>> number_key("1.10"), number_key("1e-07"), number_key("01234"), number_key("12e4")
    ('1.1', '0.0000001', None, None)
    """
    if not NUMBER.fullmatch(text):
        return None
    try:
        return number_text(Decimal(text))
    except ArithmeticError:  # an exponent beyond those of Decimal
        return None


# ---- the text of a category


def read_text(value: object, column: str = "name") -> str:
    """Return the canonical text of a category, the same for every source of the value.

    A number has its shortest exact text: 1, 1.0 and Decimal("1.00") are "1". Booleans are "true"
    and "false". A date or time is ISO 8601, in UTC, without the zeros at its end. A member of an
    Enum has the text of its value. Text and bytes are as written, less the space around them, in
    Unicode's form NFC; text that is a boolean, an ISO date or a time is written as those are.

    >>> read_text(1.0), read_text(np.int64(1)), read_text(True), read_text(" Oslo ")
    ('1', '1', 'true', 'Oslo')
    >>> read_text(datetime(2026, 5, 1, 9)), read_text("2026-05-01 09:00:00"), read_text("1.10")
    ('2026-05-01T09:00', '2026-05-01T09:00', '1.10')

    Raises
    ------
    EncodingError
        The value is none of these, such as a list, or is infinite or a float of 2^53 or more.
    """
    given = plain(value)
    if isinstance(given, bytes):
        try:
            given = given.decode()
        except UnicodeDecodeError:
            raise EncodingError("must be UTF-8 text", column, value) from None
    if isinstance(given, str):
        return _normal_text(str.__str__(given))
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, UUID):
        return str(given)
    if isinstance(given, time):
        return _short(given.isoformat())
    if isinstance(given, date):
        return moment_text(read_moment(given, column))
    try:
        if isinstance(given, Integral) and not isinstance(given, np.timedelta64):
            return str(int(given))  # Python writes at most 4300 digits
        if isinstance(given, float):
            if 2.0**53 <= abs(given) < math.inf:
                reason = "must be an integer or text: a float of 2^53 or more has lost digits"
                raise EncodingError(reason, column, value)
            return number_text(Decimal(repr(float(given))))
        if isinstance(given, Decimal):
            return number_text(given)
    except EncodingError:
        raise
    except (TypeError, ValueError, ArithmeticError):  # infinite, or longer than any category
        pass
    raise EncodingError(
        "must be one text, number, boolean, date or time (convert other values to text)",
        column,
        value,
    )


def _normal_text(given: str) -> str:
    text = given.strip()
    if text.isascii():
        if text[:1].isdigit():
            if MOMENT.fullmatch(text):
                try:
                    return moment_text(read_moment(text, ""))
                except EncodingError:  # such as 2026-13-45
                    return text
            return _short_time(text) if TIME.fullmatch(text) else text
        return text.lower() if text.lower() in BOOLEANS else text
    return unicodedata.normalize("NFC", text).strip()


def moment_text(moment: datetime) -> str:
    """Return ISO 8601 text without zeros at its end.

    >>> moment_text(datetime(2026, 5, 1)), moment_text(datetime(2026, 5, 1, 9, 30))
    ('2026-05-01', '2026-05-01T09:30')
    """
    text = moment.isoformat()
    return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else _short(text)


def _short_time(text: str) -> str:
    try:
        return _short(time.fromisoformat(text).isoformat())
    except ValueError:  # such as 25:00
        return text


def _short(text: str) -> str:
    """Leave out the seconds if they are 0: 09:10:00 is 09:10."""
    return text[:-3] if text.endswith(":00") and text.count(":") == 2 else text


class Lookup:
    """Find the places of texts, and of other texts of the same numbers.

    Text is compared as written first, so that the versions 1.1 and 1.10 are two categories. A text
    that is not known has the place of the first text that is the same number.

    >>> known = Lookup(["1.10", "Oslo"])
    >>> known.find("Oslo"), known.find("1.1"), known.find("Rome")
    (1, 0, None)
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.places = {text: place for place, text in enumerate(texts)}
        self.numbers: dict[str, int] = {}
        for text, place in self.places.items():
            key = number_key(text)
            if key is not None:
                self.numbers.setdefault(key, place)

    def find(self, text: str) -> int | None:
        """Return the place of a text, or None."""
        place = self.places.get(text)
        if place is None and self.numbers:
            key = number_key(text)
            place = None if key is None else self.numbers.get(key)
        return place


def to_plain(value: Any) -> Any:
    """Return what JSON has for a value that it has no type for; `json.dumps(default=to_plain)`.

    The encoder reads the result as it reads the value: the same number, category or date.

    >>> to_plain(Decimal("1.10")), to_plain(date(2026, 5, 1)), to_plain(np.int64(3))
    (1.1, '2026-05-01', 3)

    Raises
    ------
    TypeError
        JSON has nothing for it.
    """
    if isinstance(value, np.ma.MaskedArray) and value.ndim:
        return unmask(value)
    if isinstance(value, np.ndarray) and value.ndim:
        return value.tolist() if value.dtype.kind not in "Mm" else list(value)
    if isinstance(value, Mapping):
        return dict(value)
    given = plain(value)
    if is_missing(given):
        return None
    if isinstance(given, bool | int | float | str):
        return given
    try:
        text = read_text(given)
    except EncodingError:
        raise TypeError(f"{value!r:.80} is a {type(value).__name__}") from None
    if isinstance(given, Decimal):
        number = float(given)
        exact = abs(number) < 2.0**53 and number_text(Decimal(repr(number))) == text
        return number if exact else text
    return text


def unmask(values: "np.ma.MaskedArray[Any, Any]") -> list[Any]:
    """Return the values of a masked array, with None where the mask is set.

    >>> unmask(np.ma.array([1, 2], mask=[False, True]))
    [1, None]
    """
    hidden = np.ma.getmaskarray(values)
    return [None if masked else plain(v) for v, masked in zip(values.data, hidden, strict=True)]


# ---- dates


def read_moment(value: object, column: str, formats: Sequence[str] = ()) -> datetime:
    """Return a date and time, in UTC if it has a time zone; text is ISO 8601 or of a format.

    >>> read_moment("2026-03-01T09:30:00+02:00", "when")
    datetime.datetime(2026, 3, 1, 7, 30)
    >>> read_moment("31.12.2026", "when", ["%d.%m.%Y"])
    datetime.datetime(2026, 12, 31, 0, 0)
    """
    if type(value) is datetime and value.tzinfo is None:
        return value
    given: Any = plain(value)
    if hasattr(given, "to_pydatetime"):
        given = given.to_pydatetime(warn=False)
    if isinstance(given, str):
        given = _parse_moment(given.strip(), formats)
    if isinstance(given, datetime):
        try:
            return given.astimezone(UTC).replace(tzinfo=None) if given.tzinfo else given
        except OverflowError:  # the first or last possible day, with a time zone: close enough
            return given.replace(tzinfo=None)
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day)
    allowed = " or ".join([*formats, "ISO 8601 text such as 2026-12-31T23:59"])
    raise EncodingError(f"must be a date, or {allowed}", column, value)


def _parse_moment(text: str, formats: Sequence[str]) -> datetime | None:
    for each in formats:
        try:
            return datetime.strptime(text, each)
        except ValueError:
            pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def looks_like_a_date(value: object) -> bool:
    """Return True for an ISO date with dashes; digits alone may be a number.

    >>> looks_like_a_date("2026-03-01"), looks_like_a_date("20260301"), looks_like_a_date("Oslo")
    (True, False, False)
    """
    text = value.strip() if isinstance(value, str) else ""
    return len(text) >= 10 and text[4] == "-" and _parse_moment(text, ()) is not None
