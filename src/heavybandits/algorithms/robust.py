"""Robust regression: CRHL and CRCM of this library, Hvt-UCB, Heavy-OFUL and GAdaOFUL."""

import math

from .._utils.validation import Interval, bounded_number, flag, fraction, positive, whole
from .._utils.validation import epsilon as check_epsilon
from ..core.part import cast
from ..core.protocols import Link, Radius
from ..parts.estimators import BallProjection, BatchHuber, HuberNewton, NewtonEnsemble
from ..parts.filters import NoFilter
from ..parts.links import Identity, Logistic, check_link
from ..parts.policies import UCB, LearnedScale
from ..parts.radii import Constant, LogRadius, PowerRadius, PseudoHuberRadius
from . import theory
from .common import call_with_known, make_projection
from .theory.truncation import excess

TUNED_THRESHOLD = 0.5  # tau0 of the tuned forms: clips a few percent of the rewards at first


def crhl(
    *,
    dim: int,
    noise_scale: float,
    link: Link = Logistic(),
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    horizon: int | None = None,
    penalty: float = 1.0,
    radius_scale: float | None = None,
    threshold: float | None = None,
    corruption: float = 0.0,
    learn_noise_scale: bool = False,
) -> UCB | LearnedScale:
    """Make CRHL, Confidence Region with Huber Loss: this library's own (docs/maths/crhl.md).

    CRHL makes an online Newton step on the residual, clipped at sigma tau. The threshold is low for
    arms that are little known and high for the others (see `HuberNewton`). The region
    {||theta - theta_t||_V <= beta_t} contains theta* with probability 1 - delta at all times.

    It assumes E|noise|^{1+epsilon} <= nu^{1+epsilon}, a central moment; ||x|| <= 1, ||theta*|| <=
    `norm`. It needs no symmetry and no repeated plays; arms may change in every round. The cost is
    O(K d^2) per round and O(d^2) memory; the regret is O~((L/kappa) nu d T^{1/(1+epsilon)}).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    noise_scale : float
        nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    horizon : int, optional
        T, the number of plays, for a slightly narrower region. None for a region valid at all
        times.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    radius_scale : float, optional
        Multiplier c of the squared radius c d ln(1 + t/(d lambda)) t^{(1-eps)/(1+eps)}, with
        sigma = max{nu, p sqrt(2 L S sqrt(kappa lambda) / tau0)}, so that the error of the first
        estimates is not clipped as noise. No theorem covers it. Try 0.01 to 0.1. None for Theorem
        1's beta_t and sigma, which is valid but very wide and clips almost no reward.
    threshold : float, optional
        tau0; a smaller number clips more. None for the theorem's, or 0.5 with `radius_scale`.
    corruption : float, default 0.0
        Bound on sum |c_t| if rewards may be falsified by c_t (Theorem 3), in the unit of the
        reward.
    learn_noise_scale : bool, default False
        Predict nu from earlier rewards where `update` receives none (see
        `policies.LearnedScale`); `noise_scale` is then the nu of the first 16 rewards. With the
        theorem's radius, `noise_scale` is also the least nu. Its region stays valid if
        `noise_scale` bounds all noise, or if every predicted nu is large enough; no theorem says
        that it is. The GPU cannot play it.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = crhl(dim=10, noise_scale=3**0.5, horizon=1_000_000)
    >>> round(policy.radius.radius(None, 1_000_000), 3), round(policy.estimator.threshold, 4)
    (748.241, 2.1218)
    >>> crhl(dim=10, noise_scale=1.0, radius_scale=0.01).estimator.threshold
    0.5
    >>> type(crhl(dim=10, noise_scale=1.0, radius_scale=0.01, learn_noise_scale=True)).__name__
    'LearnedScale'
    """
    learns = flag("learn_noise_scale", learn_noise_scale)
    kappa = check_link(link, positive("norm", norm))
    proven = threshold if radius_scale is None else None
    known = locals() | {"lipschitz": link.lipschitz(norm), "threshold": proven}
    promise = call_with_known(theory.huber_theorem, known)
    step = HuberNewton(
        dim=dim,
        link=link,
        curvature=kappa,
        penalty=penalty,
        projection=BallProjection(norm),
        noise_scale=noise_scale,
        threshold=promise.threshold,
        power=promise.power,
        radius=promise.region(),
        volume=promise.volume_region(),
        least=noise_scale,
        steady=promise.steady,
        doubt=promise.doubt,
        corruption=promise.corruption * math.sqrt(kappa),
    )
    if radius_scale is None:
        policy = cast(UCB(step, NoFilter(), step.radius))
    else:
        policy = tuned_form(step, radius_scale, threshold, promise.lipschitz * promise.norm)
    return cast(LearnedScale(policy)) if learns else policy


