"""Xue et al. (2023): what its theorems share, and Theorems 1 and 2 of CRTM."""

import math

from ..._utils import validation as valid
from ...parts.radii import LogRadius
from ..common import call_with_known


def regularisation(kappa: float) -> float:
    """Return lambda = max(1, kappa / 2), with V_1 = lambda I in CRTM and CRMM (Algorithms 1, 2).

    Parameters
    ----------
    kappa : float
        Smallest slope of the link.

    Returns
    -------
    float
        lambda.

    Examples
    --------
    >>> regularisation(0.2), regularisation(5.0)
    (1.0, 2.5)
    """
    return max(1.0, valid.positive("kappa", kappa) / 2.0)


def confidence_log(*, horizon: int, delta: float = 0.01) -> float:
    """Return ln(4 T / delta), the cost of a bound for all rounds (Theorems 1 to 4).

    Parameters
    ----------
    horizon : int
        T, the number of plays.
    delta : float, default 0.01
        Probability with which the bound may fail.

    Returns
    -------
    float
        ln(4 T / delta).

    Examples
    --------
    >>> round(confidence_log(horizon=10**6), 6)
    19.806975
    """
    return math.log(4.0 * valid.whole("horizon", horizon) / valid.fraction("delta", delta))


def growth_log(*, t: int, dim: int, kappa: float) -> float:
    """Return ln(1 + kappa t / (2 lambda d)). It bounds ln(det V_{t+1} / det V_1) / d.

    Parameters
    ----------
    t : int
        Number of rounds.
    dim : int
        Dimension d of the arms.
    kappa : float
        Smallest slope of the link.

    Returns
    -------
    float
        The logarithm.

    Examples
    --------
    >>> round(growth_log(t=10**6, dim=10, kappa=0.196611933), 6)
    9.193357
    """
    count, size = valid.whole("t", t, least=0), valid.whole("dim", dim)
    kappa = valid.positive("kappa", kappa)
    return math.log1p(kappa * count / (2.0 * regularisation(kappa) * size))


def excess(epsilon: float) -> float:
    """Return (1-eps)/(1+eps), the power of T by which heavy tails widen a region, squared.

    >>> excess(1.0), excess(0.5)
    (0.0, 0.3333333333333333)
    """
    return (1.0 - epsilon) / (1.0 + epsilon)


def lower_bound(
    *, dim: int, horizon: int, epsilon: float = 1.0, bounded_moments: bool = False
) -> float:
    """Return d T^(1/(1+eps)), the rate that no algorithm beats, without its constant.

    The remark after Theorem 2 quotes it from Shao, Yu, King, Lyu (2018). Its instances have
    moments of size d. With moments of size 1 the best known lower bound is
    d^(2eps/(1+eps)) T^(1/(1+eps)) (Tajdini, Scarlett, Jamieson 2025); the two agree at eps = 1.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    bounded_moments : bool, default False
        Return the bound for moments of size 1.

    Returns
    -------
    float
        The rate.

    Examples
    --------
    >>> lower_bound(dim=10, horizon=10**6)
    10000.0
    >>> round(lower_bound(dim=10, horizon=10**6, epsilon=0.5, bounded_moments=True), 1)
    46415.9
    """
    size, plays = valid.whole("dim", dim), valid.whole("horizon", horizon)
    epsilon = valid.epsilon(epsilon)
    power = 2.0 * epsilon / (1.0 + epsilon) if bounded_moments else 1.0
    return math.pow(size, power) * math.pow(plays, 1.0 / (1.0 + epsilon))


# ---- CRTM


