"""Decorators for functions that compiled code calls."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload, register_jitable

from .numba_internals import VECTORISED, options
from .part_errors import PACKAGE

F = TypeVar("F", bound=Callable[..., Any])


def _register(function: F, **wanted: bool) -> F:
    # Numba would also make a C entry of every function, which nothing calls.
    known = options(no_cfunc_wrapper=True, **wanted)
    if function.__module__.partition(".")[0] != PACKAGE:  # a function of your own
        checked = known | {"boundscheck": True}  # a CPU prefers this one, a GPU cannot check
        overload(function, jit_options=checked, strict=False, target="cpu")(
            lambda *args, **named: function
        )
    return register_jitable(**known)(function) if known else register_jitable(function)


def jitable(function: F) -> F:
    """Let compiled code call this function; in Python it stays the same.

    In a function that is not the library's, compiled code checks every index.

    Parameters
    ----------
    function : function
        The function to register.

    Returns
    -------
    function
        The same function.
    """
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
