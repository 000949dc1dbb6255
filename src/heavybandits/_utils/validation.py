"""Input validation: arguments are validated and cast once, and kernels do not check again.

Every error is an InvalidInputError whose message names the argument, what is allowed and what was
given. The annotation of a field of a part has its bounds, `plays: Count`, `threshold: Positive`.
`cast` reads them there, for parts of the library and for yours.
"""

import difflib
import math
import operator
import reprlib
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.ma  # now: a thread that imports it while another forks would lock the child
from numpy.typing import NDArray

from .errors import InvalidInputError

Floats = NDArray[np.float64]

SMALLEST, LARGEST = 1e-100, 1e100  # of constants: their squares and quotients are still numbers
LARGEST_WHOLE = (1 << 63) - 1  # what compiled code holds
LARGEST_FEATURE = 1e6  # its square times the plays must leave digits for the small directions


class Interval(NamedTuple):
    """Allow the numbers from `low` to `high`, without an end whose bracket is round.

    Parameters
    ----------
    low : float, default -inf
        Lower end.
    high : float, default inf
        Upper end.
    ends : str, default "[]"
        Brackets of the two ends: "[]", "[)", "(]" or "()".

    Examples
    --------
    >>> str(Interval(0.0, 0.5, "[)")), 0.5 in Interval(0.0, 0.5, "[)")
    ('be in [0, 0.5)', False)
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
            return f"be in {self.ends[0]}{low}, {high}{self.ends[1]}"
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


# ---- numbers


def finite_number(name: str, value: Any) -> float:
    """Return a real number that is neither infinite nor nan, as a float.

    >>> finite_number("reward", -3)
    -3.0
    >>> finite_number("reward", float("nan"))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: reward must be a finite number, got nan
    """
    if type(value) is float and math.isfinite(value):
        return value  # most rewards
    if isinstance(value, np.ndarray) and value.ndim == 0 and not np.ma.isMaskedArray(value):
        value = value[()]
    number = math.nan
    if is_number(value):
        try:
            number = float(value)
        except (OverflowError, ValueError):  # an int beyond a double, Decimal's signalling nan
            pass
    if not math.isfinite(number):
        raise InvalidInputError(f"{name} must be a finite number, got {_shown(value)}")
    return number


def is_number(value: Any) -> bool:
    """Return True for a real number; a bool or a length of time is none.

    >>> is_number(np.float32(1)), is_number(True), is_number(np.timedelta64(1, "s"))
    (True, False, False)
    """
    return isinstance(value, Real | Decimal) and not isinstance(value, bool | np.timedelta64)


def bounded_number(label: str, value: Any, interval: Interval = Interval()) -> float:
    """Return a finite number of this interval.

    >>> bounded_number("StudentT.dof", 0.1, Interval(0.2, ends="(]"))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: StudentT.dof must be above 0.2, got 0.1
    """
    number = finite_number(label, value)
    if number not in interval:
        raise InvalidInputError(f"{label} must {interval}, got {_shown(value)}")
    return number


def positive(name: str, value: Any) -> float:
    """Return a number above zero whose square, and one over it, are numbers too.

    >>> positive("raw_moment", 3)
    3.0
    >>> positive("raw_moment", 0)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: raw_moment must be positive, got 0
    """
    bounded_number(name, value, Interval(0.0, ends="(]"))
    return bounded_number(name, value, Interval(SMALLEST, LARGEST))


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that might be taken for one of them.

    >>> flag("corrected", 1)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: corrected must be True or False, got 1
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False, got {_shown(value)}")
    return bool(value)


def fraction(name: str, value: Any) -> float:
    """Return a number strictly between zero and one, such as a probability of failure.

    >>> fraction("delta", 1.0)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: delta must be in (0, 1), got 1.0
    """
    bounded_number(name, value, Interval(0.0, 1.0, "()"))
    return bounded_number(name, value, Interval(SMALLEST, 1.0, "[)"))


def epsilon(value: Any) -> float:
    """The order of the moment: E|.|^(1 + epsilon) is finite, epsilon = 1 being finite variance.

    >>> epsilon(1.5)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: epsilon must be in (0, 1], got 1.5
    """
    return bounded_number("epsilon", value, Interval(0.0, 1.0, "(]"))


def whole(name: str, value: Any, least: int | None = 1) -> int:
    """Return a Python or NumPy integer of at least `least`; neither a bool nor 1e6 is one.

    >>> whole("horizon", 1e6)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: horizon must be a whole number >= 1, got 1000000.0
    """
    number = None
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            pass
    if number is None or (least is not None and number < least) or abs(number) >> 128:
        bound = "" if least is None else f" >= {least}"
        bound += " and below 2^128" if number is not None and number >> 128 > 0 else ""
        raise InvalidInputError(f"{name} must be a whole number{bound}, got {_shown(value)}")
    return number


def bounded_whole(label: str, value: Any, interval: Interval = Interval()) -> int:
    """Return a whole number of this interval that fits into 64 bits.

    >>> bounded_whole("seed", 2**64, Interval(0))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: seed must be below 2^63, got 18446744073709551616
    """
    number = whole(label, value, None if interval.low == -math.inf else int(interval.low))
    if abs(number) > LARGEST_WHOLE:
        raise InvalidInputError(f"{label} must be below 2^63, got {_shown(value)}")
    return number


# ---- names


def one_of(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return the value if it is one of the allowed words.

    >>> one_of("variant", "theorm", ("theorem", "corollary"))  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    heavybandits.InvalidInputError: variant must be one of theorem, corollary, got 'theorm';
    did you mean 'theorem'?
    """
    words = tuple(allowed)
    if isinstance(value, str) and value in words:
        return value
    close = closest(value, words) if isinstance(value, str) else None
    hint = f"; did you mean {close!r}?" if close else ""
    raise InvalidInputError(f"{name} must be one of {', '.join(words)}, got {_shown(value)}{hint}")


