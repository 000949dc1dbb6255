"""Everything of the user's that a function or class can reach while it runs.

The sources (sources.py) say what was written. This module looks at what is there: it follows the
global names that the code reads, attributes of modules, closures, defaults, decorators, classes,
`functools.partial`, and the fields of objects and containers. The result names the modules that
the reached code comes from, and a hash of the reached values. So a helper that was put in place by
another module counts, a constant that was set at run time, and a function typed into a notebook,
of which there is no source.
"""

import dis
import functools
import hashlib
import os
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from .sources import OPAQUE, OPAQUE_METHODS, is_installed, is_users

_PACKAGE = __name__.partition(".")[0]
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, type(...))
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")  # and not of an attribute: a model has a method `eval`
# Attributes that lead from a wrapper to what it wraps.
_WRAPPED = ("__wrapped__", "__func__", "py_func", "func", "fget", "fset", "fdel")


class Reached(NamedTuple):
    """Modules of the user's, a hash of values, and the first code that runs a text."""

    modules: frozenset[str]
    values: str
    opaque: str | None


def reach(roots: Iterable[Any], mutable: bool = True) -> Reached:
    """Follow functions, classes and objects to all that they can reach.

    Parameters
    ----------
    roots : iterable of object
        What to begin with. Code of Python, of installed libraries and of this one is not followed.
    mutable : bool, default True
        Hash the contents of dicts, sets and objects. False for compiled code, which cannot read
        them.

    Examples
    --------
    >>> def scale(x, factor=2.0):
    ...     return factor * x
    >>> def wider(x, factor=3.0):
    ...     return factor * x
    >>> reach([scale]) == reach([scale]), reach([scale]) == reach([wider])
    (True, False)
    """
    walker = _Walker(mutable)
    for root in roots:
        walker.visit(root)
    return Reached(frozenset(walker.modules), walker.total.hexdigest(), walker.opaque)


