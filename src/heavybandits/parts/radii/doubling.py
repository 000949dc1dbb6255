"""CRAL's radii: computed from the threshold that its estimators find."""

import math
from typing import NamedTuple

from ..._utils.validation import NonNegative
from ...core.confidence_region import Region, penalty_of
from ...core.jit import jitable
from ...core.linalg import LARGEST, dot
from ..estimators.doubling import DoublingEstimate, energy_of, radius_of, threshold_of

EFFECT = 1.25  # times the bias; with 1 or less the first good arm can win always


class DoublingRadius(NamedTuple):
    """Use the radius beta / sqrt(kappa) that `DoublingHuber` computes: CRAL's.

    beta = c tau l + r, see docs/maths/cral.md.

    Examples
    --------
    >>> from heavybandits.estimators import DoublingHuber, NoProjection
    >>> from heavybandits.links import Identity
    >>> step = DoublingHuber(2, Identity(), 1.0, 1.0, 1.0, NoProjection(), 1.0, 9.0, 1.0, 0.05)
    >>> round(float(DoublingRadius().radius(step.init(), 0)), 12)
    10.0
    """

    def radius(self, estimate: DoublingEstimate, t: int) -> float:
        return radius_of(estimate)


@jitable
def penalty_bias(region: Region) -> float:
    """Return sqrt(lambda) ||theta|| min{1, sqrt(lambda tr V^-1)}.

    The penalty moves the estimate by lambda ||theta*||_{V^-1} in the norm of V. This is a bound for
    it, if theta* is as long as theta.
    """
    trace = 0.0
    for i in range(region.centre.size):
        trace += region.inverse[i, i]
    unknown = min(max(penalty_of(region) * trace, 0.0), 1.0)
    return math.sqrt(penalty_of(region) * unknown * dot(region.centre, region.centre))


class GrowingRadius(NamedTuple):
    """Use the radius of CRAL's tuned form, which `GrowingHuber` estimates.

        max{share sqrt(B) + floor tau, 1.25 sqrt(lambda) ||theta|| min{1, sqrt(lambda tr V^-1)}}

    B is the sum of the squares of all clipped steps (see `GrowingHuber`). The second term takes the
    place of sqrt(lambda) ||theta*|| in the theorem's radius. Without it an arm that has not been
    played looks worse than the first good one, if noise is small. lambda tr V^-1 is the number of
    directions of theta that are not known yet: below one, the term shrinks. Before the first
    residual that is not zero, there is no bound. No theorem covers this radius.

    Parameters
    ----------
    share : float, default 0.4
        Multiplier of sqrt(B).
    floor : float, default 0.0
        Multiplier of the threshold tau of `GrowingHuber`, for a radius that is wider at first.

    Examples
    --------
    >>> from heavybandits.estimators import GrowingHuber, NoProjection
    >>> from heavybandits.links import Identity
    >>> GrowingRadius().radius(GrowingHuber(2, Identity(), NoProjection()).init(), 0)
    1e+100
    """

    share: NonNegative = 0.4
    floor: NonNegative = 0.0

    def radius(self, estimate: DoublingEstimate, t: int) -> float:
        if threshold_of(estimate) == 0.0:
            return LARGEST
        noise = self.share * math.sqrt(energy_of(estimate)) + self.floor * threshold_of(estimate)
        return max(noise, EFFECT * penalty_bias(estimate.region))
