"""Compile kernels, in one guarded place.

A kernel on disk (cache.py) must not outlive an edit in any file, so it is kept under a stamp of its
own sources and of those of its parts. A cache that cannot be read or written must never stop a
user, so any failure of it falls back to compiling in memory, and any failure of numba's internals
(numba_internals.py) to numba's public API.

Numba optimises each function with all that it calls, and then its caller with all that the caller
calls: the code of a loop that is ten calls deep passes through LLVM ten times. In the end all of it
is in one module, the entry's, and only what happens there counts. So the entry is optimised as
always, and the functions below it only as far as inlining needs: half the time, the same bits. The
few loops that vectorise by themselves and not inside their callers are marked `vectorised`.
"""

import functools
import gc
import hashlib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import config, typeof

from .._utils.errors import PartError, warn_caller
from .._utils.progress import announce_compilation
from .cache import KernelCache
from .dry_run import check_repeatable, explain_failure, frozen, rehearse, shapes
from .numba_errors import ALLOCATES, explain_rejection, locate_matrix_product
from .numba_internals import Function as Function
from .numba_internals import (
    Kernel,
    NumbaError,
    compile_fast,
    compile_publicly,
    has,
    is_public_only,
    remember_classes,
    require_reliable,
)
from .part import classes_of, own_classes, walk
from .purity import check_purity
from .reach import Reached, reach
from .sources import digest, edited, source_file


def is_cacheable(part: type) -> bool:
    """Return True if another process finds this class by its name, and the stamp sees its source.

    False for a class typed at a prompt, in a notebook or inside a function: compiled code of it on
    disk would be used again after the class has changed.
    """
    module = sys.modules.get(part.__module__)
    found = getattr(module, part.__qualname__, None) is part
    return found and source_file(part.__module__) is not None


def stamp_of(factory: Any, *values: Any) -> str:
    """Return a hash of all that can change what this kernel computes with these parts.

    That is their sources, and the helpers and constants that their methods reach.
    """
    return _stamp(frozenset(_modules(factory, *values)), own_classes(values))


def _stamp(modules: frozenset[str], own: frozenset[type]) -> str:
    if not own:
        return digest(modules)
    found = reach_parts(own)
    return hashlib.sha256((digest(modules | found.modules) + found.values).encode()).hexdigest()


def reach_parts(own: Iterable[type]) -> Reached:
    """Follow the methods of classes to all that compiled code of them can reach."""
    return reach(sorted(own, key=lambda kind: (kind.__module__, kind.__qualname__)), mutable=False)


def _modules(factory: Any, *values: Any) -> set[str]:
    parts = {base.__module__ for part in classes_of(values) for base in part.__mro__}
    return parts | {factory.__module__}


OBJECTS = 50_000  # made between two collections of garbage while numba compiles
Factory = Callable[[str], Function]


def stamped(function: Function, stamp: str) -> Function:
    """Return a jitable function under a name of its own: a wrapper would be optimised again."""
    return FunctionType(
        function.__code__, function.__globals__, f"{function.__name__}_{stamp[:16]}"
    )


# ---- one kernel


class Request(NamedTuple):
    """A kernel to compile."""

    factory: Factory
    stamp: str
    signature: tuple[Any, ...]
    arguments: tuple[Any, ...]

    @property
    def own(self) -> frozenset[type]:
        return own_classes(self.arguments)

    def is_cacheable(self) -> bool:
        findable = all(is_cacheable(part) for part in classes_of(self.arguments))
        reached = reach_parts(self.own).modules if findable and self.own else frozenset[str]()
        return findable and not edited(_modules(self.factory, *self.arguments) | reached)


