"""Checks at the door: what a user hands in is tested and cast once, kernels never look again.

Every refusal is an InvalidInput whose message names the argument, what is allowed and what was
given.
"""

import math
import operator
import reprlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InvalidInput

SMALLEST, LARGEST = 1e-100, 1e100  # of constants: their squares and quotients are still numbers


def finite_number(name: str, value: Any) -> float:
    """A real number that is neither infinite nor nan, as a float.

    >>> finite_number("reward", -3)
    -3.0
    >>> finite_number("reward", float("nan"))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: reward must be a finite number, got nan
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
        raise InvalidInput(f"{name} must be a finite number, got {_shown(value)}")
    return number


def is_number(value: Any) -> bool:
    """Whether this is a real number: neither a bool nor a length of time is one.

    >>> is_number(np.float32(1)), is_number(True), is_number(np.timedelta64(1, "s"))
    (True, False, False)
    """
    return isinstance(value, Real | Decimal) and not isinstance(value, bool | np.timedelta64)


def positive(name: str, value: Any) -> float:
    """A number above zero whose square, and one over it, are numbers too.

    >>> positive("moment", 3)
    3.0
    >>> positive("moment", 0)
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: moment must be positive, got 0
    """
    number = finite_number(name, value)
    if number <= 0.0:
        raise InvalidInput(f"{name} must be positive, got {_shown(value)}")
    if not SMALLEST <= number <= LARGEST:
        raise InvalidInput(f"{name} must lie in [{SMALLEST}, {LARGEST}], got {_shown(value)}")
    return number


def at_least_zero(name: str, value: Any) -> float:
    """A finite number that is not negative.

    >>> at_least_zero("corruption", -1)
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: corruption must be at least 0, got -1
    """
    number = finite_number(name, value)
    if number < 0.0:
        raise InvalidInput(f"{name} must be at least 0, got {_shown(value)}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that might be taken for one of them.

    >>> flag("corrected", 1)
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: corrected must be True or False, got 1
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} must be True or False, got {_shown(value)}")
    return bool(value)


def fraction(name: str, value: Any) -> float:
    """A number strictly between zero and one, such as a probability of failure.

    >>> fraction("delta", 1.0)
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: delta must lie in (0, 1), got 1.0
    """
    number = finite_number(name, value)
    if not SMALLEST <= number < 1.0:
        bound = f" and be at least {SMALLEST}" if 0.0 < number < 1.0 else ""
        raise InvalidInput(f"{name} must lie in (0, 1){bound}, got {_shown(value)}")
    return number


def epsilon(value: Any) -> float:
    """The order of the moment: E|.|^(1 + epsilon) is finite, epsilon = 1 being finite variance.

    >>> epsilon(1.5)
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: epsilon must lie in (0, 1], got 1.5
    """
    number = finite_number("epsilon", value)
    if not 0.0 < number <= 1.0:
        raise InvalidInput(f"epsilon must lie in (0, 1], got {_shown(value)}")
    return number


def whole(name: str, value: Any, least: int | None = 1) -> int:
    """A Python or NumPy integer of at least `least`; neither a bool nor 1e6 is one.

    >>> whole("horizon", 1e6)
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: horizon must be a whole number >= 1, got 1000000.0
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
        raise InvalidInput(f"{name} must be a whole number{bound}, got {_shown(value)}")
    return number


def one_of(name: str, value: Any, allowed: Iterable[str]) -> str:
    """One of the words that are allowed.

    >>> one_of("reading", "lemma", ("theorem", "corollary"))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: reading must be one of theorem, corollary, got 'lemma'
    """
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(f"{name} must be one of {', '.join(words)}, got {_shown(value)}")
    return value


def check_names(what: str, given: Any, alone: str) -> dict[str, Any]:
    """Things by name; a single one is named `alone`. Names that read the same are refused.

    >>> check_names("policies", {1: "a", "1": "b"}, "policy")
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: policies must differ in name, got two called '1'
    """
    if not isinstance(given, Mapping):
        return {alone: given}
    if not given:
        raise InvalidInput(f"{what} must hold at least one {alone}, got none")
    named: dict[str, Any] = {}
    for name, value in given.items():
        if str(name) in named:
            raise InvalidInput(f"{what} must differ in name, got two called {str(name)!r}")
        named[str(name)] = value
    return named


def finite_array(name: str, value: Any, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """A C-contiguous float64 copy; None in `shape` allows any length of at least one.

    >>> finite_array("arms", [[1, 2], [3, 4]], (None, 2))
    array([[1., 2.],
           [3., 4.]])
    >>> finite_array("arms", [[1, 2, 3]], (None, 2))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: arms must have shape (any, 2), got (1, 3)
    """
    array = shaped_array(name, value, shape)
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInput(f"{name} must be finite, got {array[place]} at {_size(place)}")
    return array


def shaped_array(name: str, value: Any, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """As `finite_array`, but its numbers may be anything."""
    array = _as_floats(name, value)
    if len(array.shape) != len(shape) or not all(map(_fits, array.shape, shape)):
        raise InvalidInput(f"{name} must have shape {_size(shape)}, got {_size(array.shape)}")
    return array


def _fits(have: int, want: int | None) -> bool:
    return have == want if want is not None else have >= 1


def _as_floats(name: str, value: Any) -> NDArray[np.float64]:
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
        raise InvalidInput(f"{name} must be an array of numbers, got {shown}") from None


def _shown(value: Any) -> str:
    return reprlib.repr(value.item() if isinstance(value, np.generic) else value)


def _size(shape: tuple[int | None, ...]) -> str:
    inner = ", ".join("any" if length is None else str(length) for length in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
