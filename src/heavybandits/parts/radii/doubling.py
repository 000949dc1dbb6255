"""CRAL's radii: computed from the threshold that its estimators find."""

import math
from typing import NamedTuple

from ..._utils.validation import NonNegative
from ...core.confidence_region import penalty_of
from ...core.linalg import LARGEST, dot
from ..estimators.doubling import DoublingEstimate, energy_of, radius_of, threshold_of

EFFECT = 1.25  # times sqrt(lambda) ||theta||; with 1 or less the first good arm can win always


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


class GrowingRadius(NamedTuple):
    """Use the radius of CRAL's tuned form, which `GrowingHuber` estimates.

    It is max{share sqrt(B) + floor tau, 1.25 sqrt(lambda) ||theta||}. B is the sum of the squares
    of all clipped steps. The second term takes the place of sqrt(lambda) ||theta*|| in the
    theorem's radius: without it an arm that has not been played looks worse than the first good
    one, if noise is small. Before the first residual that is not zero, there is no bound. No
    theorem covers this radius.

    Parameters
    ----------
    share : float, default 0.4
        Multiplier of sqrt(B).
    floor : float, default 0.1
        Multiplier of the threshold tau of `GrowingHuber`.

    Examples
    --------
    >>> from heavybandits.estimators import GrowingHuber, NoProjection
    >>> from heavybandits.links import Identity
    >>> GrowingRadius().radius(GrowingHuber(2, Identity(), NoProjection()).init(), 0)
    1e+100
    """

    share: NonNegative = 0.4
    floor: NonNegative = 0.1

    def radius(self, estimate: DoublingEstimate, t: int) -> float:
        if threshold_of(estimate) == 0.0:
            return LARGEST
        noise = self.share * math.sqrt(energy_of(estimate)) + self.floor * threshold_of(estimate)
        centre = estimate.region.centre
        prior = math.sqrt(penalty_of(estimate.region) * dot(centre, centre))
        return max(noise, EFFECT * prior)
