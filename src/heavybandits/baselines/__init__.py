"""The algorithms of others: each a citation, its assumptions and one expression over parts.

`width=None` is the theorem of the paper named; `width=c` is the form that experiments tune. The
linear ones (crt, mom, tofu, menu, btc, bmm, supbtc, supbmm) assume mean rewards x.theta*.
"""

import math
from typing import Any

from ..algorithms import make_projection, ol2m
from ..estimators import Ridge
from ..filters import MeanOfMedians, MedianOfMeans, Raw, TruncateByTime
from ..links import Logistic
from ..parts import cast, check_link
from ..policies import Optimism
from ..validation import InvalidInput, fraction, positive, whole
from ..validation import epsilon as check_epsilon
from .finite import bmm, btc, excess, round_up, supbmm, supbtc
from .gloc import GradientSum, OnlineToConfidence, OnlineToConfidenceRegion
from .histories import TruncatedHistory
from .radii import MiniBatchRegion, Powered, Scaled, TruncatedRegion
from .ridges import ManyRidges

__all__ = [
    "bmm",
    "btc",
    "crt",
    "gloc",
    "gloc_mom",
    "menu",
    "mom",
    "ol2m_mom",
    "supbmm",
    "supbtc",
    "tofu",
]


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def _scaled(radius: Any, width: float | None) -> Any:
    """The radius of the theorem, or c times it."""
    return radius if width is None else Scaled(radius, positive("width", width))


# ---- generalised linear


def gloc(
    *,
    dim: int,
    link: Any = Logistic(),
    noise_scale: float | None = None,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    width: float | None = None,
    projection: str = "exact",
) -> Optimism:
    """GLOC, online-to-confidence-set conversion with an online Newton step (Jun et al. 2017).

    Ridge regression on the predictions of the online learner (see `OnlineToConfidence`). Assumes
    noise that is sub-Gaussian at R = `noise_scale` (None for sqrt(L), that of a canonical model).
    Anytime; O(K d^2) a round; regret O~((L(L + R)/kappa) d sqrt(T)).

    Parameters
    ----------
    width : None for their region; c for c sum g^2 ||x||^2_{V^-1}, as they and Xue et al. tune it.
        V includes x in that sum, as in their paper. With nearly noiseless rewards that sum stops
        growing and GLOC may settle on a wrong arm: a property of this radius.
    projection : "exact" as in the original; "none" is equation (2) of Xue et al. (2023).

    >>> gloc(dim=2, width=0.1).radius
    GradientSum(scale=0.1)
    """
    norm = positive("norm", norm)
    kappa, penalty = check_link(link, norm), positive("penalty", penalty)
    part = make_projection(projection, norm)
    estimator = OnlineToConfidence(whole("dim", dim), link, kappa, penalty, part)
    spread = math.sqrt(link.lipschitz(norm)) if noise_scale is None else noise_scale
    spread = positive("noise_scale", spread)
    region: Any = OnlineToConfidenceRegion(kappa, spread, norm, penalty, fraction("delta", delta))
    if width is not None:
        region = GradientSum(positive("width", width))
    return cast(Optimism(estimator, Raw(), region))


def _mean_of_medians(
    horizon: int, delta: float, plays: int | None, exponent: float, group: int | None
) -> MeanOfMedians:
    """n = ceil((16 ln(2T/delta))^{1/a}) plays in groups of ceil(n^a) (Zhong et al. 2021)."""
    exponent = fraction("exponent", exponent)
    if plays is None:
        confidence = math.log(2.0 * whole("horizon", horizon) / fraction("delta", delta))
        plays = round_up(math.pow(16.0 * confidence, 1.0 / exponent))
    plays = whole("plays", plays)
    size = round_up(math.pow(plays, exponent)) if group is None else whole("group", group)
    return MeanOfMedians(plays, min(size, plays))


def ol2m_mom(
    *,
    dim: int,
    horizon: int,
    link: Any = Logistic(),
    delta: float = 0.01,
    norm: float = 1.0,
    width: float | None = None,
    plays: int | None = None,
    exponent: float = 0.62,
    group: int | None = None,
    curvature: str | float = "kappa",
    projection: str = "exact",
) -> Optimism:
    """OL2M on means of medians (Zhong et al. 2021; as Xue et al. 2023 combine the two).

    Every arm is played n times; the n rewards are cut into groups, and the mean of the group
    medians feeds OL2M. Radii count decisions. Assumes noise symmetric about zero, of any tail
    index, and arms that stand still for n plays. At T = 10^6 the formula asks for n = 10206, which
    leaves 97 decisions: `plays` is there to be used.

    Parameters
    ----------
    plays : None for ceil((16 ln(2T/delta))^{1/a}), a = `exponent`.
    group : None for ceil(n^a). Leftovers are dropped.
    width, curvature, projection : as in `ol2m`.

    >>> ol2m_mom(dim=10, horizon=10**6).filter
    MeanOfMedians(plays=10206, group=306)
    """
    keep = _mean_of_medians(horizon, delta, plays, exponent, group)
    single = ol2m(
        dim=dim,
        link=link,
        delta=delta,
        norm=norm,
        width=width,
        curvature=curvature,
        projection=projection,
    )
    return cast(single._replace(filter=keep))


