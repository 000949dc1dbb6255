"""Rewards as every policy takes them."""

from ..engine.arrays import Floats
from ..engine.jitable import jitable

# Any finite reward is legal; beyond this it counts as this, so that no sum overflows.
LARGEST = 1e100


@jitable
def clamp(rewards: Floats) -> None:
    """Keep |reward| <= LARGEST."""
    for i in range(rewards.size):
        rewards[i] = min(max(rewards[i], -LARGEST), LARGEST)
