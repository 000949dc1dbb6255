"""Noises all of whose moments are finite."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ..._utils.validation import Interval, Positive
from ...core.arrays import Floats, Key
from ...core.rng import uniform
from .draws import normal
from .moments import (
    FAR,
    central_moment,
    expected_power,
    log_normal_density,
    normal_moment,
    shifted_moment,
)


class Gaussian(NamedTuple):
    """Draw Gaussian noise with mean 0.

        eta = scale sqrt(-2 log U) cos(2 pi V),    U, V uniform (Box and Muller 1958)

    Parameters
    ----------
    scale : float, default 1.0
        Standard deviation, in the unit of the reward.

    Examples
    --------
    >>> round(Gaussian(2.0).moment(2.0), 6), Gaussian(2.0).tail_index()
    (4.0, inf)
    """

    scale: Positive = 1.0

    def draw(self, key: Key, play: int) -> float:
        return self.scale * normal(key, play)

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        if shift == 0.0:
            return float(self.scale**order * normal_moment(order))
        return shifted_moment(self, order, shift, log_normal_density)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return True

    def tail_index(self) -> float:
        return math.inf


class Laplace(NamedTuple):
    """Draw exponential noise with a random sign.

        eta = +-scale log U,    U uniform

    Parameters
    ----------
    scale : float, default 1.0
        Mean |eta|, in the unit of the reward.

    Examples
    --------
    >>> Laplace(2.0).moment(1.0), Laplace(2.0).moment(2.0, shift=1.0)
    (2.0, 9.0)
    """

    scale: Positive = 1.0

    def draw(self, key: Key, play: int) -> float:
        size = -self.scale * math.log(uniform(key, 4 * play))
        return math.copysign(size, uniform(key, 4 * play + 1) - 0.5)

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        if shift == 0.0:
            return float(self.scale**order * math.gamma(order + 1.0))
        return shifted_moment(self, order, shift, lambda x: -np.abs(x) - math.log(2.0))

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return True

    def tail_index(self) -> float:
        return math.inf


class LogNormal(NamedTuple):
    """Draw log-normal noise minus its mean: skewed, with finite moments of every order.

        eta = scale (e^(sigma Z) - e^(sigma^2 / 2)),    Z standard normal

    Parameters
    ----------
    sigma : float, default 1.0
        Standard deviation of the logarithm, at most 18. Beyond 18 the variance overflows.
    scale : float, default 1.0
        Multiplier of the noise, in the unit of the reward.

    Examples
    --------
    >>> LogNormal().location(), round(LogNormal().moment(2.0), 6)
    (0.0, 4.670774)
    """

    sigma: Annotated[float, Interval(0.0, 18.0, "(]")] = 1.0
    scale: Positive = 1.0

    def draw(self, key: Key, play: int) -> float:
        mean = math.exp(0.5 * self.sigma * self.sigma)
        return self.scale * (math.exp(self.sigma * normal(key, play)) - mean)

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        square = self.sigma * self.sigma
        if order == 2.0:
            return self.scale**2 * math.exp(square) * math.expm1(square) + shift * shift
        offset = shift / self.scale - math.exp(0.5 * square)
        level = math.log(abs(offset)) if offset else -math.inf

        def log_size(z: Floats) -> Floats:  # log|offset + e^(sigma z)| without overflow
            if offset >= 0.0:
                return np.logaddexp(self.sigma * z, level)
            gap = np.abs(self.sigma * z - level)
            return np.maximum(self.sigma * z, level) + np.log(-np.expm1(-gap))

        root = [level / self.sigma] if offset < 0.0 else []
        cuts = [-FAR, 0.0, order * self.sigma, *root, FAR]  # the mass may sit at order * sigma
        unit = expected_power(log_size, log_normal_density, order, cuts, math.inf)
        return float(self.scale**order * unit)

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        return False

    def tail_index(self) -> float:
        return math.inf
