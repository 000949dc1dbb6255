"""A confidence interval for the mean of heavy-tailed numbers, valid at all times at once."""

from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.validation import Interval, bounded_number, finite_array, positive, whole
from ..algorithms.adaptive import cral
from ..core.arrays import Floats
from ..core.compile import Function, compiled, stamped
from ..core.dispatch import arm_norm, learn, radius
from ..core.jit import jitable
from ..parts.policies.ucb import UCB, UCBState


class Intervals(NamedTuple):
    """Centre and ends of the interval after each number: arrays of the same length."""

    value: Floats
    low: Floats
    high: Floats


def robust_interval(
    rewards: Any,
    *,
    bound: float,
    asymmetry: float = 1.0,
    delta: float = 0.05,
    noise_scale: float = 1.0,
    horizon: int | None = None,
) -> Intervals:
    """Return confidence intervals for the mean of numbers that come one after the other.

    With probability 1 - delta the mean is in all the intervals at once, so anyone may look after
    every number and stop at any time. This is theorem A of docs/maths/cral.md in one dimension:
    `cral` with dim=1 and the arm 1. No moment is assumed. Each interval is the intersection of all
    intervals so far with [-bound, bound]. The intervals are wide: see the notes.

    Parameters
    ----------
    rewards : array of shape (n,)
        Finite numbers. Given the past, each has the same mean (for symmetric noise: the same
        centre); they need not be independent.
    bound : float
        Bound on the size of the mean, from 1e-9 to 1e9. Ten times as much costs a logarithm.
    asymmetry : float, default 1.0
        C in |E clip(noise, tau)| <= C E min(noise^2, tau^2) / tau; 0 for symmetric noise. See
        `theory.asymmetry_of`. A mean that is carried by rarer events than C allows is outside.
    delta : float, default 0.05
        Probability that any of the intervals misses the mean, at most 0.1.
    noise_scale : float, default 1.0
        Guess of the size of the noise, in units of the rewards. A wrong guess makes the intervals
        wider; it does not make them invalid, as long as the condition on the noise is true.
    horizon : int, optional
        The largest number of rewards that will ever be used, if it was fixed before the first one
        came. It makes the intervals somewhat narrower.

    Returns
    -------
    Intervals
        Arrays `value`, `low` and `high`. `low` above `high` shows that the assumptions are
        violated.

    Notes
    -----
    The intervals are not informative until about 500,000 numbers with C = 0, and until
    some millions with C = 1. With 1,000,000 Gaussian numbers of variance 1, bound 10 and C = 0 the
    half width is 0.086; Student's interval, which is valid for one sample size only, has 0.002. The
    half width does not shrink for Cauchy noise, which has no moment of order 1. Use this function
    if nothing is known of the tails, data are plenty and a guarantee is needed. With a known
    variance Catoni's mean is 30 times as narrow. `benchmarks/interval_widths.py` measures the
    widths.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_t(3, size=1_000_000)
    >>> found = robust_interval(3.0 + noise, bound=10.0, asymmetry=0.0)
    >>> bool((found.low <= 3.0).all() and (3.0 <= found.high).all())
    True
    >>> [round(float(ends[-1]), 1) for ends in (found.low, found.high)]
    [2.8, 3.2]
    """
    numbers = finite_array("rewards", rewards, (None,))
    bound = bounded_number("bound", positive("bound", bound), Interval(1e-9, 1e9))
    if horizon is not None and numbers.size > whole("horizon", horizon):
        raise InvalidInputError(
            f"rewards must have at most horizon = {horizon} numbers, got {numbers.size}"
        )
    policy = cral(
        dim=1,
        asymmetry=asymmetry,
        delta=delta,
        norm=bound,
        penalty=1.0 / (bound * bound),
        noise_scale=noise_scale,
        horizon=horizon,
    )
    state, widths, values = policy.init(), np.empty(numbers.size), np.empty(numbers.size)
    arguments = (policy, state, np.ones(1), numbers, np.empty(1), values, widths)
    compiled(interval_kernel, *arguments)(*arguments)
    low = np.maximum.accumulate(np.maximum(values - widths, -bound))
    high = np.minimum.accumulate(np.minimum(values + widths, bound))
    return Intervals(values, low, high)


@jitable
def track_mean(
    policy: UCB,
    state: UCBState,
    x: Floats,
    rewards: Floats,
    pending: Floats,
    values: Floats,
    widths: Floats,
) -> None:
    """Learn the numbers one by one; write theta_{t+1} and beta_t ||x||_{V_t^-1} of each t."""
    for t in range(rewards.size):
        beta = radius(policy.radius, state.estimate, t)
        pending[0] = rewards[t]
        learn(policy, state, x, pending)
        values[t] = state.estimate.region.centre[0]
        widths[t] = beta * arm_norm(policy.estimator, state.estimate, x)


def interval_kernel(stamp: str) -> Function:
    return stamped(track_mean, stamp)