def tuned_form(
    step: HuberNewton, radius_scale: float, threshold: float | None, reach: float
) -> UCB:
    """Make the policy of a Huber step with a tuned radius; `reach` is L S, the largest error."""
    tau = TUNED_THRESHOLD if threshold is None else positive("threshold", threshold)
    scale, time_scale = positive("radius_scale", radius_scale) * step.dim, step.dim * step.penalty
    region = LogRadius(scale, time_scale, 2.0 * step.power)
    steady = math.sqrt(2.0 * reach * math.sqrt(step.curvature * step.penalty) / tau)
    step = step._replace(threshold=tau, radius=region, least=0.0, steady=steady, doubt=0.0)
    return cast(UCB(step, NoFilter(), region))


def crcm(
    *,
    dim: int,
    horizon: int,
    central_moment: float,
    link: Link = Logistic(),
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    plays: int | None = None,
    projection: str = "exact",
) -> UCB:
    """Make CRCM, Confidence Region with Column Medians: this library's own (docs/maths/crcm.md).

    CRCM is CRMM without the assumption of symmetry. It plays every chosen arm k = ceil(4.04
    ln(T/delta)) times; play j updates the j-th of k Newton estimates, and the estimate nearest to
    the others is the centre (see `NewtonEnsemble`). At T = 10^4 this is k = 56, where CRMM needs
    244.

    It assumes E|noise|^{1+epsilon} <= v, a central moment, ||x|| <= 1, ||theta*|| <= `norm`, and
    arms that do not change during k plays. The cost is O(d^2) per play and O(d^2 + dk + k^2)
    memory; the regret is O((L/kappa) v^{1/(1+eps)} d (log T)^{(1+2 eps)/(1+eps)} T^{1/(1+eps)}).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the squared radius c d ln(1 + n/(d lambda)) n^{(1-eps)/(1+eps)}, where n
        counts decisions; no theorem covers it. None for the theorem's beta_n.
    plays : int, optional
        Plays per decision. None for the theorem's k.
    projection : str, default "exact"
        "exact" projects in the norm of V, as the theorem needs; "euclidean" rescales theta; "none"
        leaves theta.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = crcm(dim=10, horizon=1_000_000, central_moment=3.0)
    >>> policy.plays, round(policy.radius.radius(None, 13_333), 2)
    (75, 857.96)
    """
    kappa = check_link(link, positive("norm", norm))
    known = locals() | {"lipschitz": link.lipschitz(norm)}
    promise = call_with_known(theory.column_theorem, known)
    part = make_projection(projection, norm)
    columns = NewtonEnsemble(dim, promise.plays, link, kappa, promise.penalty, part, norm)
    theirs = promise.region()
    radius: Radius = theirs
    if radius_scale is not None:
        scale = positive("radius_scale", radius_scale) * dim
        radius = LogRadius(scale, dim * promise.penalty, 2.0 * theirs.power)
    return cast(UCB(columns, NoFilter(promise.plays), radius))


