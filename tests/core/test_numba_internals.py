"""What the library uses of the inside of numba: the probes tell the truth, and without any of it
the numbers are the same.
"""

import gc
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import njit, typeof
from numba.extending import overload, register_jitable

import core_subset
import heavybandits as hb
from heavybandits.core import numba_internals as internals
from heavybandits.core.compile import seldom_collecting
from heavybandits.core.linalg import eigen
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


# ---- effects, each a question whose answer is yes


def optimises_the_entry_alone() -> bool:
    """Inside a kernel of ours the callee is spared, and the number that comes out is the same."""
    inner = register_jitable(lambda x: x * x)
    optimised: list[str] = []

    def outer(x: float) -> float:
        return float(inner(x) + inner(-x))

    def note(library: Any) -> None:
        optimised.append(library.name)
        fully(library)

    fully = internals.optimise_fully
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(internals, "optimise_fully", note)
        kernel = njit(outer)
        with internals.entry(outer.__qualname__):
            kernel.compile((numba.float64,))
    return optimised == [outer.__qualname__] and bool(kernel(3.0) == outer(3.0))


def calls_its_own_copies() -> bool:
    """A kernel of ours shares no function that it has not inlined; any other kernel does."""

    def kernel(matrix: Any, values: Any, vectors: Any) -> None:
        eigen(matrix, values, vectors)

    arguments, shared = (np.eye(2), np.zeros(2), np.eye(2)), "define linkonce_odr"
    plain = text_of(njit(kernel), *arguments)
    with internals.entry(kernel.__qualname__):
        ours = text_of(njit(kernel), *arguments)
    return shared in plain and shared not in ours and "define internal" in ours


def optimises_kernels_as_a_whole() -> bool:
    return optimises_the_entry_alone() and calls_its_own_copies()


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


def overloads_compare_parameters() -> bool:
    """A resolver of the parameters of the function picks the method by the type of the first."""

    def height(self: Any, scale: float) -> float:
        raise AssertionError

    def resolve(self, scale):
        found = internals.class_of(self).height
        return type(found)(found.__code__, found.__globals__, "height")

    overload(height)(resolve)
    return bool(njit(lambda point, scale: height(point, scale))(Point(2.0), 3.0) == 6.0)


class Memory:
    """A store in memory."""

    content: bytes | None = None

    def load(self, signature: Any, target: Any) -> bytes | None:
        return self.content

    def save(self, signature: Any, target: Any, content: bytes) -> None:
        self.content = content


def kernels_survive_as_bytes() -> bool:
    """A kernel is saved when it is compiled, and the bytes compute the same."""
    store, signature = Memory(), (typeof(1.5),)
    made = internals.compile_fast(twice, signature, store)
    loaded = internals.compile_fast(twice, signature, store)
    counts = [dict(kernel.dispatcher.stats.cache_hits) for kernel in (made, loaded)]
    same = bool(made.call(1.5) == loaded.call(1.5) == 3.0)
    return same and counts == [{}, {signature: 1}] and store.content is not None


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


@njit
def factorial(n: int) -> int:
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@register_jitable
def positive_root(x: float) -> float:
    if x < 0.0:
        raise ValueError("must be not negative")
    return math.sqrt(x)


def tripled(x: float) -> float:
    return 3.0 * x


def called_functions_are_not_loaded() -> bool:
    """Of a kernel that calls a function, only the kernel itself gets machine code."""
    called = register_jitable(no_cfunc_wrapper=True)(tripled)

    def kernel(x: float) -> float:
        return called(x) + 1.0

    made = internals.compile_fast(kernel, (typeof(1.5),))
    engine = internals.find("numba.core.registry:cpu_target").target_context.codegen()._engine
    loaded = [name for name in engine._defined_symbols if "tripled" in name and "Env" not in name]
    return bool(made.call(1.5) == 5.5) and not loaded


EFFECTS = {
    "no_cfunc_wrapper": has_no_cfunc_wrapper,
    "forceinline": has_forceinline,
    "noalias": has_noalias,
    "_nrt": has_no_reference_counting,
    "passes": optimises_kernels_as_a_whole,
    "deferred": called_functions_are_not_loaded,
    "cache": kernels_survive_as_bytes,
    "entry_point": entries_are_bare,
    "instance_class": named_tuples_know_their_class,
}
PUBLIC = [options_reach_jitables, overloads_compare_parameters, errors_name_the_line]


def test_every_internal_has_a_test_of_its_effect():
    assert set(EFFECTS) == set(internals.INTERNALS)


@pytest.mark.parametrize("name", EFFECTS)
def test_an_internal_that_the_probe_finds_has_its_effect(name):
    purpose = internals.INTERNALS[name].purpose
    if internals.version() < internals.TESTED and not internals.has(name):
        pytest.skip("an older numba: the public API does its work")
    assert internals.has(name), f"numba {numba.__version__} has no {name}, to {purpose}"
    assert EFFECTS[name](), f"numba {numba.__version__} has changed {name}, to {purpose}"


