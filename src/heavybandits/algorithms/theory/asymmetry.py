"""C of a known law: how much mean clipping removes, in units of the second moment that it leaves.

(R_C) is |E clip(eta, tau)| <= C E min(eta^2, tau^2) / tau for all tau > 0: see docs/maths/cral.md.
"""

import math
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Interval, bounded_number, finite_number, fraction
from ...core.arrays import Floats
from ...core.part import check_part
from ...core.protocols import KnownNoise
from ...parts.noises import LogNormal, Pareto

Survival = Callable[[Floats], Floats]
BELOW, ABOVE, CELLS = -6, 15, 2000  # decades of tau around the size of the noise, cells of each
MOVED = 1e-3  # share of E|noise| by which its mean may differ from 0, for the digits of the grid
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(2)


def asymmetry_of(noise: Any) -> float:
    """Return the smallest C of a noise part, over all thresholds, for the noise minus its mean.

    Parameters
    ----------
    noise : Noise
        A noise of `heavybandits.noises`.

    Returns
    -------
    float
        C, the asymmetry that `cral` takes.

    Raises
    ------
    InvalidInputError
        The noise is skewed and its tail has no closed form: use `asymmetry_of_tail`.

    Examples
    --------
    >>> from heavybandits.noises import LogNormal, Pareto, StudentT
    >>> asymmetry_of(StudentT(1.1))
    0.0
    >>> round(asymmetry_of(Pareto(1.5)), 2), round(asymmetry_of(LogNormal(1.0)), 2)
    (1.0, 0.46)
    """
    known: KnownNoise = check_part("noise", noise, KnownNoise)
    if known.symmetric():
        return 0.0
    if isinstance(noise, Pareto):
        if noise.shape <= 1.0:
            raise InvalidInputError(f"noise must have a mean, got {noise!r}")
        return asymmetry_of_tail(_pareto(noise.shape), noise.shape / (noise.shape - 1.0))
    if isinstance(noise, LogNormal):
        return asymmetry_of_tail(_log_normal(noise.sigma), math.exp(0.5 * noise.sigma**2))
    raise InvalidInputError(
        f"noise must be symmetric, Pareto or LogNormal, got {type(noise).__name__}: for another "
        "law pass its survival function to asymmetry_of_tail"
    )


def asymmetry_of_tail(survival: Callable[[Floats], Floats], mean: float) -> float:
    """Return the smallest C of a law, over all thresholds, by quadrature of its tails.

    E clip(eta, tau) is the integral of Pr(eta > s) - Pr(eta < -s) over s < tau, and minus that over
    s > tau, because E eta = 0: the first is exact for small tau, the second for large tau. The
    integral of 2 s Pr(|eta| > s) over s < tau is E min(eta^2, tau^2). The grid has 2,000 thresholds
    per decade, from a millionth of the size of the noise to 10^15 of it; beyond it the tail is a
    power. The result has three digits.

    Parameters
    ----------
    survival : function
        Pr(X > x) for an array of x, not centred. The heavier tail should be the upper one, because
        1 - Pr(X > x) has few digits for small x. X and -X have the same C.
    mean : float
        E X.

    Returns
    -------
    float
        C, the asymmetry that `cral` takes.

    Raises
    ------
    InvalidInputError
        `mean` is not that of `survival`, or the lower tail is too heavy for the digits of
        `survival`.

    Examples
    --------
    >>> round(asymmetry_of_tail(lambda x: np.exp(-np.maximum(x, 0.0)), mean=1.0), 3)
    0.317
    """
    mean = finite_number("mean", mean)

    def sides(s: Floats) -> tuple[Floats, Floats]:
        return _probabilities(survival, mean + s), 1.0 - _probabilities(survival, mean - s)

    tau = _typical_size(sides, 1e-12 * abs(mean)) * np.logspace(
        BELOW, ABOVE, (ABOVE - BELOW) * CELLS + 1
    )
    edges = np.concatenate([[0.0], tau])
    width = np.diff(edges)
    clipped, sizes, squares = np.zeros((3, width.size))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        s = edges[:-1] + 0.5 * (1.0 + node) * width
        right, left = sides(s)
        clipped += 0.5 * weight * width * (right - left)
        sizes += 0.5 * weight * width * (right + left)
        squares += 0.5 * weight * width * 2.0 * s * (right + left)
    beyond = _tail_mean(lambda s: sides(s)[0], tau) - _tail_mean(lambda s: sides(s)[1], tau)
    _check_mean(mean, float(clipped.sum()), beyond, float(sizes.sum()))
    above = np.abs(beyond + np.cumsum(clipped[:0:-1])[::-1])
    bias = np.minimum(np.abs(np.cumsum(clipped)[:-1]), above)
    return float(np.max(bias * tau[:-1] / np.cumsum(squares)[:-1]))


