"""The arrays of a state: named, copied in, and checked before they are believed."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.parts import walk
from ..engine.regions import GROWTH, LOGDET, Region
from ..support.errors import StateError

LARGEST_NUMBER = 1 << 62  # of counts: what a 64-bit integer holds with room to spare
FREE = 512  # a length up to this needs no data to show for it
HEADER = "header.json"


def flatten(state: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of a nested state by dotted name."""
    if isinstance(state, np.ndarray):
        return {prefix: state}
    found: dict[str, NDArray[Any]] = {}
    for name, field in zip(state._fields, state, strict=True):
        found |= flatten(field, f"{prefix}.{name}" if prefix else name)
    return found


def kept(state: Any) -> dict[str, NDArray[Any]]:
    """The arrays that make the state what it is: all but those called `scratch`."""
    return {name: a for name, a in flatten(state).items() if name.split(".")[-1] != "scratch"}


def regions_of(state: Any) -> list[Region]:
    """All confidence regions of a state."""
    return [part for part in walk(state) if isinstance(part, Region)]


def check_size(policy: Any, size: int, trusted: set[type]) -> None:
    """Refuse sizes that the arrays in the file cannot fill, before anything is allocated.

    Whatever part of ours inside a policy has a dimension keeps a d x d matrix, and any other of its
    whole numbers may be a length. For the classes in `trusted` the caller vouches.
    """
    for part in list(walk(policy))[1:]:
        for name, number in zip(part._fields, part, strict=True):
            if type(part) in trusted or not isinstance(number, int) or name == "seed":
                continue
            length = number * number if name == "dim" else number
            if 8 * length > size and number > (0 if name == "dim" else FREE):
                raise StateError("the policy in the file is larger than the arrays in it")


def fill(state: Any, declared: dict[str, Any], blobs: dict[str, bytes]) -> None:
    """Copy the arrays of the file into the state, if they are exactly those it has."""
    arrays = kept(state)
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    sizes = {name: array.nbytes for name, array in arrays.items()}
    if shapes != declared or sizes != {name: len(blob) for name, blob in blobs.items()}:
        raise StateError("the arrays in the file are not those of its policy")
    for name, array in arrays.items():
        array[...] = np.frombuffer(blobs[name], array.dtype).reshape(array.shape)


def check_state(policy: Any, state: Any) -> None:
    """Whether the arrays hold what a policy can have made of them.

    A part that uses a number of its state as an index has a method `sound(state)` that says
    whether it is one.
    """
    for name, array in kept(state).items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StateError(f"the array {name} holds values that are not finite")
        if array.dtype.kind in "iu" and not ((array >= 0) & (array < LARGEST_NUMBER)).all():
            raise StateError(f"the array {name} holds counts that cannot be")
    for region in regions_of(state):
        _check_region(region)
    if hasattr(policy, "radius"):
        with np.errstate(all="ignore"):
            width = policy.radius.radius(state.estimate, policy.tally(state)[0])
        if not (math.isfinite(width) and width >= 0.0):
            raise StateError(f"the radius in the file is {width}")
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
