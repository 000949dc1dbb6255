"""Cells: what is to be computed, named by its content and never by its position.

The content includes all that can change the result: the sources of the function, of the parts and
of this library (core/sources.py), and the helpers and values that the function can reach
(core/reach.py). A stamp of the sources is taken once per process, for every function and its parts,
when their modules are loaded: it belongs to the code in memory, not to later versions of the files.
"""

import functools
import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError
from .._utils.files import canonical
from .._utils.validation import positive
from ..core.compile import is_cacheable
from ..core.kernels import play_kernel
from ..core.part import PACKAGE, known_parts
from ..core.reach import reach
from ..core.sources import (
    closure,
    current_digest,
    digest,
    imports,
    is_edited,
    origin,
    source_file,
)
from ..parts.registry import library_parts
from ..simulation.player import play_job
from ..simulation.problem import Problem

# What every simulation goes through, whatever its parts.
_ALWAYS = {play_kernel.__module__, play_job.__module__}
_HOME = Path(__file__).parent.parent
MAIN = "__main__"
ON_DEVICE = "_on_device"  # the end of the name of a cell function that plays on a GPU


@dataclass(frozen=True)
class Cell:
    """Define one piece of a sweep: a pure function by name, and its settings.

    The key contains the sources of everything that can change the result (`sources`): the module of
    the function, every module of yours that it imports, the modules of all parts in the settings,
    and those of the library. A cell of edited code is another cell.

    Parameters
    ----------
    function : str
        "package.module:function". It receives the settings as keywords, takes its seeds from them
        alone and returns a dict of arrays, numbers and strings.
    settings : dict
        Plain JSON (numbers, strings, bools, lists, dicts, None). `describe` writes parts so. 1 and
        1.0 are different settings.
    code : str, default ""
        Anything else that the result depends on, such as the version of a data file.
    label : str, default ""
        Text for people. Not part of the key.
    weight : float, default 1.0
        Expected cost relative to other cells, for the estimate of the time left. Not part of the
        key.

    Examples
    --------
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
                raise InvalidInputError(f"{name} must be a string, got {getattr(self, name)!r}")
        if not isinstance(self.settings, dict):
            raise InvalidInputError(f"settings must be a dict, got {type(self.settings).__name__}")
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
    def on_device(self) -> bool:
        """Return True if a GPU plays it."""
        return self.function.endswith(ON_DEVICE)

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.label or f"{self.function} {self.key[:12]}"

    def __hash__(self) -> int:
        return hash(self.key)


def check_json(name: str, value: Any) -> None:
    """Raise an error, with the place, for what JSON cannot represent exactly.

    >>> check_json("settings", {"horizon": [1, {2}]})
    Traceback (most recent call last):
    heavybandits.InvalidInputError: settings['horizon'][1] must be plain JSON, got {2}
    """
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInputError(f"{name} must have strings as keys, got {key!r}")
            check_json(f"{name}[{key!r}]", item)
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        for index, item in enumerate(value):
            check_json(f"{name}[{index}]", item)
    elif isinstance(value, float):
        if value - value != 0.0:
            raise InvalidInputError(f"{name} must be finite, got {value}")
    elif value is not None and not isinstance(value, str | int):
        raise InvalidInputError(f"{name} must be plain JSON, got {value!r}")


def kind(cell: Cell) -> str:
    """Return what cells share that differ only in numbers: they need the same compiled code.

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


# ---- the sources that can change a number


def resolve(name: str, what: str = "function") -> Callable[..., Any]:
    """Return the function (or class) of a dotted name "package.module:function".

    >>> resolve("math:sqrt")(4.0)
    2.0
    """
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"{what} must be an importable 'module:{what}', got {name!r} ({error})"
        ) from error
    if not callable(function):
        raise InvalidInputError(f"{what} must name something callable, got {name!r}")
    return function


class Stamp(NamedTuple):
    """A hash of sources, and what it cannot vouch for.

    `doubtful` is a file that was edited after this process may have loaded it. `modules` are those
    whose sources are in the hash, and `later` those among them that were not loaded yet, with the
    hashes of their files. `dynamic` is True if the code imports modules of computed names, and
    `opaque` names code that runs a text or a file, of which no hash knows.
    """

    sources: str
    doubtful: str | None = None
    modules: frozenset[str] = frozenset()
    later: tuple[tuple[str, str], ...] = ()
    dynamic: bool = False
    opaque: str | None = None


class Asked(NamedTuple):
    """A function, and the parts that are described and listed in its settings, by name."""

    function: str
    described: frozenset[str]
    listed: frozenset[str]


def stamp(function: str, settings: dict[str, Any], again: bool = True) -> Stamp:
    """Return the stamp of a function with the parts that are described in these settings.

    Of a function of yours it covers its module, every module of yours that it imports, the values
    that it can reach, and the whole library; of one of ours the modules that its parts are made of.

    Parameters
    ----------
    again : bool, default True
        Look at the values again; False for the stamp that this process has made last.

    >>> stamp("math:sqrt", {"x": 2.0}).sources
    ''
    """
    listed = settings.get("parts") if function.startswith(f"{PACKAGE}.") else None
    asked = Asked(function, frozenset(_described(settings)), frozenset(listed or ()))
    if again or asked not in _LAST:
        _LAST[asked] = _stamp(asked)
    return _LAST[asked]


