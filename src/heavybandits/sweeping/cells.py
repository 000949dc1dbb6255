"""Cells: what is to be computed, named by its content and never by its position."""

import functools
import hashlib
import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..support.container import canonical
from ..support.errors import InvalidInput
from ..support.validation import positive


def resolve(name: str) -> Callable[..., Any]:
    """The function of a dotted name "package.module:function".

    >>> resolve("math:sqrt")(4.0)
    2.0
    """
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(
            f"function must be an importable 'module:function', got {name!r} ({error})"
        ) from error
    if not callable(function):
        raise InvalidInput(f"function must name something callable, got {name!r}")
    return function


@dataclass(frozen=True)
class Cell:
    """One piece of a sweep: a pure function by name, and its settings.

    Parameters
    ----------
    function : "package.module:function"; it is called with the settings as keywords, takes its
        seeds from them alone and returns a dict of arrays, numbers and strings.
    settings : plain JSON (numbers, strings, bools, lists, dicts, None). Parts are written with
        `describe`. 1 and 1.0 are different settings.
    code : a stamp of the code that matters: change it and the cell is another cell.
    label : for people. Not part of the key.
    weight : expected cost relative to other cells, for the time left. Not part of the key.

    >>> Cell("math:sqrt", {"x": 2.0}).key[:12]
    '65b4c2a91aa4'
    """

    function: str
    settings: dict[str, Any]
    code: str = ""
    label: str = field(default="", compare=False)
    weight: float = field(default=1.0, compare=False)

    def __post_init__(self) -> None:
        for name in ("function", "code", "label"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"{name} must be a string, got {getattr(self, name)!r}")
        if not isinstance(self.settings, dict):
            raise InvalidInput(f"settings must be a dict, got {type(self.settings).__name__}")
        check_json("settings", self.settings)
        positive("weight", self.weight)
        # A copy of its own: a later change of the caller's dict must not change what the key means.
        object.__setattr__(self, "settings", json.loads(canonical(self.settings)))

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of the function, the settings and the code stamp."""
        text = canonical([self.function, self.settings, self.code])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.label or f"{self.function} {self.key[:12]}"

    def __hash__(self) -> int:
        return hash(self.key)


def check_json(name: str, value: Any) -> None:
    """Refuse what JSON cannot hold exactly, saying where it is.

    >>> check_json("settings", {"horizon": [1, {2}]})
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: settings['horizon'][1] must be plain JSON, got {2}
    """
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"{name} must have strings as keys, got {key!r}")
            check_json(f"{name}[{key!r}]", item)
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        for index, item in enumerate(value):
            check_json(f"{name}[{index}]", item)
    elif isinstance(value, float):
        if value - value != 0.0:
            raise InvalidInput(f"{name} must be finite, got {value}")
    elif value is not None and not isinstance(value, str | int):
        raise InvalidInput(f"{name} must be plain JSON, got {value!r}")


def kind(cell: Cell) -> str:
    """What cells that differ only in numbers share: they need the same compiled code.

    >>> kind(Cell("math:sqrt", {"x": 2.0})) == kind(Cell("math:sqrt", {"x": 3.0}))
    True
    """
    return canonical([cell.function, _without_numbers(cell.settings)])


def _without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted({canonical(_without_numbers(item)) for item in value})
    return type(value).__name__ if isinstance(value, int | float) else value


def schedule(cells: Iterable[Cell]) -> list[Cell]:
    """Heavy cells first, so that none is left running alone at the end, but one of each kind before
    all others: workers then compile different kernels at the same time instead of the same one.

    >>> cells = [Cell("math:sqrt", {"x": x}, weight=x) for x in (1.0, 3.0, 2.0)]
    >>> [cell.weight for cell in schedule([*cells, Cell("math:exp", {"x": 1.0})])]
    [3.0, 1.0, 2.0, 1.0]
    """
    heavy_first = sorted(cells, key=lambda cell: -cell.weight)
    first = {kind(cell): cell for cell in reversed(heavy_first)}
    leaders = {cell.key for cell in first.values()}
    return sorted(heavy_first, key=lambda cell: cell.key not in leaders)
