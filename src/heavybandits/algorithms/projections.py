"""Projections by name."""

from ..engine.contracts import Projection
from ..estimators import BallProjection, NoProjection, Rescaling
from ..support.errors import InvalidInput

_PROJECTIONS = ("exact", "euclidean", "none")


def make_projection(name: str, norm: float) -> Projection:
    """The projection part of this name.

    >>> make_projection("exact", 1.0)
    BallProjection(norm=1.0)
    """
    if name not in _PROJECTIONS:
        raise InvalidInput(f"projection must be one of {', '.join(_PROJECTIONS)}, got {name!r}")
    if name == "none":
        return NoProjection()
    return BallProjection(norm) if name == "exact" else Rescaling(norm)
