"""The policy that needs no number from you."""

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

    Huber regression at a threshold that follows the noise (`ScaleFreeHuber`), with a radius made of
    what it has learned (`ScaleFreeRadius`). With linear rewards it has no unit: rewards in cents
    or dollars, features in metres or miles, and the same arms are chosen. Heavy tails of any kind,
    rare sales, a first reward of 1e100, or two; O(K d^2) per round. `Agent.drift` says when the
    world has changed (`filters.DriftMonitor`). No theorem covers it: what it does is measured, by
    `heavybandits reproduce noconstants`.

    Parameters
    ----------
    dim : of the arms. Features need no scaling, but let one of them be constant: an intercept.
    link : of the mean reward, if it is not linear. Then the rewards have the unit of the link.
    half_life : rewards after which one counts half as much, for effects that move; None forgets
        nothing. A sudden change of unit needs no forgetting: it is noticed, and it begins anew.
    half_life_seconds : the same in seconds of the agent's clock (`policies.TimeDiscounted`).
    monitor_drift : False saves the little time that watching takes.

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
    policy = UCB(
        estimator,
        DriftMonitor() if flag("monitor_drift", monitor_drift) else NoFilter(),
        ScaleFreeRadius(),
    )
    if half_life_seconds is None:
        return cast(policy)
    return cast(TimeDiscounted(policy, positive("half_life_seconds", half_life_seconds)))
