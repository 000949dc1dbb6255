"""Links mu: the mean reward of an arm is mu(x.theta).

Each knows, on [-S, S], its smallest slope kappa, its Lipschitz constant L and its bound U
(Assumption 2 of the paper). A link of your own is a NamedTuple with these five methods.
"""

import math
from typing import NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.registry import Entry
from .._utils.validation import positive
from ..core.arrays import Floats
from ..core.jit import jitable
from ..core.part import check_part, own_classes
from ..core.part_checks import check_link as check_own_link
from ..core.protocols import Link

__all__ = ["REGISTRY", "Exponential", "Identity", "Logistic", "Probit", "check_link"]


@jitable
def exp_nearby(z: float) -> float:
    """e^z for z near zero: Taylor's polynomial, by sums and products alone."""
    tail = 1 / 720 + z * (1 / 5040 + z * (1 / 40320 + z * (1 / 362880 + z * (1 / 3628800))))
    return 1.0 + z * (1.0 + z * (1 / 2 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120 + z * tail)))))


@jitable
def squared(z: float) -> float:
    return z * z


class Identity(NamedTuple):
    """Model the mean reward as mu(z) = z: the linear bandit.

    Examples
    --------
    >>> Identity().kappa(1.0), Identity().bound(2.0)
    (1.0, 2.0)
    """

    def mean(self, z: float) -> float:
        return z

    def slope(self, z: float) -> float:
        return 1.0

    def kappa(self, norm: float) -> float:
        return 1.0

    def lipschitz(self, norm: float) -> float:
        return 1.0

    def bound(self, norm: float) -> float:
        return norm


class Logistic(NamedTuple):
    """Model the mean reward as mu(z) = 1 / (1 + e^-z), the link of the paper's experiments.

    Examples
    --------
    >>> round(Logistic().kappa(1.0), 6), Logistic().lipschitz(1.0)
    (0.196612, 0.25)
    """

    def mean(self, z: float) -> float:
        decay = math.exp(-abs(z))  # one for both signs: lanes and vectors need not part ways
        return (1.0 if z >= 0.0 else decay) / (1.0 + decay)

    def means(self, z: Floats, out: Floats) -> None:
        for j in range(out.size):  # e^-|z| without a call, so that the loop vectorises
            root = squared(squared(exp_nearby(min(abs(z[j]), 40.0) * (-1 / 32))))
            decay = squared(squared(squared(root)))
            out[j] = (1.0 if z[j] >= 0.0 else decay) / (1.0 + decay)

    def slope(self, z: float) -> float:
        decay = math.exp(-abs(z))
        return decay / (1.0 + decay) ** 2

    def kappa(self, norm: float) -> float:
        return Logistic.slope(self, norm)

    def lipschitz(self, norm: float) -> float:
        return 0.25

    def bound(self, norm: float) -> float:
        return Logistic.mean(self, norm)


class Probit(NamedTuple):
    """Model the mean reward as mu(z) = Phi(z), the distribution function of the standard normal.

    Examples
    --------
    >>> round(Probit().mean(1.0), 6), round(Probit().lipschitz(1.0), 6)
    (0.841345, 0.398942)
    """

    def mean(self, z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2.0))

    def slope(self, z: float) -> float:
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)

    def kappa(self, norm: float) -> float:
        return Probit.slope(self, norm)

    def lipschitz(self, norm: float) -> float:
        return Probit.slope(self, 0.0)

    def bound(self, norm: float) -> float:
        return Probit.mean(self, norm)


class Exponential(NamedTuple):
    """Model the mean reward as mu(z) = e^z, the mean of a Poisson model.

    Examples
    --------
    >>> round(Exponential().kappa(1.0), 6), round(Exponential().bound(1.0), 6)
    (0.367879, 2.718282)
    """

    def mean(self, z: float) -> float:
        return math.exp(min(z, 700.0))  # beyond it a double overflows

    def slope(self, z: float) -> float:
        return math.exp(min(z, 700.0))  # beyond it a double overflows

    def kappa(self, norm: float) -> float:
        return math.exp(-norm)

    def lipschitz(self, norm: float) -> float:
        return math.exp(norm)

    def bound(self, norm: float) -> float:
        return math.exp(norm)


def check_link(link: Link, norm: float) -> float:
    """Return kappa of a link on [-norm, norm], after validating its slope there.

    Parameters
    ----------
    link : Link
        The link to validate.
    norm : float
        S, the half-length of the interval. It must be positive.

    Returns
    -------
    float
        kappa, the smallest slope of the link on [-norm, norm].

    Raises
    ------
    InvalidInputError
        The slope is not positive on the interval, or members of the link contradict each other.

    Examples
    --------
    >>> round(check_link(Logistic(), 1.0), 6)
    0.196612
    """
    check_part("link", link, Link)
    if own_classes(link):
        check_own_link(link, norm)
    for z in np.linspace(-norm, norm, 65):
        slope = link.slope(float(z))
        if not slope > 0.0:
            raise InvalidInputError(
                f"link must have a positive slope on [-{norm}, {norm}]; "
                f"{type(link).__name__}.slope({z:.4g}) is {slope}"
            )
    return positive(f"{type(link).__name__}.kappa({norm})", link.kappa(norm))


# By the names of the command line.
REGISTRY = {
    "logistic": Entry(Logistic, "mu(z) = 1 / (1 + e^-z)"),
    "identity": Entry(Identity, "mu(z) = z"),
    "probit": Entry(Probit, "mu(z) = Phi(z)"),
    "exponential": Entry(Exponential, "mu(z) = e^z"),
}
