"""CRAL of this library: heavy tails without a given moment."""

from .._utils.validation import flag, positive, whole
from ..core.part import cast, check_part
from ..core.protocols import Link, Projection
from ..parts.estimators import BallProjection, DoublingHuber, GrowingHuber, NoProjection
from ..parts.filters import NoFilter
from ..parts.links import Identity, check_link
from ..parts.policies import UCB, LearnedScale
from ..parts.radii import DoublingRadius, GrowingRadius
from . import theory
from .common import call_with_known

TUNED_PENALTY = 0.001  # lambda of the tuned form, for rows of norm about 1


def cral(
    *,
    dim: int,
    link: Link = Identity(),
    asymmetry: float = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    horizon: int | None = None,
    penalty: float | None = None,
    noise_scale: float = 1.0,
    radius_scale: float | None = None,
    corruption: float = 0.0,
    learn_noise_scale: bool = False,
) -> UCB | LearnedScale:
    """Make CRAL, Confidence Region with an Adaptive Level: this library's own (docs/maths/cral.md).

    Huber regression whose threshold doubles when too many rewards reach it (see `DoublingHuber`).
    It receives neither the size nor the order of a moment of the noise. Its region
    {||theta - theta_t||_V <= beta_t} contains theta* with probability 1 - delta at all times.

    It assumes |E clip(noise, tau)| <= C E min(noise^2, tau^2) / tau for all tau, where C is
    `asymmetry`; ||x|| <= 1, ||theta*|| <= `norm`. Symmetric noise has C = 0, for any tails. The
    assumption excludes noise whose mean depends on rare large values without smaller ones of the
    same sign. Arms may change in every round. The cost is O(K d^2) per round and O(d^2) memory; the
    regret is O~((L/kappa) nu d T^{1/(1+epsilon)}) for every epsilon and nu that the noise
    satisfies.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    link : Link, default Identity()
        mu, the mean reward as a function of x.theta.
    asymmetry : float, default 1.0
        C. 0 for symmetric noise; 0.32 for exponential noise, 1 for Pareto noise of tail index 1.5,
        2.2 for 1.2. `theory.asymmetry_of` computes it. Twice the C makes the radius twice as large.
    delta : float, default 0.01
        Probability that the region ever misses theta*, at most 0.1.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    horizon : int, optional
        T, the number of plays, for smaller logarithms. None for a region valid at all times.
    penalty : float, optional
        lambda; V starts at lambda I. A small penalty costs a logarithm only. None for 1, and for
        0.001 in the tuned form, which then needs fewer decisions to learn large effects.
    noise_scale : float, default 1.0
        s where `update` receives none, in the unit of the reward. A guess is enough.
        Rewards with a larger s have less weight. `Agent.update` takes the s of one reward.
    radius_scale : float, optional
        Share a of the tuned radius, which is a sqrt(B) once every direction of theta is known (see
        `GrowingRadius`); try 0.4. The tuned form uses `dim`, `link`, `norm` (for links only),
        `penalty` and `noise_scale`. With the identity link its choices do not depend on the unit of
        the rewards. Give the arms a constant feature if the noise may be skewed. No theorem covers
        it. None for the theorem's radius: valid, but very wide.
    corruption : float, default 0.0
        Bound on sum |c_t| if rewards may be falsified by c_t, in the unit of the reward. It
        requires the identity link.
    learn_noise_scale : bool, default False
        Predict s from earlier rewards where `update` receives none (see
        `policies.LearnedScale`): `noise_scale` times its size relative to a typical residual. The
        region of the theorem stays valid, because it allows every s that is known before the
        reward. Wrong predictions cost regret. The GPU cannot play it.

    Returns
    -------
    UCB
        The policy, for `simulate` or `Agent`.

    Examples
    --------
    >>> policy = cral(dim=10, asymmetry=0.0)
    >>> policy.estimator.factor, float(policy.radius.radius(policy.init().estimate, 0))
    (9.0, 10.0)
    >>> cral(dim=10, radius_scale=0.4).radius
    GrowingRadius(share=0.4, floor=0.0)
    >>> type(cral(dim=10, radius_scale=0.4, learn_noise_scale=True)).__name__
    'LearnedScale'
    """
    learns = flag("learn_noise_scale", learn_noise_scale)
    link, noise_scale = check_part("link", link, Link), positive("noise_scale", noise_scale)
    usual = 1.0 if radius_scale is None else TUNED_PENALTY
    penalty = positive("penalty", usual if penalty is None else penalty)
    kappa = check_link(link, positive("norm", norm))
    linear = isinstance(link, Identity)
    projection: Projection = NoProjection() if linear else BallProjection(norm)
    if radius_scale is not None:
        share = positive("radius_scale", radius_scale)
        step = GrowingHuber(whole("dim", dim), link, projection, kappa, penalty, noise_scale)
        tuned = cast(UCB(step, NoFilter(), GrowingRadius(share)))
        return cast(LearnedScale(tuned, relative=True)) if learns else tuned
    known = locals() | {"lipschitz": link.lipschitz(norm)}
    promise = call_with_known(theory.doubling_theorem, known)
    proven = DoublingHuber(
        dim=dim,
        link=link,
        curvature=kappa,
        ratio=promise.ratio,
        penalty=penalty,
        projection=projection,
        noise_scale=noise_scale,
        factor=promise.factor,
        start=promise.start,
        delta=delta,
        horizon=promise.horizon or 0,
        corruption=corruption,
    )
    policy = cast(UCB(proven, NoFilter(), DoublingRadius()))
    return cast(LearnedScale(policy, relative=True)) if learns else policy
