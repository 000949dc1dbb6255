"""Generalised linear bandits, mean reward mu(x.theta): CRTM, CRMM, OL2M, GLOC and variants."""

import math

from .._utils.errors import InvalidInputError
from .._utils.validation import epsilon as check_epsilon
from .._utils.validation import fraction, positive, whole
from ..core.part import cast, check_part, is_part
from ..core.protocols import Filter, Link, Radius
from ..parts.estimators import LocalNewton, OnlineNewton, OnlineToConfidence
from ..parts.filters import MeanOfMedians, Median, NoFilter, Truncate
from ..parts.links import Logistic, check_link
from ..parts.policies import UCB
from ..parts.radii import Constant, GradientSum, LogisticRadius, LogRadius, OnlineToConfidenceRadius
from . import theory
from .common import call_with_known, make_projection, round_up
from .theory.truncation import excess


def make_newton(
    dim: int, link: Link, norm: float, curvature: str | float, projection: str, **named: float
) -> OnlineNewton | LocalNewton:
    """Make the Newton step of this curvature: "half", "kappa", "local", a name given, a number."""
    kappa = check_link(link, norm)
    size, part = whole("dim", dim), make_projection(projection, norm)
    penalty = theory.regularisation(kappa)
    if isinstance(curvature, str) and curvature == "local":
        return LocalNewton(size, link, penalty, part)
    weights = {"half": kappa / 2.0, "kappa": kappa, **named}
    if isinstance(curvature, str):
        if curvature not in weights:
            names = ", ".join([*weights, "local"])
            raise InvalidInputError(
                f"curvature must be one of {names} or a number, got {curvature!r}"
            )
        return OnlineNewton(size, link, weights[curvature], penalty, part)
    return OnlineNewton(size, link, positive("curvature", curvature), penalty, part)


def crtm(
    *,
    dim: int,
    horizon: int,
    raw_moment: float,
    link: Link = Logistic(),
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    truncation: float | Filter | None = None,
    curvature: str | float = "half",
    projection: str = "exact",
    corrected: bool = False,
) -> UCB:
    """Make CRTM, Confidence Region with Truncated Mean (Xue et al. 2023, Algorithm 1).

    CRTM sets rewards with ||x||_{V^-1} |y| > Gamma to zero; the others update an online Newton
    step. The region {||theta - theta_t||_V^2 <= gamma} contains theta* with probability 1 - delta.

    It assumes E|y|^{1+epsilon} <= u, a raw moment, ||x|| <= 1, ||theta*|| <= `norm`. Arms may
    change at every round. The cost is O(K d^2) per round and O(d^2) space; the regret is O(d (log
    T)^{(1+2 epsilon)/(1+epsilon)} T^{1/(1+epsilon)}).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the squared radius that the paper tunes in its experiments,
        c d ln(4T/delta)^{2 eps/(1+eps)} ln(T/(d lambda) + 1) T^{(1-eps)/(1+eps)}. None for
        Theorem 1's gamma, which is valid but very wide.
    truncation : float or Filter, optional
        Threshold Gamma; math.inf never truncates. A filter part is used instead of truncation, for
        example `AdaptiveClip()`, whose threshold sets itself. None for Algorithm 1's Gamma (the
        appendix prints another threshold, with which its own proof does not close).
    curvature : str or float, default "half"
        Weight of x x^T that a round adds to V. "half" is kappa/2, as in the theorems; "kappa" is
        kappa, with less regret in most experiments; "local" is mu'(x.theta), necessary for links
        as curved as the exponential; or a number. Only "half" is proven.
    projection : str, default "exact"
        "exact" projects in the norm of V, as the theorem needs; "euclidean" rescales theta; "none"
        leaves theta.
    corrected : bool, default False
        Use Theorem 1 with the factor 2 that its triangle inequality misses.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = crtm(dim=10, horizon=1_000_000, raw_moment=3.534446647)
    >>> round(policy.filter.threshold, 4), f"{policy.radius.squared:.4e}"
    (18.269, '2.9342e+07')
    """
    kappa = check_link(link, positive("norm", norm))
    raw_moment = positive("raw_moment", raw_moment)
    keep: Filter = NoFilter()
    if truncation is None:
        keep = Truncate(call_with_known(theory.truncation_threshold, locals()))
    elif is_part(truncation):
        keep = check_part("truncation", truncation, Filter)
    elif not (isinstance(truncation, float) and truncation == math.inf):
        keep = Truncate(positive("truncation", truncation))
    if radius_scale is None:
        known = locals() | {"bound": link.bound(norm)}
        squared = call_with_known(theory.truncation_region, known)
    else:
        known = locals() | {"penalty": theory.regularisation(kappa)}
        tuned = call_with_known(theory.truncation_tuned, known)
        squared = positive("radius_scale", radius_scale) * tuned
    newton = make_newton(dim, link, norm, curvature, projection)
    return cast(UCB(newton, keep, Constant(squared)))


