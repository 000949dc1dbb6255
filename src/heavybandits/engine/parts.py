"""Parts at the door: cast once, so that one kind of part compiles once; checked once."""

import functools
import inspect
import reprlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ..support.errors import InvalidInput
from .arrays import Key
from .bounds import Array, bounded_array, bounded_number, bounded_whole
from .contracts import Estimator, PerArmEstimator, Radius
from .members import attributes, fault, kind_name, members, written
from .regions import FALLBACKS, Region
from .streams import seed_of

T = TypeVar("T")


def is_part(value: Any) -> bool:
    """Whether this is a NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def walk(value: Any) -> Iterator[Any]:
    """A part and all the parts inside it, outermost first.

    >>> from heavybandits.radii import Constant, Scaled
    >>> [type(part).__name__ for part in walk(Scaled(Constant(4.0), 0.1))]
    ['Scaled', 'Constant']
    """
    if is_part(value):
        yield value
    if isinstance(value, tuple):
        for field in value:
            yield from walk(field)


def classes_of(value: Any) -> set[type]:
    """The classes of a part and of the parts inside it."""
    return {type(part) for part in walk(value)}


def has_seed(part: Any) -> bool:
    """Whether a part, or one inside it, draws by a `seed` of its own."""
    return any("seed" in inner._fields for inner in walk(part))


def reseeded(policy: T, key: Key) -> T:
    """The policy for one repetition: every `seed` in it replaced by one of the repetition's own.

    So that what a policy draws differs between repetitions as arms and noise do; `key` is that of
    the noise.

    >>> from heavybandits.policies import Uniform
    >>> len({reseeded(Uniform(3, seed), np.uint64(key)).seed for seed in (0, 1) for key in (1, 2)})
    4
    """
    if not has_seed(policy):
        return policy
    given: Any = policy
    with np.errstate(over="ignore"):  # the counters of the streams wrap around loudly
        fields = {
            name: int(seed_of(key, value)) if name == "seed" else reseeded(value, key)
            for name, value in zip(given._fields, given, strict=True)
            if name == "seed" or is_part(value)
        }
    return cast(given._replace(**fields))


def regions_of(state: Any) -> list[Region]:
    """All confidence regions of a state."""
    return [part for part in walk(state) if isinstance(part, Region)]


def fallbacks_of(state: Any) -> int:
    """The updates of a state in which rounding may have spoiled V^-1, so that it was mended."""
    return sum(int(region.counts[FALLBACKS]) for region in regions_of(state))


def check_part(name: str, value: Any, contract: type[T]) -> T:
    """The part, cast, if it is of this kind; else InvalidInput, before anything is compiled.

    >>> from heavybandits.parts import Filter
    >>> from heavybandits.links import Probit
    >>> check_part("filter", Probit(), Filter)
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: filter must be a filter: Probit has no attribute plays
    """
    kind: type = type(value)
    wanted: Any = contract
    if not is_part(value):
        listed = ", ".join(written(*member) for member in members(wanted).items())
        wrong: str | None = f"a NamedTuple with {listed}; got {reprlib.repr(value)}"
    else:
        wrong = fault(kind, wanted)
    if wrong:
        raise InvalidInput(f"{name} must be {kind_name(wanted)}: {wrong}")
    part: T = cast(value)
    for attribute, hint in attributes(wanted).items():
        _cast_field(f"{kind.__name__}.{attribute}", hint, getattr(part, attribute))
    return part


def cast(part: T) -> T:
    """The part with every field cast to its annotation: 1 to 1.0, arrays to float64 in C order.

    A number must keep to the bounds of its annotation, a part in a field to the contract of it, and
    the fields together to what the part's own `check` says, if it has one.

    >>> from heavybandits.filters import Truncate
    >>> cast(Truncate(level=2))
    Truncate(level=2.0, plays=1)
    """
    if not is_part(part):
        return part
    kind: type = type(part)
    hints = _hints(kind)
    values = zip(part._fields, part, strict=True)  # type: ignore[attr-defined, call-overload]
    made: T = kind(*(_cast_field(f"{kind.__name__}.{n}", hints.get(n), v) for n, v in values))
    if hasattr(made, "check"):
        made.check()
    return made


def check_reads(radius: Radius, estimator: Estimator | PerArmEstimator) -> None:
    """Refuse a radius that reads what the state of this estimator does not hold.

    Both say it in their types: the radius by that of its `estimate`, the estimator by what its
    `init` returns.

    >>> from heavybandits.estimators import Ridge
    >>> from heavybandits.radii import GradientSum
    >>> check_reads(GradientSum(1.0), Ridge(2, 1.0))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: GradientSum reads OnlineToConfidenceEstimate,
    but Ridge keeps RegionEstimate
    """
    keeper = getattr(estimator, "inner", estimator)  # one estimator may hold another
    held = inspect.get_annotations(type(keeper).init).get("return", Any)
    for part in walk(radius):
        read = inspect.get_annotations(getattr(part, "radius", check_reads)).get("estimate", Any)
        if not _holds(held, read):
            raise InvalidInput(
                f"{type(part).__name__} reads {read.__name__}, "
                f"but {type(estimator).__name__} keeps {held.__name__}"
            )


def _holds(held: Any, read: Any) -> bool:
    if not isinstance(held, type) or not isinstance(read, type) or read is object:
        return True  # nobody has said what it is
    if getattr(read, "_is_protocol", False):
        return all(hasattr(held, name) for name in members(read))
    return issubclass(held, read)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _cast_field(label: str, hint: Any, value: Any) -> Any:
    hint, *bounds = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if hint is float:
        return bounded_number(label, value, *bounds)
    if hint is int:
        return bounded_whole(label, value, *bounds)
    if hint is bool or get_origin(hint) is Literal:
        return _check_choice(label, value, get_args(hint) or (True, False))
    if getattr(hint, "_is_protocol", False):
        return check_part(label, value, hint)
    if isinstance(value, np.ndarray | list) or get_origin(hint) is np.ndarray:
        bound = bounds[0] if bounds else Array(np.ndim(value))
        return bounded_array(label, value, (None,) * bound.axes, bound.largest)
    return cast(value)


def _check_choice(label: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    plain = value.item() if isinstance(value, np.bool_) else value
    if type(plain) is not type(allowed[0]) or plain not in allowed:
        names = ", ".join(map(str, allowed))
        raise InvalidInput(f"{label} must be one of {names}, got {reprlib.repr(value)}")
    return plain
