"""auto, the policy without hyperparameters."""

from .._utils.validation import flag, positive, whole
from ..core.part import cast, check_part
from ..core.protocols import Estimator, Link
from ..parts.estimators import Discounted, ScaleFreeHuber
from ..parts.filters import DriftMonitor, NoFilter
from ..parts.links import Identity
from ..parts.policies import UCB, TimeDiscounted
from ..parts.radii import ScaleFreeRadius


def auto(
    *,
    dim: int,
    link: Link = Identity(),
    half_life: float | None = None,
    half_life_seconds: float | None = None,
    monitor_drift: bool = True,
) -> UCB | TimeDiscounted:
    """Make a policy without tuning: scale, threshold, width and penalty come from the data.

    Huber regression at a threshold that follows the noise (`ScaleFreeHuber`), with a radius
    computed from the data (`ScaleFreeRadius`). With linear rewards the choices do not depend on
    the unit of the rewards, nor on one factor for all features. It works with heavy tails of any
    kind, rare sales, and one or two first rewards of 1e100; O(K d^2) per round. `Agent.drift`
    reports changes of the rewards (`filters.DriftMonitor`). No theorem covers it; `heavybandits
    reproduce untuned` measures it.

    Parameters
    ----------
    dim : int
        Dimension of the arms. Scale features to similar sizes, as `Encoder` does; let one of them
        be constant, an intercept. A level of the rewards far above their differences is learned
        slowly: subtract it.
    link : Link, default Identity()
        Link of the mean reward, if it is not linear. Then the rewards have the unit of the link.
    half_life : float, optional
        Number of rewards after which a reward counts half, for effects that change. None forgets
        nothing. If the unit of the rewards grows suddenly, learning restarts without a half-life;
        if it shrinks, call `Agent.reset`.
    half_life_seconds : float, optional
        The same in seconds of the agent's clock (`policies.TimeDiscounted`).
    monitor_drift : bool, default True
        Report drift in `Agent.drift`. False saves a little time per reward.

    >>> auto(dim=3).estimator.threshold
    0.35
    >>> type(auto(dim=3, half_life_seconds=86400.0)).__name__
    'TimeDiscounted'
    >>> type(auto(dim=3, monitor_drift=False).filter).__name__
    'NoFilter'
    """
    estimator: Estimator = ScaleFreeHuber(whole("dim", dim), check_part("link", link, Link))
    if half_life is not None:
        estimator = Discounted(estimator, positive("half_life", half_life))
    filter = DriftMonitor() if flag("monitor_drift", monitor_drift) else NoFilter()
    policy = UCB(estimator, filter, ScaleFreeRadius())
    if half_life_seconds is None:
        return cast(policy)
    return cast(TimeDiscounted(policy, positive("half_life_seconds", half_life_seconds)))
