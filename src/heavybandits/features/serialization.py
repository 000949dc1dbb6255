"""Encoders as plain values, and back: nothing is believed that was not checked."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from .._utils.errors import InvalidInputError
from .._utils.version import __version__
from .columns import Category, Column, Number
from .dates import Date

KINDS: dict[str, type[Column]] = {kind.kind: kind for kind in (Number, Category, Date)}
KIND, FORMAT = "encoder", 1
MOST_COLUMNS = 10_000
KEYS = {"context", "offer", "meet", "action", "offers", "intercept", "ignore"}
STAMP = {"kind": KIND, "format": FORMAT}


def describe_column(column: Column) -> dict[str, Any]:
    """A column as a dictionary of its fields.

    >>> describe_column(KINDS["category"]("city", ("Oslo",)))
    {'kind': 'category', 'name': 'city', 'values': ['Oslo'], 'missing': False}
    """
    made: dict[str, Any] = {"kind": column.kind}
    for field in fields(column):  # type: ignore[arg-type]
        value = getattr(column, field.name)
        made[field.name] = list(value) if isinstance(value, tuple) else value
    return made


def describe_side(side: str, columns: Iterable[Column]) -> list[dict[str, Any]]:
    """What becomes of each column, in words: the rows of a table."""
    return [
        {
            "side": side,
            "column": column.name,
            "kind": column.kind,
            "becomes": column.describe(),
            "features": len(column.names),
            "gaps": "a feature" if column.missing else "refused",
        }
        for column in columns
    ]


def read_description(value: Any) -> dict[str, Any]:
    """The arguments of an encoder, if that is what was described."""
    if not isinstance(value, Mapping) or value.get("kind") != KIND:
        raise InvalidInputError(
            f"an encoder must be described by a dictionary of its kind, got {value!r:.80}"
        )
    if value.get("format") != FORMAT:
        raise InvalidInputError(
            f"the encoder has format {value.get('format')!r:.80}; heavybandits {__version__} reads "
            f"up to format {FORMAT}"
        )
    check_keys("the encoder", value, {*KEYS, *STAMP})
    made = {name: value[name] for name in KEYS}
    for side in ("context", "offer"):
        made[side] = [read_column(column) for column in listed(side, made[side])]
    listed("offers", made["offers"])
    if not isinstance(made["ignore"], bool):
        listed("ignore", made["ignore"])
    return made


def read_column(value: Any) -> Column:
    """A column from its dictionary; its constructor checks the values."""
    kind = KINDS.get(str(value.get("kind"))) if isinstance(value, Mapping) else None
    if kind is None:
        raise InvalidInputError(f"a column must be a {', '.join(KINDS)}, got {value!r:.80}")
    check_keys("a column", value, {"kind", *(field.name for field in fields(kind))})  # type: ignore[arg-type]
    return kind(**{name: each for name, each in value.items() if name != "kind"})


def listed(what: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST_COLUMNS:
        raise InvalidInputError(
            f"{what} of an encoder must be a list of at most {MOST_COLUMNS}, got {value!r:.80}"
        )
    return value


def check_keys(what: str, value: Mapping[str, Any], wanted: Iterable[str]) -> None:
    expected, found = set(wanted), set(value)
    if expected != found:
        odd = sorted(map(str, expected ^ found))
        raise InvalidInputError(
            f"{what} must have {', '.join(sorted(expected))}; it differs in {odd}"
        )
