"""What several algorithms compute alike."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..engine.contracts import Projection
from ..estimators import BallProjection, NoProjection, Rescaling
from ..support.validation import one_of

T = TypeVar("T")


def tell(make: Callable[..., T], known: Mapping[str, Any]) -> T:
    """Call a constructor with those of the known constants that it takes.

    >>> tell(BallProjection, {"dim": 10, "norm": 1.0})
    BallProjection(norm=1.0)
    """
    takes = inspect.signature(make).parameters
    return make(**{name: value for name, value in known.items() if name in takes})


def make_projection(name: str, norm: float) -> Projection:
    """The projection part of this name: "exact" in the V-norm, "euclidean", or "none".

    >>> make_projection("exact", 1.0)
    BallProjection(norm=1.0)
    """
    if one_of("projection", name, ("exact", "euclidean", "none")) == "none":
        return NoProjection()
    return BallProjection(norm) if name == "exact" else Rescaling(norm)


def excess(epsilon: float) -> float:
    """(1 - eps) / (2 (1 + eps)), the power of t by which heavy tails widen a region.

    >>> excess(1.0), excess(0.5)
    (0.0, 0.16666666666666666)
    """
    return (1.0 - epsilon) / (2.0 * (1.0 + epsilon))


def round_up(number: float) -> int:
    """The next whole number, a hair above one being that one.

    >>> round_up(1000.0000000000001), round_up(1000.1)
    (1000, 1001)
    """
    return math.ceil(number * (1.0 - 1e-12))