def truncation_threshold(
    *,
    dim: int,
    horizon: int,
    raw_moment: float,
    kappa: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> float:
    """Return Gamma of Algorithm 1: CRTM sets rewards with ||x||_{V^-1} |y| > Gamma to zero.

        Gamma = 2 (u / ln(4T/delta))^(1/(1+eps)) (d ln(1 + kappa T/(2 lambda d)) / kappa)^(1/2)
                T^((1-eps)/(2(1+eps)))

    (Xue et al. 2023). Appendix A.2 prints u ln(4T/delta) and d kappa where Algorithm 1 divides;
    only the form of Algorithm 1 completes the proof of the appendix.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
    kappa : float
        Smallest slope of the link.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.

    Returns
    -------
    float
        Gamma, in the unit of the reward times ||x||_{V^-1}.

    Examples
    --------
    >>> setting = dict(dim=10, horizon=10**6, raw_moment=3.534446647, kappa=0.196611933)
    >>> round(truncation_threshold(**setting), 4)
    18.269
    """
    epsilon, raw_moment = valid.epsilon(epsilon), valid.positive("raw_moment", raw_moment)
    confidence = confidence_log(horizon=horizon, delta=delta)
    volume = dim * growth_log(t=horizon, dim=dim, kappa=kappa) / kappa
    tail = math.pow(raw_moment / confidence, 1.0 / (1.0 + epsilon))
    return 2.0 * tail * math.sqrt(volume) * math.pow(horizon, excess(epsilon) / 2.0)


def truncation_region(
    *,
    dim: int,
    horizon: int,
    raw_moment: float,
    kappa: float,
    bound: float,
    norm: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.01,
    corrected: bool = False,
) -> float:
    """Return gamma of Theorem 1: ||theta* - centre||_V^2 <= gamma at all times, CRTM.

        gamma = 224 u^(2/(1+eps)) ln(4T/delta)^(2eps/(1+eps)) T^((1-eps)/(1+eps)) (4d/kappa) G
                + 2 lambda S^2 + (48 U^2 d/kappa) G,    G = ln(1 + kappa T/(2 lambda d))

    (Xue et al. 2023). The corrected form has 96 U^2 instead of 48 U^2; the first term already
    covers its own correction.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
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
    corrected : bool, default False
        Return the corrected gamma.

    Returns
    -------
    float
        gamma, the squared radius.

    Examples
    --------
    >>> setting = dict(dim=10, horizon=10**6, raw_moment=3.534446647, kappa=0.196611933)
    >>> round(truncation_region(**setting, bound=0.731058579))
    29341982
    >>> round(truncation_region(**setting, bound=0.731058579, corrected=True))
    29353977
    """
    epsilon, raw_moment = valid.epsilon(epsilon), valid.positive("raw_moment", raw_moment)
    bound, norm = valid.positive("bound", bound), valid.positive("norm", norm)
    confidence = confidence_log(horizon=horizon, delta=delta)
    volume = dim * growth_log(t=horizon, dim=dim, kappa=kappa) / kappa
    tail = math.pow(raw_moment, 2.0 / (1.0 + epsilon))
    tail *= math.pow(confidence, 2.0 * epsilon / (1.0 + epsilon))
    tail *= math.pow(horizon, excess(epsilon))
    mean = (96.0 if valid.flag("corrected", corrected) else 48.0) * bound * bound
    return (224.0 * 4.0 * tail + mean) * volume + 2.0 * regularisation(kappa) * norm * norm


def truncation_tuned(
    *, dim: int, horizon: int, penalty: float = 1.0, epsilon: float = 1.0, delta: float = 0.01
) -> float:
    """Return the squared radius of CRTM in the paper's experiments, without its multiplier c.

        d ln(4T/delta)^(2eps/(1+eps)) ln(1 + T/(d lambda)) T^((1-eps)/(1+eps))

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.

    Returns
    -------
    float
        The squared radius, to be multiplied by c.

    Examples
    --------
    >>> round(truncation_tuned(dim=10, horizon=10**6), 4)
    2280.3643
    """
    epsilon, size = valid.epsilon(epsilon), valid.whole("dim", dim)
    confidence = confidence_log(horizon=horizon, delta=delta)
    growing = LogRadius(size, size * valid.positive("penalty", penalty), excess(epsilon))
    return math.pow(confidence, 2.0 * epsilon / (1.0 + epsilon)) * growing.squared(horizon)


def truncation_regret(
    *,
    dim: int,
    horizon: int,
    raw_moment: float,
    kappa: float,
    lipschitz: float,
    bound: float,
    norm: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.01,
    corrected: bool = False,
) -> float:
    """Return the bound of Theorem 2 on the regret of CRTM, valid with probability 1 - delta.

        128 (L/kappa) u^(1/(1+eps)) d ln(4T/delta)^(eps/(1+eps)) G T^(1/(1+eps))
        + 24 (L U d/kappa) G T^(1/2) + 8 L S (lambda d G T/kappa)^(1/2)

    with G = ln(1 + kappa T/(2 lambda d)) (Xue et al. 2023, Appendix B). The corrected bound is
    2 L ((4d/kappa) G T gamma)^(1/2) with the corrected gamma of Theorem 1; the printed
    bound is a weaker form of it.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
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
    >>> setting = dict(dim=10, horizon=10**6, raw_moment=3.534446647, kappa=0.196611933)
    >>> link = dict(lipschitz=0.25, bound=0.731058579)
    >>> round(truncation_regret(**setting, **link))
    127288398
    >>> round(truncation_regret(**setting, **link, corrected=True))
    117156285
    """
    epsilon, lipschitz = valid.epsilon(epsilon), valid.positive("lipschitz", lipschitz)
    gamma = call_with_known(truncation_region, locals())
    volume = dim * growth_log(t=horizon, dim=dim, kappa=kappa) / kappa
    if corrected:
        return 2.0 * lipschitz * math.sqrt(4.0 * volume * horizon * gamma)
    confidence = confidence_log(horizon=horizon, delta=delta)
    tail = math.pow(raw_moment, 1.0 / (1.0 + epsilon))
    tail *= math.pow(confidence, epsilon / (1.0 + epsilon))
    tail *= math.pow(horizon, 1.0 / (1.0 + epsilon))
    root = math.sqrt(horizon)
    start = 8.0 * norm * math.sqrt(regularisation(kappa) * volume) * root
    return lipschitz * (128.0 * volume * tail + 24.0 * bound * volume * root + start)
