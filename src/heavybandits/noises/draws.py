"""What the noises draw from: powers, normals and stable angles of uniform numbers."""

import math
from typing import Any

from ..engine.jitable import jitable
from ..engine.streams import uniform


def _power(base: float, exponent: float) -> float:
    return math.exp(min(exponent * math.log(base), 700.0))  # beyond it a double overflows


def _normal(key: Any, play: int) -> float:
    size = math.sqrt(-2.0 * math.log(uniform(key, 4 * play)))
    return size * math.cos(2.0 * math.pi * uniform(key, 4 * play + 1))


def _pareto_mean(shape: float, minimum: float) -> float:
    return shape * minimum / (shape - 1.0)


def _stable_angle(alpha: float, skew: float) -> float:
    return math.atan(skew * math.tan(0.5 * math.pi * alpha))


for _helper in (_power, _normal, _pareto_mean, _stable_angle):  # not as decorators: keeps the types
    jitable(_helper)
