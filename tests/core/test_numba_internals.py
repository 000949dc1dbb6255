"""Every undocumented thing of numba that the library stands on, tried one by one.

The ceiling on numba in pyproject.toml is there for these. Before it is raised this file must pass
with the new numba; what fails says which thing is gone, which file uses it and what for.
"""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import njit, typeof
from numba.extending import overload, register_jitable

import heavybandits as hb
from heavybandits.core import compile as compiling
from paths import ROOT

PACKAGE = Path(hb.__file__).parent


class Point(NamedTuple):
    """A part as numba sees one."""

    x: float

    def height(self, scale: float) -> float:
        return scale * self.x


def twice(x: float) -> float:
    return 2.0 * x


def first(pair: Any, x: float) -> Any:
    """Takes an array out of a tuple, which numba counts unless it is told not to."""
    chosen = pair[0]
    if x > 1.0:
        chosen = pair[1]
    return chosen[0]


def text_of(function: Any, *arguments: Any) -> str:
    """The LLVM of a jitted function for arguments of these types."""
    signature = tuple(typeof(argument) for argument in arguments)
    function.compile(signature)
    return str(function.inspect_llvm(signature))


# ---- the things, each a question whose answer is yes


def optimises_the_entry_alone() -> bool:
    """Inside a kernel of ours the callee is spared, and the number that comes out is the same."""
    inner = register_jitable(lambda x: x * x)
    optimised: list[str] = []

    def outer(x: float) -> float:
        return float(inner(x) + inner(-x))

    def note(library: Any) -> None:
        optimised.append(library.name)
        fully(library)

    fully = compiling._optimise_fully
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "_optimise_fully", note)
        kernel = njit(outer)
        with compiling.entry(outer.__qualname__):
            kernel.compile((numba.float64,))
    return optimised == [outer.__qualname__] and bool(kernel(3.0) == outer(3.0))


def has_no_cfunc_wrapper() -> bool:
    """With the option no C entry is made; without it there is one."""
    plain, told = njit(twice), njit(no_cfunc_wrapper=True)(twice)
    return "cfunc." in text_of(plain, 1.0) and "cfunc." not in text_of(told, 1.0)


def has_forceinline() -> bool:
    """With the option LLVM is told to inline always; without it, not."""
    inlined, outlined = njit(forceinline=True)(twice), njit(forceinline=False)(twice)
    word = "alwaysinline"
    return word in text_of(inlined, 1.0) and word not in text_of(outlined, 1.0)


def add_up(out: Any, terms: Any) -> None:
    for i in range(out.size):
        out[i] += terms[i]


def has_noalias() -> bool:
    """With the option a loop does not ask whether its arrays overlap; without it, it does."""
    plain, told, arrays = njit(add_up), njit(noalias=True)(add_up), (np.ones(3), np.ones(3))
    return "memcheck" in text_of(plain, *arrays) and "memcheck" not in text_of(told, *arrays)


def options_reach_jitables() -> bool:
    """register_jitable hands its options on; an unknown one is refused where it is compiled."""
    called = register_jitable(forceinline=False, no_cfunc_wrapper=True)(twice)
    return bool(njit(lambda x: called(x))(1.5) == 3.0)


def has_no_reference_counting() -> bool:
    """With _nrt=False no reference is counted; without it some are."""
    pair, call = (np.ones(2), np.ones(3)), "@NRT_incref"
    plain, told = njit(first), njit(_nrt=False)(first)
    return call in text_of(plain, pair, 1.0) and call not in text_of(told, pair, 1.0)


def named_tuples_know_their_class() -> bool:
    return typeof(Point(1.0)).instance_class is Point


def entries_are_bare() -> bool:
    """The entry of a signature is a callable that takes the arguments as they are."""
    double, signature = njit(twice), (typeof(1.5),)
    double.compile(signature)
    return bool(double.overloads[signature].entry_point(1.5) == 3.0)


def overloads_believe_a_signature() -> bool:
    """A resolver of *arguments passes for one of the function's own arguments."""

    def height(self: Any, scale: float) -> float:
        raise NotImplementedError

    def resolve(*arguments: Any) -> Callable[..., Any]:
        found = arguments[0].instance_class.height
        return type(found)(found.__code__, found.__globals__, "height")

    bare = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, bare) for name in ("self", "scale")]
    resolve.__dict__["__signature__"] = inspect.Signature(parameters)
    overload(height)(resolve)
    return bool(njit(lambda point, scale: height(point, scale))(Point(2.0), 3.0) == 6.0)


def kernel_of(stamp: str) -> Any:
    """A kernel that closes over a stamp, under a name that has the stamp in it."""

    def kernel(x: float) -> float:
        return x + len(stamp)

    return njit(cache=True)(kernel)


def cache_keys_hold_closures() -> bool:
    """Another value in a closure is another entry; the same one is found again."""
    for stamp, hit in (("a", False), ("bb", False), ("a", True)):
        kernel = kernel_of(stamp)
        if kernel(1.0) != 1.0 + len(stamp) or bool(kernel.stats.cache_hits) != hit:
            return False
    return True


def cache_indices_are_named_after_functions() -> bool:
    """A qualified name of one's own is an index file of one's own."""

    def kernel(x: float) -> float:
        return x

    kernel.__qualname__ = "kernel.0123456789abcdef"
    njit(cache=True)(kernel).compile((numba.float64,))
    folder = Path(numba.config.CACHE_DIR)
    return len(list(folder.rglob("*kernel.0123456789abcdef*.nbi"))) == 1