@pytest.mark.parametrize("holds", PUBLIC, ids=lambda holds: holds.__name__)
def test_the_public_api_does_what_the_library_needs(holds):
    assert holds()


def test_a_function_of_a_kernel_can_still_be_called_alone():
    """Its machine code is made when it is first called."""
    if not internals.has("deferred"):
        pytest.skip("this numba makes machine code of every function at once")
    alone = njit(twice)

    def kernel(x: float) -> float:
        return alone(x) + 1.0

    made = internals.compile_fast(kernel, (typeof(1.5),))
    assert made.call(1.5) == alone(1.5) + 1.0 == 4.0


def test_compiling_leaves_the_garbage_collector_as_it_was():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    try:
        with seldom_collecting():
            assert gc.get_threshold()[0] > 700
        assert gc.get_threshold() == (700, 10, 10)
    finally:
        gc.set_threshold(*before)


def test_a_function_that_calls_itself_can_be_part_of_a_kernel():
    kernel = internals.compile_fast(lambda n: factorial(n) + 1, (typeof(5),))
    assert kernel.call(5) == 121


@pytest.mark.slow
def test_a_called_function_may_print():
    """In a process of its own, because a function without its environment hangs."""
    code = """
from numba import typeof
from numba.extending import register_jitable
from heavybandits.core.numba_internals import compile_fast
@register_jitable
def loud(x):
    print("value", x)
    return 2.0 * x
def kernel(x):
    return loud(x) + 1.0
print(compile_fast(kernel, (typeof(1.5),)).call(1.5))
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", code]
    printed = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout == "value 1.5\n4.0\n"


def test_an_error_of_a_called_function_reaches_the_caller():
    kernel = internals.compile_fast(lambda x: positive_root(x) + 1.0, (typeof(4.0),))
    assert kernel.call(4.0) == 3.0
    with pytest.raises(ValueError, match="not negative"):
        kernel.call(-4.0)


def test_the_trial_of_an_unknown_version_passes():
    assert internals.passes_trial()


def test_only_one_module_uses_the_inside_of_numba():
    """Elsewhere neither numba.core nor an attribute of a dispatcher or a type is named."""
    inside = re.compile(
        r"numba\.core|\._cache\b|\.overloads\b|instance_class|\]\.entry_point|_nrt\b"
    )
    paths = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "gpu"]
    found = {path.name for path in paths if inside.search(path.read_text())}
    assert found == {"numba_internals.py"}


def test_the_requirement_has_a_floor_and_no_ceiling():
    (floor,) = re.findall(r'^    "numba>=([\d.]+)",$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert tuple(map(int, floor.split(".")))[:2] <= internals.version()


# ---- other versions, other paths: processes of their own


def expected(names: list[str]) -> dict[str, str]:
    return {name: core_subset.TASKS[name]() for name in names}


@pytest.mark.slow
def test_the_public_api_gives_the_same_bits():
    """Of some tasks; `make torture` compares all of them."""
    names = [*core_subset.FEW]
    answer = core_subset.run_public(names)
    assert (answer["internals"], answer["warned"]) == ([], "")
    assert answer["digests"] == expected(names)


NEWER = "import numba; numba.__version__ = '99.0.0'\n"
GONE = """
from numba.core import codegen, compiler, cpu
for name in ("forceinline", "no_cfunc_wrapper", "_nrt"):
    delattr(cpu._options_mixin, name)
codegen.JITCPUCodegen._module_pass_manager = codegen.CPUCodegen._module_pass_manager
del codegen.CPUCodegen._module_pass_manager
del compiler.CompileResult._rebuild
"""
BROKEN = """
from numba.core import compiler
compiler.CompileResult._rebuild = classmethod(lambda *given: 1 / 0)
"""
KEPT = ["noalias", "deferred", "entry_point", "instance_class"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "left", "warned"),
    [
        (NEWER, [*internals.INTERNALS], ""),
        (GONE, KEPT, "its disk cache has changed"),
        (NEWER + GONE, KEPT, "its disk cache has changed"),
        (NEWER + BROKEN, [*internals.INTERNALS], "a small kernel failed"),
    ],
    ids=["newer", "gone", "newer and gone", "newer and broken"],
)
def test_another_numba_gives_the_same_bits(change, left, warned, tmp_path):
    """What is gone or broken is left out, and said once if every start compiles because of it."""
    answer = core_subset.run_process(["uniform"], change, NUMBA_CACHE_DIR=str(tmp_path))
    assert answer["internals"] == left
    assert answer["digests"] == expected(["uniform"])
    assert answer["warned"].count("every process compiles again") == bool(warned)
    assert warned in answer["warned"]
    assert bool(list(tmp_path.rglob("*.nbc"))) == (warned == "")


def test_a_misspelt_variable_is_rejected():
    command = [sys.executable, "-c", "import heavybandits"]
    every = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "HEAVYBANDITS_NUMBA": "publik"}
    ended = subprocess.run(command, env=every, capture_output=True, text=True, check=False)
    assert "HEAVYBANDITS_NUMBA must be 'public' or unset, got 'publik'" in ended.stderr
