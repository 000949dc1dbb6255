"""auto's radius: computed from the data, so that no parameter has a unit."""

import math
from typing import NamedTuple

from ..._utils.validation import NonNegative
from ...core.confidence_region import log_volume
from ...core.linalg import LARGEST
from ..estimators.auto import (
    ScaleFreeEstimate,
    known_count,
    learned_directions,
    prior_radius,
)

CAUTION = 2.0  # term of the logarithm, so that early luck does not fix the choice of an arm


class ScaleFreeRadius(NamedTuple):
    """(share s + doubt max{sqrt(lambda) ||theta|| / sqrt(k), s}) sqrt(2 + ln(det V / det V_1) / k).

    The width that one arm needs, and not all at once: of d directions each has its share of the
    volume, so that, unlike in Abbasi-Yadkori et al. (2011), d itself does not enter. s is the
    noise, k = d - lambda tr V^-1 how many directions have been learned, and ||theta|| / sqrt(k) how
    large an effect is: what one that is not learned yet may be. The penalty holds that at s /
    sqrt(lambda), unless it is at its own bounds; then what few directions have told is not taken
    for all there is. Before the first reward that tells a scale there is no bound.

    >>> from heavybandits.estimators import ScaleFreeHuber
    >>> from heavybandits.links import Identity
    >>> ScaleFreeRadius().radius(ScaleFreeHuber(3, Identity()).init(), 0)
    1e+100
    """

    share: NonNegative = 0.3
    doubt: NonNegative = 1.0

    def radius(self, estimate: ScaleFreeEstimate, t: int) -> float:
        if known_count(estimate) == 0:
            return LARGEST
        region, learned = estimate.region, learned_directions(estimate.region)
        noise = math.sqrt(estimate.scale[0])
        effect = max(prior_radius(region) / math.sqrt(learned), noise)
        volume = CAUTION + log_volume(region) / learned
        return (self.share * noise + self.doubt * effect) * math.sqrt(volume)
