"""OL2M and GLOC, and both on means of medians: what CRTM and CRMM are compared with."""

import math

from .._utils.errors import InvalidInputError
from .._utils.validation import fraction, positive, whole
from ..core.part import cast
from ..core.protocols import Link, Radius
from ..parts.estimators import OnlineToConfidence
from ..parts.filters import MeanOfMedians, NoFilter
from ..parts.links import Logistic, check_link
from ..parts.policies import UCB
from ..parts.radii import GradientSum, LogisticRadius, LogRadius, OnlineToConfidenceRadius
from .glm import make_newton, make_projection, round_up, tell


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
    """OL2M, online logistic bandits by a Newton step (Zhang et al. 2016), for any increasing link.

    CRTM without truncation: sub-Gaussian or bounded rewards are assumed. Anytime; O(K d^2) per
    round; regret O~(d sqrt(T)).

    Parameters
    ----------
    radius_scale : None for their Theorem 1; c for c d ln(t/lambda + 1), as Xue et al. tune it.
    curvature : what a round adds to V along x x^T. "half" is kappa/2, as Xue et al. describe it;
        "original" is beta/2, beta = 1/(2(1 + e^S)), as in Zhang et al.; the rest as in `crtm`.
    projection : "exact" as in the original; "none" is equation (2) of Xue et al.

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
    """GLOC, online-to-confidence-set conversion with an online Newton step (Jun et al. 2017).

    Ridge regression on the predictions of the online learner (see `OnlineToConfidence`). Assumes
    noise that is sub-Gaussian at R = `noise_scale` (None for sqrt(L), that of a canonical model).
    Anytime; O(K d^2) per round; regret O~((L(L + R)/kappa) d sqrt(T)).

    Parameters
    ----------
    radius_scale : None for their region; c for c sum g^2 ||x||^2_{V^-1}, as they and Xue et al.
        tune it. V includes x in that sum, as in their paper. With nearly noiseless rewards that
        sum stops growing and GLOC may settle on a wrong arm: a property of this radius.
    projection : "exact" as in the original; "none" is equation (2) of Xue et al. (2023).

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
    """OL2M on means of medians (Zhong et al. 2021; as Xue et al. 2023 combine the two).

    Every arm is played n times; the n rewards are cut into groups, and the mean of the group
    medians feeds OL2M. Radii count decisions. Assumes noise symmetric about zero, of any tail
    index, and arms that stand still for n plays. At T = 10^6 the formula asks for n = 10206, which
    leaves 97 decisions: `plays` is there to be used.

    Parameters
    ----------
    plays : None for ceil((16 ln(2T/delta))^{1/a}), a = `exponent`.
    group : None for ceil(n^a). Leftovers are dropped.
    radius_scale, curvature, projection : as in `ol2m`.

    >>> ol2m_mom(dim=10, horizon=10**6).filter
    MeanOfMedians(plays=10206, group=306)
    """
    single = tell(ol2m, locals())
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
    """GLOC on means of medians (Zhong et al. 2021; as Xue et al. 2023 combine the two).

    Assumptions, `plays`, `exponent` and `group` as in `ol2m_mom`, the rest as in `gloc`. Regret
    O(d (log T)^{1/(2a) + 3/2} sqrt(T)), as Xue et al. state it.

    >>> gloc_mom(dim=10, horizon=10**4, plays=64, exponent=0.5).filter
    MeanOfMedians(plays=64, group=8)
    """
    single = tell(gloc, locals())
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
