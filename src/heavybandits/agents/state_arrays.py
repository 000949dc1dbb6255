"""The arrays of a state: named, copied in, and checked before they are believed."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.layout import state_bytes
from ..engine.parts import walk
from ..engine.regions import GROWTH, LOGDET, Region
from ..support.errors import StateError

LARGEST_NUMBER = 1 << 62  # of counts: what a 64-bit integer holds with room to spare
MOST_SCRATCH = 1 << 30  # bytes that a state may take beyond what is in its file


def flatten(state: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of a nested state by dotted name."""
    if isinstance(state, np.ndarray):
        return {prefix: state}
    found: dict[str, NDArray[Any]] = {}
    for name, field in zip(state._fields, state, strict=True):
        found |= flatten(field, f"{prefix}.{name}" if prefix else name)
    return found


def kept(state: Any) -> dict[str, NDArray[Any]]:
    """The arrays that make the state what it is: all but those called `scratch`, or inside it."""
    return {name: a for name, a in flatten(state).items() if "scratch" not in name.split(".")}


def regions_of(state: Any) -> list[Region]:
    """All confidence regions of a state."""
    return [part for part in walk(state) if isinstance(part, Region)]


def check_size(policy: Any, size: int) -> None:
    """Refuse a policy whose arrays are not those in the file, before any of them is made."""
    if state_bytes(policy, scratch=False) != size:
        raise StateError("the policy in the file is larger or smaller than the arrays in it")
    if state_bytes(policy) - size > MOST_SCRATCH:
        raise StateError("the policy in the file asks for more memory than a state may take")


def fill(state: Any, declared: dict[str, Any], blobs: Mapping[str, bytes | memoryview]) -> None:
    """Copy the arrays of a file into the state, if they are exactly those it has."""
    arrays = kept(state)
    sizes = {f"{name}.bin": array.nbytes for name, array in arrays.items()}
    if shapes_of(arrays) != declared or sizes != {name: len(blob) for name, blob in blobs.items()}:
        raise StateError("the arrays in the file are not those of its policy")
    for name, array in arrays.items():
        array[...] = np.frombuffer(blobs[f"{name}.bin"], array.dtype).reshape(array.shape)


def shapes_of(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Type and shape of each array, as JSON."""
    return {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}


def check_state(policy: Any, state: Any) -> None:
    """Whether the arrays hold what a policy can have made of them.

    A part that uses a number of its state as an index has a method `sound(state)` that says
    whether it is one.
    """
    check_numbers(kept(state))
    check_sound(policy, state)
    for region in regions_of(state):
        _check_region(region)
    if hasattr(policy, "radius"):
        with np.errstate(all="ignore"):
            width = policy.radius.radius(state.estimate, policy.tally(state)[0])
        if not (math.isfinite(width) and width >= 0.0):
            raise StateError(f"the radius in the file is {width}")


def check_numbers(arrays: dict[str, NDArray[Any]]) -> None:
    """Whether the numbers are finite and the counts are counts."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StateError(f"the array {name} holds values that are not finite")
        if array.dtype.kind in "iu" and not ((array >= 0) & (array < LARGEST_NUMBER)).all():
            raise StateError(f"the array {name} holds counts that cannot be")


def check_sound(policy: Any, state: Any) -> None:
    """Whether what the parts use as indices can be used so, as far as they can say."""
    pairs = [(policy, state)]
    pairs += [(getattr(policy, "estimator", None), getattr(state, "estimate", None))]
    pairs += [(getattr(policy, "filter", None), getattr(state, "memory", None))]
    if not all(part.sound(memory) for part, memory in pairs if hasattr(part, "sound")):
        raise StateError("the arrays in the file do not fit together")


def _check_region(region: Region) -> None:
    """Whether V and V^-1 are symmetric, positive definite and, nearly, each other's inverse."""
    design, inverse = region.design + region.recent, region.inverse
    scale, other = float(np.abs(design).max()), float(np.abs(inverse).max())
    if not (scale > 0.0 and other > 0.0):
        raise StateError("a matrix in the file is zero")
    if region.numbers[LOGDET] < 0.0 or region.numbers[GROWTH] < 1.0:
        raise StateError("the design matrix in the file has shrunk, and a policy only widens it")
    design, inverse = design / scale, inverse / other
    symmetric = np.abs(design - design.T).max() <= 1e-9
    error = np.abs(design @ inverse - np.eye(len(design)) / scale / other).max()
    close = error <= max(1e-3 / scale / other, 1e-10)
    if not (symmetric and close and np.linalg.eigvalsh(design)[0] > -1e-9):
        raise StateError("the design matrix in the file is not one a policy can have made")
