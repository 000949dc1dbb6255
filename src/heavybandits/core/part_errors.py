"""Say where in which part something went wrong: class, method, line and cause."""

import linecache
import traceback
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar

from .._utils.errors import InvalidInputError, PartError
from .._utils.validation import closest

T = TypeVar("T")

PACKAGE = __name__.partition(".")[0]


def attempt(own: frozenset[type], function: Callable[..., T], *arguments: Any) -> T:
    """Call a function that runs parts of these classes; what it raises becomes a PartError.

    InvalidInputError, MemoryError and PartError stay as they are, and so does every error if there
    is no such class.
    """
    try:
        return function(*arguments)
    except (InvalidInputError, MemoryError, PartError):
        raise
    except Exception as error:
        if not own:
            raise
        raise PartError(explain(error, own), traceback.format_exc()) from None


class Place(NamedTuple):
    """A line of code: in which function, and of which class if it is a method."""

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}, line {self.line}"

    def quoted(self) -> str:
        """Return the line itself, below the file it is in."""
        source = linecache.getline(self.file, self.line).strip()
        return f"  {self.file}, line {self.line}" + (f"\n    {source}" if source else "")


def names_of(own: frozenset[type]) -> str:
    """Return the names of these classes, without those that are only states."""
    parts = {kind.__name__ for kind in own if any(map(callable, _public(kind)))}
    return ", ".join(sorted(parts or {kind.__name__ for kind in own}))


def _public(kind: type) -> Iterator[Any]:
    own = (base for base in kind.__mro__ if base not in (tuple, object))
    return (member for base in own for name, member in vars(base).items() if name[0] != "_")


def codes(own: frozenset[type]) -> Iterator[tuple[str, CodeType]]:
    """The methods of these classes, as "Class.method", and then the functions of their modules."""
    members = [(f"{c.__name__}.{n}", m) for c in own for b in c.__mro__ for n, m in vars(b).items()]
    found = [(name, getattr(member, "fget", member)) for name, member in members]
    modules = [function.__globals__ for _, function in found if isinstance(function, FunctionType)]
    for name, function in [*found, *(item for names in modules for item in names.items())]:
        if isinstance(function, FunctionType) and function.__module__.partition(".")[0] != PACKAGE:
            yield name, function.__code__


def explain(error: Exception, own: frozenset[type]) -> str:
    """Return where in which part an uncompiled run went wrong, and why."""
    known = {code: name for name, code in reversed([*codes(own)])}
    frames = [*traceback.walk_tb(error.__traceback__)]
    places = [
        Place(known[frame.f_code], frame.f_code.co_filename, line)
        for frame, line in frames
        if frame.f_code in known
    ]
    if not places:  # the library stumbles over what a part has returned or keeps
        frame, line = frames[-1]
        at = Place(frame.f_code.co_qualname, frame.f_code.co_filename, line)
        return f"{names_of(own)}: {cause(error)}\n  found by {at} of heavybandits\n{at.quoted()}"
    inner = frames[-1][0].f_code
    called = "" if inner in known else f", calling {inner.co_name}"
    methods = [place for place in places if "." in place.name] or places
    path = [methods[-1]] + ([places[-1]] if places[-1] != methods[-1] else [])
    head = ", calling ".join(map(str, path))
    return "\n".join([f"{head}{called}: {cause(error)}", *(place.quoted() for place in path)])


def cause(error: Exception) -> str:
    """Return what Python says, and what was probably meant.

    >>> cause(IndexError("index 99 is out of bounds for axis 0 with size 4"))
    'index 99 is out of bounds for axis 0 with size 4'
    """
    said = str(error) or type(error).__name__
    if not isinstance(error, AttributeError):
        return said if isinstance(error, IndexError) else f"{type(error).__name__}: {said}"
    names = [name for name in dir(error.obj) if not name.startswith("_")]
    close = closest(str(error.name), names)
    hint = f"; did you mean {close!r}?" if close else ""
    if "can't set" in said or "read-only" in said:
        hint = ": fields are constants; what changes is kept in an array of the state"
    return said.replace(" object has no ", " has no ") + hint
