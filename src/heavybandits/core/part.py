"""Parts as values: find the parts inside, validate and cast them, write them as JSON and back.

A part is cast once, so that each kind of part compiles once. Its identity in files is
"module:Name"; for a part of the library it is the public path, as in "heavybandits.filters:Clip",
which does not depend on the module that defines the class.
"""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from .._utils.errors import InvalidInputError, StateError
from .._utils.validation import Array, bounded_array, bounded_number, bounded_whole
from .arrays import Key
from .confidence_region import Region, fallback_count
from .conformance import attributes, fault, kind_name, members, written
from .dispatch import is_own
from .part_errors import PACKAGE as PACKAGE
from .part_errors import attempt
from .protocols import Estimator, PerArmEstimator, Radius
from .purity import check_purity
from .rng import seed_of

T = TypeVar("T")


def is_part(value: Any) -> bool:
    """Return True for a NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def walk(value: Any) -> Iterator[Any]:
    """Yield a part and all the parts inside it, outermost first.

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
    """Return the classes of a part and of the parts inside it."""
    return {type(part) for part in walk(value)}


def own_classes(value: Any) -> frozenset[type]:
    """Return the classes of a part, and of the parts inside it, that are not the library's.

    >>> from heavybandits.links import Logistic
    >>> own_classes((Logistic(), 1.0))
    frozenset()
    """
    return frozenset(filter(is_own, classes_of(value)))


def has_seed(part: Any) -> bool:
    """Return True if a part, or one inside it, has a field `seed`."""
    return any("seed" in inner._fields for inner in walk(part))


def separate_streams(policy: T) -> T:
    """Return the policy with a stream of its own for every part that draws.

    A part draws from the stream of its field `seed`. Two parts of one policy with equal seeds
    would see the same numbers, and the propensities of the outer part would be wrong. So the
    outermost part keeps its seed, and the seed of every other part is replaced by a function of
    the seed and of the place of the part in `walk`.

    >>> from heavybandits.policies import EpsilonGreedy, Uniform
    >>> separated = separate_streams(EpsilonGreedy(Uniform(dim=3)))
    >>> separated.seed, separated.policy.seed
    (0, 32299303299637)
    """
    taken: set[int] = set()

    def separate(seed: int) -> int:
        layer = np.uint64(len(taken))
        made = int(seed_of(layer, seed)) if taken else seed
        while made in taken:
            made = int(seed_of(layer, made))
        taken.add(made)
        return made

    return _map_seeds(policy, separate)


def reseeded(policy: T, key: Key) -> T:
    """Return the policy for one repetition: every `seed` in it is replaced.

    So the draws of a policy differ between repetitions, as arms and noise do, and between the parts
    of one policy. `key` is the key of the noise.

    >>> from heavybandits.policies import Uniform
    >>> len({reseeded(Uniform(3, seed), np.uint64(key)).seed for seed in (0, 1) for key in (1, 2)})
    4
    """
    return _map_seeds(separate_streams(policy), lambda seed: int(seed_of(key, seed)))


def _map_seeds(part: T, change: Callable[[int], int]) -> T:
    """Return the part with every `seed` in it changed, in the order of `walk`."""
    if not has_seed(part):
        return part
    return cast(_change_seeds(part, change))


def _change_seeds(value: Any, change: Callable[[int], int]) -> Any:
    if not isinstance(value, tuple):
        return value
    if not is_part(value):
        return tuple(_change_seeds(inner, change) for inner in value)
    made: Any = value
    if "seed" in made._fields:
        made = made._replace(seed=change(made.seed))
    return made._make(_change_seeds(field, change) for field in made)


def regions_of(state: Any) -> list[Region]:
    """Return all confidence regions of a state."""
    return [part for part in walk(state) if isinstance(part, Region)]


def fallbacks_of(state: Any) -> int:
    """Return the number of updates in which V^-1 was computed again because of rounding."""
    return sum(int(fallback_count(region)) for region in regions_of(state))


# ---- validation


