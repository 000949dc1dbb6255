"""The papers' names: each a citation and one expression over parts."""

import math
from typing import Any

from . import theory
from .estimators import BallProjection, NoProjection, OnlineNewton, Rescaling, Ridge
from .filters import Median, Raw, Truncate
from .links import Logistic
from .parts import cast, check_filter, check_link, is_part
from .policies import Optimism
from .radii import Constant, Growing, LogisticRegion, SelfNormalised
from .validation import InvalidInput, fraction, positive, whole
from .validation import epsilon as check_epsilon

_PROJECTIONS = ("exact", "euclidean", "none")


def make_projection(name: str, norm: float) -> Any:
    """The projection part of this name.

    >>> make_projection("exact", 1.0)
    BallProjection(norm=1.0)
    """
    if name not in _PROJECTIONS:
        raise InvalidInput(f"projection must be one of {', '.join(_PROJECTIONS)}, got {name!r}")
    if name == "none":
        return NoProjection()
    return BallProjection(norm) if name == "exact" else Rescaling(norm)


def _newton(dim: int, link: Any, norm: float, curvature: float, projection: str) -> OnlineNewton:
    kappa = check_link(link, norm)
    penalty = theory.regularisation(kappa)
    return OnlineNewton(
        whole("dim", dim), link, curvature, penalty, make_projection(projection, norm)
    )


def crtm(
    *,
    dim: int,
    horizon: int,
    moment: float,
    link: Any = Logistic(),
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    width: float | None = None,
    truncation: Any = None,
    projection: str = "exact",
    corrected: bool = False,
) -> Optimism:
    """CRTM, Confidence Region with Truncated Mean (Xue et al. 2023, Algorithm 1).

    Rewards with ||x||_{V^-1} |y| > Gamma count as zero; the rest feed an online Newton step, and
    the region {||theta - theta_t||_V^2 <= gamma} holds theta* with probability 1 - delta.

    Assumes E|y|^{1+epsilon} <= `moment` (the raw moment u), ||x|| <= 1, ||theta*|| <= `norm`. Arms
    may change at every round. O(K d^2) a round, O(d^2) memory, regret
    O(d (log T)^{(1+2 epsilon)/(1+epsilon)} T^{1/(1+epsilon)}).

    Parameters
    ----------
    width : None for Theorem 1's gamma (safe and enormous); a number c for the radius the paper
        tunes in its experiments, c d ln(4T/delta)^{2 eps/(1+eps)} ln(T/(d lambda) + 1)
        T^{(1-eps)/(1+eps)}.
    truncation : None for Algorithm 1's Gamma (the appendix prints another one, with which its own
        proof does not close); a number is that level, math.inf never truncates; a filter part is
        used instead, e.g. `AdaptiveClip()`, whose level sets itself.
    projection : "exact" in the V-norm, as the theorem needs; "euclidean"; "none".
    corrected : Theorem 1 with the factor 2 that its triangle inequality misses.

    >>> policy = crtm(dim=10, horizon=1_000_000, moment=3.534446647)
    >>> round(policy.filter.level, 4), f"{policy.radius.squared:.4e}"
    (18.269, '2.9342e+07')
    """
    kappa = check_link(link, positive("norm", norm))
    moment = positive("moment", moment)
    common: dict[str, Any] = {"dim": dim, "horizon": horizon, "epsilon": epsilon, "delta": delta}
    keep: Any = Raw()
    if truncation is None:
        keep = Truncate(theory.truncation_level(**common, moment=moment, kappa=kappa))
    elif is_part(truncation):
        keep = check_filter(truncation)
    elif truncation != math.inf:
        keep = Truncate(positive("truncation", truncation))
    if width is None:
        squared = theory.truncation_region(
            **common,
            moment=moment,
            kappa=kappa,
            bound=link.bound(norm),
            norm=norm,
            corrected=corrected,
        )
    else:
        tuned = theory.truncation_tuned(**common, penalty=theory.regularisation(kappa))
        squared = positive("width", width) * tuned
    return cast(
        Optimism(_newton(dim, link, norm, kappa / 2.0, projection), keep, Constant(squared))
    )


