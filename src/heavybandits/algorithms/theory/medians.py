"""CRMM: Theorems 3 and 4 of Xue et al. (2023) as functions of your numbers."""

import math
from typing import NamedTuple

from ..._utils import validation as valid
from ...parts.radii import LogRadius, MedianRadius
from ..common import call_with_known
from .truncation import confidence_log, excess, growth_log, regularisation


def median_plays(*, horizon: int, delta: float = 0.01) -> int:
    """Return r = ceil(16 ln(4T/delta)), the plays per decision of CRMM (Algorithm 2).

    Parameters
    ----------
    horizon : int
        T, the number of plays.
    delta : float, default 0.01
        Probability with which the bound may fail.

    Returns
    -------
    int
        r.

    Examples
    --------
    >>> median_plays(horizon=10**6), median_plays(horizon=10**4)
    (317, 244)
    """
    return math.ceil(16.0 * confidence_log(horizon=horizon, delta=delta))


def median_epochs(*, horizon: int, delta: float = 0.01, plays: int | None = None) -> int:
    """Return T_0 = floor(T / r), the number of updates of CRMM (Xue et al. 2023, Algorithm 2).

    Parameters
    ----------
    horizon : int
        T, the number of plays.
    delta : float, default 0.01
        Probability with which the bound may fail.
    plays : int, optional
        Plays per decision. None for Algorithm 2's r.

    Returns
    -------
    int
        T_0.

    Examples
    --------
    >>> median_epochs(horizon=10**6), median_epochs(horizon=10**4)
    (3154, 40)
    """
    return valid.whole("horizon", horizon) // _plays(horizon, delta, plays)


class MedianConstants(NamedTuple):
    """Store C and rho of Theorem 3 (Xue et al. 2023).

    Attributes
    ----------
    scale : float
        C.
    rho : float
        rho.
    """

    scale: float
    rho: float


def median_constants(
    *,
    horizon: int,
    central_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    plays: int | None = None,
) -> MedianConstants:
    """Return C and rho of Theorem 3 (Xue et al. 2023).

        C = (4v)^(1/(1+eps)),    rho = 2 C ln(4T/delta) + 2 C^-eps r v

    Parameters
    ----------
    horizon : int
        T, the number of plays.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    plays : int, optional
        Plays per decision. None for Algorithm 2's r.

    Returns
    -------
    MedianConstants
        C as `scale`, and `rho`.

    Examples
    --------
    >>> constants = median_constants(horizon=10**6, central_moment=3.0)
    >>> round(constants.scale, 6), round(constants.rho, 4)
    (3.464102, 686.2869)
    """
    epsilon, moment = valid.epsilon(epsilon), valid.positive("central_moment", central_moment)
    scale = math.pow(4.0 * moment, 1.0 / (1.0 + epsilon))
    confidence = confidence_log(horizon=horizon, delta=delta)
    repeats = _plays(horizon, delta, plays)
    rho = 2.0 * scale * confidence + 2.0 * math.pow(scale, -epsilon) * repeats * moment
    return MedianConstants(scale, rho)


def median_region(
    *,
    t: int,
    dim: int,
    horizon: int,
    central_moment: float,
    kappa: float,
    bound: float,
    norm: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.01,
    plays: int | None = None,
    corrected: bool = False,
) -> float:
    """Return gamma_{t+1} of Theorem 3: the squared radius of CRMM after t epochs.

        gamma_{t+1} = (4 U^2 + C rho t^q) (4d/kappa) ln(1 + kappa t/(2 lambda d))
                      + lambda S^2 + (2 rho^2/kappa) t^q,        q = (1-eps)/(1+eps)

    and gamma_1 = lambda S^2. The proof treats weights that depend on the past as fixed; no constant
    repairs that, so use the bound as a guide.

    Parameters
    ----------
    t : int
        Number of epochs, from 0.
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    kappa : float
        Smallest slope of the link.
    bound : float
        U, the largest |mean reward|.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    plays : int, optional
        Plays per decision. None for Algorithm 2's r.
    corrected : bool, default False
        Use 2 (4 U^2 + C rho t^q), with the factor that the proof misses.

    Returns
    -------
    float
        gamma_{t+1}.

    Examples
    --------
    >>> setting = dict(dim=10, horizon=10**6, central_moment=3.0)
    >>> setting |= dict(kappa=0.196611933, bound=0.731058579)
    >>> [round(median_region(t=t, **setting)) for t in (0, 1, 3154)]
    [1, 4795795, 6468915]
    """
    region = call_with_known(median_radius, locals())
    return region.squared(valid.whole("t", t, least=0))


