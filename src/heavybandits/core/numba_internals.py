"""Everything that the library uses of numba and that numba does not document, behind probes.

Each internal makes something faster and changes no number: without it, the public API does the same
work. A probe takes microseconds and compiles nothing. A numba that is newer than the newest tested
one also compiles a small kernel before the first real one, and falls back to the public API if that
fails. The public API compiles more slowly and keeps nothing on disk, since numba's own cache would
run any file that it finds there.

`HEAVYBANDITS_NUMBA=public` in the environment leaves out all internals, for tests and debugging.
"""

import functools
import importlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import numba
import numpy as np
from numba import njit, typeof
from numba.extending import register_jitable

from .._utils.errors import InvalidInputError

VARIABLE, PUBLIC = "HEAVYBANDITS_NUMBA", "public"
TESTED = (0, 68)  # newest minor version of numba that passes the test suite

Function = Callable[..., Any]


def find(path: str) -> Any:
    """Return an object of numba by "module:attribute.attribute"; raise if it is not there.

    >>> find("numba.core.errors:NumbaError.__name__")
    'NumbaError'
    """
    module, _, names = path.partition(":")
    return functools.reduce(getattr, names.split("."), importlib.import_module(module))


def _find_error() -> type[Exception]:
    try:
        return find("numba.core.errors:NumbaError")
    except (ImportError, AttributeError):
        return Exception


NumbaError = _find_error()  # what numba raises for code that it cannot compile


@functools.cache
def is_public_only() -> bool:
    """Return True if the environment asks for the public API."""
    value = os.environ.get(VARIABLE, "")
    if value not in ("", PUBLIC):
        raise InvalidInputError(f"{VARIABLE} must be {PUBLIC!r} or unset, got {value!r}")
    return value == PUBLIC


# ---- probes


class Internal(NamedTuple):
    """What an internal is for, and a probe that returns True if this numba has it."""

    purpose: str
    probe: Callable[[], bool]


def _has_option(option: str, flag: str, value: bool) -> bool:
    """Let numba parse an option of `jit` and look at the flag that it sets."""
    flags = find("numba.core.compiler:Flags")()
    find("numba.core.cpu:CPUTargetOptions.parse_as_flags")(flags, {option: value})
    return bool(getattr(flags, flag) is value)


def _add_noalias() -> bool:
    """Make an option of a flag that numba keeps for its own use."""
    mapping = find("numba.core.options:TargetOptions.Mapping")("noalias")
    find("numba.core.cpu:CPUTargetOptions").noalias = mapping
    return _has_option("noalias", "noalias", True)


def _has_passes() -> bool:
    """Look for LLVM's new pass manager, which numba has since 0.62."""
    methods = ("_module_pass_manager", "_pass_builder")
    called = [find(f"numba.core.codegen:CPUCodegen.{name}") for name in methods]
    called += [find("numba.core.codegen:CPUCodeLibrary._optimize_final_module")]
    return all(map(callable, called)) and bool(find("llvmlite.binding.value:ValueRef.linkage").fset)


def _can_defer() -> bool:
    """Look for the methods that load a library, and for what they ask of it."""
    methods = [
        "CPUCodeLibrary._finalize_final_module",
        "JITCodeLibrary.get_pointer_to_function",
        "JITCodeLibrary._ensure_finalized",
        "JITCPUCodegen.set_env",
        "JitEngine.is_symbol_defined",
    ]
    found = [find(f"numba.core.codegen:{name}") for name in methods]
    return all(map(callable, found)) and find("numba.core.codegen:RuntimeLinker.PREFIX") is not None


def _has_cache() -> bool:
    """Look for what `CacheHook` calls, and for the places of a dispatcher that call it."""
    results = ("_reduce", "_rebuild", "codegen", "library")
    paths = [f"numba.core.compiler:CompileResult.{name}" for name in results]
    paths += ["numba.core.serialize:dumps", "numba.core.codegen:CPUCodegen.magic_tuple"]
    paths += [f"numba.core.caching:_Cache.{name}" for name in ("load_overload", "save_overload")]
    called = [find(path) for path in paths]
    return hasattr(njit(lambda: None), "_cache") and all(each is not None for each in called)


def _has_entry() -> bool:
    fields = find("numba.core.compiler:CompileResult._fields")
    return "entry_point" in fields and hasattr(njit(lambda: None), "overloads")


class _Part(NamedTuple):
    x: float