def crmm(
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
    curvature: str | float = "half",
    projection: str = "exact",
    corrected: bool = False,
) -> UCB:
    """Make CRMM, Confidence Region with Mean of Medians (Xue et al. 2023, Algorithm 2).

    CRMM plays every chosen arm r = ceil(16 ln(4T/delta)) times, and the median of the r rewards
    updates one online Newton step. At T = 10^4 this is r = 244 and 40 updates in all.

    It assumes noise symmetric about zero with E|noise|^{1+epsilon} <= v, a central moment, and arms
    that do not change for r plays. The cost is O(d^2 T / log T) in all; the regret is
    O(d (log T)^{3/2 + epsilon/(1+epsilon)} T^{1/(1+epsilon)}) with probability 1 - 2 delta. The
    proof treats adaptive weights as fixed, so use the theorem's radius as a guide.

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
        Multiplier c of the squared radius that the paper tunes in its experiments,
        c d ln(t/(d lambda) + 1) t^{(1-eps)/(1+eps)}, where t counts updates. None for Theorem 3's
        gamma_t.
    plays : int, optional
        Plays per decision. None for Algorithm 2's r.
    curvature : str or float, default "half"
        Weight of x x^T that an update adds to V, as in `crtm`.
    projection : str, default "exact"
        "exact" projects in the norm of V, as the theorem needs; "euclidean" rescales theta; "none"
        leaves theta.
    corrected : bool, default False
        Use Theorem 3 with the factor 2 that its triangle inequality misses.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = crmm(dim=10, horizon=1_000_000, central_moment=3.0)
    >>> policy.plays, f"{policy.radius.radius(None, 3154) ** 2:.5e}"
    (317, '6.46892e+06')
    """
    kappa = check_link(link, positive("norm", norm))
    horizon, delta = whole("horizon", horizon), fraction("delta", delta)
    central_moment = positive("central_moment", central_moment)
    plays = theory.median_plays(horizon=horizon, delta=delta) if plays is None else plays
    newton = make_newton(dim, link, norm, curvature, projection)
    power = excess(check_epsilon(epsilon))
    if radius_scale is None:
        known = locals() | {"bound": link.bound(norm)}
        radius: Radius = call_with_known(theory.median_radius, known)
    else:
        scale = positive("radius_scale", radius_scale) * dim
        radius = LogRadius(scale, dim * newton.penalty, power)
    return cast(UCB(newton, Median(whole("plays", plays)), radius))


def ol2m(
    *,
    dim: int,
    link: Link = Logistic(),
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    curvature: str | float = "half",
    projection: str = "exact",
) -> UCB:
    """Make OL2M, a Newton step for logistic bandits (Zhang et al. 2016), with any increasing link.

    OL2M is CRTM without truncation. It assumes sub-Gaussian or bounded rewards. It needs no
    horizon. The cost is O(K d^2) per round; the regret is O~(d sqrt(T)).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the squared radius c d ln(t/lambda + 1), as Xue et al. tune it. None for
        Theorem 1 of Zhang et al.
    curvature : str or float, default "half"
        Weight of x x^T that a round adds to V. "half" is kappa/2, as Xue et al. describe it;
        "original" is beta/2, beta = 1/(2(1 + e^S)), as in Zhang et al.; the others as in `crtm`.
    projection : str, default "exact"
        "exact" as in the original; "none" is equation (2) of Xue et al. (2023); "euclidean"
        rescales theta.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> round(ol2m(dim=2, curvature="original").estimator.curvature, 6)
    0.067235
    """
    norm, delta = positive("norm", norm), fraction("delta", delta)
    beta = 1.0 / (2.0 * (1.0 + math.exp(min(norm, 700.0))))  # beyond it a double overflows
    newton = make_newton(dim, link, norm, curvature, projection, original=beta / 2.0)
    if radius_scale is None:
        radius: Radius = LogisticRadius(beta, norm, newton.penalty, delta)
    else:
        radius = LogRadius(positive("radius_scale", radius_scale) * dim, newton.penalty)
    return cast(UCB(newton, NoFilter(), radius))


def gloc(
    *,
    dim: int,
    link: Link = Logistic(),
    noise_scale: float | None = None,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    radius_scale: float | None = None,
    projection: str = "exact",
) -> UCB:
    """Make GLOC, online-to-confidence-set conversion with an online Newton step (Jun et al. 2017).

    GLOC makes a ridge regression on the predictions of the online learner (see
    `OnlineToConfidence`). It assumes noise that is sub-Gaussian with scale R. It needs no horizon.
    The cost is O(K d^2) per round; the regret is O~((L(L + R)/kappa) d sqrt(T)).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    noise_scale : float, optional
        R, the sub-Gaussian scale of the noise, in the unit of the reward. None for sqrt(L), that of
        a canonical model.
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    radius_scale : float, optional
        Multiplier c of the squared radius c sum g^2 ||x||^2_{V^-1}, as Jun et al. and Xue et al.
        tune it. V includes x in this sum, as in their paper. With nearly noiseless rewards the sum
        stops growing, and GLOC may always play a wrong arm: a property of this radius. None for the
        region of Jun et al.
    projection : str, default "exact"
        "exact" as in the original; "none" is equation (2) of Xue et al. (2023); "euclidean"
        rescales the iterate.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> gloc(dim=2, radius_scale=0.1).radius
    GradientSum(scale=0.1)
    """
    norm = positive("norm", norm)
    kappa, penalty = check_link(link, norm), positive("penalty", penalty)
    part = make_projection(projection, norm)
    estimator = OnlineToConfidence(whole("dim", dim), link, kappa, penalty, part)
    scale = math.sqrt(link.lipschitz(norm)) if noise_scale is None else noise_scale
    scale, delta = positive("noise_scale", scale), fraction("delta", delta)
    region: Radius = OnlineToConfidenceRadius(kappa, scale, norm, penalty, delta)
    if radius_scale is not None:
        region = GradientSum(positive("radius_scale", radius_scale))
    return cast(UCB(estimator, NoFilter(), region))


