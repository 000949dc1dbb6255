"""Cells: what is to be computed, named by its content and never by its position."""

import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..support.errors import InvalidInput
from ..support.files import canonical
from ..support.validation import positive
from .stamps import stamp


@dataclass(frozen=True)
class Cell:
    """One piece of a sweep: a pure function by name, and its settings.

    The key holds the sources of whatever can change the result (`sources`): the module of the
    function, what it takes from its own folder or package, the modules of all parts in the
    settings, and the library's. A cell of edited code is another cell.

    Parameters
    ----------
    function : "package.module:function"; it is called with the settings as keywords, takes its
        seeds from them alone and returns a dict of arrays, numbers and strings.
    settings : plain JSON (numbers, strings, bools, lists, dicts, None). Parts are written with
        `describe`. 1 and 1.0 are different settings.
    code : more that the result depends on, such as the version of a file with data.
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
    sources: str = field(init=False, repr=False)

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
        object.__setattr__(self, "sources", stamp(self.function, self.settings).sources)

    @property
    def content(self) -> list[Any]:
        """All that it is: what the key is made of, and what its file says of it."""
        return [self.function, self.settings, self.code + self.sources]

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of the function, the settings and the sources."""
        return hashlib.sha256(canonical(self.content).encode()).hexdigest()

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
