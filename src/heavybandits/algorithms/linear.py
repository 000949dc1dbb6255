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

    The mean reward is linear. With `NoFilter` the policy assumes sub-Gaussian noise; with
    `Truncate` or `Clip` it is the simplest robust bandit.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    noise_scale : float, default 1.0
        R, the sub-Gaussian scale of the noise, in the unit of the reward.
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    radius : float, optional
        The constant radius alpha of Li et al. (2010). None for
        R sqrt(ln(det V / det V_1) + 2 ln(1/delta)) + sqrt(lambda) S.
    filter : Filter, default NoFilter()
        Any filter part, for example `Clip(threshold=2.0)`.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
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
    """Make CRT, Confidence Region with Truncation, for linear rewards (Medina and Yang 2016).

    CRT sets the t-th reward to zero if |y| > t^{1/(2(1+eps))}, and makes a ridge regression. It
    assumes E|y|^{1+epsilon} <= u (the paper bounds the noise, but its proof needs the raw moment).
    It needs no horizon. The cost is O(K d^2) per round; the regret is O~(d T^{(2+eps)/(2(1+eps))}).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the radius of the theorem (0.1 in circulating code). None means 1.
    variant : str, default "theorem"
        "theorem" for Theorem 1, which the proof supports; "corollary" for Corollary 2, which drops
        a power of t from the bias.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
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
    """Make MoM, mini-batches with Median of Means, for linear rewards (Medina and Yang 2016).

    MoM makes m = ceil(T^{2 eps/(1+3 eps)}) decisions of r = ceil(T/m) plays; the median of the
    means of k = floor(8 ln(2/delta')) blocks updates a ridge regression. It assumes
    E|noise|^{1+epsilon} <= v and arms that do not change during r plays. The cost is O(K d^2) per
    decision; the regret is O~(sqrt(d) T^{(1+2 eps)/(1+3 eps)} + d T^{(1+eps)/(1+3 eps)}).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier of the radius of the theorem (1/40 in circulating code). None means 1.
    plays : int, optional
        r, plays per decision; then m = ceil(T/r). None for the r above.
    variant : str, default "union"
        "union" has delta' = delta/m, as the proof needs; "printed" has delta' = delta, as in the
        printed call of the algorithm.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
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
    """Make TOFU, Truncation under UCB, for linear rewards (Shao, Yu, King, Lyu 2018).

    Every round truncates the whole history again in every coordinate of V^-1/2 x y at b_t (see
    `TruncatedHistory`):

        b_t = (u / ln(2dT/delta))^{1/(1+eps)} t^{(1-eps)/(2(1+eps))}

    The radius is 4 sqrt(d) u^{1/(1+eps)} ln(2dT/delta)^{eps/(1+eps)} t^{(1-eps)/(2(1+eps))} +
    sqrt(lambda) S. It assumes E|y|^{1+epsilon} <= u. The space is T d: the policy raises beyond T
    rounds. The regret is O~(d T^{1/(1+eps)}); the analysis treats adaptive arms as fixed.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    radius_scale : float, optional
        Multiplier of the radius of the theorem (1/5 in circulating code). None means 1.
    variant : str, default "consistent"
        "consistent" has ln(2dT/delta) in b_t, which balances the proof; "printed" has ln(2T/delta)
        there. They differ by less than 15 percent.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
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
    """Make MENU, Median of Means under UCB, for linear rewards (Shao, Yu, King, Lyu 2018).

    MENU plays every arm k = ceil(24 ln(eT/delta)) times; play j updates ridge regression j, and the
    regression with the smallest median distance to the others is the centre (see `RidgeEnsemble`).
    The radius after n decisions is 3((9dv)^{1/(1+eps)} n^{(1-eps)/(2(1+eps))} + sqrt(lambda) S). It
    assumes E|noise|^{1+epsilon} <= v and arms that do not change during k plays. The space is
    O(d^2 + dk + k^2); the regret is O~(d^{(3+eps)/(2(1+eps))} T^{1/(1+eps)}).

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    radius_scale : float, optional
        Multiplier of the radius of the theorem (1/50 in circulating code). None means 1.
    plays : int, optional
        Plays per decision. None for k.
    include_self : bool, default False
        Include the distance from theta_j to itself in the median of its distances. Shao et al.
        leave it out, Xue et al. (2023) include it.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
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