class Use(NamedTuple):
    """A thing of numba, what for, the file and the text in it that uses it, and the question."""

    thing: str
    purpose: str
    file: str
    text: str
    holds: Callable[[], bool]


def caches_have_their_hooks() -> bool:
    from numba.core.caching import _Cache
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps

    hooks = ("load_overload", "save_overload", "enable", "disable", "flush", "cache_path")
    rebuilt = all(hasattr(CompileResult, name) for name in ("_reduce", "_rebuild"))
    return rebuilt and callable(dumps) and all(hasattr(_Cache, name) for name in hooks)


def unjitted(x: float) -> float:
    return x


def errors_name_the_line() -> bool:
    """A refusal is a NumbaError whose text has the file and the line of what it refuses."""
    from numba.core.errors import NumbaError

    def kernel(x: float) -> float:
        return unjitted(x)

    try:
        njit(kernel).compile((numba.float64,))
    except NumbaError as error:
        places = [(file, int(line)) for file, line in FILE_LINE.findall(str(error))]
        return places[0][1] == kernel.__code__.co_firstlineno + 1
    return False


FILE_LINE = re.compile(r'File "([^"]+)", line (\d+):')

USES = [
    Use(
        "NumbaError, whose text names file and line",
        "say which line of a part is refused",
        "core/compile.py",
        "from numba.core.errors import NumbaError",
        errors_name_the_line,
    ),
    Use(
        "the hooks of numba.core.caching._Cache and what it keeps",
        "check every cached kernel before it is believed",
        "core/cache.py",
        "from numba.core.caching import _Cache",
        caches_have_their_hooks,
    ),
    Use(
        "the option no_cfunc_wrapper",
        "compile no C entry, which nothing calls",
        "core/jit.py",
        '"no_cfunc_wrapper": True',
        has_no_cfunc_wrapper,
    ),
    Use(
        "the flag noalias, which an option can be made for",
        "spare loops the question whether their arrays overlap",
        "core/jit.py",
        'TargetOptions.Mapping("noalias")',
        has_noalias,
    ),
    Use(
        "options of register_jitable that reach the compiler",
        "keep code that runs seldom out of line",
        "core/jit.py",
        "register_jitable(forceinline=False",
        options_reach_jitables,
    ),
    Use(
        "the option forceinline",
        "keep the arrays of a state in registers",
        "core/dispatch.py",
        '"forceinline":',
        has_forceinline,
    ),
    Use(
        "instance_class of the type of a NamedTuple",
        "find the method of a part",
        "core/dispatch.py",
        ".instance_class",
        named_tuples_know_their_class,
    ),
    Use(
        "overload, which believes the __signature__ of a resolver",
        "have one resolver for all verbs",
        "core/dispatch.py",
        "resolve.__signature__ =",
        overloads_believe_a_signature,
    ),
    Use(
        "the option _nrt",
        "count no references",
        "core/compile.py",
        '"_nrt": False',
        has_no_reference_counting,
    ),
    Use(
        "Dispatcher.overloads[signature].entry_point",
        "call without looking at the types of the arguments again",
        "core/compile.py",
        ".overloads[signature].entry_point",
        entries_are_bare,
    ),
    Use(
        "a cache index named after __qualname__",
        "give every stamp an index of its own",
        "core/compile.py",
        "function.__qualname__ =",
        cache_indices_are_named_after_functions,
    ),
    Use(
        "a cache key that holds what a function closes over",
        "compile anew after an edit",
        "core/compile.py",
        "factory(stamp)",
        cache_keys_hold_closures,
    ),
    Use(
        "one method that optimises the module of a function with all it calls",
        "optimise a kernel once and not at every depth of its calls",
        "core/compile.py",
        "CPUCodeLibrary._optimize_final_module",
        optimises_the_entry_alone,
    ),
]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.thing)
def test_numba_still_has_what_the_library_stands_on(use, monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    said = ""
    try:
        holds = use.holds()
    except Exception as error:
        holds, said = False, f" ({error!r:.200})"
    assert holds, (
        f"numba {numba.__version__}: {use.thing} is gone or has changed{said}; "
        f"{use.file} needs it to {use.purpose}"
    )


@pytest.mark.parametrize("use", USES, ids=lambda use: use.thing)
def test_the_table_follows_the_code(use):
    assert use.text in (PACKAGE / use.file).read_text()


def test_nothing_else_of_the_inside_of_numba_is_imported():
    """What is imported is documented; numba.core and its kind are not.

    Of numba-cuda, which has a ceiling of its own, `make gpu-test` tries all that is used.
    """
    imported = re.compile(r"^\s*(?:from|import) (numba[\w.]*)", re.MULTILINE)
    paths = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "gpu"]
    found = {name for path in paths for name in imported.findall(path.read_text())}
    ours = {"numba", "numba.extending", "numba.types", "numba.typed", "numba.cuda"}
    named = {"numba.core", "numba.core.caching", "numba.core.compiler", "numba.core.serialize"}
    named |= {"numba.core.codegen", "numba.core.cpu", "numba.core.errors", "numba.core.options"}
    assert found <= ours | named


def test_the_ceiling_is_the_next_minor():
    major, minor = (int(part) for part in numba.__version__.split(".")[:2])
    pyproject = ROOT / "pyproject.toml"
    assert f'"numba>={major}.{minor},<{major}.{minor + 1}"' in pyproject.read_text()
