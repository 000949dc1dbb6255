"""CRCM: the theorem of docs/maths/crcm.md."""

import math
from typing import NamedTuple

from ..._utils import validation as valid
from ..._utils.errors import InvalidInputError
from ...parts.radii import NewtonEnsembleRadius


class ColumnTheorem(NamedTuple):
    """CRCM's constants for one setting; `plays` is k. Made by `column_theorem`.

    >>> link = dict(kappa=0.196611933, lipschitz=0.25)
    >>> promise = column_theorem(dim=10, horizon=10**6, central_moment=3.0, **link)
    >>> promise.plays, promise.decisions, round(promise.penalty, 4)
    (75, 13333, 5.0862)
    """

    dim: int
    horizon: int
    central_moment: float
    kappa: float
    lipschitz: float
    norm: float
    epsilon: float
    delta: float
    plays: int

    @property
    def penalty(self) -> float:
        """lambda = max(1, 16 L^2 / kappa)"""
        return max(1.0, 16.0 * self.lipschitz * self.lipschitz / self.kappa)

    @property
    def decisions(self) -> int:
        """N = floor(T / k)"""
        return self.horizon // self.plays

    def region(self) -> NewtonEnsembleRadius:
        """beta_n = 3 (2.84 G_n / sqrt(kappa) + sqrt(lambda) S) for all n, as a radius part;

        G_n = (16 v)^(1/(1+eps)) n^q sqrt(K_n),  K_n = 1.032 d ln(1 + kappa n / (lambda d)).
        """
        tail = math.pow(16.0 * self.central_moment, 1.0 / (1.0 + self.epsilon))
        scale = 3.0 * 2.84 * tail * math.sqrt(1.032 * self.dim / self.kappa)
        power = (1.0 - self.epsilon) / (2.0 * (1.0 + self.epsilon))
        time_scale = self.penalty * self.dim / self.kappa
        return NewtonEnsembleRadius(
            scale, power, time_scale, 3.0 * math.sqrt(self.penalty) * self.norm
        )

    def radius(self, n: int) -> float:
        """beta_n, not squared."""
        return self.region().radius(None, n)

    def regret(self) -> float:
        """With probability 1 - delta R(T) is at most 2 L beta_N sqrt(k T K_N / kappa) + 2 L S k.

        >>> link = dict(kappa=0.196611933, lipschitz=0.25)
        >>> round(column_theorem(dim=10, horizon=10**6, central_moment=3.0, **link).regret() / 1e6)
        54
        """
        least = least_plays(self.horizon, self.delta)
        if self.plays < least:
            raise InvalidInputError(
                f"plays must be at least {least} for the theorem to hold, got {self.plays}"
            )
        inner = 1.0 + self.kappa * self.decisions / (self.penalty * self.dim)
        volume = 1.032 * self.dim * math.log(inner)
        widths = math.sqrt(self.plays * self.horizon * volume / self.kappa)
        rest = self.norm * self.plays
        return 2.0 * self.lipschitz * (self.radius(self.decisions) * widths + rest)


def least_plays(horizon: int, delta: float) -> int:
    """Return k = ceil(4.04 ln(T / delta)), the smallest number of plays that is proven.

    >>> least_plays(10**4, 0.01)
    56
    """
    return math.ceil(4.04 * math.log(horizon / delta))


def column_theorem(
    *,
    dim: int,
    horizon: int,
    central_moment: float,
    kappa: float,
    lipschitz: float,
    norm: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.01,
    plays: int | None = None,
) -> ColumnTheorem:
    """Return CRCM's theorem for these numbers; without `plays`, k = ceil(4.04 ln(T/delta)).

    >>> column_theorem(dim=2, horizon=10**4, central_moment=1.0, kappa=1.0, lipschitz=1.0).plays
    56
    """
    horizon, delta = valid.whole("horizon", horizon), valid.fraction("delta", delta)
    if plays is None:
        plays = least_plays(horizon, delta)
    if kappa > lipschitz:
        raise InvalidInputError(f"kappa must be at most lipschitz, {lipschitz}, got {kappa}")
    return ColumnTheorem(
        dim=valid.whole("dim", dim),
        horizon=horizon,
        central_moment=valid.positive("central_moment", central_moment),
        kappa=valid.positive("kappa", kappa),
        lipschitz=valid.positive("lipschitz", lipschitz),
        norm=valid.positive("norm", norm),
        epsilon=valid.epsilon(epsilon),
        delta=delta,
        plays=valid.whole("plays", plays),
    )
