"""Worlds: theta that moves, rewards that come late or never, and rewards that are corrupted.

The noises here see the arm. The others are fields of a `Problem`: `drift`, `delay`, `adversary`.
"""

from .adversaries import FlipMeans, HideBest, Spikes
from .delays import ConstantDelay, GeometricDelay, LostRewards, ParetoDelay
from .drifts import Cycle, Flip, Jumps, RandomWalk
from .noises import Heteroskedastic, Multiplicative, Purchases, ZeroInflated

__all__ = [
    "ConstantDelay",
    "Cycle",
    "Flip",
    "FlipMeans",
    "GeometricDelay",
    "Heteroskedastic",
    "HideBest",
    "Jumps",
    "LostRewards",
    "Multiplicative",
    "ParetoDelay",
    "Purchases",
    "RandomWalk",
    "Spikes",
    "ZeroInflated",
]
