"""Parts by the names that people type: each family keeps one registry of its own."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InvalidInputError
from .validation import one_of


@dataclass(frozen=True)
class Entry:
    """A named part: the function that makes it, a description, and the numbers it takes."""

    make: Callable[..., Any]
    about: str
    numbers: tuple[str, ...] = ()


def make_named(kind: str, text: str, registry: Mapping[str, Entry]) -> Any:
    """Return the part that a text such as `t:3:0.5` names: name and numbers, which may be left out.

    >>> from heavybandits.noises import REGISTRY
    >>> make_named("noise", "t:3:0.5", REGISTRY)
    StudentT(dof=3, scale=0.5)
    """
    name, *words = text.split(":")
    entry = registry[one_of(kind, name.lower(), registry)]
    try:
        numbers = [int(word) if word.isdigit() else float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != len(words) or len(numbers) > len(entry.numbers):
        takes = f"numbers after colons ({', '.join(entry.numbers)})" if entry.numbers else "none"
        raise InvalidInputError(f"{kind} {name} takes {takes}, got {text!r}")
    try:
        inspect.signature(entry.make).bind(*numbers)
    except TypeError:
        needed = ":".join([name, *entry.numbers]).upper()
        raise InvalidInputError(f"{kind} {name} needs its numbers, as in {needed}") from None
    return entry.make(*numbers)
