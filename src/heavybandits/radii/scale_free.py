"""auto's radius: made of what the data says, so that it has no constant with a unit."""

import math
from typing import NamedTuple

from ..engine.bounds import Fraction, NonNegative
from ..engine.linalg import LARGEST
from ..engine.regions import FLOOR, log_volume
from ..estimators.scale_free import KNOWN, WAIT, ScaleFreeEstimate, prior_radius


class ScaleFreeRegion(NamedTuple):
    """share s sqrt(ln(det V / det V_1) + 2 ln(1/delta)) + doubt sqrt(lambda) ||theta|| sqrt(d / k).

    The radius of Abbasi-Yadkori et al. (2011) with the noise scale s and the norm of theta
    estimated: k = d - lambda tr V^-1 is how many directions have been learned, and theta is about
    sqrt(d / k) times as long as what is known of it. Before a scale is known it has no bound.

    >>> from heavybandits.estimators import ScaleFreeHuber
    >>> from heavybandits.links import Identity
    >>> ScaleFreeRegion().radius(ScaleFreeHuber(3, Identity()).init(), 0)
    1e+100
    """

    share: NonNegative = 0.15
    doubt: NonNegative = 0.5
    delta: Fraction = 0.01

    def radius(self, estimate: ScaleFreeEstimate, t: int) -> float:
        if estimate.counts[KNOWN] < WAIT:
            return LARGEST
        region, trace = estimate.region, 0.0
        for i in range(region.centre.size):
            trace += region.inverse[i, i]
        dim = float(region.centre.size)
        learned = max(dim - region.numbers[FLOOR] * trace, 1.0)
        volume = log_volume(region) - 2.0 * math.log(self.delta)
        noise = self.share * math.sqrt(estimate.scale[0] * volume)
        return noise + self.doubt * math.sqrt(dim / learned) * prior_radius(region)
