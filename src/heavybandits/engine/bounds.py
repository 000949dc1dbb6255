"""What a constant of a part may be, said where the field is: `plays: Count`, `level: Positive`.

A bound is part of the annotation; `cast` reads it there, for parts of the library and for yours.
"""

import math
import operator
import reprlib
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..support.errors import InvalidInput
from ..support.validation import SMALLEST, finite_array, finite_number, shaped_array, whole
from .arrays import Floats

LARGEST_WHOLE = (1 << 63) - 1  # what compiled code holds
LARGEST_FEATURE = 1e6  # its square times the plays must leave digits for the small directions


class Interval(NamedTuple):
    """The numbers from `low` to `high`, without an end whose bracket is round.

    >>> str(Interval(0.0, 0.5, "[)")), 0.5 in Interval(0.0, 0.5, "[)")
    ('lie in [0, 0.5)', False)
    """

    low: float = -math.inf
    high: float = math.inf
    ends: str = "[]"

    def __contains__(self, number: Any) -> bool:
        above = operator.gt if self.ends[0] == "(" else operator.ge
        below = operator.lt if self.ends[1] == ")" else operator.le
        return bool(above(number, self.low) and below(number, self.high))

    def __str__(self) -> str:
        low, high = (f"{end:g}".replace("e+0", "e") for end in (self.low, self.high))
        if self.high < math.inf:
            return f"lie in {self.ends[0]}{low}, {high}{self.ends[1]}"
        if self.low == 0.0:
            return "be positive" if self.ends[0] == "(" else "not be negative"
        return f"be {'above' if self.ends[0] == '(' else 'at least'} {low}"


class Array(NamedTuple):
    """Arrays of so many axes, no number of them larger in size than `largest`."""

    axes: int
    largest: float = math.inf


Count = Annotated[int, Interval(1)]  # of what an array or a loop holds
Index = Annotated[int, Interval(0)]
Positive = Annotated[float, Interval(0.0, ends="(]")]
Weight = Annotated[float, Interval(1e-20, 1e20)]  # in V: whatever the rewards, a step is finite
NonNegative = Annotated[float, Interval(0.0)]
Fraction = Annotated[float, Interval(SMALLEST, 1.0, "[)")]
Share = Annotated[float, Interval(0.0, 1.0)]
Point = Annotated[Floats, Array(1, LARGEST_FEATURE)]
Features = Annotated[Floats, Array(2, LARGEST_FEATURE)]


def bounded_number(label: str, value: Any, interval: Interval = Interval()) -> float:
    """A finite number of this interval.

    >>> bounded_number("StudentT.dof", 0.1, Interval(0.2, ends="(]"))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: StudentT.dof must be above 0.2, got 0.1
    """
    number = finite_number(label, value)
    if number not in interval:
        raise InvalidInput(f"{label} must {interval}, got {reprlib.repr(value)}")
    return number


def bounded_whole(label: str, value: Any, interval: Interval = Interval()) -> int:
    """A whole number of this interval that fits into 64 bits.

    >>> bounded_whole("seed", 2**64, Interval(0))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: seed must be below 2^63, got 18446744073709551616
    """
    number = whole(label, value, None if interval.low == -math.inf else int(interval.low))
    if abs(number) > LARGEST_WHOLE:
        raise InvalidInput(f"{label} must be below 2^63, got {reprlib.repr(value)}")
    return number


def bounded_array(
    label: str, value: Any, shape: tuple[int | None, ...], largest: float = LARGEST_FEATURE
) -> Floats:
    """Numbers that arithmetic can bear: one arm of length 1e8 makes an estimate nan for ever.

    >>> bounded_array("arms", [[1, 0], [0, 1e7]], (None, 2))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: arms must lie in [-1e6, 1e6], got 1e+07 in size:
    divide all features by the largest norm you expect
    """
    array = shaped_array(label, value, shape)
    # One arm set: a sum of squares bounds every number at a third of the cost. A longer one would
    # wake the threads of BLAS.
    if array.size <= 4096 and np.vdot(array, array) <= largest * largest:
        return array
    size = float(np.maximum(array.max(), -array.min()))
    if not size <= largest:  # nan is not
        finite_array(label, array, shape)
        raise InvalidInput(
            f"{label} must {Interval(-largest, largest)}, got {size:.3g} in size: divide all "
            "features by the largest norm you expect"
        )
    return array
