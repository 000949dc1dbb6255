"""Run parts of your own before they are compiled, and again if compiled code fails.

Numba explains a misspelt name in hundreds of lines. So the first call of a kernel with a part that
is not the library's runs uncompiled, on a copy of its arguments: the real run finds everything as
it was. The compiled kernel then makes the same call twice, on two copies, and must give the same
bits. Compiled code does not know the line at which it fails, so a call that failed is repeated
uncompiled.
"""

import copy
import inspect
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._utils.errors import PartError
from .capabilities import capacity_of
from .dispatch import DISPATCHED, is_own
from .part import is_part, walk
from .part_errors import cause, explain, names_of
from .purity import check_purity
from .runs import Runs

DECISIONS, LOOK = 32, 200_000  # rehearsed at most; fewer where each takes many numbers
MANY, SMALL = 100, 100  # rehearsed where a decision takes so few numbers
PATIENCE = 10.0  # seconds for finding the line at which compiled code failed


def first_plays(policy: Any, arms: Any) -> int:
    """Return how many plays are rehearsed: some decisions, few where arms are many or long.

    >>> from heavybandits import arms, linucb
    >>> first_plays(linucb(dim=10, radius=1.0), arms.PerRound(20, 10))
    32
    >>> first_plays(linucb(dim=3, radius=1.0), arms.PerRound(5, 3))
    100
    >>> first_plays(linucb(dim=100, radius=1.0), arms.PerRound(1000, 100))
    2
    """
    room = capacity_of(policy) or MANY
    numbers = policy.dim * (policy.dim + arms.size)
    wanted = MANY if numbers <= SMALL else min(DECISIONS, max(2, LOOK // numbers))
    return int(policy.plays * min(room, wanted))


def shapes(value: Any) -> tuple[Any, ...]:
    """The shapes of all arrays in the arguments of a call: an index may fit one and not another."""
    fields = (field for part in walk(value) for field in part)
    return tuple(field.shape for field in fields if isinstance(field, np.ndarray))


def rehearse(kernel: Callable[..., Any], arguments: tuple[Any, ...], own: frozenset[type]) -> None:
    """Run a kernel in Python on a copy of its arguments; PartError says what its parts do wrong.

    Arithmetic that stops Python, such as 1.0 / 0.0, stops nothing here: compiled code continues
    with inf or nan.
    """
    try:
        with np.errstate(all="ignore"):
            kernel(*frozen(copy.deepcopy(arguments)))
    except (PartError, MemoryError, TimeoutError):
        raise
    except ArithmeticError:
        pass
    except Exception as error:
        if not (isinstance(error, ValueError) and "math domain error" in str(error)):
            raise PartError(explain(error, own), traceback.format_exc()) from None


def frozen(value: Any, inside: bool = False) -> Any:
    """Return arguments in which the arrays of your own parts are read-only: fields are constants.

    Observers are exempt: they keep what they see.
    """
    if isinstance(value, np.ndarray) and inside:
        view = value.view()
        view.flags.writeable = False
        return view
    if not isinstance(value, tuple):
        return value
    inside = inside or _is_own_part(type(value))
    fields = (frozen(field, inside) for field in value)
    return type(value)(*fields) if is_part(value) else tuple(fields)


def _is_own_part(kind: type) -> bool:
    methods = (name for name in DISPATCHED if inspect.isfunction(getattr(kind, name, None)))
    return is_own(kind) and any(methods) and not hasattr(kind, "observe")


def check_repeatable(
    kernel: Callable[..., Any], arguments: tuple[Any, ...], own: frozenset[type]
) -> None:
    """Make the same call on two copies of the arguments; raise PartError if the results differ."""
    first, second = copy.deepcopy(arguments), copy.deepcopy(arguments)
    returned = kernel(*first), kernel(*second)
    check_equal((first, returned[0]), (second, returned[1]), own)


def check_equal(one: Any, other: Any, own: frozenset[type]) -> None:
    """Raise PartError if two runs from the same state have left different bits."""
    if _bits(one) != _bits(other):
        raise PartError(
            f"{names_of(own)}: two runs from the same state differ. A part must be a function of "
            "its arguments: random numbers come from uniform(key, ...) of heavybandits.authoring, "
            "and what changes is kept in an array of the state"
        )


def _bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_bits(field) for field in value]
    return np.asarray(value).tobytes() if isinstance(value, np.ndarray | float) else value


def debugged(kernel: Callable[..., Any], own: frozenset[type]) -> Callable[..., Any]:
    """Return a kernel that runs uncompiled, twice, and raises PartError at the first mistake.

    Indices are checked by NumPy, what methods return by their contract, and the fields of your own
    parts are read-only. The second run starts from a copy and must leave the same bits.
    """
    for part in own:
        check_purity(part)

    def play(*arguments: Any) -> Any:
        copied = copy.deepcopy(arguments)
        try:
            with np.errstate(all="ignore"):
                returned = kernel(*frozen(arguments)), kernel(*frozen(copied))
        except PartError:
            raise
        except Exception as error:
            if not own:
                raise
            raise PartError(explain(error, own), traceback.format_exc()) from None
        # The memory of runs is that of the state, of which a copy has none.
        one, other = (
            tuple(value for value in values if not isinstance(value, Runs))
            for values in (arguments, copied)
        )
        check_equal((one, returned[0]), (other, returned[1]), own)
        return returned[0]

    return play


def explain_failure(
    error: Exception,
    kernel: Callable[..., Any],
    arguments: tuple[Any, ...],
    own: frozenset[type],
) -> str:
    """Say where compiled code failed: the call is repeated uncompiled from the state it left."""
    try:
        with _deadline(PATIENCE):
            rehearse(kernel, arguments, own)
    except PartError as found:
        return str(found)
    except TimeoutError:
        pass
    return (
        f"{names_of(own)}: {cause(error)}, in compiled code\nto see the line, run it uncompiled, "
        "with NUMBA_DISABLE_JIT=1 in the environment"
    )


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise TimeoutError at the first call of a function after so many seconds."""
    end, before = time.monotonic() + seconds, sys.getprofile()

    def look(*_: Any) -> None:
        if time.monotonic() > end:
            sys.setprofile(before)
            raise TimeoutError

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)