INTERNALS = {
    "no_cfunc_wrapper": Internal(
        "compile no C entry of a function, which nothing calls",
        lambda: _has_option("no_cfunc_wrapper", "no_cfunc_wrapper", True),
    ),
    "forceinline": Internal(
        "keep the arrays of a state in registers, and rare code out of line",
        lambda: _has_option("forceinline", "forceinline", True),
    ),
    "noalias": Internal("let loops start without a check that arrays overlap", _add_noalias),
    "_nrt": Internal(
        "count no references, and reject parts that allocate",
        lambda: _has_option("_nrt", "nrt", False),
    ),
    "passes": Internal("optimise a kernel once, not at every depth of its calls", _has_passes),
    "deferred": Internal("make machine code of a kernel, not of every function in it", _can_defer),
    "cache": Internal("keep kernels on disk, in files that are checked", _has_cache),
    "entry_point": Internal("call a kernel without another look at types", _has_entry),
    "instance_class": Internal(
        "find the class of a part by its type", lambda: typeof(_Part(1.0)).instance_class is _Part
    ),
}


@functools.cache
def has(name: str) -> bool:
    """Return True if this numba has an internal, unless the environment asks for the public API."""
    try:
        return not is_public_only() and INTERNALS[name].probe()
    except InvalidInputError:
        raise
    except Exception:
        return False


def options(**wanted: bool) -> dict[str, bool]:
    """Return those options of `jit` that this numba knows."""
    return {name: value for name, value in wanted.items() if has(name)}


# ---- the class of a part

_classes: dict[Any, type] = {}


def remember_classes(parts: Iterable[Any]) -> None:
    """Remember the classes of these parts by their types, if the types do not know them."""
    if not has("instance_class"):
        _classes.update((typeof(part), type(part)) for part in parts)


def class_of(kind: Any) -> Any:
    """Return the class of a part from its type; `tuple` for any other type."""
    return _classes.get(kind) or getattr(kind, "instance_class", tuple)


# ---- a kernel is optimised once, as a whole

VECTORISED: set[str] = set()  # qualified names of functions that are also optimised alone
_entry: ContextVar[str | None] = ContextVar("the kernel that is being compiled", default=None)


@contextmanager
def entry(name: str) -> Iterator[None]:
    """Optimise the function of this qualified name fully, and what it calls cheaply."""
    token = _entry.set(name)
    try:
        yield
    finally:
        _entry.reset(token)


def optimise(library: Any) -> None:
    """Optimise like numba's method of that name, except while a kernel of ours is compiled."""
    if _entry.get() in (None, library.name) or library.name in VECTORISED:
        optimise_fully(library)
        if _entry.get() == library.name:
            keep_own_copies(library._final_module)
        return
    codegen = library._codegen
    passes, builder = codegen._module_pass_manager(
        loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"
    )
    passes.run(library._final_module, builder)


def keep_own_copies(module: Any) -> None:
    """Let a kernel call its own copies of the functions that it has not inlined.

    The process that compiles a kernel also loads each function alone, optimised cheaply, under the
    same name, and the linker would take that one.
    """
    for function in module.functions:
        if function.linkage.name == "linkonce_odr" and not function.is_declaration:
            function.linkage = "internal"


if has("passes"):
    _library: Any = find("numba.core.codegen:CPUCodeLibrary")
    optimise_fully: Callable[[Any], None] = _library._optimize_final_module
    _library._optimize_final_module = optimise


# ---- machine code is made of a kernel alone


_environments: dict[str, Any] = {}  # of functions whose kernel is not loaded


def is_recursive(library: Any) -> bool:
    """Return True if a function of the library calls itself: its address must be known."""
    prefix = find("numba.core.codegen:RuntimeLinker.PREFIX")
    return any(each.name.startswith(prefix) for each in library._final_module.global_variables)


def finish(library: Any) -> None:
    """Load a library like numba's method of that name, or leave that until code calls it alone.

    While a kernel of ours is compiled, the functions in it become parts of its machine code.
    """
    if _entry.get() in (None, library.name) or is_recursive(library):
        load(library)
        engine = library._codegen._engine
        for name in [each for each in _environments if engine.is_symbol_defined(each)]:
            set_loaded(library._codegen, name, _environments.pop(name))
        return
    library._finalize_dynamic_globals()
    library._verify_declare_only_symbols()
    library._finalized = library.is_deferred = True


def address_of(library: Any, name: str) -> int:
    """Return the address of a function; load its library first if that was left."""
    library._ensure_finalized()
    if getattr(library, "is_deferred", False):
        if name not in {each.name for each in library._final_module.functions}:
            return 0
        library.is_deferred = False
        load(library)
    return find_address(library, name)


def set_environment(codegen: Any, name: str, environment: Any) -> None:
    """Give a function its environment, which `print` reads; later if the kernel is not loaded."""
    if codegen._engine.is_symbol_defined(name):
        set_loaded(codegen, name, environment)
    else:
        _environments[name] = environment


