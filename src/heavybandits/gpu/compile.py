"""Compile the source of a kernel with numba-cuda so that the kernel rounds as the CPU does."""

import functools
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numba import cuda

from ..core.arm_buffer import ArmBuffer
from ..core.loop import Episode, Trace, Unobserved, begin_decision, draw_noise, load_progress, play
from ..core.numba_internals import NumbaError
from ..core.rng import seed_of
from ..core.world import STILL, Mail, World
from . import arms, medians
from . import confidence_region as regions
from . import play as playing
from . import projection as projections
from . import rng as streams
from .cache import DeviceCache
from .kernels import kernel_text
from .layout import FAR, Layout
from .numba_cuda_internals import (
    CudaError,
    allow_shared_memory,
    rewrite_code,
    typeof,
    types,
    unknown_version,
)
from .storage import draw_together, due, load_common, store_common
from .team import carve, hold, leading

NUMBA_ERRORS = (NumbaError, CudaError)  # the class of numba, and its copy in numba-cuda
# Importing these modules registers their twins.
TWINS = (arms, medians, playing, projections, regions, streams)
_CALLED: tuple[Any, ...] = (Episode, Trace, ArmBuffer, World, Mail)
_CALLED += (begin_decision, draw_noise, seed_of, draw_together, due, load_common)
_CALLED += (load_progress, play, store_common)
_NAMES = {called.__name__: called for called in _CALLED}
_NAMES |= {
    "STILL": STILL,
    "cuda": cuda,
    "float64": types.float64,
    "int64": types.int64,
    "leading": leading,
}
OPTIONS = {"lto": False, "shared_memory_carveout": "maxshared"}
_DEFINED = re.compile(r"^define linkonce_odr [^\n]*\)", re.MULTILINE)
# Mangled names of functions that run rarely. For a lane that plays alone there are more of them,
# because its arrays are in device memory in any case.
_SELDOM = r"15invert_together|noises[^(]*4drawB"
_SELDOM_ALONE = rf"{_SELDOM}|12project_ball|6repair|10bring_back|10renew_gaps|6medoid"
_DECLARED = re.compile(r'^declare double @"?__nv_f(max|min)"?\(.*$', re.MULTILINE)


def _inlined(definition: re.Match[str], seldom: str) -> str:
    """Return a definition with `noinline` if the function runs rarely, else with `alwaysinline`.

    Small arrays stay in registers if everything is inlined. A function that runs rarely needs no
    such arrays, and inlining it would only add code.
    """
    apart = re.search(seldom, definition[0].partition("(")[0])
    return f"{definition[0]} {'noinline' if apart else 'alwaysinline'}"


def _chosen(declaration: re.Match[str]) -> str:
    """Return LLVM code for max(a, b) or min(a, b) as on the CPU.

    The result is b if b is larger (max) or smaller (min) than a, else a.
    """
    name, relation = declaration[1], {"max": "ogt", "min": "olt"}[declaration[1]]
    return f"""define internal double @__nv_f{name}(double %a, double %b) alwaysinline {{
  %better = fcmp {relation} double %b, %a
  %chosen = select i1 %better, double %b, double %a
  ret double %chosen
}}"""


def as_on_the_cpu(lanes: int) -> AbstractContextManager[list[str]]:
    """Make a context that compiles a * b + c with two roundings and `max` with one comparison.

    The CPU computes them in the same way.
    """
    seldom = _SELDOM if lanes > 1 else _SELDOM_ALONE
    inlined = functools.partial(_inlined, seldom=seldom)
    return rewrite_code(lambda text: _DECLARED.sub(_chosen, _DEFINED.sub(inlined, text)))


def make_function(text: str, classes: dict[str, Any], lanes: int) -> Any:
    """Return the uncompiled kernel of this source."""
    space = {**_NAMES, **classes, "hold": hold(lanes)}
    for name in set(re.findall(r"(?:carve|alike)_[0-9_]+", text)):
        kind, *sizes = name.split("_")
        space[name] = carve(tuple(map(int, sizes)), lanes, kind == "alike")
    exec(compile(text, "<kernel>", "exec"), space)
    return space["kernel"]


def signature_of(parts: Sequence[Any], layout: Layout) -> tuple[Any, ...]:
    """Return the types of the kernel's arguments."""

    def table(kind: Any, axes: int) -> Any:
        return types.Array(kind, axes, "C")

    f, i, u = types.float64, types.int64, types.uint64
    far = [
        table(f if leaf.array.dtype == np.float64 else i, leaf.array.ndim + 1)
        for leaf in layout.all(FAR)
    ]
    common = [] if layout.lanes == 1 else [table(f, 2), table(f, 2), table(i, 2)]
    run = [*map(typeof, parts), table(f, 2), table(i, 1)]
    keys = [table(f, 1), table(u, 1), table(u, 1), typeof(Unobserved())]
    out = [table(i, 1), table(f, 2), table(i, 2), table(i, 2), table(i, 2)]
    return (*run, *keys, i, i, *out, *common, *far)


def compile_ptx(
    parts: Sequence[Any], varying: Sequence[bool], layout: Layout, target: tuple[int, int] = (9, 0)
) -> str:
    """Return the kernel as PTX. This needs no device."""
    text, classes = kernel_text(parts, varying, layout)
    function = make_function(text, classes, layout.lanes)
    signature = types.void(*signature_of(parts, layout))
    with as_on_the_cpu(layout.lanes) as rewritten:
        ptx, _ = cuda.compile_ptx(function, signature, cc=target, abi="numba")
    _check_rewritten(rewritten)
    return str(ptx)


def _check_rewritten(texts: Sequence[str]) -> None:
    """Raise DeviceError if no code was rewritten: the kernel would not round as the CPU does."""
    if not texts:
        raise unknown_version("it no longer compiles by nvvm.compile_ir")


@functools.cache
def _dispatcher(
    text: str, names: tuple[str, ...], kinds: tuple[Any, ...], lanes: int, registers: int
) -> Any:
    limit = {"max_registers": registers} if lanes > 1 else {}
    function = make_function(text, dict(zip(names, kinds, strict=True)), lanes)
    return cuda.jit(function, **OPTIONS, **limit)


def kernel_of(parts: Sequence[Any], varying: Sequence[bool], layout: Layout) -> Any:
    """Return the kernel, compiled for the current device or loaded from disk."""
    text, classes = kernel_text(parts, varying, layout)
    registers = layout.registers if layout.lanes > 1 else 0
    kinds = tuple(classes.values())
    dispatcher = _dispatcher(text, tuple(classes), kinds, layout.lanes, registers)
    cache = DeviceCache(text, tuple(parts))
    if cache.works:
        dispatcher._cache = cache
    before = len(dispatcher.overloads)
    with as_on_the_cpu(layout.lanes) as rewritten:
        dispatcher.disable_compile(False)
        dispatcher.compile(signature_of(parts, layout))
        dispatcher.disable_compile()  # a kernel compiled by a call would not round as the CPU does
    if len(dispatcher.overloads) > before and not cache.found:
        _check_rewritten(rewritten)
    allow_shared_memory(dispatcher, 8 * layout.pool)
    return dispatcher


def is_stored(
    parts: Sequence[Any], varying: Sequence[bool], layout: Layout
) -> tuple[str, bool] | None:
    """Return the file of a kernel and True if it exists; None if the kernel cannot be kept."""
    text, _ = kernel_text(parts, varying, layout)
    return DeviceCache(text, tuple(parts)).stored(signature_of(parts, layout))
