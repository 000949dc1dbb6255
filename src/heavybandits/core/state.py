"""Make the state of a policy, and validate what your own `init` returns.

A state is a NamedTuple of arrays, or of such NamedTuples. Its arrays are float64 or int64, and no
two of them share memory: compiled code relies on both.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import PartError
from .capabilities import has_own_rows
from .confidence_region import Region
from .part import is_part, own_classes, walk
from .part_errors import Place, attempt

DTYPES = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.uint64))


def make_state(policy: Any) -> Any:
    """Return policy.init(); if a part of the policy is not the library's, validate its state first.

    Raises
    ------
    PartError
        `init` of your own part fails, returns something else than a NamedTuple of arrays, or
        returns different numbers when called twice.

    Examples
    --------
    >>> from heavybandits import linucb
    >>> make_state(linucb(dim=2, radius=1.0)).memory.counts.tolist()
    [0, 0]
    """
    own = own_classes(policy)
    if not own:
        return policy.init()
    for part in walk(policy):
        if type(part) in own and hasattr(part, "init"):
            _check_init(part, own)
    return attempt(own, policy.init)


def _check_init(part: Any, own: frozenset[type]) -> None:
    state, again = attempt(own, part.init), attempt(own, part.init)
    wrong = _state_fault(state) or _contract_fault(part, state) or _repeat_fault(state, again)
    if wrong is None:
        return
    code = getattr(type(part).init, "__code__", None)
    label = f"{type(part).__name__}.init"
    if code is None:
        raise PartError(f"{label}: {wrong}")
    place = Place(label, code.co_filename, code.co_firstlineno)
    raise PartError(f"{place}: {wrong}\n{place.quoted()}")


def _state_fault(state: Any) -> str | None:
    """Return what is wrong with a state; None if nothing is."""
    if not is_part(state):
        return (
            f"it must return a NamedTuple of arrays, got {type(state).__name__}: declare one with "
            "typing.NamedTuple and name its arrays"
        )
    for path, value in named_arrays(state):
        wrong = _array_fault(value)
        if wrong:
            return f"field {path} of the state {wrong}"
    for (path, array), (other, second) in combinations(named_arrays(state), 2):
        if np.may_share_memory(array, second) and np.shares_memory(array, second):
            return f"fields {path} and {other} of the state share memory: make an array for each"
    return None


def _array_fault(value: Any) -> str | None:
    if not isinstance(value, np.ndarray):
        fix = "np.array([value])" if isinstance(value, int | float) else "np.zeros(size)"
        return f"must be an array, got {type(value).__name__}: write {fix}, of a fixed size"
    if value.dtype not in DTYPES:
        return f"has dtype {value.dtype}: use float64, or int64 for counts"
    if not value.flags.c_contiguous:
        return "is not contiguous: use np.ascontiguousarray"
    if not value.flags.writeable:
        return "is read-only: copy it"
    return None


def _contract_fault(part: Any, state: Any) -> str | None:
    """Return what a filter or an estimator lacks in its state."""
    if hasattr(part, "apply"):
        counts = getattr(state, "counts", None)
        if not isinstance(counts, np.ndarray) or counts.size < 2 or counts.dtype != np.int64:
            return "the memory of a filter must have a field counts of two int64: use make_memory"
    if hasattr(part, "predict") and hasattr(part, "update"):
        region = getattr(state, "region", None)
        if not isinstance(region, Region):
            return "the state of an estimator must have a field region: use make_region"
        if region.centre.shape != (part.dim,) and not has_own_rows(part):
            return f"the region must have dim {part.dim}, got {region.centre.size}"
    return None


def _repeat_fault(state: Any, again: Any) -> str | None:
    """Return what differs between two fresh states, or is shared by them."""
    first, second = dict(named_arrays(state)), dict(named_arrays(again))
    if first.keys() != second.keys():
        return "two calls return states with different fields"
    for path, array in first.items():
        if np.may_share_memory(array, second[path]) and array.size:
            return f"two states share field {path}: make a new array in every call"
        if array.shape != second[path].shape or array.tobytes() != second[path].tobytes():
            return (
                f"two calls return different numbers in field {path}: `init` must not draw random "
                "numbers without a seed, read a clock or change anything"
            )
    return None


def named_arrays(state: Any, path: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the fields of a state that are not NamedTuples, by dotted name.

    >>> from heavybandits.filters import NoFilter
    >>> [name for name, _ in named_arrays(NoFilter().init())]
    ['counts', 'buffer']
    """
    for name, field in zip(state._fields, state, strict=True):
        place = f"{path}.{name}" if path else name
        if is_part(field):
            yield from named_arrays(field, place)
        else:
            yield place, field
