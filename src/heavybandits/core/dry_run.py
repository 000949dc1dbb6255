"""Parts of your own are tried before they are compiled, and what is wrong is said in a few lines.

Compiled code does not look whether an index is in bounds, and numba explains a misspelt name in
hundreds of lines. So the first call of a kernel with a part that is not the library's runs
uncompiled, on a copy of its arguments: the real run finds everything as it was.
"""

import copy
import difflib
import linecache
import traceback
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import PartError
from .capabilities import capacity_of
from .part import PACKAGE, walk

DECISIONS, LOOK = 32, 200_000  # rehearsed at most; fewer where each takes many numbers


def first_plays(policy: Any, arms: Any) -> int:
    """How many plays are rehearsed: some decisions, few where arms are many or long.

    >>> from heavybandits import arms, linucb
    >>> first_plays(linucb(dim=10, radius=1.0), arms.PerRound(20, 10))
    32
    >>> first_plays(linucb(dim=100, radius=1.0), arms.PerRound(1000, 100))
    2
    """
    room = capacity_of(policy) or DECISIONS
    numbers = policy.dim * (policy.dim + arms.size)
    return int(policy.plays * min(room, DECISIONS, max(2, LOOK // numbers)))


def shapes(value: Any) -> tuple[Any, ...]:
    """The shapes of all arrays in the arguments of a call: an index may fit one and not another."""
    fields = (field for part in walk(value) for field in part)
    return tuple(field.shape for field in fields if isinstance(field, np.ndarray))


def rehearse(kernel: Callable[..., Any], arguments: tuple[Any, ...], own: frozenset[type]) -> None:
    """Run a kernel in Python on a copy of its arguments; PartError says what its parts do wrong.

    Arithmetic that stops Python, such as 1.0 / 0.0, stops nothing here: compiled code continues
    with inf or nan.
    """
    try:
        with np.errstate(all="ignore"):
            kernel(*copy.deepcopy(arguments))
    except (PartError, MemoryError):
        raise
    except ArithmeticError:
        pass
    except Exception as error:
        if not (isinstance(error, ValueError) and "math domain error" in str(error)):
            raise PartError(explain(error, own), traceback.format_exc()) from None


class Place(NamedTuple):
    """A line of code: in which function, and of which class if it is a method."""

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}, line {self.line}"

    def quoted(self) -> str:
        """The line itself, below the file it is in."""
        source = linecache.getline(self.file, self.line).strip()
        return f"  {self.file}, line {self.line}" + (f"\n    {source}" if source else "")


def codes(own: frozenset[type]) -> Iterator[tuple[str, CodeType]]:
    """The methods of these classes, as "Class.method", and then the functions of their modules."""
    members = [(f"{c.__name__}.{n}", m) for c in own for b in c.__mro__ for n, m in vars(b).items()]
    found = [(name, getattr(member, "fget", member)) for name, member in members]
    modules = [function.__globals__ for _, function in found if isinstance(function, FunctionType)]
    for name, function in [*found, *(item for names in modules for item in names.items())]:
        if isinstance(function, FunctionType) and function.__module__.partition(".")[0] != PACKAGE:
            yield name, function.__code__


def explain(error: Exception, own: frozenset[type]) -> str:
    """Where in which part an uncompiled run went wrong, and why."""
    known = {code: name for name, code in reversed([*codes(own)])}
    frames = [*traceback.walk_tb(error.__traceback__)]
    places = [
        Place(known[frame.f_code], frame.f_code.co_filename, line)
        for frame, line in frames
        if frame.f_code in known
    ]
    if not places:  # the library stumbles over what a part has returned or keeps
        frame, line = frames[-1]
        names = ", ".join(sorted(part.__name__ for part in own))
        at = Place(frame.f_code.co_qualname, frame.f_code.co_filename, line)
        return f"{names}: {cause(error)}\n  found by {at} of heavybandits\n{at.quoted()}"
    inner = frames[-1][0].f_code
    called = "" if inner in known else f", calling {inner.co_name}"
    methods = [place for place in places if "." in place.name] or places
    path = [methods[-1]] + ([places[-1]] if places[-1] != methods[-1] else [])
    head = ", calling ".join(map(str, path))
    return "\n".join([f"{head}{called}: {cause(error)}", *(place.quoted() for place in path)])


def cause(error: Exception) -> str:
    """What Python says, and what was probably meant.

    >>> cause(IndexError("index 99 is out of bounds for axis 0 with size 4"))
    'index 99 is out of bounds for axis 0 with size 4'
    """
    said = str(error) or type(error).__name__
    if not isinstance(error, AttributeError):
        return said if isinstance(error, IndexError) else f"{type(error).__name__}: {said}"
    names = [name for name in dir(error.obj) if not name.startswith("_")]
    close = difflib.get_close_matches(str(error.name), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    if "can't set" in said or "read-only" in said:
        hint = ": fields are constants; what changes is kept in an array of the state"
    return said.replace(" object has no ", " has no ") + hint