def closest(word: str, words: Iterable[str]) -> str | None:
    """Return the word that was probably meant, in upper or lower case; None if no word is close.

    >>> closest("CRTN", ("CRT", "CRTM")), closest("x", ("radius",))
    ('CRTM', None)
    """
    given, known = word.casefold(), {each.casefold(): each for each in words}
    # Most words of three letters or less are close to another one: "gpu" to "cpu".
    near = difflib.get_close_matches(given, known, n=5, cutoff=0.6 if len(given) > 3 else 0.7)
    best = min(
        near, key=lambda each: (_edits(given, each), abs(len(each) - len(given))), default=""
    )
    return known.get(best)


def _edits(one: str, other: str) -> int:
    """Return the number of letters to insert, remove or replace (Levenshtein 1966)."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row = row, [i]
        for j, another in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != another)))
    return row[-1]


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Return the end of an error message: the closest of the allowed words, or all of them.

    >>> did_you_mean("radus", ("radius", "delta")), did_you_mean("x", ("radius", "delta"))
    (': did you mean radius?', '; it has radius, delta')
    """
    words = tuple(allowed)
    close = closest(word, words)
    return f": did you mean {close}?" if close else f"; it has {', '.join(words)}"


# ---- arrays


def finite_array(name: str, value: Any, shape: tuple[int | None, ...]) -> Floats:
    """Return a C-contiguous float64 copy; None in `shape` allows any length of at least one.

    >>> finite_array("arms", [[1, 2], [3, 4]], (None, 2))
    array([[1., 2.],
           [3., 4.]])
    >>> finite_array("arms", [[1, 2, 3]], (None, 2))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: arms must have shape (any, 2), got (1, 3)
    """
    array = shaped_array(name, value, shape)
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInputError(f"{name} must be finite, got {array[place]} at {_size(place)}")
    return array


def shaped_array(name: str, value: Any, shape: tuple[int | None, ...]) -> Floats:
    """Return the array as `finite_array` does, but allow infinity and nan."""
    array = _as_floats(name, value)
    if len(array.shape) != len(shape) or not all(map(_fits, array.shape, shape)):
        raise InvalidInputError(f"{name} must have shape {_size(shape)}, got {_size(array.shape)}")
    return array


def bounded_array(
    label: str, value: Any, shape: tuple[int | None, ...], largest: float = LARGEST_FEATURE
) -> Floats:
    """Numbers that arithmetic can bear: one arm of length 1e8 makes an estimate nan for good.

    >>> bounded_array("arms", [[1, 0], [0, 1e7]], (None, 2))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: arms must be in [-1e6, 1e6], got 1e+07 in size:
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
        raise InvalidInputError(
            f"{label} must {Interval(-largest, largest)}, got {size:.3g} in size: divide all "
            "features by the largest norm you expect"
        )
    return array


def _fits(have: int, want: int | None) -> bool:
    return have == want if want is not None else have >= 1


def _as_floats(name: str, value: Any) -> Floats:
    try:
        given = np.asarray(value)
        masked = isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)
        if masked or given.dtype.kind not in "biufO":
            raise TypeError
        if given.dtype.kind == "O" and not all(map(is_number, given.flat)):
            raise TypeError
        return np.array(given, dtype=np.float64, order="C", copy=True)
    except (TypeError, ValueError, OverflowError):
        shown = _shown(value)
        raise InvalidInputError(f"{name} must be an array of numbers, got {shown}") from None


def _shown(value: Any) -> str:
    return reprlib.repr(value.item() if isinstance(value, np.generic) else value)


def _size(shape: tuple[int | None, ...]) -> str:
    inner = ", ".join("any" if length is None else str(length) for length in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
