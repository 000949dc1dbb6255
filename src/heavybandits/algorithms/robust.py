"""CRHL and CRCM, this library's own: Huber regression and column medians."""

import math

from .._utils.validation import positive
from ..core.part import cast
from ..core.protocols import Link, Radius
from ..parts.estimators import BallProjection, HuberNewton, NewtonEnsemble
from ..parts.filters import NoFilter
from ..parts.links import Logistic, check_link
from ..parts.policies import UCB
from ..parts.radii import LogRadius
from . import theory
from .glm import make_projection

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
) -> UCB:
    """CRHL, Confidence Region with Huber Loss: this library's own (docs/maths/crhl.md).

    An online Newton step on the residual, clipped at sigma tau: hard for arms that are little
    known, hardly at all for the others (see `HuberNewton`). The region
    {||theta - theta_t||_V <= beta_t} holds theta* with probability 1 - delta at all times.

    Assumes E|noise|^{1+epsilon} <= `noise_scale`^{1+epsilon}, a central moment; ||x|| <= 1,
    ||theta*|| <= `norm`. No symmetry, no repeated plays; arms may change in every round. O(K d^2)
    per round, O(d^2) memory, regret O~((L/kappa) nu d T^{1/(1+epsilon)}).

    Parameters
    ----------
    horizon : None for a region that holds at all times; a number for a slightly narrower one.
    radius_scale : None for Theorem 1's beta_t and sigma (safe, enormous, and next to nothing is
        clipped); a number c for beta_t^2 = c d ln(1 + t/(d lambda)) t^{(1-eps)/(1+eps)} and
        sigma = max{nu, p sqrt(2 L S sqrt(kappa lambda) / tau0)}, so that the learner's own error at
        the start is not clipped as if it were noise. No theorem covers it. Try 0.01 to 0.1.
    threshold : tau0. None for the theorem's, or 0.5 in the tuned form; smaller clips more.
    corruption : C, if rewards may be falsified by c_t with sum |c_t| <= C (Theorem 3).

    >>> policy = crhl(dim=10, noise_scale=3**0.5, horizon=1_000_000)
    >>> round(policy.radius.radius(None, 1_000_000), 3), round(policy.estimator.threshold, 4)
    (748.241, 2.1218)
    >>> crhl(dim=10, noise_scale=1.0, radius_scale=0.01).estimator.threshold
    0.5
    """
    kappa = check_link(link, positive("norm", norm))
    promise = theory.huber_theorem(
        dim=dim,
        noise_scale=noise_scale,
        kappa=kappa,
        lipschitz=link.lipschitz(norm),
        norm=norm,
        epsilon=epsilon,
        delta=delta,
        horizon=horizon,
        penalty=penalty,
        threshold=threshold if radius_scale is None else None,
        corruption=corruption,
    )
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
        return cast(UCB(step, NoFilter(), step.radius))
    return tuned_form(step, radius_scale, threshold, promise.lipschitz * promise.norm)


def tuned_form(
    step: HuberNewton, radius_scale: float, threshold: float | None, reach: float
) -> UCB:
    """A Huber step in the form that experiments tune; `reach` is L S, the largest error."""
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
    """CRCM, Confidence Region with Column Medians: this library's own (docs/maths/crcm.md).

    CRMM without symmetry. Every chosen arm is played k = ceil(4.04 ln(T/delta)) times, play j feeds
    the j-th of k Newton estimates, and the one in their midst is the centre (see `NewtonEnsemble`).
    At T = 10^4 that is k = 56, where CRMM needs 244.

    Assumes E|noise|^{1+epsilon} <= `central_moment` (the central moment v), ||x|| <= 1, ||theta*||
    <= `norm`, and arms that stand still for k plays. O(d^2) per play, memory O(d^2 + dk + k^2);
    regret O((L/kappa) v^{1/(1+eps)} d (log T)^{(1+2 eps)/(1+eps)} T^{1/(1+eps)}).

    Parameters
    ----------
    radius_scale : None for the theorem's beta_n; a number c for beta_n^2 = c d ln(1 + n/(d lambda))
        n^{(1-eps)/(1+eps)}, n counting decisions, which no theorem covers.
    plays : None for the theorem's k.
    projection : "exact" in the V-norm, as the theorem needs; "euclidean"; "none".

    >>> policy = crcm(dim=10, horizon=1_000_000, central_moment=3.0)
    >>> policy.plays, round(policy.radius.radius(None, 13_333), 2)
    (75, 857.96)
    """
    kappa = check_link(link, positive("norm", norm))
    promise = theory.column_theorem(
        dim=dim,
        horizon=horizon,
        central_moment=central_moment,
        kappa=kappa,
        lipschitz=link.lipschitz(norm),
        norm=norm,
        epsilon=epsilon,
        delta=delta,
        plays=plays,
    )
    part = make_projection(projection, norm)
    columns = NewtonEnsemble(dim, promise.plays, link, kappa, promise.penalty, part, norm)
    theirs = promise.region()
    radius: Radius = theirs
    if radius_scale is not None:
        scale = positive("radius_scale", radius_scale) * dim
        radius = LogRadius(scale, dim * promise.penalty, 2.0 * theirs.power)
    return cast(UCB(columns, NoFilter(promise.plays), radius))
