"""The sources that can change the number of a cell: those of its function, of its parts and ours.

A stamp is taken once per process, when a function is first met with certain parts, which is when
their modules are loaded: it goes with the code in memory, not with what the files say later.
"""

import functools
import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..engine.cache import closure, digest, is_edited, source_file
from ..engine.compiling import is_cacheable
from ..engine.kernels import play_kernel
from ..engine.parts import PACKAGE, known_parts
from ..families import library_parts
from ..simulation.problem import Problem
from ..simulation.run import run_once
from ..support.errors import InvalidInput

# What every simulation goes through, whatever its parts.
_ALWAYS = {play_kernel.__module__, run_once.__module__}
_HOME = Path(__file__).parent.parent
ON_DEVICE = "_on_device"  # the end of the name of a cell function that plays on a GPU


def resolve(name: str, what: str = "function") -> Callable[..., Any]:
    """The function (or class) of a dotted name "package.module:function".

    >>> resolve("math:sqrt")(4.0)
    2.0
    """
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(
            f"{what} must be an importable 'module:{what}', got {name!r} ({error})"
        ) from error
    if not callable(function):
        raise InvalidInput(f"{what} must name something callable, got {name!r}")
    return function


class Stamp(NamedTuple):
    """A hash of sources, and a file that was edited after this process may have loaded it."""

    sources: str
    doubtful: Path | None


def stamp(function: str, settings: dict[str, Any]) -> Stamp:
    """The stamp of a function with the parts that are described in these settings.

    Of a function of yours it covers its module, what that takes from its own folder or package, and
    the whole library; of one of ours the modules that its parts are made of.

    >>> stamp("math:sqrt", {"x": 2.0}).sources
    ''
    """
    listed = settings.get("parts") if function.startswith(f"{PACKAGE}.") else None
    return _stamp(function, frozenset(_described(settings)), frozenset(listed or ()))


def _described(value: Any) -> Iterator[str]:
    """The names of the parts that `describe` wrote."""
    if isinstance(value, dict):
        if set(value) == {"part", "fields"}:
            yield str(value["part"])
        for item in value.values():
            yield from _described(item)
    elif isinstance(value, list):
        for item in value:
            yield from _described(item)


@functools.cache
def _stamp(function: str, described: frozenset[str], listed: frozenset[str]) -> Stamp:
    before = frozenset(sys.modules)
    home = str(getattr(resolve(function), "__module__", None) or function.partition(":")[0])
    own: list[Any] = [resolve(name, "part") for name in sorted(listed)]
    known: dict[str, Any] = dict(known_parts(library_parts().values(), [Problem], own))
    kinds = [known[n] if n in known else resolve(n, "part") for n in sorted(described)]
    modules = {base.__module__ for kind in [*kinds, *own] for base in kind.__mro__}
    if home.partition(".")[0] == PACKAGE:
        modules |= _ALWAYS
        rest = hashlib.sha256(Path(str(sys.modules[home].__file__)).read_bytes()).hexdigest()
        rest += library("cuda") if function.endswith(ON_DEVICE) else ""
    else:
        modules |= {home}
        rest = library() if source_file(home) else ""
    doubtful = [n for n in closure(frozenset(modules)) if n in before and is_edited(n)]
    sources = digest(modules) if closure(frozenset(modules)) else ""
    return Stamp(sources + rest, source_file(doubtful[0]) if doubtful else None)


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
    'heavybandits.filters.truncation:Clip'
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if found is None:
        raise InvalidInput(
            f"{what} must stand at the top of a module, where workers find it by its name, got "
            f"{name or thing!r}"
        )
    if found is not thing:
        raise InvalidInput(
            f"{what} must be the one its module calls {name!r}, got another {name!r}"
        )
    return f"{module}:{name}"


def own_parts(kinds: set[type]) -> list[str]:
    """The names of the parts that are not the library's; each can be found and hashed."""
    ours = {*library_parts().values(), Problem}
    found = sorted((kind for kind in kinds if kind not in ours), key=lambda kind: kind.__qualname__)
    names = [name_of(kind, "a part of a sweep") for kind in found]
    for kind in found:
        if not is_cacheable(kind):
            raise InvalidInput(
                f"a part of a sweep must be written in a .py file, whose text tells its versions "
                f"apart; {kind.__qualname__} is not (hb.simulate takes it as it is)"
            )
    return names
