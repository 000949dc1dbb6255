"""Values that no column can be expected to hold."""

import enum
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas


class Hostile:
    """An object whose methods raise."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


class Odd(enum.Enum):
    NOTHING = None
    PAIR = (1, 2)
    TEXT = "x"


TEXTS = [
    *("", " ", "NA", "nan", "1e400", "1e-400", "1_000", "٣", "½", "\ud800", "\x00", "a\x1bb"),
    *("x" * 5000, "1,5", "01.02.2025", "2026-13-01", "0000-00-00", "9999-12-31T23:59:59-23:59"),
    *("24:00", "1e+999999999999", "-0", "+1", "1.", "._", "--1", "true", "(other)"),
]
NUMBERS: list[Any] = [
    *(math.nan, math.inf, -math.inf, 10**400, 10**5000, -(10**5000), 2**53, 2**63, 2**64, 2.0**53),
    *(1e308, 5e-324, Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e999999")),
    *(Decimal("1e-999999"), Fraction(1, 3), 1j, np.float16(1.5), np.float32(0.1), np.longdouble(1)),
    *(np.complex64(1), True, np.True_),
]
MOMENTS: list[Any] = [
    *(np.datetime64("NaT"), np.datetime64("2026"), np.datetime64(2**62, "s"), date.min, date.max),
    *(np.timedelta64(1, "ns"), np.timedelta64("NaT"), timedelta.max, time(23, 59, tzinfo=UTC)),
    *(datetime.min, datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))),
    *(pandas.NA, pandas.NaT, pandas.Timestamp.max, pandas.Timedelta(1), pandas.Period("2026-01")),
]
OBJECTS: list[Any] = [
    *(None, b"", b"\xff", b"1", [], [1], (), {}, {"a": 1}, set(), frozenset([1]), range(3)),
    *(np.array([]), np.array([1]), np.array([1, 2]), np.array("a"), np.array(1.5), np.ma.masked),
    *(np.ma.array(1, mask=True), np.ma.array([1], mask=[True]), np.void(b"a"), np.str_("a")),
    *(*Odd, Hostile(), object(), int, len, memoryview(b"a"), bytearray(b"a"), ..., NotImplemented),
]
VALUES = [*TEXTS, *NUMBERS, *MOMENTS, *OBJECTS]
