"""The shop: a problem with conversions, prices, refunds, and actions that come and go."""

from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from ..core.protocols import KnownNoise, Noise
from ..parts.arms import Storefront
from ..parts.arms.shop import NORM
from ..parts.links import Identity
from ..parts.noises import Pareto, known
from ..parts.worlds import Purchases
from .problem import Problem, check_problem

# By how much each number of `Storefront` changes the conversion rate, relative to the first.
TASTES = (1.0, -0.1, 0.3, -0.85, 0.3, -0.05, 0.15, -0.2, 0.2, 0.1)
LOWEST, HIGHEST = 0.05, 1.6  # of the sums of tastes, over all visitors and actions
BASKET: KnownNoise = Pareto(2.5, 0.6)  # minus 1: the mean is 0


def shop(
    actions: int = 20,
    conversion: float = 0.05,
    *,
    prices: tuple[float, float] = (0.1, 1.0),
    basket: Noise = BASKET,
    refunds: float = 0.1,
    availability: float = 0.8,
    period: int = 1000,
    **changes: Any,
) -> Problem:
    """Return the problem of a shop that shows one action to each visitor.

    A visitor buys with a probability that depends on the device, the loyalty of the visitor, the
    kind of the product and the price: cheap actions convert better, expensive ones earn more per
    purchase. The reward is 0 without a purchase, else the amount of the basket, which is
    proportional to the price and has a heavy tail. A refunded purchase costs a fifth of its amount.
    Actions come and go. Mean rewards are linear in the features, and theta* has the norm 0.15
    by default, in proportion to the conversion rate and the highest price.

    Parameters
    ----------
    actions : int, default 20
        Number of actions.
    conversion : float, default 0.05
        Conversion rate of a visitor without loyalty, on a desktop, for the cheapest action of the
        first kind. The rates of all others are between 0.05 and 1.6 times this rate.
    prices : tuple of float, default (0.1, 1.0)
        Lowest and highest price. With prices above 1, give policies the larger norm of theta*.
    basket : Noise, default Pareto(2.5, 0.6)
        Noise with mean 0; the amount of a purchase is price (1 + noise).
    refunds : float, default 0.1
        Probability that a purchase is refunded.
    availability : float, default 0.8
        Probability that an action is available in a period.
    period : int, default 1000
        Plays after which other actions are available.
    **changes : dict
        Other fields of the `Problem`: `drift`, `delay`, `adversary`.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    InvalidInputError
        An argument is invalid, or conversion rates would exceed 1.

    Examples
    --------
    >>> import heavybandits as hb
    >>> problem = hb.worlds.shop(delay=hb.worlds.GeometricDelay(50.0))
    >>> result = hb.simulate(hb.linucb(dim=10, radius=0.1), problem, horizon=500, repetitions=2)
    >>> len(result)
    200
    """
    arms = Storefront(actions, *prices, availability, period)
    noise = Purchases(basket, NORM * prices[1], refunds)
    if not 0.0 < conversion * HIGHEST <= 1.0:
        raise InvalidInputError(
            f"conversion must be in (0, {1.0 / HIGHEST:g}], because some visitors buy {HIGHEST:g} "
            f"times as often, got {conversion!r}"
        )
    theta = np.array(TASTES) * conversion * noise.unit * noise.kept
    return check_problem(Problem(arms, Identity(), noise, theta, **changes))


def largest_moment(problem: Problem) -> float:
    """Return a bound of E y^2 of the arms of a shop, whose basket must have known moments.

    >>> round(largest_moment(shop()), 3)
    0.144
    """
    law: Any = problem.noise
    price = law.unit / NORM
    rate = HIGHEST * float(problem.theta[0]) / (law.unit * law.kept)
    return float(rate * price**2 * known(law.basket).moment(2.0, 1.0))
