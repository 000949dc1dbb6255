"""Moments of noises by quadrature, where there is no closed form. NumPy only, nothing compiled."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import numpy as np

from ..engine.arrays import Floats
from ..engine.contracts import KnownNoise

FAR = 1e30  # from here on a power tail is a pure power to the last bit
GRID = np.arange(-400, 401) / 100.0  # abscissae of the tanh-sinh rule


def integrate(function: Callable[[Floats], Floats], cuts: list[float]) -> float:
    """Tanh-sinh between consecutive cuts, where the function may have kinks or steep flanks."""
    near, total = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(GRID))), 0.0
    weights = 0.01 * np.pi * np.cosh(GRID) * near * near[::-1]
    with np.errstate(all="ignore"):  # log 0 at a root of the moment: it counts as zero
        for low, high in pairwise(cuts):
            total += (high - low) * np.sum(weights * function(low + (high - low) * near))
    return total


def expected_power(
    log_size: Callable[[Floats], Floats],
    log_density: Callable[[Floats], Floats],
    order: float,
    cuts: list[float],
    tail_index: float,
) -> float:
    """E size(X)^order, X with this density; x = sinh(y) tames the tails, beyond FAR exactly."""

    def term(x: Floats) -> Floats:
        return np.exp(order * log_size(x) + log_density(x))

    bounds = [math.asinh(cut) for cut in sorted(cuts)]
    body = integrate(lambda y: term(np.sinh(y)) * np.cosh(y), bounds)
    ends = [x for x in cuts if abs(x) == FAR]
    tails = [FAR * float(term(np.array(x))) / (tail_index - order) for x in ends]
    return float(body + sum(tails))


class ScaledNoise(KnownNoise, Protocol):
    """A noise that is `scale` times one of scale 1."""

    @property
    def scale(self) -> float: ...


def shifted_moment(
    noise: ScaledNoise, order: float, shift: float, log_density: Callable[[Floats], Floats]
) -> float:
    """E|shift + eta|^order of a symmetric noise with this density at scale 1."""
    if order == 2.0:
        return noise.moment(2.0) + shift * shift
    s = shift / noise.scale
    size, cuts = lambda x: np.log(np.abs(x + s)), [-FAR, 0.0, -s, FAR]
    return float(
        noise.scale**order * expected_power(size, log_density, order, cuts, noise.tail_index())
    )


def central_moment(noise: KnownNoise, order: float) -> float:
    """E|eta - E eta|^order, nan if there is no mean."""
    centre = noise.location()
    return math.nan if math.isnan(centre) else noise.moment(order, -centre)


def log_normal_density(z: Floats) -> Floats:
    return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)


def stable_moment(alpha: float, angle: float, order: float, shift: float) -> float:
    """E|X + s|^p, s >= 0, from the characteristic function e^(-c t^alpha), c = 1 - i tan(angle).

    It is E|X|^p + s p E[|X|^(p-1) sign X] + C Re int e^(-c t^alpha) (1 + ist - e^ist) t^(-1-p) dt,
    the first two in closed form, the integral along the ray on which both factors decay best.
    """

    def term(y: Floats) -> Floats:  # at t = e^(y + i turn)
        t = np.exp(y + 1j * turn)
        decay = np.exp(-(1.0 - 1j * math.tan(angle)) * np.exp(alpha * (y + 1j * turn)))
        z = 1j * shift * t
        near = np.where(np.abs(z) < 1.0, z, 0.0)  # there 1 + z - e^z cancels, so by its series
        series = near * near * np.polyval([1.0 / math.factorial(k) for k in range(20, 1, -1)], near)
        rest = np.where(np.abs(z) < 1.0, series, np.exp(z) - 1.0 - z)
        return np.real(-decay * rest * t**-order)

    weight = 2.0 / math.pi * math.gamma(order) * math.sin(0.5 * math.pi * order)
    at, before = order / alpha, (order - 1.0) / alpha
    closed = math.gamma(1.0 - at) * math.cos(angle) ** -at * math.cos(at * angle)
    if shift == 0.0:
        return float(weight * closed)
    signed = math.gamma(1.0 - before) * math.cos(angle) ** -before * angle / alpha
    signed *= float(np.sinc(before * angle / math.pi))
    turn = min(0.5 * math.pi, 0.5 * (angle + 0.5 * math.pi) / alpha)
    bend = math.cos(alpha * turn - angle)
    top = (60.0 * math.cos(angle) / bend) ** (1.0 / alpha)  # there e^(-c t^alpha) is e^-60
    wave = min(top, 60.0 / (shift * math.sin(turn)))  # and here e^ist
    pieces = 1 + int(1.2 / min(bend, math.sin(turn)))  # at most 50 radians in each
    if pieces > 5000:
        raise NotImplementedError(f"moments of skewed AlphaStable so near alpha = 1: {alpha}")
    grid = np.arange(1, pieces + 1) / pieces
    cuts = np.log(np.sort(np.concatenate([wave * grid, top * grid ** (1.0 / alpha)]))).tolist()
    low = min(cuts) - 70.0
    integral = integrate(term, [low, *cuts]) + term(low) / (2.0 - order)
    return float(weight * (closed + order * (shift * signed + integral)))