def _compile(request: Request) -> Kernel:
    """Compile with numba's internals if they work, otherwise with its public API.

    Any error about a part that is not the library's becomes a PartError.
    """
    remember_classes(walk(request.arguments))
    _check_unchanged(request.own)
    try:
        with seldom_collecting():
            return _compile_fast(request) or _compile_publicly(request)
    except (MemoryError, PartError):
        raise
    except Exception as error:
        if not request.own:
            raise
        said = _text(error)
        if _lacks_library(error):  # numba does not say where
            said += f"\n{locate_matrix_product(request.own)}"
        raise PartError(explain_rejection(said, request.own), str(error)) from None


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Collect garbage less often.

    Numba makes millions of objects that stay, and looking at them took a sixth of the time.
    """
    before = gc.get_threshold()
    if 0 < before[0] < OBJECTS:
        gc.set_threshold(OBJECTS, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _text(error: Exception) -> str:
    """Return what an error says; the messages of numba name their type already."""
    return str(error) if isinstance(error, NumbaError) else f"{type(error).__name__}: {error}"


_compiled_with: dict[type, str] = {}  # hash of the helpers and constants of a class


def _check_unchanged(own: Iterable[type]) -> None:
    """Raise if a class was compiled with other helpers or constants: numba would use those."""
    for part in own:
        now = reach_parts([part]).values
        if _compiled_with.setdefault(part, now) != now:
            raise PartError(
                f"{part.__name__} was compiled before a function or constant that it uses was "
                "changed in this process, and compiled code keeps the old one: define the class "
                "again (run its cell, or reload its module), or start Python again"
            )


def _compile_fast(request: Request) -> Kernel | None:
    """Compile with numba's internals; None if they are switched off or do not work."""
    if is_public_only():
        return None
    if not has("cache"):
        _warn_lasting("its disk cache has changed")
    try:
        return (_compile_cached(request) if has("cache") else None) or _compile_in_memory(request)
    except Exception as error:
        if request.own and (isinstance(error, NumbaError) or _lacks_library(error)):
            raise
        _warn_lasting(f"{error!r:.200}")
        return None


def _lacks_library(error: Exception) -> bool:
    """Return True if numba needs a library that is not installed, such as SciPy for `@`."""
    return isinstance(error, ImportError) and "scipy" in str(error).lower()


def _compile_cached(request: Request) -> Kernel | None:
    """Load a kernel from disk, or compile and keep it; None if it cannot be kept there."""
    if not request.is_cacheable():
        return None
    function = request.factory(request.stamp)
    # Two kernels of one name from the disk must not share their symbols.
    function.__qualname__ = f"{function.__qualname__}.{request.stamp[:16]}"
    cache = KernelCache(function, request.stamp)
    try:
        kernel = compile_fast(function, request.signature, cache, boundscheck=bool(request.own))
    except NumbaError:  # it would be rejected again
        raise
    except Exception:  # unreadable, unwritable, full or corrupt: the user can do nothing about it
        kernel = None
    else:
        _counts["found" if cache.found else "compiled"] += 1
    if cache.unsafe is not None:
        _warn_unsafe(cache.unsafe)
    return kernel


def _compile_in_memory(request: Request) -> Kernel:
    require_reliable()
    function, checked = request.factory(request.stamp), bool(request.own)
    kernel = compile_fast(function, request.signature, boundscheck=checked)
    _counts["compiled"] += 1
    return kernel


def _compile_publicly(request: Request) -> Kernel:
    announce_compilation()
    function, own = request.factory(request.stamp), request.own
    kernel = compile_publicly(function, request.signature, boundscheck=bool(own))
    _counts["compiled"] += 1
    if own and ALLOCATES in kernel.dispatcher.inspect_llvm(request.signature):
        raise PartError(explain_rejection(ALLOCATES, own), ALLOCATES)
    return kernel


@functools.cache
def _warn_unsafe(place: Path) -> None:
    """Say once what to do about a cache that others could have written."""
    warn_caller(
        f"{place} belongs to another user or can be written by others, so no compiled code is "
        "loaded from it and every start compiles again: make it yours alone (chown, chmod go-w), "
        "or set NUMBA_CACHE_DIR to a folder that is"
    )


