"""Compiling, in one guarded place.

A kernel on disk (cache.py) must not outlive an edit, in whatever file, so it is kept under a stamp
of its own sources and of those of its parts. A cache that cannot be read or written must never stop
a user, so any failure of it falls back to compiling in memory.

Numba optimises each function with all that it calls, and then its caller with all that that calls:
the text of a loop that is ten calls deep passes through LLVM ten times. In the end all of it lies
in one module, the entry's, and only what happens there counts. So the entry is optimised as ever,
the functions below it only as far as inlining needs: half the time, the same bits. The few loops
that vectorise by themselves and not inside their callers are marked `vectorised`.
"""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import config, njit, typeof
from numba.core.codegen import CPUCodeLibrary
from numba.core.errors import NumbaError

from .._utils.errors import PartError, warn_caller
from .cache import KernelCache, digest, edited, source_file
from .dry_run import rehearse, shapes
from .jit import VECTORISED
from .numba_errors import refusal
from .part import classes_of, own_classes

Function = Callable[..., Any]


def is_cacheable(part: type) -> bool:
    """Whether another process finds this class by its name, and the stamp sees its source.

    False for a class typed at a prompt, in a notebook or inside a function: to keep compiled code
    of it on disk would be to meet it again after the class has changed.
    """
    module = sys.modules.get(part.__module__)
    found = getattr(module, part.__qualname__, None) is part
    return found and source_file(part.__module__) is not None


def stamp_of(factory: Any, *values: Any) -> str:
    """A hash of all the sources that can change what this kernel computes with these parts."""
    return digest(_modules(factory, *values))


def _modules(factory: Any, *values: Any) -> set[str]:
    parts = {base.__module__ for part in classes_of(values) for base in part.__mro__}
    return parts | {factory.__module__}


Factory = Callable[[str], Function]


def stamped(function: Function, stamp: str) -> Function:
    """A jitable function under a name of its own: a wrapper would be optimised all over again."""
    return FunctionType(
        function.__code__, function.__globals__, f"{function.__name__}_{stamp[:16]}"
    )


# No reference counting: kernels allocate nothing, and counting every array that is taken out of a
# NamedTuple costs as much as the arithmetic. No ZeroDivisionError: its branches stop vectorising.
_OPTIONS = {"nogil": True, "_nrt": False, "error_model": "numpy"}


def _guarded(function: Function, signature: tuple[Any, ...], stamp: str) -> Any:
    """`function` compiled for this signature, through the disk cache if that works."""
    # Two kernels of one name from the disk must not share their symbols.
    function.__qualname__ = f"{function.__qualname__}.{stamp[:16]}"
    dispatcher = njit(**_OPTIONS)(function)
    dispatcher._cache = cache = KernelCache(function, stamp)
    try:
        _optimised(dispatcher, signature)
        dispatcher.overloads[signature].entry_point  # noqa: B018
    except NumbaError:  # it would be refused again
        raise
    except Exception:  # unreadable, unwritable, full or corrupt: none of it is the user's concern
        dispatcher = _in_memory(function, signature)
    if cache.refused is not None:
        _warn_refused(cache.refused)
    return dispatcher


@functools.cache
def _warn_refused(place: Path) -> None:
    """Say once what to do about a cache that others could have written."""
    warn_caller(
        f"{place} belongs to somebody else or can be written by others, so no compiled code is "
        f"taken from it and every start compiles anew: make it yours alone (chown, chmod go-w), or "
        "set NUMBA_CACHE_DIR to a folder that is"
    )


def _compile(factory: Factory, signature: Any, stamp: str, arguments: tuple[Any, ...]) -> Any:
    findable = all(is_cacheable(part) for part in classes_of(arguments))
    if findable and not edited(_modules(factory, *arguments)):
        return _guarded(factory(stamp), signature, stamp)
    return _in_memory(factory(stamp), signature)


def _in_memory(function: Function, signature: tuple[Any, ...]) -> Any:
    return _optimised(njit(**_OPTIONS)(function), signature)


def _optimised(dispatcher: Any, signature: tuple[Any, ...]) -> Any:
    with entry(dispatcher.py_func.__qualname__):
        dispatcher.compile(signature)
    return dispatcher


# ---- a kernel is optimised once, as a whole

