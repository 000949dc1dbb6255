"""Decorators for functions that compiled code calls."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload, register_jitable

from .numba_internals import VECTORISED, options

F = TypeVar("F", bound=Callable[..., Any])


def _register(function: F, **wanted: bool) -> F:
    # Numba would also make a C entry of every function, which nothing calls.
    known = options(no_cfunc_wrapper=True, **wanted)
    return register_jitable(**known)(function) if known else register_jitable(function)


def jitable(function: F) -> F:
    """Let compiled code call this function; in Python it stays the same."""
    return _register(function)


def outlined(function: F) -> F:
    """Let compiled code call this function out of line: for code that runs rarely."""
    return _register(function, forceinline=False)


def vectorised(function: F) -> F:
    """Let compiled code call this function, and optimise it alone first: for a hot loop.

    No two arrays among its arguments may share memory, so that no loop checks before it starts.
    """
    VECTORISED.add(function.__qualname__)
    return _register(function, noalias=True)


def compiled_form(function: Callable[..., Any]) -> Callable[[F], F]:
    """Let compiled code call the decorated function in the place of `function`."""

    def register(form: F) -> F:
        @overload(function, jit_options=options(no_cfunc_wrapper=True), strict=False)
        def resolve(*arguments: Any, **named: Any) -> Any:
            return form

        return form

    return register
