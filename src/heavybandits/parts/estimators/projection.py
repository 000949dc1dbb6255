"""Projections: move the centre of a region back into the ball of radius S."""

from typing import NamedTuple

from ..._utils.validation import Weight
from ...core.confidence_region import Region, count_projection, mark_strayed
from ...core.dispatch import project
from ...core.jit import jitable
from ...core.linalg import norm, stretch
from ...core.projection import project_ball
from ...core.protocols import Projection


@jitable
def project_centre(projection: Projection, region: Region) -> None:
    """Project the centre of a region, and count it if the centre moves."""
    if project(projection, region):
        count_projection(region)
        mark_strayed(region)


class BallProjection(NamedTuple):
    """The centre's nearest point of {||theta|| <= S} in the V-norm: what the theorems need.

    >>> BallProjection(norm=1.0)
    BallProjection(norm=1.0)
    """

    norm: Weight

    def project(self, region: Region) -> bool:
        if norm(region.centre) <= self.norm:
            return False
        project_ball(region.inverse, region.centre, self.norm, region.scratch)
        return True


class EuclideanProjection(NamedTuple):
    """The centre scaled back to length S: cheap, and not the projection the proofs use.

    >>> EuclideanProjection(norm=2.0).norm
    2.0
    """

    norm: Weight

    def project(self, region: Region) -> bool:
        length = norm(region.centre)
        if length <= self.norm:
            return False
        stretch(region.centre, self.norm / length)
        return True


class NoProjection(NamedTuple):
    """The centre left where it is, as the paper's equation (2) writes its baselines.

    >>> from heavybandits.authoring import make_region
    >>> NoProjection().project(make_region(2, 1.0))
    False
    """

    def project(self, region: Region) -> bool:
        return False
