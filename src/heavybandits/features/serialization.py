"""Encoders as plain values for JSON, and back; every value is validated when it is read."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from .._utils.errors import InvalidInputError
from .._utils.version import __version__
from .columns import Category, Column, Date, Number

TYPES: dict[str, type[Number | Category | Date]] = {
    "number": Number,
    "category": Category,
    "date": Date,
}
KIND, FORMAT = "encoder", 1
MOST_COLUMNS = 10_000
SIDES = ("context_columns", "action_columns")
KEYS = {*SIDES, "interactions", "action", "actions", "intercept", "allow_extra"}
STAMP = {"kind": KIND, "format": FORMAT}


def write_column(column: Column) -> dict[str, Any]:
    """Return the type and the fields of a column.

    >>> write_column(Category("city", ("Oslo",)))
    {'type': 'category', 'name': 'city', 'categories': ['Oslo'], 'allow_missing': False,
    'normalize': 'nfc'}
    """
    written: dict[str, Any] = {"type": column.type}
    for field in fields(column):  # type: ignore[arg-type]
        value = getattr(column, field.name)
        written[field.name] = list(value) if isinstance(value, tuple) else value
    return written


def read_arguments(value: object) -> dict[str, Any]:
    """Return the arguments of an encoder from the dictionary that `Encoder.to_dict` wrote."""
    if not isinstance(value, Mapping) or value.get("kind") != KIND:
        raise InvalidInputError(
            f"an encoder must be a dictionary with kind {KIND!r}, as Encoder.to_dict() writes it, "
            f"got {value!r:.80}"
        )
    if value.get("format") != FORMAT:
        raise InvalidInputError(
            f"an encoder must have format {FORMAT}, which heavybandits {__version__} reads, got "
            f"{value.get('format')!r:.80}; install the version that wrote it"
        )
    _check_keys("an encoder", value, {*KEYS, *STAMP})
    arguments = {name: value[name] for name in KEYS}
    for side in SIDES:
        arguments[side] = [read_column(column) for column in _listed(side, arguments[side])]
    _listed("actions", arguments["actions"])
    if not isinstance(arguments["allow_extra"], bool):
        _listed("allow_extra", arguments["allow_extra"])
    return arguments


def read_column(value: object) -> Column:
    """Return a column from its dictionary; its constructor validates the values."""
    found = TYPES.get(str(value.get("type"))) if isinstance(value, Mapping) else None
    if found is None or not isinstance(value, Mapping):
        raise InvalidInputError(
            f"a column must have one of the types {', '.join(TYPES)}, got {value!r:.80}"
        )
    _check_keys("a column", value, {"type", *(field.name for field in fields(found))})
    return found(**{name: each for name, each in value.items() if name != "type"})


def _listed(what: str, value: object) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST_COLUMNS:
        raise InvalidInputError(
            f"{what} of an encoder must be a list of at most {MOST_COLUMNS}, got {value!r:.80}"
        )
    return value


def _check_keys(what: str, value: Mapping[Any, Any], wanted: Iterable[str]) -> None:
    expected, found = set(wanted), set(value)
    if expected != found:
        odd = sorted(map(str, expected ^ found))
        raise InvalidInputError(
            f"{what} must have the keys {', '.join(sorted(expected))}; it differs in {odd}"
        )
