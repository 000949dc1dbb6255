"""auto's radius: computed from the data, so that no parameter has a unit."""

import math
from typing import NamedTuple

from ..._utils.validation import NonNegative
from ...core.confidence_region import log_volume
from ...core.linalg import LARGEST
from ..estimators.auto import ScaleFreeEstimate, known_count, learned_directions, prior_radius

CAUTION = 2.0  # term of the logarithm, so that early luck does not fix the choice of an arm


class ScaleFreeRadius(NamedTuple):
    """(a s + b max{sqrt(lambda) ||theta|| / sqrt(k), s}) sqrt(2 + ln(det V / det V_1) / k).

    This is the width of one arm, not of all arms at once: each of d directions has its share of the
    volume, so that d does not enter, unlike in Abbasi-Yadkori et al. (2011). s is the noise scale,
    k = d - lambda tr V^-1 the number of learned directions, and ||theta|| / sqrt(k) the size of an
    effect, which an unknown effect may have too. The penalty makes that size s / sqrt(lambda),
    unless the penalty is at one of its bounds. Before the first reward that is informative about
    the scale there is no bound.

    Parameters
    ----------
    noise_weight : float, default 0.3
        a, the weight of the noise scale.
    effect_weight : float, default 1.0
        b, the weight of the size of an effect.

    >>> from heavybandits.estimators import ScaleFreeHuber
    >>> from heavybandits.links import Identity
    >>> ScaleFreeRadius().radius(ScaleFreeHuber(3, Identity()).init(), 0)
    1e+100
    """

    noise_weight: NonNegative = 0.3
    effect_weight: NonNegative = 1.0

    def radius(self, estimate: ScaleFreeEstimate, t: int) -> float:
        if known_count(estimate) == 0:
            return LARGEST
        region, learned = estimate.region, learned_directions(estimate.region)
        noise = math.sqrt(estimate.scale[0])
        effect = max(prior_radius(region) / math.sqrt(learned), noise)
        volume = CAUTION + log_volume(region) / learned
        return (self.noise_weight * noise + self.effect_weight * effect) * math.sqrt(volume)
