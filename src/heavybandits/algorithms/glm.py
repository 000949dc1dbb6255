"""CRTM and CRMM: generalised linear bandits, mean reward mu(x.theta); what others make alike."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .._utils.errors import InvalidInputError
from .._utils.validation import epsilon as check_epsilon
from .._utils.validation import flag, fraction, one_of, positive, whole
from ..core.part import cast, check_part, is_part
from ..core.protocols import Filter, Link, Projection, Radius
from ..parts.estimators import (
    BallProjection,
    EuclideanProjection,
    LocalNewton,
    NoProjection,
    OnlineNewton,
)
from ..parts.filters import Median, NoFilter, Truncate
from ..parts.links import Logistic, check_link
from ..parts.policies import UCB
from ..parts.radii import Constant, LogRadius
from . import theory
from .theory.truncation import excess

T = TypeVar("T")


def tell(make: Callable[..., T], known: Mapping[str, Any]) -> T:
    """Call a constructor with those of the known constants that it takes.

    >>> tell(BallProjection, {"dim": 10, "norm": 1.0})
    BallProjection(norm=1.0)
    """
    takes = inspect.signature(make).parameters
    return make(**{name: value for name, value in known.items() if name in takes})


def make_projection(name: str, norm: float) -> Projection:
    """The projection part of this name: "exact" in the V-norm, "euclidean", or "none".

    >>> make_projection("exact", 1.0)
    BallProjection(norm=1.0)
    """
    if one_of("projection", name, ("exact", "euclidean", "none")) == "none":
        return NoProjection()
    return BallProjection(norm) if name == "exact" else EuclideanProjection(norm)


def round_up(number: float) -> int:
    """The next whole number, a hair above one being that one.

    >>> round_up(1000.0000000000001), round_up(1000.1)
    (1000, 1001)
    """
    return math.ceil(number * (1.0 - 1e-12))


def make_newton(
    dim: int, link: Link, norm: float, curvature: str | float, projection: str, **named: float
) -> OnlineNewton | LocalNewton:
    """The Newton step of this curvature: "half", "kappa", "local", a further name or a number."""
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
    """CRTM, Confidence Region with Truncated Mean (Xue et al. 2023, Algorithm 1).

    Rewards with ||x||_{V^-1} |y| > Gamma count as zero; the rest feed an online Newton step, and
    the region {||theta - theta_t||_V^2 <= gamma} holds theta* with probability 1 - delta.

    Assumes E|y|^{1+epsilon} <= `raw_moment` (the raw moment u), ||x|| <= 1, ||theta*|| <= `norm`.
    Arms may change at every round. O(K d^2) per round, O(d^2) space, regret O(d (log T)^{(1+2
    epsilon)/(1+epsilon)} T^{1/(1+epsilon)}).

    Parameters
    ----------
    radius_scale : None for Theorem 1's gamma (safe and enormous); a number c for the one the paper
        tunes in its experiments, c d ln(4T/delta)^{2 eps/(1+eps)} ln(T/(d lambda) + 1)
        T^{(1-eps)/(1+eps)}.
    truncation : None for Algorithm 1's Gamma (the appendix prints another one, with which its own
        proof does not close); a number is that threshold, math.inf never truncates; a filter part
        is used instead, e.g. `AdaptiveClip()`, whose threshold sets itself.
    curvature : what a round adds to V along x x^T. "half" is kappa/2, which the theorems are about;
        "kappa" is kappa, with less regret in most experiments; "local" is mu'(x.theta), without
        which a link as curved as the exponential one is hopeless; or a number. Only "half" is
        proven.
    projection : "exact" in the V-norm, as the theorem needs; "euclidean"; "none".
    corrected : Theorem 1 with the factor 2 that its triangle inequality misses.

    >>> policy = crtm(dim=10, horizon=1_000_000, raw_moment=3.534446647)
    >>> round(policy.filter.threshold, 4), f"{policy.radius.squared:.4e}"
    (18.269, '2.9342e+07')
    """
    kappa = check_link(link, positive("norm", norm))
    raw_moment = positive("raw_moment", raw_moment)
    common: dict[str, Any] = {"dim": dim, "horizon": horizon, "epsilon": epsilon, "delta": delta}
    keep: Filter = NoFilter()
    if truncation is None:
        keep = Truncate(theory.truncation_threshold(**common, raw_moment=raw_moment, kappa=kappa))
    elif is_part(truncation):
        keep = check_part("truncation", truncation, Filter)
    elif not (isinstance(truncation, float) and truncation == math.inf):
        keep = Truncate(positive("truncation", truncation))
    if radius_scale is None:
        squared = theory.truncation_region(
            **common,
            raw_moment=raw_moment,
            kappa=kappa,
            bound=link.bound(norm),
            norm=norm,
            corrected=flag("corrected", corrected),
        )
    else:
        tuned = theory.truncation_tuned(**common, penalty=theory.regularisation(kappa))
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
    """CRMM, Confidence Region with Mean of Medians (Xue et al. 2023, Algorithm 2).

    Every chosen arm is played r = ceil(16 ln(4T/delta)) times and the median of the r rewards
    feeds one online Newton step. At T = 10^4 that is r = 244 and 40 updates in all.

    Assumes noise symmetric about zero with E|noise|^{1+epsilon} <= `central_moment` (the central
    moment v), and arms that stand still for r plays. O(d^2 T / log T) in all; regret O(d (log
    T)^{3/2 + epsilon/(1+epsilon)} T^{1/(1+epsilon)}) with probability 1 - 2 delta. The proof treats
    adaptive weights as fixed, so take the theorem's radius as a guide.

    Parameters
    ----------
    radius_scale : None for Theorem 3's gamma_t; a number c for that of the paper's experiments,
        c d ln(t/(d lambda) + 1) t^{(1-eps)/(1+eps)}, t counting updates.
    plays : None for Algorithm 2's r.
    curvature, projection, corrected : as in `crtm`.

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
        radius: Radius = theory.median_radius(
            dim=dim,
            horizon=horizon,
            central_moment=central_moment,
            kappa=kappa,
            bound=link.bound(norm),
            norm=norm,
            epsilon=epsilon,
            delta=delta,
            plays=plays,
            corrected=flag("corrected", corrected),
        )
    else:
        radius = LogRadius(
            positive("radius_scale", radius_scale) * dim, dim * newton.penalty, power
        )
    return cast(UCB(newton, Median(whole("plays", plays)), radius))
