"""hurdle, the policy without hyperparameters for rewards that are mostly one value."""

from typing import Any

from ..core.part import cast
from ..parts.policies import Hurdle
from .auto import auto


def hurdle(*, dim: int, monitor_drift: bool = True) -> Hurdle:
    """Make a policy without tuning for rewards that are mostly one value: sales, claims, clicks.

    The index of an arm is the probability of an event, a reward other than that value, times the
    amount of the event (`policies.Hurdle`). Logistic regression predicts the probability and Huber
    regression the amount, so an arm that never sold has the amount of arms like it. The value, the
    units and the widths come from the data: a factor and an offset of the rewards, and the unit of
    each feature, change no choice. While most rewards are not one value, `auto` chooses. O(K d^2)
    per round. No theorem covers it.

    Parameters
    ----------
    dim : int
        Dimension of the arms. Pass a price without a logarithm: the policy adds the logarithm of
        the predicted amount to the features of the probability.
    monitor_drift : bool, default True
        Report drift in `Agent.drift`. False saves a little time per reward.

    Returns
    -------
    Hurdle
        The policy.

    Raises
    ------
    InvalidInputError
        `dim` is not a positive whole number.

    See Also
    --------
    auto : for rewards of any kind.

    Examples
    --------
    >>> import numpy as np
    >>> import heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> agent = hb.Agent(hb.hurdle(dim=2))
    >>> prices, conversions = np.array([10.0, 20.0]), np.array([0.3, 0.3])
    >>> sold = 0
    >>> for _ in range(300):
    ...     ticket = agent.select([[1.0, price] for price in prices])
    ...     buys = rng.random() < conversions[ticket.arm]
    ...     _ = agent.update(ticket, float(prices[ticket.arm] * buys))
    ...     sold += ticket.arm
    >>> sold > 200
    True
    """
    linear: Any = auto(dim=dim, monitor_drift=monitor_drift)
    return cast(Hurdle(linear))
