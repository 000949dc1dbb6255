"""Huber regression and column medians: this library's own algorithms and their newest rivals."""

import math
from typing import Any

from .. import theory
from ..engine.link_checks import check_link
from ..engine.parts import cast
from ..estimators import BallProjection, HuberNewton, NewtonColumns
from ..filters import Raw
from ..links import Identity, Logistic
from ..policies import Optimism
from ..radii import Constant, Growing, Powered
from ..support.validation import epsilon as check_epsilon
from ..support.validation import fraction, positive, whole
from .finite import excess
from .projections import make_projection

TUNED_LEVEL = 0.5  # tau0 of the tuned forms: clips a few percent of the rewards at first


def crhl(
    *,
    dim: int,
    spread: float,
    link: Any = Logistic(),
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    horizon: int | None = None,
    penalty: float = 1.0,
    gamma_scale: float | None = None,
    level: float | None = None,
    corruption: float = 0.0,
) -> Optimism:
    """CRHL, Confidence Region with Huber Loss: this library's own (docs/maths/crhl.md).

    An online Newton step on the residual, clipped at sigma tau: hard for arms that are little
    known, hardly at all for the others (see `HuberNewton`). The region
    {||theta - theta_t||_V <= beta_t} holds theta* with probability 1 - delta at all times.

    Assumes E|noise|^{1+epsilon} <= `spread`^{1+epsilon}, a central moment; ||x|| <= 1, ||theta*||
    <= `norm`. No symmetry, no repeated plays; arms may change in every round. O(K d^2) per round,
    O(d^2) memory, regret O~((L/kappa) nu d T^{1/(1+epsilon)}).

    Parameters
    ----------
    horizon : None for a region that holds at all times; a number for a slightly narrower one.
    gamma_scale : None for Theorem 1's beta_t and sigma (safe, enormous, and next to nothing is
        clipped); a number c for beta_t^2 = c d ln(1 + t/(d lambda)) t^{(1-eps)/(1+eps)} and
        sigma = max{nu, p sqrt(2 L S sqrt(kappa lambda) / tau0)}, so that the learner's own error at
        the start is not clipped as if it were noise. No theorem covers it. Try 0.01 to 0.1.
    level : tau0. None for the theorem's, or 0.5 in the tuned form; smaller clips more.
    corruption : C, if rewards may be falsified by c_t with sum |c_t| <= C (Theorem 3).

    >>> policy = crhl(dim=10, spread=3**0.5, horizon=1_000_000)
    >>> round(policy.radius.radius(None, 1_000_000), 3), round(policy.estimator.level, 4)
    (748.241, 2.1218)
    >>> crhl(dim=10, spread=1.0, gamma_scale=0.01).estimator.level
    0.5
    """
    kappa = check_link(link, positive("norm", norm))
    promise = theory.huber_theorem(
        dim=dim,
        spread=spread,
        kappa=kappa,
        lipschitz=link.lipschitz(norm),
        norm=norm,
        epsilon=epsilon,
        delta=delta,
        horizon=horizon,
        penalty=penalty,
        level=level if gamma_scale is None else None,
        corruption=corruption,
    )
    step = HuberNewton(
        dim=dim,
        link=link,
        curvature=kappa,
        penalty=penalty,
        projection=BallProjection(norm),
        spread=spread,
        level=promise.level,
        power=promise.power,
        radius=promise.region(),
        volume=promise.volume_region(),
        least=spread,
        steady=promise.steady,
        doubt=promise.doubt,
        corruption=promise.corruption * math.sqrt(kappa),
    )
    if gamma_scale is None:
        return cast(Optimism(step, Raw(), step.radius))
    return _tuned(step, gamma_scale, level, promise.lipschitz)


def _tuned(step: HuberNewton, gamma_scale: float, level: float | None, top: float) -> Optimism:
    """A Huber step in the form that experiments tune; `top` is L, the largest slope."""
    tau = TUNED_LEVEL if level is None else positive("level", level)
    scale, time_scale = positive("gamma_scale", gamma_scale) * step.dim, step.dim * step.penalty
    region = Growing(scale, time_scale, 2.0 * step.power)
    start = math.sqrt(step.penalty) * step.projection.norm
    steady = math.sqrt(2.0 * top * math.sqrt(step.curvature) * start / tau)
    step = step._replace(level=tau, radius=region, least=0.0, steady=steady, doubt=0.0)
    return cast(Optimism(step, Raw(), region))