_entry: ContextVar[str | None] = ContextVar("the kernel that is being compiled", default=None)
_optimise_fully: Callable[[Any], None] = CPUCodeLibrary._optimize_final_module


@contextmanager
def entry(name: str) -> Iterator[None]:
    """Within, numba optimises the function of this qualified name and spares what it calls."""
    token = _entry.set(name)
    try:
        yield
    finally:
        _entry.reset(token)


def _optimise(library: Any) -> None:
    """Stand in for numba's method: the same, except while a kernel of ours is compiled."""
    if _entry.get() in (None, library.name) or library.name in VECTORISED:
        return _optimise_fully(library)
    codegen = library._codegen
    passes, builder = codegen._module_pass_manager(
        loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"
    )
    passes.run(library._final_module, builder)


CPUCodeLibrary._optimize_final_module = _optimise


# ---- the one door

_dispatchers: dict[tuple[Factory, str, Any], Any] = {}
_entries: dict[tuple[Factory, str, Any], Function] = {}
_rehearsed: set[Any] = set()
_lock = threading.RLock()


class Kind(NamedTuple):
    """What all arguments of the same types have in common."""

    modules: frozenset[str]  # whose sources can change what the kernel computes
    own: frozenset[type]  # parts that are not the library's


_kinds: dict[Any, Kind] = {}


def _kind(factory: Factory, arguments: tuple[Any, ...], outline: Any) -> Kind:
    if (factory, outline) not in _kinds:
        modules = frozenset(_modules(factory, *arguments))
        _kinds[factory, outline] = Kind(modules, own_classes(arguments))
    return _kinds[factory, outline]


def _outline(value: Any) -> Any:
    """All that numba's type of a value depends on: to ask numba takes longer than a short run."""
    if isinstance(value, tuple):
        return (type(value), *map(_outline, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return type(value)


def compiled(factory: Factory, *arguments: Any) -> Function:
    """The function that factory(stamp) makes, compiled for arguments of these types and no others.

    The function holds the stamp: it is `stamped`, or it names the stamp, which then is a closure
    cell and part of numba's cache key. What is returned is numba's bare entry: it does not look at
    the types of its arguments again, which saves most of the cost of a call. With numba switched
    off (NUMBA_DISABLE_JIT=1) it is the function as it is.

    The arguments are those of a real first call, or of its beginning: if a part among them is not
    the library's, that call is rehearsed uncompiled, once for each type and shape.
    """
    outline = _outline(arguments)
    kind = _kind(factory, arguments, outline)
    stamp = digest(kind.modules)
    if config.DISABLE_JIT:
        return factory(stamp)
    if kind.own:
        rehearse_once(factory, *arguments)
    key = (factory, stamp, outline)
    with _lock:
        if key not in _entries:
            signature = tuple(map(typeof, arguments))
            _dispatchers[key] = _explained(factory, signature, stamp, arguments)
            _entries[key] = _dispatchers[key].overloads[signature].entry_point
        return _entries[key]


def rehearse_once(factory: Factory, *arguments: Any) -> None:
    """Run what factory makes uncompiled on a copy of these arguments, if a part of them is not the
    library's: once for each type and shape."""
    own = own_classes(arguments)
    if not own or config.DISABLE_JIT:
        return
    stamp = stamp_of(factory, *arguments)
    done = (factory, stamp, own, shapes(arguments))
    with _lock:
        if done not in _rehearsed:
            rehearse(factory(stamp), arguments, own)
            _rehearsed.add(done)


def _explained(factory: Factory, signature: Any, stamp: str, arguments: tuple[Any, ...]) -> Any:
    """As `_compile`; what numba refuses of a part that is not the library's is a PartError."""
    own = own_classes(arguments)
    try:
        return _compile(factory, signature, stamp, arguments)
    except NumbaError as error:
        if not own:
            raise
        raise PartError(refusal(str(error), own), str(error)) from None


def count_kernels() -> tuple[int, int]:
    """How many kernels this process has compiled, and how many it found on the disk."""
    stats = [dispatcher.stats for dispatcher in _dispatchers.values()]
    made = sum(sum(each.cache_misses.values()) for each in stats)
    return made, sum(sum(each.cache_hits.values()) for each in stats)