class _Walker:
    """Visits every object once, in an order that does not depend on the process."""

    def __init__(self, mutable: bool) -> None:
        self.mutable = mutable
        self.modules: set[str] = set()
        self.total = hashlib.sha256()
        self.opaque: str | None = None
        self._seen: dict[Any, tuple[int, Any]] = {}  # the object too: its id must stay taken

    def _emit(self, *words: object) -> None:
        self.total.update(("\0".join(map(str, words)) + "\1").encode("utf-8", "surrogatepass"))

    def _is_new(self, key: Any, value: Any) -> bool:
        if key in self._seen:
            self._emit("seen", self._seen[key][0])
            return False
        self._seen[key] = len(self._seen), value
        return True

    def visit(self, value: Any, names: frozenset[str] = frozenset()) -> None:
        """Add one object; `names` are those that the code which reads it mentions."""
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            self._emit(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray | np.generic):
            self._visit_array(np.asarray(value))
        elif isinstance(value, ModuleType):
            self._visit_module(value, names)
        elif isinstance(value, tuple | frozenset) or self._is_new(id(value), value):
            self._visit_object(value)  # equal constants may be one object, or several

    def _visit_object(self, value: Any) -> None:
        if isinstance(value, FunctionType):
            self._visit_function(value)
        elif isinstance(value, CodeType):
            self._visit_code(value)
        elif isinstance(value, type):
            self._visit_class(value)
        elif isinstance(value, functools.partial):
            self._visit_all("partial", value.func, value.args, value.keywords)
        elif isinstance(value, MethodType):
            self._visit_all("method", value.__func__, value.__self__)
        elif isinstance(value, BuiltinFunctionType):
            self._emit("builtin", value.__module__, value.__qualname__)
        elif isinstance(value, Enum):
            self._visit_all("enum", type(value), value.name)
        elif isinstance(value, Mapping | MappingProxyType):
            self._visit_mapping(value)
        elif isinstance(value, set | frozenset):
            self._visit_all(type(value).__name__, *(sorted(value, key=_label) * self.mutable))
        elif isinstance(value, tuple | list | deque):
            self._visit_all("sequence", type(value), len(value), *value)
        elif not self._visit_wrapped(value):
            self._visit_instance(value)

    def _visit_all(self, word: str, *values: Any) -> None:
        self._emit(word)
        for value in values:
            self.visit(value)

    def _visit_array(self, array: Any) -> None:
        self._emit("array", array.dtype, array.shape)
        if array.dtype.hasobject:
            self._visit_all("objects", *array.ravel().tolist())
        else:
            self.total.update(np.ascontiguousarray(array).tobytes())

    def _visit_mapping(self, value: Mapping[Any, Any]) -> None:
        self._emit("mapping", type(value).__qualname__)
        if self.mutable:
            for key in sorted(value, key=_label):
                self._visit_all("item", key, value[key])

    def _visit_module(self, module: ModuleType, names: frozenset[str]) -> None:
        """Add a module, and of its attributes those that the code mentions."""
        name = module.__name__
        self._emit("module", name)
        if not is_users(name) or not self._is_new((name, names), module):
            return
        self.modules.add(name)
        for attribute in sorted(names & vars(module).keys()):
            self._emit(attribute)
            self.visit(vars(module)[attribute], names)

    def _visit_function(self, function: FunctionType) -> None:
        module, code = str(function.__globals__.get("__name__", "")), function.__code__
        self._emit("function", module, function.__qualname__)
        if module == _PACKAGE or module.startswith(f"{_PACKAGE}."):
            return
        is_text = not os.path.exists(code.co_filename)
        if not is_text and is_installed(code.co_filename):
            return
        if module in sys.modules and is_users(module):
            self.modules.add(module)
        if is_text:
            self._visit_code(code)
        elif not _is_from(module, code.co_filename):
            self._visit_file(code.co_filename)
        names = _names(code)
        self._note_opaque(code, names)
        for name in sorted(_global_names(code) & function.__globals__.keys()):
            self._emit(name)
            self.visit(function.__globals__[name], names)
        self._visit_all("defaults", function.__defaults__, function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                self.visit(cell.cell_contents, names)
            except ValueError:  # a name that is not bound yet
                self._emit("empty")
        self._visit_all("attributes", *(vars(function)[n] for n in sorted(vars(function))))

    def _visit_file(self, file: str) -> None:
        """Add a source that no module of its name was loaded from."""
        try:
            with open(file, "rb") as source:
                self.total.update(source.read())
        except OSError:
            self._emit("gone")

    def _note_opaque(self, code: CodeType, names: frozenset[str]) -> None:
        found = [*sorted(names & OPAQUE_METHODS)]
        for inner in _codes(code) if names & OPAQUE else ():
            steps = [step for step in dis.get_instructions(inner) if step.opname in _LOADS]
            found += [step.argval for step in steps if step.argval in OPAQUE]
        if found and self.opaque is None:
            self.opaque = f"{code.co_filename}, {code.co_qualname} calls {found[0]}"

    def _visit_code(self, code: CodeType) -> None:
        """Add the code of a function that has no source file."""
        self._emit("code", sys.version, code.co_name, code.co_argcount, code.co_kwonlyargcount)
        self._emit(code.co_flags, code.co_names, code.co_varnames, code.co_freevars)
        self.total.update(code.co_code)
        for constant in code.co_consts:
            self.visit(constant)

    def _visit_class(self, kind: type) -> None:
        self._emit("class", kind.__module__, kind.__qualname__)
        for base in kind.__mro__:
            if is_users(base.__module__) or _is_typed(base):
                if is_users(base.__module__):
                    self.modules.add(base.__module__)
                for name in sorted(
                    name for name, value in vars(base).items() if _counts(name, value)
                ):
                    self._emit(name)
                    self.visit(vars(base)[name])

    def _visit_wrapped(self, value: Any) -> bool:
        """Follow a decorator's object to what it wraps; False if it wraps nothing."""
        held = getattr(type(value), "__module__", "")
        if is_users(held):
            return False
        found = [_attribute(value, name) for name in _WRAPPED]
        inner = [one for one in found if isinstance(one, FunctionType)]
        if inner:
            self._visit_all(type(value).__qualname__, *inner)
        return bool(inner)

    def _visit_instance(self, value: Any) -> None:
        kind = type(value)
        self._emit("object", kind.__module__, kind.__qualname__)
        if not self.mutable:
            return
        if is_users(kind.__module__) or _is_typed(kind):
            self.visit(kind)
            slots = [name for base in kind.__mro__ for name in _slots(base)]
            fields = getattr(value, "__dict__", {})
            for name in sorted({*fields, *slots}):
                self._emit(name)
                self.visit(_attribute(value, name))
        elif kind.__module__.partition(".")[0] in sys.stdlib_module_names:
            text = repr(value)
            self._emit("" if " at 0x" in text else text)


def _counts(name: str, value: Any) -> bool:
    """Return True for an attribute of a class that its methods can read.

    Data in names such as __slotnames__ are notes of Python, which come and go.
    """
    special = name.startswith("__") and name.endswith("__")
    return name != "_abc_impl" and (not special or callable(value) or hasattr(value, "__func__"))


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property of another library
        return None


def _label(value: Any) -> str:
    """Return a text to sort by that is the same in every process."""
    named = getattr(value, "__qualname__", None)
    return f"{value.__module__}:{named}" if isinstance(named, str) else repr(value)


def _is_from(module: str, file: str) -> bool:
    """Return True if a module was loaded from this file."""
    try:
        return os.path.samefile(str(getattr(sys.modules.get(module), "__file__", "")), file)
    except OSError:
        return False


def _slots(base: type) -> tuple[str, ...]:
    found = vars(base).get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _is_typed(kind: type) -> bool:
    """Return True for a class without a file: typed into a notebook, at a prompt, or executed."""
    top = kind.__module__.partition(".")[0]
    if top in sys.stdlib_module_names or top == _PACKAGE:
        return False
    return getattr(sys.modules.get(kind.__module__), "__file__", None) is None


def _codes(code: CodeType) -> list[CodeType]:
    """Return a code and those of the functions inside it."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [code, *(deeper for one in inner for deeper in _codes(one))]


@functools.lru_cache(4096)
@functools.cache
def _global_names(code: CodeType) -> frozenset[str]:
    """Return the names that a code reads as variables of its module, not as attributes."""
    steps = (step for one in _codes(code) for step in dis.get_instructions(one))
    return frozenset(step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


def _names(code: CodeType) -> frozenset[str]:
    """Return all names that a code mentions: of globals, and of attributes."""
    return frozenset(name for one in _codes(code) for name in one.co_names)
