"""auto's estimator."""

from .estimate import (
    CONSTANT,
    WARM,
    ScaleFreeEstimate,
    base_of,
    exact_share,
    fill_row,
    is_exploration_due,
    is_rare,
    known_count,
    learned_directions,
    least_event,
    noise_square,
    novelty,
    prior_square,
    restart_count,
    rewards_learned,
    typical_event,
    unit_of,
)
from .events import is_event, share_from
from .fit import is_due
from .huber import ScaleFreeHuber, add_novelty, fill_block, raw_theta

__all__ = [
    "CONSTANT",
    "WARM",
    "ScaleFreeEstimate",
    "ScaleFreeHuber",
    "add_novelty",
    "base_of",
    "exact_share",
    "fill_block",
    "fill_row",
    "is_due",
    "is_event",
    "is_exploration_due",
    "is_rare",
    "known_count",
    "learned_directions",
    "least_event",
    "noise_square",
    "novelty",
    "prior_square",
    "raw_theta",
    "restart_count",
    "rewards_learned",
    "share_from",
    "typical_event",
    "unit_of",
]