def gloc_mom(
    *,
    dim: int,
    horizon: int,
    link: Any = Logistic(),
    noise_scale: float | None = None,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    width: float | None = None,
    plays: int | None = None,
    exponent: float = 0.62,
    group: int | None = None,
    projection: str = "exact",
) -> Optimism:
    """GLOC on means of medians (Zhong et al. 2021; as Xue et al. 2023 combine the two).

    Assumptions, `plays`, `exponent` and `group` as in `ol2m_mom`, the rest as in `gloc`. Regret
    O(d (log T)^{1/(2a) + 3/2} sqrt(T)), as Xue et al. state it.

    >>> gloc_mom(dim=10, horizon=10**4, plays=64, exponent=0.5).filter
    MeanOfMedians(plays=64, group=8)
    """
    keep = _mean_of_medians(horizon, delta, plays, exponent, group)
    single = gloc(
        dim=dim,
        link=link,
        noise_scale=noise_scale,
        delta=delta,
        norm=norm,
        penalty=penalty,
        width=width,
        projection=projection,
    )
    return cast(single._replace(filter=keep))


# ---- linear, one region


def crt(
    *,
    dim: int,
    moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    width: float | None = None,
    reading: str = "theorem",
) -> Optimism:
    """CRT, Confidence Region with Truncation (Medina and Yang 2016), linear rewards.

    The t-th reward counts as zero if |y| > t^{1/(2(1+eps))}, once and for good; ridge regression on
    the rest. Assumes E|y|^{1+eps} <= `moment` (they bound the noise, but their proof needs the raw
    moment). Anytime; O(K d^2) a round; regret O~(d T^{(2+eps)/(2(1+eps))}).

    Parameters
    ----------
    width : None for their radius; a number c for c times it (0.1 in the code that circulates).
    reading : "theorem" for Theorem 1, which the proof supports; "corollary" for Corollary 2, which
        drops a power of t from the bias.

    >>> crt(dim=2, moment=1.0).filter
    TruncateByTime(power=0.25, scale=1.0, plays=1)
    """
    eps, norm = check_epsilon(epsilon), positive("norm", norm)
    corollary = _one_of("reading", reading, ("theorem", "corollary")) == "corollary"
    power = 1.0 / (1.0 + eps)
    region = TruncatedRegion(
        positive("moment", moment), power, norm, fraction("delta", delta), corollary
    )
    ridge = Ridge(whole("dim", dim), 1.0)
    return cast(Optimism(ridge, TruncateByTime(power / 2.0), _scaled(region, width)))


