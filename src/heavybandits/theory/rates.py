"""What the theorems of Xue et al. (2023) share: penalty, logarithms, the power of T."""

import math

from ..support import validation as valid


def regularisation(kappa: float) -> float:
    """lambda = max(1, kappa / 2), the start V_1 = lambda I of CRTM and CRMM (Algorithms 1, 2).

    >>> regularisation(0.2), regularisation(5.0)
    (1.0, 2.5)
    """
    return max(1.0, valid.positive("kappa", kappa) / 2.0)


def confidence_log(*, horizon: int, delta: float = 0.01) -> float:
    """ln(4 T / delta), the price of holding at all times (Theorems 1 to 4).

    >>> round(confidence_log(horizon=10**6), 6)
    19.806975
    """
    return math.log(4.0 * valid.whole("horizon", horizon) / valid.fraction("delta", delta))


def growth_log(*, t: int, dim: int, kappa: float) -> float:
    """ln(1 + kappa t / (2 lambda d)): d times it bounds ln(det V_{t+1} / det V_1).

    >>> round(growth_log(t=10**6, dim=10, kappa=0.196611933), 6)
    9.193357
    """
    count, size = valid.whole("t", t, least=0), valid.whole("dim", dim)
    kappa = valid.positive("kappa", kappa)
    return math.log1p(kappa * count / (2.0 * regularisation(kappa) * size))


def excess(epsilon: float) -> float:
    """q = (1-eps)/(1+eps), the power of T by which heavy tails widen a region."""
    return (1.0 - epsilon) / (1.0 + epsilon)


def lower_bound(
    *, dim: int, horizon: int, epsilon: float = 1.0, bounded_moments: bool = False
) -> float:
    """d T^(1/(1+eps)), the rate no algorithm beats, without its constant.

    Quoted in the remark after Theorem 2, from Shao, Yu, King, Lyu (2018). Its instances have
    moments of size d. With moments of size 1 (`bounded_moments=True`) the best known lower bound
    is d^(2eps/(1+eps)) T^(1/(1+eps)) (Tajdini, Scarlett, Jamieson 2025); the two agree at eps = 1.

    >>> lower_bound(dim=10, horizon=10**6)
    10000.0
    >>> round(lower_bound(dim=10, horizon=10**6, epsilon=0.5, bounded_moments=True), 1)
    46415.9
    """
    size, plays = valid.whole("dim", dim), valid.whole("horizon", horizon)
    epsilon = valid.epsilon(epsilon)
    power = 2.0 * epsilon / (1.0 + epsilon) if bounded_moments else 1.0
    return math.pow(size, power) * math.pow(plays, 1.0 / (1.0 + epsilon))
