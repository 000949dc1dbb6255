"""Finite arm sets: BTC and BMM estimate every arm separately, alone or under a master."""

import math
from typing import Any

from .._utils.validation import epsilon as check_epsilon
from .._utils.validation import fraction, positive, whole
from ..core.part import cast
from ..parts.estimators import MedianRegression, TruncatedRegression
from ..parts.policies import PerArmUCB, StagedElimination
from ..parts.radii import PowerRadius
from .common import call_with_known, round_up
from .theory.truncation import excess


def _union(horizon: int, arms: int, delta: float) -> float:
    """ln(2 T K ln T / delta)"""
    rounds = max(math.log(whole("horizon", horizon)), 1.0)
    return math.log(2.0 * horizon * whole("arms", arms) * rounds / fraction("delta", delta))


def _arm_radius(
    alpha: float, epsilon: float, norm: float, radius_scale: float | None
) -> PowerRadius:
    """(S + alpha n^q) ||x||_{A^-1} by the theorem; c alpha n^q ||x||_{A^-1} tuned."""
    bias = positive("norm", norm)
    if radius_scale is not None:
        alpha, bias = alpha * positive("radius_scale", radius_scale), 0.0
    return PowerRadius(alpha, excess(epsilon) / 2.0, bias, alpha + bias)


def _master(base: Any, horizon: int) -> StagedElimination:
    """Make the master of ln T stages over a base routine."""
    stages = max(1, math.floor(math.log(horizon)))
    return cast(StagedElimination(base._replace(stages=stages), 1.0 / math.sqrt(horizon)))


def btc(
    *,
    dim: int,
    horizon: int,
    arms: int,
    raw_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
) -> PerArmUCB:
    """Make BTC, the base routine of SupBTC, played greedily on the whole history.

    Every arm truncates the history for itself (see `TruncatedRegression`), and the policy plays the
    arm with the largest mean + width. Circulating code with the name SupBTC does this, and Xue et
    al. (2023) most likely timed it; the regret bound belongs to `supbtc`. It assumes
    E|y|^{1+epsilon} <= u, a raw moment, and K arms (more may be available, but the theorem counts
    them). The cost is O(K d t) per round and T(d + K) space: the policy raises beyond T rounds.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    arms : int
        K, the number of arms.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of alpha n^q ||x||_{A^-1}, the width without its bias S. None for the theorem's
        (S + alpha n^q) ||x||_{A^-1}, alpha = (2/3) L + sqrt(2 L u) + u, L = ln(2 T K ln T / delta),
        q = (1-eps)/(2(1+eps)), after n plays.

    Returns
    -------
    PerArmUCB
        The policy, for `simulate` or `Agent`.

    See Also
    --------
    supbtc : The algorithm with the regret bound.

    Examples
    --------
    >>> policy = btc(dim=10, horizon=10**6, arms=20, raw_moment=3.534446647)
    >>> round(policy.base.radius.scale, 4)
    33.2478
    """
    eps, raw_moment = check_epsilon(epsilon), positive("raw_moment", raw_moment)
    union = _union(horizon, arms, delta)
    alpha = 2.0 / 3.0 * union + math.sqrt(2.0 * union * raw_moment) + raw_moment
    region = _arm_radius(alpha, eps, norm, radius_scale)
    base = TruncatedRegression(whole("dim", dim), horizon, arms, 1.0 + eps, region)
    return cast(PerArmUCB(base))


def bmm(
    *,
    dim: int,
    horizon: int,
    arms: int,
    central_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    plays: int | None = None,
) -> PerArmUCB:
    """Make BMM, the base routine of SupBMM, played greedily on the whole history.

    Every arm is played r = ceil(8 ln(2 K T ln T / delta)) times, and its mean is the median of r
    ridge regressions (see `MedianRegression`; Xue et al. 2020). It assumes E|noise|^{1+epsilon} <=
    v, a central moment, and arms that do not change during r plays. The cost is O(K d (d + r)) per
    decision.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    arms : int
        K, the number of arms.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of alpha n^q ||x||_{A^-1}, the width without its bias S. None for the theorem's
        (S + alpha n^q) ||x||_{A^-1}, alpha = (12 v)^{1/(1+eps)}, after n decisions.
    plays : int, optional
        Plays per decision. None for r.

    Returns
    -------
    PerArmUCB
        The policy, for `simulate` or `Agent`.

    See Also
    --------
    supbmm : The algorithm with the regret bound.

    Examples
    --------
    >>> policy = bmm(dim=10, horizon=10**6, arms=20, central_moment=3.0)
    >>> policy.plays, policy.base.radius.scale
    (198, 6.0)
    """
    eps, union = check_epsilon(epsilon), _union(horizon, arms, delta)
    plays = whole("plays", round_up(8.0 * union) if plays is None else plays)
    alpha = math.pow(12.0 * positive("central_moment", central_moment), 1.0 / (1.0 + eps))
    region = _arm_radius(alpha, eps, norm, radius_scale)
    return cast(PerArmUCB(MedianRegression(whole("dim", dim), plays, region)))


def supbtc(
    *,
    dim: int,
    horizon: int,
    arms: int,
    raw_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
) -> StagedElimination:
    """Make SupBTC: truncation per arm with staged elimination (Xue, Wang, Wang, Zhang 2020).

    The base routine and its assumptions are those of `btc`; `StagedElimination` chooses. Among the
    arms that are too uncertain it plays the widest, which the paper leaves open. The cost is O(K d
    n) per stage with n plays in it; the regret is O~(sqrt(d) T^{1/(1+eps)}) for K arms. With these
    widths the first stage explores for very long.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    arms : int
        K, the number of arms.
    raw_moment : float
        u, a bound on E|y|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the width, as in `btc`. None for the theorem's width.

    Returns
    -------
    StagedElimination
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> supbtc(dim=10, horizon=10**6, arms=20, raw_moment=3.5).target
    0.001
    """
    return _master(call_with_known(btc, locals()).base, horizon)


def supbmm(
    *,
    dim: int,
    horizon: int,
    arms: int,
    central_moment: float,
    epsilon: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    radius_scale: float | None = None,
    plays: int | None = None,
) -> StagedElimination:
    """Make SupBMM: medians of regressions with staged elimination (Xue, Wang, Wang, Zhang 2020).

    The base routine and its assumptions are those of `bmm`; `StagedElimination` chooses. T counts
    plays in the target 1/sqrt(T). The regret is O~(sqrt(d) T^{1/(1+eps)}) for K arms.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    horizon : int
        T, the number of plays.
    arms : int
        K, the number of arms.
    central_moment : float
        v, a bound on E|noise|^{1+epsilon}, in the unit of the reward to that power.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    radius_scale : float, optional
        Multiplier c of the width, as in `bmm`. None for the theorem's width.
    plays : int, optional
        Plays per decision. None for the r of `bmm`.

    Returns
    -------
    StagedElimination
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> supbmm(dim=10, horizon=10**6, arms=20, central_moment=3.0).base.stages
    13
    """
    return _master(call_with_known(bmm, locals()).base, horizon)
