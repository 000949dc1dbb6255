"""Parts at the door: cast once, so that one kind of part compiles once; checked once."""

from typing import Any, TypeVar, get_type_hints

import numpy as np

from .validation import InvalidInput, finite_number, positive

T = TypeVar("T")


def cast(part: T) -> T:
    """The part with every field cast to its annotation: 1 to 1.0, arrays to float64 in C order.

    >>> from heavybandits import Truncate
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
        return finite_number(label, value)
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise InvalidInput(f"{label} must be a whole number, got {value!r}")
        return int(value)
    if hint is bool:
        return bool(value)
    if isinstance(value, np.ndarray | list):
        return np.array(value, dtype=np.float64, order="C")
    return cast(value)


def check_link(link: Any, norm: float) -> float:
    """kappa of the link on [-norm, norm], after a look at its slope there."""
    missing = [name for name in ("mean", "slope", "kappa") if not hasattr(link, name)]
    if missing:
        raise InvalidInput(f"link must have a method {missing[0]}(), got {link!r}")
    for z in np.linspace(-norm, norm, 65):
        slope = link.slope(float(z))
        if not slope > 0.0:
            raise InvalidInput(
                f"link must have a positive slope on [-{norm}, {norm}]; "
                f"{type(link).__name__}.slope({z:.4g}) is {slope}"
            )
    return positive(f"{type(link).__name__}.kappa({norm})", link.kappa(norm))
