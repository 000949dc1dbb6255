"""auto's estimator."""

from .estimate import (
    ScaleFreeEstimate,
    is_rare,
    known_count,
    learned_directions,
    noise_square,
    prior_square,
    restart_count,
)
from .huber import ScaleFreeHuber, raw_theta

__all__ = [
    "ScaleFreeEstimate",
    "ScaleFreeHuber",
    "is_rare",
    "known_count",
    "learned_directions",
    "noise_square",
    "prior_square",
    "raw_theta",
    "restart_count",
]
