"""CRCM: the theorem of docs/maths/crcm.md."""

import math
from typing import NamedTuple

from ..._utils import validation as valid
from ..._utils.errors import InvalidInputError
from ...parts.radii import NewtonEnsembleRadius


class ColumnTheorem(NamedTuple):
    """Store the constants of CRCM's theorem for one setting, as `column_theorem` makes them.

    Attributes
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    kappa : float
        Smallest slope of the link.
    lipschitz : float
        L, the largest slope of the link.
    norm : float
        S, a bound on ||theta*||.
    epsilon : float
        Order of the moment minus 1.
    delta : float
        Probability with which the bound may fail.
    plays : int
        k, plays per decision.

    Examples
    --------
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
        """Return the radius beta_n for all n, as a radius part.

            beta_n = 3 (2.84 G_n / sqrt(kappa) + sqrt(lambda) S)
            G_n = (16 v)^(1/(1+eps)) n^q sqrt(K_n),    K_n = 1.032 d ln(1 + kappa n / (lambda d))

        Returns
        -------
        NewtonEnsembleRadius
            The radius, as `crcm` uses it.
        """
        tail = math.pow(16.0 * self.central_moment, 1.0 / (1.0 + self.epsilon))
        scale = 3.0 * 2.84 * tail * math.sqrt(1.032 * self.dim / self.kappa)
        power = (1.0 - self.epsilon) / (2.0 * (1.0 + self.epsilon))
        time_scale = self.penalty * self.dim / self.kappa
        return NewtonEnsembleRadius(
            scale, power, time_scale, 3.0 * math.sqrt(self.penalty) * self.norm
        )

    def radius(self, n: int) -> float:
        """Return the radius beta_n after n decisions, not squared.

        Parameters
        ----------
        n : int
            Number of decisions.

        Returns
        -------
        float
            beta_n.
        """
        return self.region().radius(None, n)

    def regret(self) -> float:
        """Return the bound on the regret R(T), valid with probability 1 - delta.

            2 L beta_N sqrt(k T K_N / kappa) + 2 L S k

        Returns
        -------
        float
            The bound, in the unit of the reward.

        Raises
        ------
        InvalidInputError
            The theorem needs more plays per decision.

        Examples
        --------
        >>> link = dict(kappa=0.196611933, lipschitz=0.25)
        >>> round(column_theorem(dim=10, horizon=10**6, central_moment=3.0, **link).regret() / 1e6)
        54
        """
        least = least_plays(self.horizon, self.delta)
        if self.plays < least:
            raise InvalidInputError(
                f"plays must be at least {least} for the theorem, got {self.plays}"
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
    """Return CRCM's theorem for one setting.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    kappa : float
        Smallest slope of the link.
    lipschitz : float
        L, the largest slope of the link.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    plays : int, optional
        Plays per decision. None for k = ceil(4.04 ln(T/delta)).

    Returns
    -------
    ColumnTheorem
        The constants, with the methods `region`, `radius` and `regret`.

    Examples
    --------
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
