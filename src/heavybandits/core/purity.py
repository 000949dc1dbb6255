"""Find what makes two runs of one part differ: random generators, clocks, global state.

A part is a function of its arguments. Compiled code may call `np.random` and `random`, and the
results would differ from call to call. So the bytecode of the methods of a part that is not the
library's, and of all functions that they call, is read before the part runs.
"""

import dis
import functools
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np

from .._utils.errors import PartError
from .conformance import members
from .dispatch import DISPATCHED
from .part_errors import PACKAGE, Place
from .protocols import CONTRACTS

RANDOM = (
    "random numbers from uniform(key, ...) of heavybandits.authoring; a policy that draws has a "
    "field `seed` and a counter in its state"
)
CLOCK = "the play or a count, kept in an array of the state"
STATE = "an array of the state, made by `init`"
FIELD = "a field of the part"
PLAIN = "what compiled code can do by itself"

# Modules whose use makes a part no function of its arguments, and what to write instead.
IMPURE = {
    "numpy.random": RANDOM,
    "random": RANDOM,
    "secrets": RANDOM,
    "uuid": RANDOM,
    "time": CLOCK,
    "datetime": CLOCK,
    "os": FIELD,
    "nt": FIELD,
    "posix": FIELD,
    type(numba.objmode).__module__: PLAIN,
}
HARMLESS_OS = ("path", "fspath", "PathLike")
# Generators that need a seed. Methods that are never compiled may use them.
SEEDED = (np.random.default_rng, *(v for v in vars(np.random).values() if isinstance(v, type)))
# Packages whose functions are not read.
LIBRARIES = frozenset({PACKAGE, "numpy", "numba", "scipy", "pandas", "llvmlite"})

_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})
_NAME = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_GLOBAL = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})


class Finding(NamedTuple):
    """What is impure, where, and what to write instead."""

    name: str
    code: CodeType
    line: int
    instead: str


@functools.cache
def check_purity(kind: type) -> None:
    """Raise PartError if a method of this class uses a random generator, a clock or global state.

    >>> from heavybandits.noises import StudentT
    >>> check_purity(StudentT)
    """
    for method, function in _methods(kind):
        found = next(_Reader(kind, method in DISPATCHED).read(function), None)
        if found is not None:
            raise PartError(_explain(kind, method, function, found))


def _methods(kind: type) -> Iterator[tuple[str, FunctionType]]:
    """Yield the methods and properties of a contract that the class or its own bases define."""
    names = {name for contract in CONTRACTS.values() for name in members(contract)}
    for name in sorted(names | {"observe", "means", "squared"}):
        member = inspect.getattr_static(kind, name, None)
        function = getattr(member, "fget", member)
        if isinstance(function, FunctionType) and not _is_of(function, (PACKAGE,)):
            yield name, function


def _explain(kind: type, method: str, function: FunctionType, found: Finding) -> str:
    own = Place(f"{kind.__name__}.{method}", function.__code__.co_filename, found.line)
    if found.code is function.__code__ or found.code in function.__code__.co_consts:
        path = [own]
    else:  # in a function that the method calls
        line = function.__code__.co_firstlineno
        called = Place(found.code.co_name, found.code.co_filename, found.line)
        path = [own._replace(line=line), called]
    head = f"{', calling '.join(map(str, path))}: it {found.name}, so two runs differ"
    return "\n".join([head, path[-1].quoted(), f"write instead: {found.instead}"])


