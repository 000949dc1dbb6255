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
    """Project the centre of a region, and count the projection if the centre moves.

    Parameters
    ----------
    projection : Projection
        The projection to apply.
    region : Region
        The region, whose centre changes in place.
    """
    if project(projection, region):
        count_projection(region)
        mark_strayed(region)


class BallProjection(NamedTuple):
    """Move the centre to the nearest point of {||theta|| <= S} in the norm of V.

    The theorems need this projection.

    Parameters
    ----------
    norm : float
        S, the radius of the ball.

    Examples
    --------
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
    """Scale the centre back to length S if it is longer.

    This is cheaper than `BallProjection`, but the proofs do not cover it.

    Parameters
    ----------
    norm : float
        S, the radius of the ball.

    Examples
    --------
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
    """Leave the centre where it is, as in the paper's equation (2) for its baselines.

    Examples
    --------
    >>> from heavybandits.authoring import make_region
    >>> NoProjection().project(make_region(2, 1.0))
    False
    """

    def project(self, region: Region) -> bool:
        return False