def ol2m_mom(
    *,
    dim: int,
    horizon: int,
    link: Link = Logistic(),
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    plays: int | None = None,
    exponent: float = 0.62,
    group: int | None = None,
    curvature: str | float = "half",
    projection: str = "exact",
) -> UCB:
    """Make OL2M on means of medians, as Xue et al. (2023) combine them with Zhong et al. (2021).

    The policy plays every arm n times and divides the n rewards into groups; the mean of the group
    medians updates OL2M. Radii count decisions. It assumes noise symmetric about zero, of any tail
    index, and arms that do not change for n plays. At T = 10^6 the formula gives n = 10206, which
    leaves 97 decisions: set `plays`.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the squared radius, as in `ol2m`. None for Theorem 1 of Zhang et al. (2016).
    plays : int, optional
        n, plays per decision. None for ceil((16 ln(2T/delta))^{1/a}), a = `exponent`.
    exponent : float, default 0.62
        a, the power of n in the size of a group.
    group : int, optional
        Rewards per group. None for ceil(n^a). Rewards that do not fill a group are dropped.
    curvature : str or float, default "half"
        Weight of x x^T that a decision adds to V, as in `ol2m`.
    projection : str, default "exact"
        "exact" as in the original; "none" is equation (2) of Xue et al. (2023); "euclidean"
        rescales theta.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> ol2m_mom(dim=10, horizon=10**6).filter
    MeanOfMedians(plays=10206, group=306)
    """
    single = call_with_known(ol2m, locals())
    return cast(single._replace(filter=_mean_of_medians(horizon, delta, plays, exponent, group)))


def gloc_mom(
    *,
    dim: int,
    horizon: int,
    link: Link = Logistic(),
    noise_scale: float | None = None,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    radius_scale: float | None = None,
    plays: int | None = None,
    exponent: float = 0.62,
    group: int | None = None,
    projection: str = "exact",
) -> UCB:
    """Make GLOC on means of medians, as Xue et al. (2023) combine them with Zhong et al. (2021).

    The assumptions are those of `ol2m_mom`. The regret is O(d (log T)^{1/(2a) + 3/2} sqrt(T)), as
    Xue et al. state it.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    link : Link, default Logistic()
        mu, the mean reward as a function of x.theta.
    noise_scale : float, optional
        R, the sub-Gaussian scale of the filtered noise, in the unit of the reward. None for
        sqrt(L).
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    radius_scale : float, optional
        Multiplier c of the squared radius, as in `gloc`. None for the region of Jun et al. (2017).
    plays : int, optional
        n, plays per decision. None for ceil((16 ln(2T/delta))^{1/a}), a = `exponent`.
    exponent : float, default 0.62
        a, the power of n in the size of a group.
    group : int, optional
        Rewards per group. None for ceil(n^a). Rewards that do not fill a group are dropped.
    projection : str, default "exact"
        "exact" as in the original; "none" is equation (2) of Xue et al. (2023); "euclidean"
        rescales the iterate.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> gloc_mom(dim=10, horizon=10**4, plays=64, exponent=0.5).filter
    MeanOfMedians(plays=64, group=8)
    """
    single = call_with_known(gloc, locals())
    return cast(single._replace(filter=_mean_of_medians(horizon, delta, plays, exponent, group)))


def _mean_of_medians(
    horizon: int, delta: float, plays: int | None, exponent: float, group: int | None
) -> MeanOfMedians:
    """n = ceil((16 ln(2T/delta))^{1/a}) plays in groups of ceil(n^a) (Zhong et al. 2021)."""
    exponent, horizon = fraction("exponent", exponent), whole("horizon", horizon)
    if plays is None:
        confidence = math.log(2.0 * horizon / fraction("delta", delta))
        if math.log(16.0 * confidence) > 40.0 * exponent:
            raise InvalidInputError(f"exponent must ask for fewer than e^40 plays, got {exponent}")
        plays = round_up(math.pow(16.0 * confidence, 1.0 / exponent))
    plays = whole("plays", plays)
    size = round_up(math.pow(plays, exponent)) if group is None else whole("group", group)
    return MeanOfMedians(plays, min(size, plays))