def check_part(name: str, value: Any, contract: type[T]) -> T:
    """Check that a part has all members of its contract, and return it with cast fields.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : NamedTuple
        The part to validate.
    contract : type
        The Protocol, for example `Filter`.

    Returns
    -------
    NamedTuple
        The part, cast.

    Raises
    ------
    InvalidInputError
        The part misses a member, or a field is invalid.

    Examples
    --------
    >>> from heavybandits.authoring import Filter
    >>> from heavybandits.links import Probit
    >>> check_part("filter", Probit(), Filter)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: filter must be a filter: Probit has no attribute plays
    """
    kind: type = type(value)
    wanted: Any = contract
    if not is_part(value):
        listed = ", ".join(written(*member) for member in members(wanted).items())
        got = f"{reprlib.repr(value)}{_next_step(value)}"
        wrong: str | None = f"a NamedTuple with {listed}; got {got}"
    else:
        wrong = fault(kind, wanted)
    if wrong:
        raise InvalidInputError(f"{name} must be {kind_name(wanted)}: {wrong}")
    part: T = cast(value)
    for attribute, hint in attributes(wanted).items():
        held = attempt(own_classes(part), getattr, part, attribute)
        _cast_field(f"{kind.__name__}.{attribute}", hint, held)
    return part


def _next_step(value: object) -> str:
    """Return what to write instead of a class or a function that makes a part.

    >>> from heavybandits.filters import AdaptiveClip
    >>> _next_step(AdaptiveClip)
    '; call it: AdaptiveClip(...)'
    """
    return f"; call it: {value.__name__}(...)" if hasattr(value, "__name__") else ""


def cast(part: T) -> T:
    """Return the part with every field cast to its annotation: 1 to 1.0, arrays to float64.

    Parameters
    ----------
    part : NamedTuple
        A part of the library or your own.

    Returns
    -------
    NamedTuple
        The part of the same class, with cast fields.

    Raises
    ------
    InvalidInputError
        A number is outside the bounds of its annotation, a part in a field does not satisfy the
        contract in its annotation, compiled code cannot read a field (such as a dict), or the
        part's own `check` raises.

    Examples
    --------
    >>> from heavybandits.filters import Truncate
    >>> cast(Truncate(threshold=2))
    Truncate(threshold=2.0, plays=1)
    """
    if not is_part(part):
        return part
    kind: type = type(part)
    hints = _hints(kind)
    values = zip(part._fields, part, strict=True)  # type: ignore[attr-defined, call-overload]
    made: T = kind(*(_cast_field(f"{kind.__name__}.{n}", hints.get(n), v) for n, v in values))
    if is_own(kind):
        check_purity(kind)
        _check_extras(made)
    if hasattr(made, "check"):
        attempt(own_classes(made), made.check)
    return made


def _check_extras(part: Any) -> None:
    """Raise if an optional attribute of your own part fails or has the wrong type."""
    kind = type(part)
    for name, (types, words) in _EXTRAS.items():
        if hasattr(kind, name):
            value = attempt(frozenset({kind}), getattr, part, name)
            if not isinstance(value, types):
                raise InvalidInputError(f"{kind.__name__}.{name} must be {words}, got {value!r}")


_EXTRAS: dict[str, tuple[Any, str]] = {
    "capacity": (int | None, "a whole number or None"),
    "finite_only": (bool, "True or False"),
    "any_norm": (bool, "True or False"),
    "own_rows": (bool, "True or False"),
    "choice_writes": (tuple | None, "a tuple of names or None"),
}


def check_reads(radius: Radius, estimator: Estimator | PerArmEstimator) -> None:
    """Raise InvalidInputError if a radius reads what the state of this estimator does not have.

    The types are annotations: that of the parameter `estimate` of the radius, and the return type
    of the estimator's `init`.

    >>> from heavybandits.estimators import Ridge
    >>> from heavybandits.radii import GradientSum
    >>> check_reads(GradientSum(1.0), Ridge(2, 1.0))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: GradientSum reads OnlineToConfidenceEstimate,
    but Ridge keeps RegionEstimate
    """
    keeper = getattr(estimator, "inner", estimator)  # one estimator may hold another
    kept = inspect.get_annotations(type(keeper).init).get("return", Any)
    for part in walk(radius):
        read = inspect.get_annotations(getattr(part, "radius", check_reads)).get("estimate", Any)
        if not _provides(kept, read):
            raise InvalidInputError(
                f"{type(part).__name__} reads {read.__name__}, "
                f"but {type(estimator).__name__} keeps {kept.__name__}"
            )


def _provides(kept: Any, read: Any) -> bool:
    if not isinstance(kept, type) or not isinstance(read, type) or {kept, read} & {Any, object}:
        return True  # no annotation
    if getattr(read, "_is_protocol", False):
        return all(hasattr(kept, name) for name in members(read))
    return issubclass(kept, read)


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
    return _check_field(label, value)


