"""How a function that compiled code calls is marked."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.core.cpu import CPUTargetOptions
from numba.core.options import TargetOptions
from numba.extending import register_jitable

F = TypeVar("F", bound=Callable[..., Any])

# Numba would make a C entry of every function too, which nothing calls and every cold start pays.
OPTIONS = {"no_cfunc_wrapper": True}

CPUTargetOptions.noalias = TargetOptions.Mapping("noalias")  # of numba's, but for its own use

VECTORISED: set[str] = set()  # functions that are optimised by themselves too (see compiling.py)


def jitable(function: F) -> F:
    """Let compiled code call this function; in Python it stays what it is."""
    return register_jitable(**OPTIONS)(function)


def outlined(function: F) -> F:
    """The same, not inlined by force where its caller is: for what runs seldom."""
    return register_jitable(forceinline=False, **OPTIONS)(function)


def vectorised(function: F) -> F:
    """The same as `jitable`, for a hot loop: it is optimised alone first.

    No two arrays among its arguments may share memory: then no loop has to ask before it starts.
    """
    VECTORISED.add(function.__qualname__)
    return register_jitable(noalias=True, **OPTIONS)(function)
