"""Noises at the door, and the moment of the rewards they make."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from ..support.errors import InvalidInput
from .heavy import AlphaStable, Pareto, StudentT, SymmetricPareto
from .light import Gaussian, Laplace, LogNormal
from .mixtures import Contaminated, Outlier

_OURS = (StudentT, Pareto, SymmetricPareto, Gaussian, Laplace, LogNormal, AlphaStable)


_ALLOWED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "dof": (lambda x: x > 0.2, "a number > 0.2"),
    "shape": (lambda x: x > 0.0, "a number > 0"),
    "minimum": (lambda x: x > 0.0, "a number > 0"),
    "scale": (lambda x: x > 0.0, "a number > 0"),
    "sigma": (lambda x: 0.0 < x <= 18.0, "in (0, 18]"),  # beyond it the variance overflows
    "alpha": (lambda x: 0.0 < x <= 2.0, "in (0, 2]"),
    "skew": (lambda x: -1.0 <= x <= 1.0, "in [-1, 1]"),
    "share": (lambda x: 0.0 <= x <= 1.0, "in [0, 1]"),
    "play": (lambda x: x >= 0 and isinstance(x, Integral), "an integer >= 0"),
    "value": (lambda x: True, "a finite number"),
}


def _mixes(noise: Any) -> bool:
    return isinstance(noise, Contaminated) or (isinstance(noise, Outlier) and _mixes(noise.base))


def check_noise(noise: Any) -> None:
    """Raise InvalidInput, naming the field, if this is not a noise with allowed constants.

    >>> check_noise(StudentT(dof=0.1))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: StudentT.dof must be a number > 0.2, not 0.1
    """
    name = type(noise).__name__
    if not callable(getattr(noise, "draw", None)):
        raise InvalidInput(f"a noise must have a method draw(key, play); {name} has none")
    if not isinstance(noise, (*_OURS, Contaminated, Outlier)):
        return

    def refuse(field: str, allowed: str) -> None:
        raise InvalidInput(f"{name}.{field} must be {allowed}, not {getattr(noise, field)!r}")

    for field, value in noise._asdict().items():
        if field in ("base", "outlier"):
            check_noise(value)
            if isinstance(noise, Contaminated) and _mixes(value):  # both would use uniform 3
                refuse(field, "a noise that is not itself Contaminated")
        elif field in _ALLOWED:
            allowed, text = _ALLOWED[field]
            if not (isinstance(value, Real) and math.isfinite(value) and allowed(value)):
                refuse(field, text)
    if isinstance(noise, Pareto) and noise.centred and noise.shape <= 1.0:
        refuse("shape", "> 1 when centred (else there is no mean)")
    if isinstance(noise, AlphaStable) and noise.alpha == 1.0 and noise.skew != 0.0:
        refuse("skew", "0 when alpha = 1")


def reward_moment(noise: Any, low: float, high: float, epsilon: float = 1.0) -> float:
    """The paper's u: the largest E|m + eta|^(1 + epsilon) over m in [low, high].

    It is convex in m, so the largest is at an end. For means with |m| <= B take low = -B and
    high = B; for the logistic link and z in [-S, S], low = mu(-S) and high = mu(S).

    >>> round(reward_moment(StudentT(3.0), 0.0, 0.731058579), 6)
    3.534447
    >>> round(reward_moment(Pareto(centred=False), 0.0, 0.731058579), 6)
    0.556678
    """
    return max(float(noise.moment(1.0 + epsilon, mean)) for mean in (low, high))
