"""Worlds: theta that moves, rewards that come late or never, and rewards that are corrupted.

The noises here see the arm. The others are fields of a `Problem`: `drift`, `delay`, `adversary`.
"""

from ..._utils.registry import Entry
from .adversaries import FlipMeans, HideBest, Spikes
from .delays import ConstantDelay, GeometricDelay, LostRewards, ParetoDelay
from .drifts import Cycle, Flip, Jumps, RandomWalk
from .noises import Heteroskedastic, Multiplicative, Purchases, ZeroInflated

__all__ = [
    "REGISTRY",
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

# By the names of the command line, with the numbers that follow after colons.
REGISTRY = {
    "flip": Entry(Flip, "theta changes its sign", ("play",)),
    "jumps": Entry(Jumps, "theta jumps", ("plays between jumps",)),
    "walk": Entry(RandomWalk, "theta makes a random walk", ("step",)),
    "cycle": Entry(Cycle, "theta rotates", ("period",)),
    "delay": Entry(ConstantDelay, "rewards come late", ("plays",)),
    "geometric-delay": Entry(GeometricDelay, "rewards come late and overtake", ("mean delay",)),
    "pareto-delay": Entry(ParetoDelay, "some rewards come very late", ("shape", "scale")),
    "lost": Entry(LostRewards, "some rewards never arrive", ("share",)),
    "flip-means": Entry(FlipMeans, "an adversary reverses mean rewards", ("budget",)),
    "hide-best": Entry(HideBest, "an adversary lowers the best rewards", ("budget", "loss")),
    "spikes": Entry(Spikes, "an adversary adds outliers", ("budget", "size", "share")),
}
