"""Parts at the door: cast once, so that one kind of part compiles once; checked once."""

from typing import Any, TypeVar, get_type_hints

import numpy as np

from ..support.errors import InvalidInput
from ..support.validation import finite_array, finite_number, fraction, positive, whole

T = TypeVar("T")


def cast(part: T) -> T:
    """The part with every field cast to its annotation: 1 to 1.0, arrays to float64 in C order.

    >>> from heavybandits.filters import Truncate
    >>> cast(Truncate(level=2))
    Truncate(level=2.0, plays=1)
    """
    if not is_part(part):
        return part
    hints = get_type_hints(type(part))
    values = zip(part._fields, part, strict=True)  # type: ignore[attr-defined, call-overload]
    return type(part)(*(_cast_field(part, name, hints.get(name), value) for name, value in values))


def is_part(value: Any) -> bool:
    """Whether this is a NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _cast_field(part: Any, name: str, hint: Any, value: Any) -> Any:
    label = f"{type(part).__name__}.{name}"
    if hint is float:
        return _check_range(label, name, value) if _is_ours(part) else finite_number(label, value)
    if hint is int:
        if _is_ours(part) and name in _COUNTS:
            return whole(label, value)
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise InvalidInput(f"{label} must be a whole number, got {value!r}")
        return int(value)
    if hint is bool:
        return bool(value)
    if isinstance(value, np.ndarray | list):
        return finite_array(label, value, (None,) * np.ndim(value))
    if _is_ours(part) and not hasattr(value, _METHODS.get(name, "__class__")):
        raise InvalidInput(f"{label} must have a method {_METHODS[name]}(), got {value!r}")
    return cast(value)


_METHODS = {
    "link": "mean",
    "estimator": "update",
    "projection": "project",
    "filter": "clean",
    "radius": "radius",
}


_COUNTS = {"dim", "size", "plays", "group", "blocks"}


_POSITIVE = {"level", "curvature", "penalty", "norm", "time_scale"}


def _is_ours(part: Any) -> bool:
    return type(part).__module__.partition(".")[0] == __package__.partition(".")[0]


def _check_range(label: str, name: str, value: Any) -> float:
    """A number in the range that a field of this name has in every part of the library."""
    number = positive(label, value) if name in _POSITIVE else finite_number(label, value)
    if name == "trim" and not 0.0 <= number < 0.5:
        raise InvalidInput(f"{label} must lie in [0, 0.5), got {value!r}")
    if name == "quantile":
        return fraction(label, value)
    return number