def hvt_ucb(
    *,
    dim: int,
    horizon: int,
    noise_scale: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    threshold: float | None = None,
) -> UCB:
    """Make Hvt-UCB, one-pass Huber regression for linear rewards (Wang, Zhang, Zhao, Zhou 2025).

    It is CRHL with the identity link, alpha = 4, lambda = d, sigma_min = 1/sqrt(T) and without the
    third term of sigma. With l = ln(2 T^2/delta) and K = d ln(1 + T^2/(4 lambda d)):

        tau0 = sqrt(2 K) ln(3T)^q l^{-1/(1+eps)}
        beta_t = 107 l tau0 t^q + sqrt(lambda (2 + 4 S^2))

    lambda, the 107 and the last root are not verified against the paper. The assumptions are those
    of `crhl`. alpha = 4 is a device of the proof, and `crhl` had half the regret in a first
    experiment.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    noise_scale : float
        nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the tuned squared radius of `crhl`. None for the theorem's beta_t.
    threshold : float, optional
        tau0; a smaller number clips more. None for the theorem's, or 0.5 with `radius_scale`.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = hvt_ucb(dim=2, horizon=1000, noise_scale=1.0)
    >>> round(policy.estimator.threshold, 4), round(policy.radius.radius(None, 0), 4)
    (1.5202, 3.4641)
    """
    dim, horizon, eps = whole("dim", dim), whole("horizon", horizon), check_epsilon(epsilon)
    norm, confidence = positive("norm", norm), union_over_rounds(horizon, delta)
    volume = dim * math.log1p(horizon * horizon / (4.0 * dim * dim))
    tau = balanced_threshold(volume, horizon, confidence, eps)
    if threshold is not None and radius_scale is None:
        tau = positive("threshold", threshold)
    start = math.sqrt(dim * (2.0 + 4.0 * norm * norm))
    region = PowerRadius(107.0 * confidence * tau, excess(eps) / 2.0, start, start)
    step = HuberNewton(
        dim=dim,
        link=Identity(),
        curvature=0.25,
        penalty=dim,
        projection=BallProjection(norm),
        noise_scale=positive("noise_scale", noise_scale),
        threshold=tau,
        power=excess(eps) / 2.0,
        radius=region,
        volume=Constant(volume),
        least=1.0 / math.sqrt(horizon),
        doubt=1.0 / tau,
    )
    if radius_scale is None:
        return cast(UCB(step, NoFilter(), region))
    return tuned_form(step, radius_scale, threshold, norm)


def heavy_oful(
    *,
    dim: int,
    horizon: int,
    noise_scale: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    threshold: float | None = None,
) -> UCB:
    """Make Heavy-OFUL, linear Huber regression on all rewards (Huang, Zhong, Wang, Yang 2023).

    It assumes E|noise|^{1+epsilon} <= nu^{1+epsilon}; ||x|| <= 1. With l = ln(2 T^2/delta),
    lambda = d/S^2 (not verified against the paper) and K = d ln(1 + T^2/(d lambda)):

        beta_t = 3 sqrt(lambda) S + 24 t^q sqrt(2 K) ln(3T)^q l^{eps/(1+eps)}

    It fits all rewards again (see `BatchHuber`), so it has room for T decisions. The regret is
    O~(d nu T^{1/(1+eps)}).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    noise_scale : float
        nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the squared radius c d ln(1 + t/d) t^{2q}, with sigma = max{nu, p}. None for
        the theorem's radius and sigma, with which the first 1,000 rewards have little weight.
    threshold : float, optional
        tau0. None for the theorem's, or 1 with `radius_scale`.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = heavy_oful(dim=2, horizon=1000, noise_scale=1.0)
    >>> round(policy.estimator.threshold, 6), round(policy.radius.radius(None, 4), 4)
    (1.612791, 744.0813)
    """
    dim, horizon, eps = whole("dim", dim), whole("horizon", horizon), check_epsilon(epsilon)
    norm, confidence = positive("norm", norm), union_over_rounds(horizon, delta)
    penalty, power = dim / (norm * norm), excess(eps) / 2.0
    volume = dim * math.log1p(horizon * horizon / (dim * penalty))
    rounds = math.pow(math.log(3.0 * horizon), power)
    small = rounds * rounds * math.pow(confidence, -2.0 / (1.0 + eps)) / 48.0  # c1
    growth = 24.0 * math.sqrt(2.0 * volume) * rounds * math.pow(confidence, eps / (1.0 + eps))
    start = math.sqrt(penalty) * norm
    batch = BatchHuber(
        dim=dim,
        capacity=horizon,
        link=Identity(),
        penalty=penalty,
        ridge=penalty,
        norm=norm,
        noise_scale=positive("noise_scale", noise_scale),
        threshold=balanced_threshold(volume, horizon, confidence, eps),
        power=power,
        least=1.0 / math.sqrt(horizon),
        steady=math.sqrt(23.0 * confidence),
        root=math.sqrt(norm) * math.pow(2.0 * small * volume, -0.25),
    )
    region = PowerRadius(growth, power, 3.0 * start, start)
    return make_batch_policy(batch, region, radius_scale, threshold)