def _check_field(label: str, value: Any) -> Any:
    """Return a field without a bound, cast; raise if compiled code cannot read it."""
    if isinstance(value, np.generic):
        return _check_field(label, value.item())
    if isinstance(value, tuple):
        return cast(value) if is_part(value) else tuple(_check_field(label, v) for v in value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInputError(f"{label} must fit into 64 bits, got {value:.3g}")
    if not isinstance(value, _READABLE):
        raise InvalidInputError(
            f"{label} must be a number, an array, another part or a tuple of these, "
            f"got {reprlib.repr(value)}: compiled code reads nothing else"
        )
    return value


_READABLE = (int, float, complex, str, np.ndarray, type(None))


def _check_choice(label: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    plain = value.item() if isinstance(value, np.bool_) else value
    if type(plain) is not type(allowed[0]) or plain not in allowed:
        names = ", ".join(map(str, allowed))
        raise InvalidInputError(f"{label} must be one of {names}, got {reprlib.repr(value)}")
    return plain


# ---- as plain JSON, and back


def identity(part: type) -> str:
    """Return the name of a class in files.

    >>> from heavybandits.filters import Clip
    >>> identity(Clip)
    'heavybandits.filters:Clip'
    """
    return f"{public_module(part.__module__)}:{part.__qualname__}"


def public_module(module: str) -> str:
    """Return the name under which users import a module.

    >>> public_module("heavybandits.parts.filters.truncation"), public_module("mine.filters")
    ('heavybandits.filters', 'mine.filters')
    """
    package, *path = module.split(".")
    if package != PACKAGE:
        return module
    return ".".join([package, *(path[1:] if path[:1] == ["parts"] else path)[:1]])


def known_parts(*groups: Iterable[type]) -> dict[str, type]:
    """Return classes by identity: only these are ever built. Two of the same identity raise.

    >>> from heavybandits.links import Logistic
    >>> known_parts([Logistic], [Logistic])
    {'heavybandits.links:Logistic': <class 'heavybandits.parts.links.Logistic'>}
    """
    known: dict[str, type] = {}
    for part in (part for group in groups for part in group):
        if not (isinstance(part, type) and issubclass(part, tuple) and hasattr(part, "_fields")):
            raise InvalidInputError(f"parts must be classes of parts (NamedTuples), got {part!r}")
        if known.setdefault(identity(part), part) is not part:
            raise InvalidInputError(f"parts must differ in name, got two called {identity(part)!r}")
    return known


def describe(value: Any) -> Any:
    """Return a part as plain JSON.

    Parameters
    ----------
    value : NamedTuple, array or number
        A part, or a field of a part.

    Returns
    -------
    dict, list or number
        Dictionaries, lists, numbers and strings only.

    Examples
    --------
    >>> from heavybandits.noises import StudentT
    >>> describe(StudentT(3.0))
    {'part': 'heavybandits.noises:StudentT', 'fields': {'dof': 3.0, 'scale': 1.0}}
    """
    if is_part(value):
        fields = {name: describe(field) for name, field in zip(value._fields, value, strict=True)}
        return {"part": identity(type(value)), "fields": fields}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    return value


def build(description: Any, known: dict[str, type]) -> Any:
    """Make the part that `describe` described, if all the parts in it are known.

    >>> from heavybandits.noises import StudentT
    >>> build(describe(StudentT(3.0)), known_parts([StudentT]))
    StudentT(dof=3.0, scale=1.0)
    """
    if not isinstance(description, dict):
        return description
    if set(description) == {"array"}:
        return np.array(description["array"], dtype=np.float64)
    if set(description) != {"part", "fields"} or not isinstance(description["fields"], dict):
        raise StateError("a part must be described by its name and its fields")
    name, fields = description["part"], description["fields"]
    if name not in known:
        raise StateError(_unknown(str(name), known))
    if set(fields) != set(known[name]._fields):  # type: ignore[attr-defined]
        raise StateError(f"the fields of {name!r} are not those of this version")
    return known[name](**{key: build(field, known) for key, field in fields.items()})


def _unknown(name: str, known: dict[str, type]) -> str:
    """Return the message for an unknown part, with a known one of the same name."""
    alike = [other for other in known if other.rpartition(":")[2] == name.rpartition(":")[2]]
    but = f" ({alike[0]!r} is another part)" if alike else ""
    return f"there is no part {name!r} here{but}: if it is yours, name its class in parts=[...]"
