"""Linear bandits, mean reward x.theta."""

import math

from .._utils.validation import epsilon as check_epsilon
from .._utils.validation import fraction, one_of, positive, whole
from ..core.part import cast, check_part
from ..core.protocols import Filter, Radius
from ..parts.estimators import Ridge, RidgeEnsemble, TruncatedHistory
from ..parts.filters import MedianOfMeans, NoFilter, TruncateByTime
from ..parts.policies import UCB
from ..parts.radii import Constant, MiniBatchRadius, PowerRadius, SelfNormalised, TruncatedRadius
from .common import round_up, scale_radius
from .theory.truncation import excess


def linucb(
    *,
    dim: int,
    noise_scale: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    radius: float | None = None,
    filter: Filter = NoFilter(),
) -> UCB:
    """Make LinUCB: ridge regression with OFUL's radius (Abbasi-Yadkori et al. 2011) and a filter.

    Linear rewards. With `NoFilter` it assumes noise that is sub-Gaussian at `noise_scale`; with
    `Truncate` or `Clip` it is the simplest robust bandit there is.

    Parameters
    ----------
    noise_scale : float, default 1.0
        Sub-Gaussian scale R of the noise, in units of the reward.
    radius : float, optional
        The constant radius alpha of Li et al. (2010). None for
        R sqrt(ln(det V / det V_1) + 2 ln(1/delta)) + sqrt(lambda) S.
    filter : Filter, default NoFilter()
        Any filter part, for example `Clip(threshold=2.0)`.

    >>> from heavybandits.filters import Truncate
    >>> linucb(dim=3, radius=1.0, filter=Truncate(2.0)).filter
    Truncate(threshold=2.0, plays=1)
    """
    ridge = Ridge(whole("dim", dim), positive("penalty", penalty))
    scale, norm = positive("noise_scale", noise_scale), positive("norm", norm)
    delta = fraction("delta", delta)
    region: Radius = SelfNormalised(scale, norm, ridge.penalty, delta)
    if radius is not None:
        region = Constant(positive("radius", radius) ** 2)
    return cast(UCB(ridge, check_part("filter", filter, Filter), region))


def crt(
    *,
    dim: int,
    raw_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    variant: str = "theorem",
) -> UCB:
    """Make CRT, Confidence Region with Truncation (Medina and Yang 2016), linear rewards.

    The t-th reward counts as zero if |y| > t^{1/(2(1+eps))}, once and for good; ridge regression on
    the rest. Assumes E|y|^{1+eps} <= `raw_moment` (they bound the noise, but their proof needs the
    raw raw_moment). Anytime; O(K d^2) per round; regret O~(d T^{(2+eps)/(2(1+eps))}).

    Parameters
    ----------
    raw_moment : float
        Bound u on E|y|^{1+eps}, in units of the reward to that power.
    radius_scale : float, optional
        Multiplier c of the radius of the theorem (0.1 in circulating code). None means 1.
    variant : str, default "theorem"
        "theorem" for Theorem 1, which the proof supports; "corollary" for Corollary 2, which drops
        a power of t from the bias.

    >>> crt(dim=2, raw_moment=1.0).filter
    TruncateByTime(power=0.25, scale=1.0, plays=1)
    """
    eps, norm = check_epsilon(epsilon), positive("norm", norm)
    corollary = one_of("variant", variant, ("theorem", "corollary")) == "corollary"
    power = 1.0 / (1.0 + eps)
    region = TruncatedRadius(
        positive("raw_moment", raw_moment), power, norm, fraction("delta", delta), corollary
    )
    ridge = Ridge(whole("dim", dim), 1.0)
    return cast(UCB(ridge, TruncateByTime(power / 2.0), scale_radius(region, radius_scale)))