@functools.cache
def _warn_lasting(cause: str) -> None:
    """Say once why every process compiles."""
    warn_caller(
        f"with numba {numba.__version__} no compiled code is kept on disk and every process "
        f"compiles again, because {cause}: the numbers are the same; a newer heavybandits may know "
        "this numba"
    )


# ---- all kernels

_kernels: dict[tuple[Factory, str, Any], Kernel] = {}
_counts = {"compiled": 0, "found": 0}
_spent = [0.0]  # seconds
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
    """Return all that numba's type of a value depends on: asking numba takes longer than a run."""
    if isinstance(value, tuple):
        return (type(value), *map(_outline, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return type(value)


def compiled(factory: Factory, *arguments: Any) -> Function:
    """Compile what factory(stamp) makes, for arguments of these types and no others.

    Returns numba's bare entry, which does not look at the types of its arguments again: that saves
    most of the cost of a call. With numba's public API only (numba_internals.py) it is the
    dispatcher, and with numba switched off (NUMBA_DISABLE_JIT=1) the function itself.

    The arguments are those of a real first call, or of its beginning: if a part among them is not
    the library's, that call is rehearsed uncompiled, once for each type and shape. The code of such
    a part is compiled with a check of every index.
    """
    outline = _outline(arguments)
    kind = _kind(factory, arguments, outline)
    stamp = _stamp(kind.modules, kind.own)
    if config.DISABLE_JIT:
        return factory(stamp)
    if kind.own:
        _rehearse_once(factory, stamp, arguments, kind.own)
    key = (factory, stamp, outline)
    with _lock:
        if key not in _kernels:
            started = time.monotonic()
            _kernels[key] = _make(factory, stamp, arguments, kind.own)
            _spent[0] += time.monotonic() - started
        return _kernels[key].call


def _make(factory: Factory, stamp: str, arguments: tuple[Any, ...], own: frozenset[type]) -> Kernel:
    """Compile a kernel; that of your own parts also reports what fails, and must be repeatable."""
    try:
        signature = tuple(map(typeof, frozen(arguments) if own else arguments))
    except ValueError as error:  # what is in a field or in the state has no type in compiled code
        if not own:
            raise
        raise PartError(explain_rejection(_text(error), own), str(error)) from None
    kernel = _compile(Request(factory, stamp, signature, arguments))
    if not own:
        return kernel
    guarded = _guard(kernel.call, factory(stamp), own)
    check_repeatable(guarded, arguments, own)
    return kernel._replace(call=guarded)


def _guard(call: Function, uncompiled: Function, own: frozenset[type]) -> Function:
    """Return a kernel whose errors name class, method and line."""

    def guarded(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            said = explain_failure(error, uncompiled, arguments, own)
            raise PartError(said, traceback.format_exc()) from None

    return guarded


def rehearse_once(factory: Factory, *arguments: Any) -> None:
    """Run what factory makes uncompiled on a copy of these arguments, if a part of them is not the
    library's: once for each type and shape."""
    own = own_classes(arguments)
    if own and not config.DISABLE_JIT:
        _rehearse_once(factory, stamp_of(factory, *arguments), arguments, own)


def _rehearse_once(
    factory: Factory, stamp: str, arguments: tuple[Any, ...], own: frozenset[type]
) -> None:
    for part in own:
        check_purity(part)
    done = (factory, stamp, own, shapes(arguments))
    with _lock:
        if done not in _rehearsed:
            rehearse(factory(stamp), arguments, own)
            _rehearsed.add(done)


def compile_seconds() -> float:
    """Return how many seconds this process has spent on making kernels."""
    return _spent[0]


def count_kernels() -> tuple[int, int]:
    """Return how many kernels this process has compiled, and how many it found on the disk."""
    return _counts["compiled"], _counts["found"]
