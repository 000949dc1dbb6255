"""Moments of noises, by quadrature where there is no closed form. NumPy only, nothing compiled."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import epsilon as check_epsilon
from ..._utils.validation import finite_number
from ...core.arrays import Floats
from ...core.conformance import fault
from ...core.part import check_part, own_classes
from ...core.part_checks import check_draws, check_moments, check_noise
from ...core.part_errors import attempt
from ...core.protocols import KnownNoise, Noise

LIGHT = 1e3  # no power of x falls so fast
FAR = 1e30  # from here on a power tail is a pure power to the last bit
GRID = np.arange(-400, 401) / 100.0  # abscissae of the tanh-sinh rule


def integrate(function: Callable[[Floats], Floats], cuts: list[float]) -> float:
    """Tanh-sinh between consecutive points, where the function may have kinks or steep flanks."""
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


def normal_moment(order: float) -> float:
    """E|Z|^order of a standard normal Z."""
    return 2.0 ** (0.5 * order) * math.gamma(0.5 * order + 0.5) / math.sqrt(math.pi)


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


# ---- of any noise


def known(noise: Noise) -> KnownNoise:
    """Return the noise itself if it has moments, or a substitute that computes them.

    The attribute `how` of the substitute names the method: quadrature of `log_density` if the noise
    has it, else draws. A substitute that draws warns, because its moments are right to two or three
    digits only, and less for moments that are barely finite.

    Parameters
    ----------
    noise : Noise
        A noise, for example your own with `draw` only.

    Returns
    -------
    KnownNoise
        A noise with `location`, `moment`, `central_moment`, `symmetric` and `tail_index`.

    Examples
    --------
    >>> from heavybandits.authoring import uniform
    >>> class Logistic(NamedTuple):
    ...     def draw(self, key, play):
    ...         return -math.log(1.0 / uniform(key, 4 * play) - 1.0)
    ...     def log_density(self, x):
    ...         return -np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x)))
    >>> found = known(Logistic())
    >>> found.how, round(found.moment(2.0), 6) == round(math.pi**2 / 3.0, 6)
    ('quadrature of its density', True)
    """
    if fault(type(noise), KnownNoise) is None:
        declared: KnownNoise = check_part("noise", noise, KnownNoise)
        if own_classes(declared):
            check_noise(declared)
        return declared
    part: Any = check_part("noise", noise, Noise)
    if hasattr(part, "reward"):
        raise InvalidInputError(
            f"noise must have moments of its own, got {type(part).__name__}, whose rewards depend "
            "on the arm: pass the moment itself"
        )
    check_draws(part)
    if hasattr(part, "log_density"):
        law = Quadrature(part)
        attempt(own_classes(part), law.check)
        check_moments(law, part)
        return law
    from .sampled_moments import sample

    return sample(part)


def reward_moment(noise: Noise, low: float, high: float, epsilon: float = 1.0) -> float:
    """Return the paper's u: the largest E|m + eta|^(1 + epsilon) over m in [low, high].

    The moment is convex in m, so its maximum is at an end. For means with |m| <= B use low = -B and
    high = B; for the logistic link and z in [-S, S] use low = mu(-S) and high = mu(S).

    Parameters
    ----------
    noise : Noise
        The noise eta. A noise without moments gets them from `known`.
    low : float
        Smallest mean reward.
    high : float
        Largest mean reward.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].

    Returns
    -------
    float
        u, in the unit of the reward to the power 1 + epsilon; inf if the moment is infinite.

    Examples
    --------
    >>> from heavybandits.noises import Pareto, StudentT
    >>> round(reward_moment(StudentT(3.0), 0.0, 0.731058579), 6)
    3.534447
    >>> round(reward_moment(Pareto(centred=False), 0.0, 0.731058579), 6)
    0.556678
    """
    ends = finite_number("low", low), finite_number("high", high)
    law, order = known(noise), 1.0 + check_epsilon(epsilon)
    return max(law.moment(order, mean) for mean in ends)


class Quadrature(NamedTuple):
    """Moments of a noise by quadrature of its `log_density`, which should have no jumps."""

    noise: Any
    how: str = "quadrature of its density"

    def draw(self, key: Any, play: int) -> float:
        return float(self.noise.draw(key, play))

    def location(self) -> float:
        return self._side(1.0) - self._side(-1.0) if self.tail_index() > 1.0 else math.nan

    def _side(self, sign: float) -> float:
        """E max(sign eta, 0)."""
        return self._power(lambda x: np.log(np.maximum(sign * x, 0.0)), 1.0, 0.0)

    def moment(self, order: float, shift: float = 0.0) -> float:
        if order >= self.tail_index():
            return math.inf
        return self._power(lambda x: np.log(np.abs(x + shift)), order, -shift)

    def _power(self, log_size: Any, order: float, root: float) -> float:
        cuts = [-FAR, -1.0, 0.0, root, 1.0, FAR]
        with np.errstate(all="ignore"):
            return expected_power(log_size, self.noise.log_density, order, cuts, self.tail_index())

    def central_moment(self, order: float) -> float:
        return central_moment(self, order)

    def symmetric(self) -> bool:
        x = np.geomspace(1e-6, 1e6, 50)
        with np.errstate(all="ignore"):
            return bool(np.array_equal(self.noise.log_density(x), self.noise.log_density(-x)))

    def tail_index(self) -> float:
        """Return how fast the density falls at 1e20: as |x|^(-1 - index)."""
        with np.errstate(all="ignore"):
            near, far = (self.noise.log_density(np.array([-x, x])) for x in (1e20, 1e22))
            slopes = np.where(np.isneginf(far), np.inf, (near - far) / math.log(100.0)) - 1.0
        index = float(np.round(slopes.min(), 9))
        return index if index < LIGHT else math.inf

    def check(self) -> None:
        mass = self._power(np.zeros_like, 0.0, 0.0)
        if not abs(mass - 1.0) < 0.01:
            name = type(self.noise).__name__
            raise InvalidInputError(f"{name}.log_density must integrate to 1, got {mass:.4g}")