def gada_oful(
    *,
    dim: int,
    horizon: int,
    noise_scale: float,
    link: Link = Logistic(),
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    threshold: float | None = None,
    corruption: float = 0.0,
) -> UCB:
    """Make GAdaOFUL, pseudo-Huber regression on the whole history (Yu, Baek, Li, Sun 2025).

    It assumes a variance, E noise^2 <= nu^2, and rewards falsified by at most C = `corruption` in
    all; ||x|| <= 1. With l_t = ln(2 t^2/delta), lambda = d/S^2 and K = d ln(1 + T^2/(d lambda)):

        beta_t = (4 sqrt(K)/kappa if C > 0) + (32/kappa) (K/tau0 + sqrt(K l_t) + tau0 l_t)
                 + 5 sqrt(lambda) S

    with probability 1 - 3 delta. It fits all rewards again (see `BatchHuber`), so it has room for T
    decisions. The index uses the region without the ball. The regret is
    O~((L/kappa) d (nu sqrt(T) + max{S L, C})).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    noise_scale : float
        nu, a bound on the standard deviation of the noise, in the unit of the reward.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the tuned squared radius of `heavy_oful`. None for the theorem's beta_t.
    threshold : float, optional
        tau0. None for the theorem's, or 1 with `radius_scale`.
    corruption : float, default 0.0
        Bound C on the sum of |falsified minus true reward|, in the unit of the reward.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = gada_oful(dim=2, horizon=1000, noise_scale=1.0, link=Identity())
    >>> round(policy.estimator.root, 6), round(policy.radius.radius(None, 4), 4)
    (4.476017, 1370.0915)
    """
    dim, horizon, norm = whole("dim", dim), whole("horizon", horizon), positive("norm", norm)
    kappa, confidence = check_link(link, norm), union_over_rounds(horizon, delta)
    penalty, lies = dim / (norm * norm), bounded_number("corruption", corruption, Interval(0.0))
    volume = dim * math.log1p(horizon * horizon / (dim * penalty))
    tau = max(math.sqrt(2.0 * volume), 2.0 * math.sqrt(dim)) / math.sqrt(confidence)
    if threshold is not None and radius_scale is None:
        tau = positive("threshold", threshold)
    flat = math.sqrt(norm * link.lipschitz(norm)) * math.pow(42.0 * confidence / dim, 0.25)
    start = math.sqrt(penalty) * norm
    bias = 5.0 * start + (4.0 * math.sqrt(volume) / kappa if lies > 0.0 else 0.0)
    batch = BatchHuber(
        dim=dim,
        capacity=horizon,
        link=link,
        penalty=penalty,
        ridge=penalty * kappa,
        norm=norm,
        noise_scale=positive("noise_scale", noise_scale),
        threshold=tau,
        least=1.0 / math.sqrt(horizon),
        steady=6.0 * math.sqrt(3.0 * confidence),
        root=max(flat, math.sqrt(lies) * math.pow(volume, -0.25)),
        smooth=True,
    )
    region = PseudoHuberRadius(32.0 / kappa, volume, tau, delta, bias, start)
    return make_batch_policy(batch, region, radius_scale, threshold)


def make_batch_policy(
    batch: BatchHuber, region: Radius, radius_scale: float | None, threshold: float | None
) -> UCB:
    """Make the policy of a batch estimator with the radius of its theorem or a tuned one."""
    if radius_scale is not None:
        tau = 1.0 if threshold is None else positive("threshold", threshold)
        scale = positive("radius_scale", radius_scale) * batch.dim
        region = LogRadius(scale, batch.dim, 2.0 * batch.power)
        batch = batch._replace(threshold=tau, least=0.0, steady=1.0, root=0.0)
    elif threshold is not None:
        batch = batch._replace(threshold=positive("threshold", threshold))
    return cast(UCB(batch, NoFilter(), region))


def union_over_rounds(horizon: int, delta: float) -> float:
    """ln(2 T^2 / delta)"""
    return math.log(2.0 * horizon * horizon / fraction("delta", delta))


def balanced_threshold(volume: float, horizon: int, confidence: float, epsilon: float) -> float:
    """tau0 = sqrt(2 K) ln(3T)^q l^{-1/(1+eps)} of Hvt-UCB and Heavy-OFUL."""
    logs = math.pow(math.log(3.0 * horizon), excess(epsilon) / 2.0)
    return math.sqrt(2.0 * volume) * logs * math.pow(confidence, -1.0 / (1.0 + epsilon))
