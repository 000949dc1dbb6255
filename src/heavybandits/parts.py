"""Parts at the door: cast once, so that one kind of part compiles once; checked once."""

from typing import Any, TypeVar, get_type_hints

import numpy as np

from .arms import GivenArms
from .spaces import Box
from .validation import InvalidInput, finite_array, finite_number, fraction, positive, whole

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
_POSITIVE = {"level", "curvature", "penalty", "norm", "slowness"}


def _is_ours(part: Any) -> bool:
    return type(part).__module__.split(".")[0] == __package__


def _check_range(label: str, name: str, value: Any) -> float:
    """A number in the range that a field of this name has in every part of the library."""
    number = positive(label, value) if name in _POSITIVE else finite_number(label, value)
    if name == "trim" and not 0.0 <= number < 0.5:
        raise InvalidInput(f"{label} must lie in [0, 0.5), got {value!r}")
    if name == "quantile":
        return fraction(label, value)
    return number


def check_filter(part: Any) -> Any:
    """The filter, if it is one."""
    if not is_part(part) or not all(hasattr(part, name) for name in ("init", "clean", "plays")):
        raise InvalidInput(f"filter must be a filter such as Raw(), got {part!r}")
    return part


def check_link(link: Any, norm: float) -> float:
    """kappa of the link on [-norm, norm], after a look at its slope there."""
    methods = ("mean", "slope", "kappa", "lipschitz", "bound")
    missing = [name for name in methods if not hasattr(link, name)]
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


LARGEST_FEATURE = 1e6  # its square times the plays must leave digits for the small directions


def finite_features(name: str, value: Any, shape: tuple[int | None, ...]) -> Any:
    """Features that arithmetic can bear: one arm of length 1e8 makes an estimate nan for ever."""
    array = finite_array(name, value, shape)
    size = float(np.abs(array).max())
    if size > LARGEST_FEATURE:
        raise InvalidInput(
            f"{name} must lie in [-1e6, 1e6], got {size:.3g} in size: divide all features by the "
            "largest norm you expect"
        )
    return array


def check_arms(arms: Any) -> Any:
    """The arm set with its fields cast, if it is one a policy can play.

    >>> check_arms(Box([0.0], [-1.0]))
    Traceback (most recent call last):
    heavybandits.validation.InvalidInput: Box.low must not exceed Box.high, but does at 0
    """
    methods = ("dim", "view", "refresh", "top", "maximise")
    if not is_part(arms) or not all(name in dir(type(arms)) for name in methods):
        raise InvalidInput(f"arms must be an arm set such as FixedArms(20, 10), got {arms!r}")
    if isinstance(arms, GivenArms):
        return GivenArms(finite_features("GivenArms.features", arms.features, (None, None)))
    if isinstance(arms, Box):
        low = finite_features("Box.low", arms.low, (None,))
        high = finite_features("Box.high", arms.high, low.shape)
        if (low > high).any():
            place = int((low > high).argmax())
            raise InvalidInput(f"Box.low must not exceed Box.high, but does at {place}")
        return Box(low, high)
    return cast(arms)


def check_finite(name: str, policy: Any, arms: Any) -> None:
    """Refuse a set without end to a policy that looks at every arm apart."""
    if getattr(policy, "finite_only", False) and arms.size == 0:
        raise InvalidInput(
            f"{name} judges every arm on offer by itself, so it needs a finite set: "
            f"{type(arms).__name__} has infinitely many arms. Offer rows of features, or use a "
            "policy with a confidence region, such as crtm"
        )


def check_room(name: str, policy: Any, decisions: int) -> None:
    """Refuse more decisions than a policy that keeps its history has room for."""
    capacity = getattr(policy, "capacity", None)
    if capacity is not None and decisions > capacity:
        raise InvalidInput(
            f"{name} keeps its history and has room for {capacity} decisions, "
            f"but {decisions} are asked for: build it with a larger horizon"
        )