def mom(
    *,
    dim: int,
    horizon: int,
    moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    width: float | None = None,
    plays: int | None = None,
    reading: str = "union",
) -> Optimism:
    """MoM, mini-batches with Median of Means (Medina and Yang 2016), linear rewards.

    m = ceil(T^{2 eps/(1+3 eps)}) decisions of r = ceil(T/m) plays; the median of the means of
    k = floor(8 ln(2/delta')) blocks feeds a ridge regression. Assumes E|noise|^{1+eps} <= `moment`
    and arms that stand still for r plays. O(K d^2) a decision; regret
    O~(sqrt(d) T^{(1+2 eps)/(1+3 eps)} + d T^{(1+eps)/(1+3 eps)}).

    Parameters
    ----------
    width : None for their radius; a number c for c times it (1/40 in the code that circulates).
    plays : None for r; a number is that r, and m = ceil(T/r).
    reading : "union" has delta' = delta/m, as the proof needs; "printed" has delta' = delta, as
        the algorithm is called.

    >>> policy = mom(dim=10, horizon=10**6, moment=3.0, reading="printed")
    >>> policy.filter, policy.radius.epochs
    (MedianOfMeans(plays=1000, blocks=42), 1000.0)
    """
    eps, delta = check_epsilon(epsilon), fraction("delta", delta)
    horizon, norm = whole("horizon", horizon), positive("norm", norm)
    printed = _one_of("reading", reading, ("union", "printed")) == "printed"
    if plays is None:
        epochs = round_up(math.pow(horizon, 2.0 * eps / (1.0 + 3.0 * eps)))
        plays = -(-horizon // epochs)
    plays = whole("plays", plays)
    epochs = -(-horizon // plays)
    blocks = math.floor(8.0 * math.log(2.0 / delta if printed else 2.0 * epochs / delta))
    rate = 8.0 * math.log(2.0 * epochs / delta) / plays
    error = math.pow(12.0 * positive("moment", moment), 1.0 / (1.0 + eps))
    error *= math.pow(rate, eps / (1.0 + eps))
    region = MiniBatchRegion(error, epochs, norm, delta)
    median = MedianOfMeans(plays, min(blocks, plays))
    return cast(Optimism(Ridge(whole("dim", dim), 1.0), median, _scaled(region, width)))


def tofu(
    *,
    dim: int,
    horizon: int,
    moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    width: float | None = None,
    reading: str = "consistent",
) -> Optimism:
    """TOFU, Truncation under Optimism (Shao, Yu, King, Lyu 2018), linear rewards.

    Every round truncates the whole history anew in every coordinate of V^-1/2 x y, at
    b_t = (b / ln(2dT/delta))^{1/(1+eps)} t^{(1-eps)/(2(1+eps))} (see `TruncatedHistory`). Radius
    4 sqrt(d) b^{1/(1+eps)} ln(2dT/delta)^{eps/(1+eps)} t^{(1-eps)/(2(1+eps))} + sqrt(lambda) S.
    Assumes E|y|^{1+eps} <= `moment` (the raw moment b). Memory T d: it refuses to go beyond
    `horizon`. Regret O~(d T^{1/(1+eps)}); the analysis treats adaptive arms as fixed.

    Parameters
    ----------
    width : None for that radius; a number c for c times it (1/5 in the code that circulates).
    reading : "consistent" has ln(2dT/delta) in b_t, which balances the proof; "printed" has
        ln(2T/delta) there. They differ by less than 15 percent.

    >>> policy = tofu(dim=10, horizon=10**6, moment=3.534446647, reading="printed")
    >>> round(policy.estimator.scale, 4), round(policy.radius.radius(None, 1), 3)
    (0.43, 111.051)
    """
    eps, dim, horizon = check_epsilon(epsilon), whole("dim", dim), whole("horizon", horizon)
    moment, penalty = positive("moment", moment), positive("penalty", penalty)
    printed = _one_of("reading", reading, ("consistent", "printed")) == "printed"
    union = math.log(2.0 * dim * horizon / fraction("delta", delta))
    inner = union - math.log(dim) if printed else union
    level = math.pow(moment / inner, 1.0 / (1.0 + eps))
    scale = 4.0 * math.sqrt(dim) * math.pow(moment, 1.0 / (1.0 + eps))
    scale *= math.pow(union, eps / (1.0 + eps))
    bias = math.sqrt(penalty) * positive("norm", norm)
    region = Powered(scale, excess(eps), bias, bias)
    history = TruncatedHistory(dim, horizon, penalty, level, excess(eps))
    return cast(Optimism(history, Raw(), _scaled(region, width)))


def menu(
    *,
    dim: int,
    horizon: int,
    moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    width: float | None = None,
    plays: int | None = None,
    itself: bool = False,
) -> Optimism:
    """MENU, Median of Means under Optimism (Shao, Yu, King, Lyu 2018), linear rewards.

    Every arm is played k = ceil(24 ln(eT/delta)) times, play j feeds ridge regression j, and the
    regression in the midst of the k is the centre (see `ManyRidges`). Radius after n decisions
    3((9dc)^{1/(1+eps)} n^{(1-eps)/(2(1+eps))} + sqrt(lambda) S). Assumes E|noise|^{1+eps} <= c =
    `moment` and arms that stand still for k plays. Memory O(d^2 + dk + k^2); regret
    O~(d^{(3+eps)/(2(1+eps))} T^{1/(1+eps)}).

    Parameters
    ----------
    width : None for that radius; a number c for c times it (1/50 in the code that circulates).
    plays : None for k.
    itself : whether the median of the distances from theta_j counts the one to itself. Shao et al.
        leave it out, Xue et al. (2023) let it in.

    >>> policy = menu(dim=10, horizon=10**6, moment=3.0)
    >>> policy.plays, round(policy.radius.radius(None, 1), 3)
    (467, 52.295)
    """
    eps, dim, horizon = check_epsilon(epsilon), whole("dim", dim), whole("horizon", horizon)
    penalty, delta = positive("penalty", penalty), fraction("delta", delta)
    if plays is None:
        plays = round_up(24.0 * (1.0 + math.log(horizon / delta)))
    plays = whole("plays", plays)
    bias = math.sqrt(penalty) * positive("norm", norm)
    scale = 3.0 * math.pow(9.0 * dim * positive("moment", moment), 1.0 / (1.0 + eps))
    region = Powered(scale, excess(eps), 3.0 * bias, bias)
    ridges = ManyRidges(dim, plays, penalty, itself)
    return cast(Optimism(ridges, Raw(plays), _scaled(region, width)))
