"""Rewards as every policy takes them."""

from ..engine.arrays import Floats
from ..engine.jitable import jitable
from ..engine.linalg import bounded


@jitable
def clamp(rewards: Floats) -> None:
    """Any finite reward is legal; beyond LARGEST it counts as that, so that no sum overflows."""
    for i in range(rewards.size):
        rewards[i] = bounded(rewards[i])
