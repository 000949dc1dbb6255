"""auto's radius: computed from the data, so that no parameter has a unit."""

import math
from typing import NamedTuple

from ..._utils.validation import NonNegative, Positive
from ...core.linalg import LARGEST
from ..estimators.auto import (
    ScaleFreeEstimate,
    is_rare,
    known_count,
    learned_directions,
    noise_square,
    prior_square,
)


class ScaleFreeRadius(NamedTuple):
    """Use the radius of `auto`, for the norms of `ScaleFreeHuber`.

    r = a s + b max{sqrt(lambda) ||slopes|| / sqrt(k), s}

    s is the noise scale, k = d - lambda tr V^-1 the number of learned directions, and ||slopes|| /
    sqrt(k) the size of an effect, which an unknown effect may have too. With L = ln(1 + n w^2 / k)
    and w = ||z||_{V^-1}, the width of an arm is

    r w sqrt(2.5 + L + 0.1 w^2 L^2).

    So the width of an arm with few rewards grows with n, and the policy never stops exploring. The
    last term matters for arms with one or two rewards, about which a single outlier may mislead.
    While most rewards are one value, the width is r w sqrt(3 + v + L), v = ln(det V / det V_1) / k.
    Before the first reward that is informative about the scale there is no bound.

    Parameters
    ----------
    noise_weight : float, default 0.3
        a, the weight of the noise scale.
    effect_weight : float, default 1.0
        b, the weight of the size of an effect.
    rare_share : float, default 0.4
        Factor of the radius while most rewards are one value: the widths then include the volume
        of the region, and some decisions are spent on exploration.

    >>> from heavybandits.estimators import ScaleFreeHuber
    >>> from heavybandits.links import Identity
    >>> ScaleFreeRadius().radius(ScaleFreeHuber(3, Identity()).init(), 0)
    1e+100
    """

    noise_weight: NonNegative = 0.3
    effect_weight: NonNegative = 1.0
    rare_share: Positive = 0.4

    def radius(self, estimate: ScaleFreeEstimate, t: int) -> float:
        if known_count(estimate) == 0:
            return LARGEST
        learned = learned_directions(estimate.region)
        noise = math.sqrt(noise_square(estimate))
        effect = max(math.sqrt(prior_square(estimate.region) / learned), noise)
        share = self.rare_share if is_rare(estimate) else 1.0
        return share * (self.noise_weight * noise + self.effect_weight * effect)