def median_radius(
    *,
    dim: int,
    horizon: int,
    central_moment: float,
    kappa: float,
    bound: float,
    norm: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.01,
    plays: int | None = None,
    corrected: bool = False,
) -> MedianRadius:
    """Return the radius of Theorem 3 for all t, as a radius part that `crmm` uses.

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
    bound : float
        U, the largest |mean reward|.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    plays : int, optional
        Plays per decision. None for Algorithm 2's r.
    corrected : bool, default False
        Use the factor 2 that the triangle inequality of the proof misses.

    Returns
    -------
    MedianRadius
        The radius.

    Examples
    --------
    >>> setting = dict(dim=10, horizon=10**6, central_moment=3.0)
    >>> setting |= dict(kappa=0.196611933, bound=0.731058579)
    >>> median_radius(**setting).start
    1.0
    """
    dim, kappa = valid.whole("dim", dim), valid.positive("kappa", kappa)
    bound, norm = valid.positive("bound", bound), valid.positive("norm", norm)
    scale, rho = call_with_known(median_constants, locals())
    penalty = regularisation(kappa)
    return MedianRadius(
        bias=4.0 * bound * bound,
        tail=scale * rho,
        drift=2.0 * rho * rho / kappa,
        power=excess(epsilon),
        start=penalty * norm * norm,
        volume=(2.0 if valid.flag("corrected", corrected) else 1.0) * 4.0 * dim / kappa,
        time_scale=2.0 * penalty * dim / kappa,
    )


def median_tuned(*, t: int, dim: int, penalty: float = 1.0, epsilon: float = 1.0) -> float:
    """Return the squared radius of CRMM in the paper's experiments after t epochs, without c.

        d ln(1 + t/(d lambda)) t^((1-eps)/(1+eps))

    Parameters
    ----------
    t : int
        Number of epochs, from 0.
    dim : int
        Dimension d of the arms.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].

    Returns
    -------
    float
        The squared radius, to be multiplied by c.

    Examples
    --------
    >>> round(median_tuned(t=3154, dim=10), 4)
    57.5701
    """
    size, penalty = valid.whole("dim", dim), valid.positive("penalty", penalty)
    growing = LogRadius(size, size * penalty, excess(valid.epsilon(epsilon)))
    return growing.squared(valid.whole("t", t, least=0))


def median_regret(
    *,
    dim: int,
    horizon: int,
    central_moment: float,
    kappa: float,
    lipschitz: float,
    bound: float,
    norm: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.01,
    corrected: bool = False,
) -> float:
    """Return the bound of Theorem 4 on the regret of CRMM, valid with probability 1 - 2 delta.

        64 (L U d/kappa) G (H T)^(1/2) + 16 L S (lambda d G H T/kappa)^(1/2)
        + 32 (L rho/kappa) (d G)^(1/2) H^(eps/(1+eps)) T^(1/(1+eps))
        + 32 (L d/kappa) C rho^(1/2) G H^(eps/(1+eps)) T^(1/(1+eps))

    with G = ln(1 + kappa T/(2 lambda d)), H = ln(4T/delta) (Xue et al. 2023, Appendix D). The last
    term is printed so; the derivation gives (C rho)^(1/2), which is larger where C < 1. The
    corrected bound uses the corrected gamma_t of Theorem 3:

        r 2 L ((4d/kappa) ln(1 + kappa T_0/(2 lambda d)) sum_{t=1..T_0} gamma_t)^(1/2)

    Neither bound counts the T - r T_0 plays left at the end.

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
    bound : float
        U, the largest |mean reward|.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    corrected : bool, default False
        Return the corrected bound.

    Returns
    -------
    float
        The bound, in the unit of the reward.

    Examples
    --------
    >>> setting = dict(dim=10, horizon=10**6, central_moment=3.0, kappa=0.196611933)
    >>> link = dict(lipschitz=0.25, bound=0.731058579)
    >>> round(median_regret(**setting, **link))
    2727129528
    >>> round(median_regret(**setting, **link, corrected=True))
    637971426
    """
    epsilon, lipschitz = valid.epsilon(epsilon), valid.positive("lipschitz", lipschitz)
    region = call_with_known(median_radius, locals())
    repeats, epochs = _full_epochs(horizon, delta)
    if corrected:
        total = math.fsum(region.squared(t) for t in range(epochs))
        volume = dim * growth_log(t=epochs, dim=dim, kappa=kappa) / kappa
        return repeats * 2.0 * lipschitz * math.sqrt(4.0 * volume * total)
    scale, rho = call_with_known(median_constants, locals())
    growth = growth_log(t=horizon, dim=dim, kappa=kappa)
    confidence = confidence_log(horizon=horizon, delta=delta)
    root = math.sqrt(confidence * horizon)
    mean = 64.0 * bound * dim * growth / kappa * root
    start = 16.0 * norm * math.sqrt(regularisation(kappa) * dim * growth / kappa) * root
    tail = math.pow(confidence, epsilon / (1.0 + epsilon)) * math.pow(horizon, 1 / (1 + epsilon))
    bias = 32.0 * rho / kappa * math.sqrt(dim * growth) * tail
    noise = 32.0 * dim / kappa * scale * math.sqrt(rho) * growth * tail
    return lipschitz * (mean + start + bias + noise)


def _plays(horizon: int, delta: float, plays: int | None) -> int:
    if plays is None:
        return median_plays(horizon=horizon, delta=delta)
    return valid.whole("plays", plays)


def _full_epochs(horizon: int, delta: float) -> tuple[int, int]:
    """Return (r, T_0); raise if the horizon is shorter than one epoch."""
    repeats = median_plays(horizon=horizon, delta=delta)
    return repeats, valid.whole("horizon", horizon, least=repeats) // repeats
