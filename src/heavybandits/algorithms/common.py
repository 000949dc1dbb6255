"""Helpers that several algorithms share."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .._utils.validation import one_of, positive
from ..core.protocols import Projection, Radius
from ..parts.estimators import BallProjection, EuclideanProjection, NoProjection
from ..parts.radii import Scaled

T = TypeVar("T")


def call_with_known(make: Callable[..., T], known: Mapping[str, Any]) -> T:
    """Call a function with those of the known values that it has a parameter for.

    >>> call_with_known(BallProjection, {"dim": 10, "norm": 1.0})
    BallProjection(norm=1.0)
    """
    parameters = inspect.signature(make).parameters
    return make(**{name: value for name, value in known.items() if name in parameters})


def make_projection(name: str, norm: float) -> Projection:
    """Return the projection part of this name: "exact" in the V-norm, "euclidean", or "none".

    >>> make_projection("exact", 1.0)
    BallProjection(norm=1.0)
    """
    if one_of("projection", name, ("exact", "euclidean", "none")) == "none":
        return NoProjection()
    return BallProjection(norm) if name == "exact" else EuclideanProjection(norm)


def round_up(number: float) -> int:
    """Round up to a whole number, ignoring a rounding error of 1e-12.

    >>> round_up(1000.0000000000001), round_up(1000.1)
    (1000, 1001)
    """
    return math.ceil(number * (1.0 - 1e-12))


def scale_radius(radius: Radius, radius_scale: float | None) -> Radius:
    """Multiply the radius of a theorem by radius_scale, if one is given."""
    if radius_scale is None:
        return radius
    return Scaled(radius, positive("radius_scale", radius_scale))