def crmm(
    *,
    dim: int,
    horizon: int,
    moment: float,
    link: Any = Logistic(),
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    width: float | None = None,
    plays: int | None = None,
    projection: str = "exact",
    corrected: bool = False,
) -> Optimism:
    """CRMM, Confidence Region with Mean of Medians (Xue et al. 2023, Algorithm 2).

    Every chosen arm is played r = ceil(16 ln(4T/delta)) times and the median of the r rewards
    feeds one online Newton step. At T = 10^4 that is r = 244 and 40 updates in all.

    Assumes noise symmetric about zero with E|noise|^{1+epsilon} <= `moment` (the central moment
    v), and arms that stand still for r plays. O(d^2 T / log T) in all; regret
    O(d (log T)^{3/2 + epsilon/(1+epsilon)} T^{1/(1+epsilon)}) with probability 1 - 2 delta. The
    proof treats adaptive weights as fixed, so take the theorem's radius as a guide.

    Parameters
    ----------
    width : None for Theorem 3's gamma_t; a number c for the radius of the paper's experiments,
        c d ln(t/(d lambda) + 1) t^{(1-eps)/(1+eps)}, t counting updates.
    plays : None for Algorithm 2's r.
    projection, corrected : as in `crtm`.

    >>> policy = crmm(dim=10, horizon=1_000_000, moment=3.0)
    >>> policy.plays, f"{policy.radius.radius(None, 3154) ** 2:.5e}"
    (317, '6.46892e+06')
    """
    kappa = check_link(link, positive("norm", norm))
    horizon, delta = whole("horizon", horizon), fraction("delta", delta)
    moment = positive("moment", moment)
    plays = theory.median_plays(horizon=horizon, delta=delta) if plays is None else plays
    newton = _newton(dim, link, norm, kappa / 2.0, projection)
    power = (1.0 - check_epsilon(epsilon)) / (1.0 + epsilon)
    if width is None:
        radius: Any = theory.median_radius(
            dim=dim,
            horizon=horizon,
            moment=moment,
            kappa=kappa,
            bound=link.bound(norm),
            norm=norm,
            epsilon=epsilon,
            delta=delta,
            plays=plays,
            corrected=corrected,
        )
    else:
        radius = Growing(positive("width", width) * dim, dim * newton.penalty, power)
    return cast(Optimism(newton, Median(whole("plays", plays)), radius))


def ol2m(
    *,
    dim: int,
    link: Any = Logistic(),
    delta: float = 0.01,
    norm: float = 1.0,
    width: float | None = None,
    curvature: str | float = "kappa",
    projection: str = "exact",
) -> Optimism:
    """OL2M, online logistic bandits by a Newton step (Zhang et al. 2016), for any increasing link.

    CRTM without truncation: sub-Gaussian or bounded rewards are assumed. Anytime; O(K d^2) a
    round; regret O~(d sqrt(T)).

    Parameters
    ----------
    width : None for their Theorem 1; c for c d ln(t/lambda + 1), as Xue et al. (2023) tune it.
    curvature : "kappa" adds kappa/2 x x^T a round, as Xue et al. describe it; "original" adds
        beta/2, beta = 1/(2(1 + e^S)), as Zhang et al. do; or that number.
    projection : "exact" as in the original; "none" is equation (2) of Xue et al.

    >>> round(ol2m(dim=2, curvature="original").estimator.curvature, 6)
    0.067235
    """
    kappa = check_link(link, positive("norm", norm))
    beta = 1.0 / (2.0 * (1.0 + math.exp(norm)))
    named = {"kappa": kappa / 2.0, "original": beta / 2.0}
    if isinstance(curvature, str) and curvature not in named:
        raise InvalidInput(f"curvature must be 'kappa', 'original' or a number, got {curvature!r}")
    weight = named[curvature] if isinstance(curvature, str) else positive("curvature", curvature)
    newton, delta = _newton(dim, link, norm, weight, projection), fraction("delta", delta)
    if width is None:
        radius: Any = LogisticRegion(beta, norm, newton.penalty, delta)
    else:
        radius = Growing(positive("width", width) * dim, newton.penalty)
    return cast(Optimism(newton, Raw(), radius))


def linucb(
    *,
    dim: int,
    noise_scale: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    width: float | None = None,
    filter: Any = Raw(),
) -> Optimism:
    """LinUCB: ridge regression with OFUL's radius (Abbasi-Yadkori et al. 2011), with any filter.

    Linear rewards. With `Raw` it assumes noise that is sub-Gaussian at `noise_scale`; with
    `Truncate` or `Clip` it is the simplest robust bandit there is.

    Parameters
    ----------
    width : None for R sqrt(ln(det V / det V_1) + 2 ln(1/delta)) + sqrt(lambda) S; a number alpha
        for the constant radius alpha of Li et al. (2010).
    filter : any filter part, e.g. `Clip(level=2.0)`.

    >>> linucb(dim=3, width=1.0, filter=Truncate(2.0)).filter
    Truncate(level=2.0, plays=1)
    """
    ridge = Ridge(whole("dim", dim), positive("penalty", penalty))
    spread, norm = positive("noise_scale", noise_scale), positive("norm", norm)
    delta = fraction("delta", delta)
    if width is None:
        radius: Any = SelfNormalised(spread, norm, ridge.penalty, delta)
    else:
        radius = Constant(positive("width", width) ** 2)
    return cast(Optimism(ridge, check_filter(filter), radius))