class _Reader:
    """Reads a method and the functions that it calls."""

    def __init__(self, kind: type, compiled: bool) -> None:
        self._kind, self._compiled = kind, compiled
        self._seen: set[CodeType] = set()
        module = sys.modules.get(kind.__module__)
        self._package = kind.__module__.partition(".")[0]
        self._folder = _folder(getattr(module, "__file__", None))

    def read(self, function: FunctionType) -> Iterator[Finding]:
        """Yield what is impure in a function, and in those that it calls."""
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        names = dict(vars(_builtins(function))) | function.__globals__
        for name, cell in cells:
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        yield from self._read_code(function.__code__, names)
        for step, line in _steps(function.__code__):
            if step.opname == "STORE_DEREF" and step.argval in function.__code__.co_freevars:
                found = f"assigns to the outer variable {step.argval}"
                yield Finding(found, function.__code__, line, STATE)

    def _read_code(self, code: CodeType, names: dict[str, Any]) -> Iterator[Finding]:
        if code in self._seen:
            return
        self._seen.add(code)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                yield from self._read_code(inner, names)
        for path, value, line in self._values(code, names):
            value = value.func if isinstance(value, functools.partial) else value
            instead = _impurity(value, path, self._compiled)
            if instead:
                yield Finding(f"uses {_spell(value, path)}", code, line, instead)
            for function in _functions(value):
                if self._follows(function):
                    yield from self.read(function)
        for step, line in _steps(code):
            if step.opname in _GLOBAL:
                yield Finding(f"assigns to the global {step.argval}", code, line, STATE)

    def _values(
        self, code: CodeType, names: dict[str, Any]
    ) -> Iterator[tuple[tuple[str, ...], Any, int]]:
        """Yield the values of names, and of the attributes read from them, with their line."""
        value: Any = None
        module: Any = None
        path: tuple[str, ...] = ()
        for step, line in _steps(code):
            if step.opname in _ATTRIBUTE and path and value is not None:
                value, path = _attribute(value, step.argval), (*path, step.argval)
                place = line
                continue
            if path:
                yield path, value, place
            path, place = (), line
            if step.opname in _NAME:
                value, path = names.get(step.argval), (step.argval,)
            elif step.opname == "IMPORT_NAME":
                value = module = sys.modules.get(step.argval)
                path = (step.argval,)
            elif step.opname == "IMPORT_FROM":  # the second name of one import
                yield (step.argval,), getattr(module, step.argval, None), line
            elif step.opname in _ATTRIBUTE:  # of a value: perhaps the part itself
                member = inspect.getattr_static(self._kind, step.argval, None)
                if step.argval not in getattr(self._kind, "_fields", ()):
                    yield (step.argval,), getattr(member, "fget", member), line
        if path:
            yield path, value, place

    def _follows(self, function: FunctionType) -> bool:
        """Return True if a function is read: in code that is never compiled, only the user's."""
        if _is_of(function, LIBRARIES):
            return False
        if self._compiled:
            return True
        near = self._folder is not None and _folder(function.__code__.co_filename) == self._folder
        return near or _is_of(function, (self._package,))


def _steps(code: CodeType) -> Iterator[tuple[dis.Instruction, int]]:
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        found = step.positions.lineno if step.positions else None
        line = found or line
        if step.opname not in ("CACHE", "PUSH_NULL", "PRECALL", "NOP", "RESUME"):
            yield step, line


def _impurity(value: Any, path: tuple[str, ...], compiled: bool) -> str | None:
    """Return what to write instead of a value; None if it is harmless."""
    if path[-1] in HARMLESS_OS or (isinstance(value, ModuleType) and value.__name__ == "os"):
        return None
    module = next(filter(None, map(_impure_module, _homes(value))), None)
    if module is None or (not compiled and _is_seeded(value)):
        return None
    return IMPURE[module]


def _homes(value: Any) -> list[str]:
    """Return the modules that a value, its class and the object that it is bound to come from."""
    if isinstance(value, ModuleType):
        return [value.__name__]
    owner = getattr(value, "__self__", None)
    homes = [getattr(each, "__module__", None) for each in (value, type(value), type(owner), owner)]
    return [home for home in homes if isinstance(home, str)]


def _impure_module(home: str) -> str | None:
    return next((name for name in IMPURE if home == name or home.startswith(f"{name}.")), None)


def _is_seeded(value: Any) -> bool:
    return any(value is each for each in SEEDED)


def _spell(value: Any, path: tuple[str, ...]) -> str:
    """Return the full name of a value, also if it was imported under another."""
    if isinstance(value, ModuleType):
        return value.__name__
    module = next(filter(None, map(_impure_module, _homes(value))), None)
    name = getattr(value, "__name__", path[-1])
    return f"{module}.{name}" if module and hasattr(value, "__name__") else ".".join(path)


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute; of an object that has one, without running a property."""
    if isinstance(value, ModuleType | type):
        return getattr(value, name, None)
    if any(map(_impure_module, _homes(value))):
        return value  # a method of a generator is as impure as the generator
    return inspect.getattr_static(value, name, None)


def _functions(value: Any) -> Iterator[FunctionType]:
    """Yield the Python functions behind a value: itself, or what it calls or compiles."""
    for name in (None, "py_func", "__wrapped__", "__func__", "fget"):
        found = value if name is None else getattr(value, name, None)
        if isinstance(found, FunctionType):
            yield found
    call = inspect.getattr_static(type(value), "__call__", None)
    if isinstance(call, FunctionType):
        yield call


def _is_of(function: FunctionType, packages: Any) -> bool:
    return str(function.__module__).partition(".")[0] in packages


def _folder(file: str | None) -> Path | None:
    return Path(file).resolve().parent if file else None


def _builtins(function: FunctionType) -> ModuleType:
    found = function.__globals__.get("__builtins__", sys.modules["builtins"])
    return found if isinstance(found, ModuleType) else sys.modules["builtins"]
