"""What an encoder refuses: columns that are not there or not known, sides that cannot meet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._utils.errors import EncodingError, InvalidInputError
from .columns import Column, check_name

Ignored = bool | tuple[str, ...]


def read_names(what: str, names: Any) -> tuple[str, ...]:
    """Names of columns, and not one name, which is a list of letters.

    >>> read_names("context", "age")
    Traceback (most recent call last):
    heavybandits.InvalidInputError: context must be a list of columns, got 'age'
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInputError(f"{what} must be a list of columns, got {names!r:.80}")
    return tuple(check_name(f"a name in {what}", name) for name in names)


def check_known(columns: Sequence[str], **told: Iterable[str]) -> None:
    """Whether what is told of columns is told of these.

    >>> check_known(["age"], kinds={"aeg": "number"})
    Traceback (most recent call last):
    heavybandits.InvalidInputError: kinds must name columns of context or offer, got 'aeg'
    """
    for what, names in told.items():
        for name in names:
            if name not in columns:
                raise InvalidInputError(
                    f"{what} must name columns of context or offer, got {name!r}"
                )


def check_row(row: Any, columns: Any, ignore: Ignored, place: str, name: Any) -> None:
    """Whether this is a dictionary with these columns and no others."""
    where = place if name is None else f"{place} {name!r}"
    if not isinstance(row, Mapping):
        raise InvalidInputError(f"what is given {where} must be a dictionary, got {row!r:.80}")
    check_columns(list(row), [column for column, _ in columns], ignore, where)


def check_columns(given: Sequence[Any], wanted: Sequence[str], ignore: Ignored, where: str) -> None:
    """Say which column is not there, or should not be.

    >>> check_columns(["age", "reward"], ["age"], False, "in the frame")
    Traceback (most recent call last):
    heavybandits.EncodingError: column 'reward' in the frame is not known to the
    encoder, which has age; with ignore=True it leaves such columns aside
    """
    lacking = [name for name in wanted if name not in set(given)]
    if lacking:
        there = ", ".join(map(str, given[:20])) or "none"
        reason = f"is missing {where}; there are {there}"
        raise EncodingError(reason, lacking[0], None, got=False)
    known = {*wanted, *(ignore if isinstance(ignore, tuple) else ())}
    extra = [name for name in given if name not in known]
    if extra and ignore is not True:
        reason = (
            f"{where} is not known to the encoder, which has {', '.join(wanted) or 'none'}; with "
            "ignore=True it leaves such columns aside"
        )
        raise EncodingError(reason, str(extra[0]), None, got=False)


def check_sides(context: Sequence[Any], offer: Sequence[Any]) -> None:
    """Columns, each with a name of its own."""
    names: set[str] = set()
    for column in (*context, *offer):
        if not isinstance(column, Column):
            raise InvalidInputError(
                f"context and offer must hold Number, Category or Date, got {column!r:.80}"
            )
        if column.name in names:
            raise InvalidInputError(
                f"columns must have names of their own, got {column.name!r} twice"
            )
        names.add(column.name)


def check_meeting(meet: str, columns: bool, offers: Sequence[str], action: str | None) -> None:
    """Whether something sets one offer apart from another."""
    if meet == "per-offer":
        if not offers or action is None or len(set(offers)) < len(offers):
            raise InvalidInputError(
                "offers must be the names of those with a block, and action their column, where "
                f"they meet per-offer; got {list(offers)!r:.80} and {action!r}"
            )
    elif offers:
        raise InvalidInputError(f"offers are for meet='per-offer', got {list(offers)!r:.80}")
    elif not columns:
        raise InvalidInputError(
            "offer must have a column, or all offers are alike; meet='per-offer' needs none"
        )