def mom(
    *,
    dim: int,
    horizon: int,
    central_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    plays: int | None = None,
    variant: str = "union",
) -> UCB:
    """Make MoM, mini-batches with Median of Means (Medina and Yang 2016), linear rewards.

    m = ceil(T^{2 eps/(1+3 eps)}) decisions of r = ceil(T/m) plays; the median of the means of
    k = floor(8 ln(2/delta')) blocks feeds a ridge regression. Assumes E|noise|^{1+eps} <=
    `central_moment` and arms that do not change during r plays. O(K d^2) per decision; regret
    O~(sqrt(d) T^{(1+2 eps)/(1+3 eps)} + d T^{(1+eps)/(1+3 eps)}).

    Parameters
    ----------
    central_moment : float
        Bound v on E|noise|^{1+eps}, in units of the reward to that power.
    radius_scale : float, optional
        Multiplier c of the radius of the theorem (1/40 in circulating code). None means 1.
    plays : int, optional
        Plays r per decision; then m = ceil(T/r). None for the r above.
    variant : str, default "union"
        "union" has delta' = delta/m, as the proof needs; "printed" has delta' = delta, as in the
        printed call of the algorithm.

    >>> policy = mom(dim=10, horizon=10**6, central_moment=3.0, variant="printed")
    >>> policy.filter, policy.radius.epochs
    (MedianOfMeans(plays=1000, blocks=42), 1000.0)
    """
    eps, delta = check_epsilon(epsilon), fraction("delta", delta)
    horizon, norm = whole("horizon", horizon), positive("norm", norm)
    printed = one_of("variant", variant, ("union", "printed")) == "printed"
    if plays is None:
        epochs = round_up(math.pow(horizon, 2.0 * eps / (1.0 + 3.0 * eps)))
        plays = -(-horizon // epochs)
    plays = whole("plays", plays)
    epochs = -(-horizon // plays)
    blocks = math.floor(8.0 * math.log(2.0 / delta if printed else 2.0 * epochs / delta))
    rate = 8.0 * math.log(2.0 * epochs / delta) / plays
    error = math.pow(12.0 * positive("central_moment", central_moment), 1.0 / (1.0 + eps))
    error *= math.pow(rate, eps / (1.0 + eps))
    region = MiniBatchRadius(error, epochs, norm, delta)
    median = MedianOfMeans(plays, min(blocks, plays))
    return cast(UCB(Ridge(whole("dim", dim), 1.0), median, scale_radius(region, radius_scale)))


def tofu(
    *,
    dim: int,
    horizon: int,
    raw_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    radius_scale: float | None = None,
    variant: str = "consistent",
) -> UCB:
    """Make TOFU, Truncation under UCB (Shao, Yu, King, Lyu 2018), linear rewards.

    Every round truncates the whole history again in every coordinate of V^-1/2 x y, at
    b_t = (b / ln(2dT/delta))^{1/(1+eps)} t^{(1-eps)/(2(1+eps))} (see `TruncatedHistory`). Radius
    4 sqrt(d) b^{1/(1+eps)} ln(2dT/delta)^{eps/(1+eps)} t^{(1-eps)/(2(1+eps))} + sqrt(lambda) S.
    Assumes E|y|^{1+eps} <= `raw_moment` (the raw moment b). Space T d: it raises beyond
    `horizon` rounds. Regret O~(d T^{1/(1+eps)}); the analysis treats adaptive arms as fixed.

    Parameters
    ----------
    raw_moment : float
        Bound b on E|y|^{1+eps}, in units of the reward to that power.
    radius_scale : float, optional
        Multiplier c of the radius of the theorem (1/5 in circulating code). None means 1.
    variant : str, default "consistent"
        "consistent" has ln(2dT/delta) in b_t, which balances the proof; "printed" has ln(2T/delta)
        there. They differ by less than 15 percent.

    >>> policy = tofu(dim=10, horizon=10**6, raw_moment=3.534446647, variant="printed")
    >>> round(policy.estimator.scale, 4), round(policy.radius.radius(None, 1), 3)
    (0.43, 111.051)
    """
    eps, dim, horizon = check_epsilon(epsilon), whole("dim", dim), whole("horizon", horizon)
    raw_moment, penalty = positive("raw_moment", raw_moment), positive("penalty", penalty)
    printed = one_of("variant", variant, ("consistent", "printed")) == "printed"
    union = math.log(2.0 * dim * horizon / fraction("delta", delta))
    inner = union - math.log(dim) if printed else union
    threshold = math.pow(raw_moment / inner, 1.0 / (1.0 + eps))
    scale = 4.0 * math.sqrt(dim) * math.pow(raw_moment, 1.0 / (1.0 + eps))
    scale *= math.pow(union, eps / (1.0 + eps))
    bias = math.sqrt(penalty) * positive("norm", norm)
    region = PowerRadius(scale, excess(eps) / 2.0, bias, bias)
    history = TruncatedHistory(dim, horizon, penalty, threshold, excess(eps) / 2.0)
    return cast(UCB(history, NoFilter(), scale_radius(region, radius_scale)))


def menu(
    *,
    dim: int,
    horizon: int,
    central_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    penalty: float = 1.0,
    radius_scale: float | None = None,
    plays: int | None = None,
    include_self: bool = False,
) -> UCB:
    """Make MENU, Median of Means under UCB (Shao, Yu, King, Lyu 2018), linear rewards.

    Every arm is played k = ceil(24 ln(eT/delta)) times, play j feeds ridge regression j, and the
    regression with the smallest median distance to the others is the centre (see `RidgeEnsemble`).
    Radius after n decisions 3((9dc)^{1/(1+eps)} n^{(1-eps)/(2(1+eps))} + sqrt(lambda) S). Assumes
    E|noise|^{1+eps} <= c = `central_moment` and arms that do not change during k plays. Space O(d^2
    + dk + k^2); regret O~(d^{(3+eps)/(2(1+eps))} T^{1/(1+eps)}).

    Parameters
    ----------
    central_moment : float
        Bound c on E|noise|^{1+eps}, in units of the reward to that power.
    radius_scale : float, optional
        Multiplier c of the radius of the theorem (1/50 in circulating code). None means 1.
    plays : int, optional
        Plays per decision. None for k.
    include_self : bool, default False
        Count the distance from theta_j to itself in the median of its distances. Shao et al. leave
        it out, Xue et al. (2023) include it.

    >>> policy = menu(dim=10, horizon=10**6, central_moment=3.0)
    >>> policy.plays, round(policy.radius.radius(None, 1), 3)
    (467, 52.295)
    """
    eps, dim, horizon = check_epsilon(epsilon), whole("dim", dim), whole("horizon", horizon)
    penalty, delta = positive("penalty", penalty), fraction("delta", delta)
    if plays is None:
        plays = round_up(24.0 * (1.0 + math.log(horizon / delta)))
    plays = whole("plays", plays)
    bias = math.sqrt(penalty) * positive("norm", norm)
    scale = 3.0 * math.pow(
        9.0 * dim * positive("central_moment", central_moment), 1.0 / (1.0 + eps)
    )
    region = PowerRadius(scale, excess(eps) / 2.0, 3.0 * bias, bias)
    ridges = RidgeEnsemble(dim, plays, penalty, include_self)
    return cast(UCB(ridges, NoFilter(plays), scale_radius(region, radius_scale)))
