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
    """Make a policy without hyperparameters: everything it needs comes from the data.

    Huber regression on standardised features (`ScaleFreeHuber`), with a width per arm that grows
    with ln n (`ScaleFreeRadius`). With linear rewards the choices depend neither on the unit and
    mean of the rewards nor on the unit of any feature. It works with heavy tails of any kind, with
    rare sales at high prices, and with extreme first rewards; O(K d^2) per round. `Agent.drift`
    reports changes of the rewards (`filters.DriftMonitor`). No theorem covers it; `heavybandits
    reproduce untuned` measures it.

    Parameters
    ----------
    dim : int
        Dimension of the arms. An intercept is not needed.
    link : Link, default Identity()
        Link of the mean reward, if it is not linear. Then the rewards have the unit of the link.
    half_life : float, optional
        Number of rewards after which a reward counts half, for effects that change. None forgets
        nothing. The first 32 rewards count in full until all of them are there. If the unit of the
        rewards changes suddenly, learning restarts without a half-life.
    half_life_seconds : float, optional
        The same in seconds of the agent's clock (`policies.TimeDiscounted`).
    monitor_drift : bool, default True
        Report drift in `Agent.drift`. False saves a little time per reward.

    Returns
    -------
    UCB or TimeDiscounted
        The policy, for `Agent`, `simulate`, `replay` and `evaluate`.

    See Also
    --------
    cral : a policy without moments that has a theorem.

    Examples
    --------
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
