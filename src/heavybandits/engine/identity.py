"""Parts as plain JSON and back: which part it is, and its fields."""

from typing import Any

import numpy as np

from ..agents.state_arrays import flatten as flatten
from ..support.errors import StateError
from .parts import classes_of as classes_of
from .parts import is_part


def describe(value: Any) -> Any:
    """A part as plain JSON."""
    if is_part(value):
        fields = {name: describe(field) for name, field in zip(value._fields, value, strict=True)}
        return {"part": type(value).__name__, "fields": fields}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    return value


def build(description: Any, known: dict[str, type]) -> Any:
    """The part that `describe` described."""
    if not isinstance(description, dict):
        return description
    if set(description) == {"array"}:
        return np.array(description["array"], dtype=np.float64)
    if set(description) != {"part", "fields"} or not isinstance(description["fields"], dict):
        raise StateError("the policy in the file is not described as parts")
    name, fields = description["part"], description["fields"]
    if name not in known:
        raise StateError(
            f"the file uses a part {name!r}; if it is yours, load(path, parts=[{name}])"
        )
    if set(fields) != set(known[name]._fields):  # type: ignore[attr-defined]
        raise StateError(f"the fields of {name!r} in the file are not those of this version")
    return known[name](**{key: build(field, known) for key, field in fields.items()})
