"""What the noises draw from: powers, normals and stable angles of uniform numbers."""

import math

from ...core.arrays import Key
from ...core.jit import jitable
from ...core.rng import uniform


@jitable
def power(base: float, exponent: float) -> float:
    """base^exponent, capped where a double overflows."""
    return math.exp(min(exponent * math.log(base), 700.0))  # beyond it a double overflows


@jitable
def normal(key: Key, play: int) -> float:
    """Return a standard normal number, by Box and Muller."""
    size = math.sqrt(-2.0 * math.log(uniform(key, 4 * play)))
    return size * math.cos(2.0 * math.pi * uniform(key, 4 * play + 1))


@jitable
def pareto_mean(shape: float, minimum: float) -> float:
    """Return the mean of minimum U^(-1/shape)."""
    return shape * minimum / (shape - 1.0)


@jitable
def stable_angle(alpha: float, skew: float) -> float:
    """atan(skew tan(pi alpha / 2))"""
    return math.atan(skew * math.tan(0.5 * math.pi * alpha))
