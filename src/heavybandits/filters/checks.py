"""Filters at the door."""

from typing import Any

from ..engine.parts import is_part
from ..support.errors import InvalidInput


def check_filter(part: Any) -> Any:
    """The filter, if it is one."""
    if not is_part(part) or not all(hasattr(part, name) for name in ("init", "clean", "plays")):
        raise InvalidInput(f"filter must be a filter such as Raw(), got {part!r}")
    return part
