"""Hvt-UCB, Heavy-OFUL and GAdaOFUL: the newest rivals of CRHL, all Huber regressions."""

import math

from .._utils.validation import Interval, bounded_number, fraction, positive, whole
from .._utils.validation import epsilon as check_epsilon
from ..core.part import cast
from ..core.protocols import Link, Radius
from ..parts.estimators import BallProjection, BatchHuber, HuberNewton
from ..parts.filters import NoFilter
from ..parts.links import Identity, Logistic, check_link
from ..parts.policies import UCB
from ..parts.radii import Constant, LogRadius, PowerRadius, PseudoHuberRadius
from .robust import tuned_form
from .theory.truncation import excess


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
    """Hvt-UCB (Wang, Zhang, Zhao, Zhou 2025), one pass of Huber regression for linear rewards.

    CRHL with the identity link, alpha = 4, lambda = d, sigma_min = 1/sqrt(T) and without the third
    term of sigma; with l = ln(2 T^2/delta) and K = d ln(1 + T^2/(4 lambda d)),
    tau0 = sqrt(2 K) ln(3T)^q l^{-1/(1+eps)} and
    beta_t = 107 l tau0 t^q + sqrt(lambda (2 + 4 S^2)). The 107 and the last root are quoted from
    memory. Assumes what `crhl` does; alpha = 4 is a device of its proof, and `crhl` had half the
    regret in a first experiment.

    Parameters
    ----------
    radius_scale, threshold : as in `crhl`.

    >>> policy = hvt_ucb(dim=2, horizon=1000, noise_scale=1.0)
    >>> round(policy.estimator.threshold, 4), round(policy.radius.radius(None, 0), 4)
    (1.5202, 3.4641)
    """
    dim, horizon, eps = whole("dim", dim), whole("horizon", horizon), check_epsilon(epsilon)
    norm, confidence = positive("norm", norm), _union_over_rounds(horizon, delta)
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
    """Heavy-OFUL (Huang, Zhong, Wang, Yang 2023), Huber regression on the whole history, linear.

    Assumes E|noise|^{1+epsilon} <= `noise_scale`^{1+epsilon}; ||x|| <= 1. With l = ln(2 T^2/delta),
    lambda = d/S^2 (quoted from memory) and K = d ln(1 + T^2/(d lambda)):
    beta_t = 3 sqrt(lambda) S + 24 t^q sqrt(2 K) ln(3T)^q l^{eps/(1+eps)}. Refits on all rewards
    (see `BatchHuber`), so it has room for `horizon` decisions. Regret O~(d nu T^{1/(1+eps)}).

    Parameters
    ----------
    radius_scale : None for that radius; a number c for beta_t^2 = c d ln(1 + t/d) t^{2q} and
        sigma = max{nu, p}. With the theorem's sigma the first 10^3 rewards hardly count.
    threshold : tau0. None for the theorem's, or 1 in the tuned form.

    >>> policy = heavy_oful(dim=2, horizon=1000, noise_scale=1.0)
    >>> round(policy.estimator.threshold, 6), round(policy.radius.radius(None, 4), 4)
    (1.612791, 744.0813)
    """
    dim, horizon, eps = whole("dim", dim), whole("horizon", horizon), check_epsilon(epsilon)
    norm, confidence = positive("norm", norm), _union_over_rounds(horizon, delta)
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
    return _fitted(batch, PowerRadius(growth, power, 3.0 * start, start), radius_scale, threshold)


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
    """GAdaOFUL (Yu, Baek, Li, Sun 2025), pseudo-Huber regression on the whole history.

    Assumes a variance, E noise^2 <= `noise_scale`^2, and rewards falsified by at most `corruption`
    in all; ||x|| <= 1. With l = ln(2 T^2/delta), lambda = d/S^2 and K = d ln(1 + T^2/(d lambda)):
    beta_t = (4 sqrt(K)/kappa if C > 0) + (32/kappa) (K/tau0 + sqrt(K l_t) + tau0 l_t) + 5
    sqrt(lambda) S, l_t = ln(2 t^2/delta), with probability 1 - 3 delta. Refits on all rewards (see
    `BatchHuber`), so it has room for `horizon` decisions. The index is that of the region without
    the ball. Regret O~((L/kappa) d (nu sqrt(T) + max{S L, C})).

    Parameters
    ----------
    radius_scale, threshold : as in `heavy_oful`.

    >>> policy = gada_oful(dim=2, horizon=1000, noise_scale=1.0, link=Identity())
    >>> round(policy.estimator.root, 6), round(policy.radius.radius(None, 4), 4)
    (4.476017, 1370.0915)
    """
    dim, horizon, norm = whole("dim", dim), whole("horizon", horizon), positive("norm", norm)
    kappa, confidence = check_link(link, norm), _union_over_rounds(horizon, delta)
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
    return _fitted(batch, region, radius_scale, threshold)


def _fitted(
    batch: BatchHuber, region: Radius, radius_scale: float | None, threshold: float | None
) -> UCB:
    """The policy of a batch estimator: as its theorem has it, or in the form to be tuned."""
    if radius_scale is not None:
        tau = 1.0 if threshold is None else positive("threshold", threshold)
        region = LogRadius(
            positive("radius_scale", radius_scale) * batch.dim, batch.dim, 2.0 * batch.power
        )
        batch = batch._replace(threshold=tau, least=0.0, steady=1.0, root=0.0)
    elif threshold is not None:
        batch = batch._replace(threshold=positive("threshold", threshold))
    return cast(UCB(batch, NoFilter(), region))


def _union_over_rounds(horizon: int, delta: float) -> float:
    """ln(2 T^2 / delta)"""
    return math.log(2.0 * horizon * horizon / fraction("delta", delta))


def balanced_threshold(volume: float, horizon: int, confidence: float, epsilon: float) -> float:
    """tau0 = sqrt(2 K) ln(3T)^q l^{-1/(1+eps)} of Hvt-UCB and Heavy-OFUL."""
    logs = math.pow(math.log(3.0 * horizon), excess(epsilon) / 2.0)
    return math.sqrt(2.0 * volume) * logs * math.pow(confidence, -1.0 / (1.0 + epsilon))
