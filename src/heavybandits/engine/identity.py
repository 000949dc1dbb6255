"""Parts as plain JSON and back: which part it is, and its fields.

A part is known by where its class lives, "module:Name"; a part of the library by its family, as in
"heavybandits.filters:Clip", so that no file cares where within the family the class is written.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..support.errors import InvalidInput, StateError
from .parts import is_part

PACKAGE = __name__.partition(".")[0]


def identity(part: type) -> str:
    """The name under which files know a class.

    >>> from heavybandits.filters import Clip
    >>> identity(Clip)
    'heavybandits.filters:Clip'
    """
    module = part.__module__
    if module.partition(".")[0] == PACKAGE:
        module = ".".join(module.split(".")[:2])
    return f"{module}:{part.__qualname__}"


def known_parts(*groups: Iterable[type]) -> dict[str, type]:
    """Classes by identity: only these are ever built. Two of one identity are refused.

    >>> from heavybandits.links import Logistic
    >>> known_parts([Logistic], [Logistic])
    {'heavybandits.links:Logistic': <class 'heavybandits.links.Logistic'>}
    """
    known: dict[str, type] = {}
    for part in (part for group in groups for part in group):
        if not (isinstance(part, type) and issubclass(part, tuple) and hasattr(part, "_fields")):
            raise InvalidInput(f"parts must be classes of parts (NamedTuples), got {part!r}")
        if known.setdefault(identity(part), part) is not part:
            raise InvalidInput(f"parts must differ in name, got two called {identity(part)!r}")
    return known


def describe(value: Any) -> Any:
    """A part as plain JSON.

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
    """The part that `describe` described, if all the parts in it are known.

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
    """Why a part is refused, and which known one it might be taken for."""
    alike = [other for other in known if other.rpartition(":")[2] == name.rpartition(":")[2]]
    but = f" ({alike[0]!r} is another part)" if alike else ""
    return f"there is no part {name!r} here{but}: if it is yours, name its class in parts=[...]"