if has("deferred"):
    _cpu, _jit = (find(f"numba.core.codegen:{name}CodeLibrary") for name in ("CPU", "JIT"))
    load: Callable[[Any], None] = _cpu._finalize_final_module
    find_address: Callable[[Any, str], int] = _jit.get_pointer_to_function
    set_loaded: Callable[[Any, str, Any], None] = find("numba.core.codegen:JITCPUCodegen").set_env
    _cpu._finalize_final_module = finish
    _jit.get_pointer_to_function = address_of
    find("numba.core.codegen:JITCPUCodegen").set_env = set_environment


# ---- compiled code as bytes


class Store(Protocol):
    """Keeps the bytes of one kernel by the types of its arguments and by its processor."""

    def load(self, signature: Any, target: Any) -> bytes | None: ...
    def save(self, signature: Any, target: Any, content: bytes) -> None: ...


class CacheHook:
    """Translate what a dispatcher of numba asks of its cache to a store of bytes."""

    cache_path = None

    def __init__(self, store: Store) -> None:
        self._store = store

    def load_overload(self, signature: Any, context: Any) -> Any:
        context.refresh()
        content = self._store.load(signature, context.codegen().magic_tuple())
        if content is None:
            return None
        return find("numba.core.compiler:CompileResult")._rebuild(context, *pickle.loads(content))

    def save_overload(self, signature: Any, result: Any) -> None:
        if not result.library.has_dynamic_globals:
            content = find("numba.core.serialize:dumps")(result._reduce())
            self._store.save(signature, result.codegen.magic_tuple(), content)

    def enable(self) -> None: ...
    def disable(self) -> None: ...
    def flush(self) -> None: ...


# ---- compiling


class Kernel(NamedTuple):
    """A compiled function, and the dispatcher that keeps its machine code in memory."""

    call: Function
    dispatcher: Any


# No ZeroDivisionError: its branches stop loops from being vectorised.
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def _checked(boundscheck: bool) -> dict[str, bool]:
    return {"boundscheck": True} if boundscheck else {}


def compile_publicly(
    function: Function, signature: tuple[Any, ...], *, boundscheck: bool = False
) -> Kernel:
    """Compile a function for these types with numba's public API."""
    dispatcher = njit(signature, **_OPTIONS, **_checked(boundscheck))(function)
    return Kernel(dispatcher, dispatcher)


def compile_fast(
    function: Function,
    signature: tuple[Any, ...],
    store: Store | None = None,
    *,
    boundscheck: bool = False,
) -> Kernel:
    """Compile a function for these types, or load it from a store, with numba's internals.

    No reference is counted: kernels allocate nothing, and counting every array that is taken out of
    a NamedTuple costs as much as the arithmetic. With `boundscheck`, every index in the function
    itself is checked.
    """
    checked = _checked(boundscheck)
    dispatcher = njit(**_OPTIONS, **checked, **options(_nrt=False))(function)
    if store is not None:
        dispatcher._cache = CacheHook(store)
    with entry(function.__qualname__):
        dispatcher.compile(signature)
    bare = has("entry_point")
    return Kernel(dispatcher.overloads[signature].entry_point if bare else dispatcher, dispatcher)


# ---- a trial for unknown versions


class _Memory:
    """A store in memory."""

    def __init__(self) -> None:
        self.content: bytes | None = None

    def load(self, signature: Any, target: Any) -> bytes | None:
        return self.content

    def save(self, signature: Any, target: Any, content: bytes) -> None:
        self.content = content


def _add_products(out: Any, x: Any, y: Any) -> None:
    for i in range(out.size):
        out[i] += x[i] * y[i]


def _trial_kernel(pair: Any, out: Any) -> float:
    _add_products(out, pair[0], pair[1])
    return out[0] / out[1]


def passes_trial() -> bool:
    """Return True if a small kernel, compiled and loaded again, computes what Python computes."""
    register_jitable(**options(no_cfunc_wrapper=True, noalias=True))(_add_products)
    pair, store = (np.array([0.1, 0.2, 0.3]), np.array([3.0, 5.0, 7.0])), _Memory()
    expected = np.zeros(3)
    quotient = _trial_kernel(pair, expected)
    for _ in range(2):
        out = np.zeros(3)
        signature = (typeof(pair), typeof(out))
        kernel = compile_fast(_trial_kernel, signature, store if has("cache") else None)
        if kernel.call(pair, out) != quotient or out.tobytes() != expected.tobytes():
            return False
    return True


class UnreliableError(Exception):
    """This numba has the internals, but they do not work as they did."""


def version() -> tuple[int, ...]:
    """Return the major and the minor version of numba."""
    return tuple(int(number) for number in numba.__version__.split(".")[:2])


@functools.cache
def is_reliable() -> bool:
    """Return True if this numba was tested, or passes a trial."""
    if version() <= TESTED:
        return True
    try:
        return passes_trial()
    except Exception:
        return False


def require_reliable() -> None:
    """Raise UnreliableError if the internals of this numba do not work as they did."""
    if not is_reliable():
        raise UnreliableError("a small kernel failed or gave other numbers than Python")
