"""A kernel is optimised once, as a whole, not again for every function that it is made of.

Numba optimises each function with all that it calls, and then its caller with all that that calls:
the text of a loop that is ten calls deep passes through LLVM ten times. In the end all of it lies
in one module, the entry's, and only what happens there counts. So the entry is optimised as ever,
the functions below it only as far as inlining needs: half the time, the same bits.

The few loops that vectorise by themselves and not inside their callers are marked `vectorised`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from numba.core.codegen import CPUCodeLibrary

from .jitable import VECTORISED

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