def asymmetry_of_atom(probability: float) -> float:
    """Return the smallest C of noise that is M with probability p and else 0, minus its mean.

    C = (p^{-1/2} - 1) / 2 for p <= 1/4, and 1 - 2p for p up to 1/2. A larger p is the same law
    with the opposite sign.

    Parameters
    ----------
    probability : float
        p, in (0, 1).

    Returns
    -------
    float
        C, the asymmetry that `cral` takes.

    Examples
    --------
    >>> asymmetry_of_atom(0.01), asymmetry_of_atom(1e-6), asymmetry_of_atom(0.75)
    (4.5, 499.5, 0.5)
    """
    p = fraction("probability", probability)
    p = min(p, 1.0 - p)
    return (1.0 / math.sqrt(p) - 1.0) / 2.0 if p <= 0.25 else 1.0 - 2.0 * p


def rarest_atom(asymmetry: float) -> float:
    """Return the smallest probability of a single atom that C allows.

    Parameters
    ----------
    asymmetry : float
        C, at most 1e6.

    Returns
    -------
    float
        The probability p.

    Examples
    --------
    >>> rarest_atom(1.0), round(rarest_atom(4.5), 12)
    (0.1111111111111111, 0.01)
    """
    asymmetry = bounded_number("asymmetry", asymmetry, Interval(0.0, 1e6))
    return (1.0 - asymmetry) / 2.0 if asymmetry < 0.5 else 1.0 / (1.0 + 2.0 * asymmetry) ** 2


def _probabilities(survival: Survival, x: Floats) -> Floats:
    """Return Pr(X > x); raise if it is no probability."""
    found = np.asarray(survival(x), dtype=np.float64)
    if found.shape != x.shape or not ((found >= 0.0) & (found <= 1.0)).all():
        raise InvalidInputError(
            "survival must return a probability for every number of an array, got "
            f"{reprlib.repr(found)} for {reprlib.repr(x)}"
        )
    return found


def _check_mean(mean: float, inside: float, beyond: float, size: float) -> None:
    """Raise if the noise minus `mean` has a mean that is no rounding of 0.

    `inside` is its part on the grid. A tail that falls faster than a power has less than `beyond`.
    """
    moved = inside + beyond
    if inside * moved > 0.0 and min(abs(inside), abs(moved)) > MOVED * size:
        raise InvalidInputError(
            f"mean must be that of survival, which has {mean + moved:.6g}, got {mean:.6g}; if it "
            "is, the lower tail has too few digits: pass Pr(-X > x) and -mean, which have the same "
            "C"
        )


def _tail_mean(side: Survival, tau: Floats) -> float:
    """Return the integral of one side beyond the last tau, where it is a power of s."""
    before, last = (float(p) for p in side(np.array([tau[-1 - CELLS], tau[-1]])))
    if last < 1e-300 or before <= last < 1e-14:  # 1 - survival has no more digits
        return 0.0
    index = math.log10(before / last)
    if index <= 1.0:
        raise InvalidInputError(
            "survival must be that of a law with a mean, which numbers of at most 10^15 times the "
            f"size of the noise carry, got a tail of index {index:.3g} there"
        )
    return last * float(tau[-1]) / (index - 1.0)


def _typical_size(sides: Callable[[Floats], tuple[Floats, Floats]], least: float) -> float:
    """Return the largest power of two that the noise exceeds with probability above 1/4."""
    sizes = np.exp2(np.arange(-300.0, 300.0))
    right, left = sides(sizes)
    exceeded = sizes[(right + left > 0.25) & (sizes > least)]
    if exceeded.size == 0:
        raise InvalidInputError("survival must be that of a law that is not a constant")
    return float(exceeded[-1])


def _pareto(tail: float) -> Survival:
    return lambda x: np.maximum(x, 1.0) ** -tail


def _log_normal(sigma: float) -> Survival:
    def survival(x: Floats) -> Floats:
        inside = np.maximum(x, 1e-300)
        z = np.log(inside) / (sigma * math.sqrt(2.0))
        return np.where(x <= 0.0, 1.0, 0.5 * _erfc(z))

    return survival


_erfc = np.vectorize(math.erfc, otypes=[np.float64])