_LAST: dict[Asked, Stamp] = {}
_SOURCES: dict[Any, Stamp] = {}


def _described(value: Any) -> Iterator[str]:
    """Yield the names of the parts that `describe` wrote."""
    if isinstance(value, dict):
        if set(value) == {"part", "fields"}:
            yield str(value["part"])
        for item in value.values():
            yield from _described(item)
    elif isinstance(value, list):
        for item in value:
            yield from _described(item)


def _stamp(asked: Asked) -> Stamp:
    before = frozenset(sys.modules)
    called = resolve(asked.function)
    home = str(getattr(called, "__module__", None) or asked.function.partition(":")[0])
    own: list[Any] = [resolve(name, "part") for name in sorted(asked.listed)]
    known: dict[str, Any] = dict(known_parts(library_parts().values(), [Problem], own))
    kinds = [known[n] if n in known else resolve(n, "part") for n in sorted(asked.described)]
    mine = [kind for kind in [*kinds, *own] if not _is_ours(kind.__module__)]
    written = home == MAIN or source_file(home) is not None
    roots = [called, *mine] if written and not _is_ours(home) else mine
    reached = reach(roots, mutable=not _is_ours(home))
    modules = {base.__module__ for kind in [*kinds, *own] for base in kind.__mro__}
    modules |= {*reached.modules, *(_ALWAYS if _is_ours(home) else {home})}
    named = asked, called, tuple(kinds), tuple(own), frozenset(modules)
    if named not in _SOURCES:
        rest = _rest_of_library(home, asked.function) if written else ""
        _SOURCES[named] = _stamp_sources(frozenset(modules), rest, before, reached.modules)
    found = _SOURCES[named]
    values = reached.values if roots else ""
    return found._replace(sources=found.sources + values, opaque=reached.opaque or found.opaque)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _rest_of_library(home: str, function: str) -> str:
    """Return a hash of the sources of this library that no import tells."""
    if not _is_ours(home):
        return library()
    own = hashlib.sha256(Path(str(sys.modules[home].__file__)).read_bytes()).hexdigest()
    return own + (library("gpu") if function.endswith(ON_DEVICE) else "")


def _stamp_sources(
    modules: frozenset[str], rest: str, before: frozenset[str], walked: frozenset[str]
) -> Stamp:
    """Stamp modules and all they build on.

    Those in `before` were loaded already. Of those in `walked` every reached function was looked
    at, so that only the others can hide a text that is run.
    """
    names = closure(modules)
    doubtful = [name for name in names if name in before and is_edited(name)]
    later = tuple((name, current_digest(name)) for name in names if name not in sys.modules)
    read = {name: imports(name) for name in names if not _is_ours(name)}
    hidden = [
        f"{origin(name)}, line {found.opaque}"
        for name, found in read.items()
        if found.opaque and name not in walked
    ]
    return Stamp(
        sources=(digest(modules) if names else "") + rest,
        doubtful=origin(doubtful[0]) if doubtful else None,
        modules=frozenset(names),
        later=later,
        dynamic=any(found.dynamic for found in read.values()),
        opaque=f"{hidden[0]} runs a text or a file" if hidden else None,
    )


@functools.cache
def library(folder: str = "") -> str:
    """A hash of all our sources: there is no telling which of them a function of yours calls.

    Or of those in one folder, such as the kernels of a GPU, of which a call loads what it needs.
    """
    total = hashlib.sha256()
    for path in sorted((_HOME / folder).rglob("*.py")):
        total.update(str(path.relative_to(_HOME)).encode() + path.read_bytes())
    return total.hexdigest()


# ---- what can be named


def name_of(thing: Any, what: str) -> str:
    """The name by which another process finds a function or class, if the name means this one.

    >>> from heavybandits.filters import Clip
    >>> name_of(Clip, "the filter")
    'heavybandits.parts.filters.truncation:Clip'
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if found is None:
        raise InvalidInputError(
            f"{what} must stand at the top of a module, where workers find it by its name, got "
            f"{name or thing!r}"
        )
    if found is not thing:
        raise InvalidInputError(
            f"{what} must be the one its module calls {name!r}, got another {name!r}"
        )
    return f"{module}:{name}"


def own_parts(kinds: set[type]) -> list[str]:
    """Return the names of the parts that are not the library's; each can be found and hashed."""
    ours = {*library_parts().values(), Problem}
    found = sorted((kind for kind in kinds if kind not in ours), key=lambda kind: kind.__qualname__)
    names = [name_of(kind, "a part of a sweep") for kind in found]
    for kind in found:
        if not is_cacheable(kind):
            raise InvalidInputError(
                f"a part of a sweep must be written in a .py file, whose text tells its versions "
                f"apart; {kind.__qualname__} is not (hb.simulate takes it as it is)"
            )
    return names
