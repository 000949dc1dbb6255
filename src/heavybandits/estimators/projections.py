"""Projections: bring the centre of a region back into the ball of radius S."""

from typing import Any, NamedTuple

from ..engine.linalg import norm, stretch
from ..engine.projections import project_ball


class BallProjection(NamedTuple):
    """The centre's nearest point of {||theta|| <= S} in the V-norm: what the theorems need.

    >>> BallProjection(norm=1.0)
    BallProjection(norm=1.0)
    """

    norm: float

    def project(self, region: Any) -> bool:
        if norm(region.centre) <= self.norm:
            return False
        project_ball(region.inverse, region.centre, self.norm, region.scratch)
        return True


class Rescaling(NamedTuple):
    """The centre scaled back to length S: cheap, and not the projection the proofs use.

    >>> Rescaling(norm=2.0).norm
    2.0
    """

    norm: float

    def project(self, region: Any) -> bool:
        length = norm(region.centre)
        if length <= self.norm:
            return False
        stretch(region.centre, self.norm / length)
        return True


class NoProjection(NamedTuple):
    """The centre left where it is, as the paper's equation (2) writes its baselines.

    >>> NoProjection().project(None)
    False
    """

    def project(self, region: Any) -> bool:
        return False