def crcm(
    *,
    dim: int,
    horizon: int,
    moment: float,
    link: Any = Logistic(),
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    gamma_scale: float | None = None,
    plays: int | None = None,
    projection: str = "exact",
) -> Optimism:
    """CRCM, Confidence Region with Column Medians: this library's own (docs/maths/crcm.md).

    CRMM without symmetry. Every chosen arm is played k = ceil(4.04 ln(T/delta)) times, play j feeds
    the j-th of k Newton estimates, and the one in their midst is the centre (see `NewtonColumns`).
    At T = 10^4 that is k = 56, where CRMM needs 244.

    Assumes E|noise|^{1+epsilon} <= `moment` (the central moment v), ||x|| <= 1, ||theta*|| <=
    `norm`, and arms that stand still for k plays. O(d^2) per play, memory O(d^2 + dk + k^2); regret
    O((L/kappa) v^{1/(1+eps)} d (log T)^{(1+2 eps)/(1+eps)} T^{1/(1+eps)}).

    Parameters
    ----------
    gamma_scale : None for the theorem's beta_n; a number c for beta_n^2 = c d ln(1 + n/(d lambda))
        n^{(1-eps)/(1+eps)}, n counting decisions, which no theorem covers.
    plays : None for the theorem's k.
    projection : "exact" in the V-norm, as the theorem needs; "euclidean"; "none".

    >>> policy = crcm(dim=10, horizon=1_000_000, moment=3.0)
    >>> policy.plays, round(policy.radius.radius(None, 13_333), 2)
    (75, 857.69)
    """
    kappa = check_link(link, positive("norm", norm))
    promise = theory.column_theorem(
        dim=dim,
        horizon=horizon,
        moment=moment,
        kappa=kappa,
        lipschitz=link.lipschitz(norm),
        norm=norm,
        epsilon=epsilon,
        delta=delta,
        plays=plays,
    )
    part = make_projection(projection, norm)
    columns = NewtonColumns(dim, promise.plays, link, kappa, promise.penalty, part, norm)
    radius: Any = promise.region()
    if gamma_scale is not None:
        scale = positive("gamma_scale", gamma_scale) * dim
        radius = Growing(scale, dim * promise.penalty, 2.0 * radius.power)
    return cast(Optimism(columns, Raw(promise.plays), radius))


def hvt_ucb(
    *,
    dim: int,
    horizon: int,
    spread: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    gamma_scale: float | None = None,
    level: float | None = None,
) -> Optimism:
    """Hvt-UCB (Wang, Zhang, Zhao, Zhou 2025), one pass of Huber regression for linear rewards.

    CRHL with the identity link, alpha = 4, lambda = d, sigma_min = 1/sqrt(T) and without the third
    term of sigma; with l = ln(2 T^2/delta) and K = d ln(1 + T^2/(4 lambda d)),
    tau0 = sqrt(2 K) ln(3T)^q l^{-1/(1+eps)} and
    beta_t = 107 l tau0 t^q + sqrt(lambda (2 + 4 S^2)). The 107 and the last root are quoted from
    memory. Assumes what `crhl` does; alpha = 4 is a device of its proof, and `crhl` had half the
    regret in a first experiment.

    Parameters
    ----------
    gamma_scale, level : as in `crhl`.

    >>> policy = hvt_ucb(dim=2, horizon=1000, spread=1.0)
    >>> round(policy.estimator.level, 4), round(policy.radius.radius(None, 0), 4)
    (1.5202, 3.4641)
    """
    dim, horizon, eps = whole("dim", dim), whole("horizon", horizon), check_epsilon(epsilon)
    norm, confidence = positive("norm", norm), _union_over_rounds(horizon, delta)
    volume = dim * math.log(1.0 + horizon * horizon / (4.0 * dim * dim))
    tau = _balanced_level(volume, horizon, confidence, eps)
    if level is not None and gamma_scale is None:
        tau = positive("level", level)
    start = math.sqrt(dim * (2.0 + 4.0 * norm * norm))
    region = Powered(107.0 * confidence * tau, excess(eps), start, start)
    step = HuberNewton(
        dim=dim,
        link=Identity(),
        curvature=0.25,
        penalty=dim,
        projection=BallProjection(norm),
        spread=positive("spread", spread),
        level=tau,
        power=excess(eps),
        radius=region,
        volume=Constant(volume),
        least=1.0 / math.sqrt(horizon),
        doubt=1.0 / tau,
    )
    if gamma_scale is None:
        return cast(Optimism(step, Raw(), region))
    return _tuned(step, gamma_scale, level, 1.0)


def _union_over_rounds(horizon: int, delta: float) -> float:
    """ln(2 T^2 / delta)"""
    return math.log(2.0 * horizon * horizon / fraction("delta", delta))


def _balanced_level(volume: float, horizon: int, confidence: float, epsilon: float) -> float:
    """tau0 = sqrt(2 K) ln(3T)^q l^{-1/(1+eps)} of Hvt-UCB and Heavy-OFUL."""
    spread = math.pow(math.log(3.0 * horizon), excess(epsilon))
    return math.sqrt(2.0 * volume) * spread * math.pow(confidence, -1.0 / (1.0 + epsilon))
