"""Policies: how the parts play together."""

from .elimination import PerArmUCB, StagedElimination
from .hurdle import Hurdle
from .learned_scale import LearnedScale
from .randomised import EpsilonGreedy, SquareCB
from .thompson import Thompson
from .time_discounted import TimeDiscounted
from .ucb import UCB
from .uniform import Uniform

__all__ = [
    "UCB",
    "EpsilonGreedy",
    "Hurdle",
    "LearnedScale",
    "PerArmUCB",
    "SquareCB",
    "StagedElimination",
    "Thompson",
    "TimeDiscounted",
    "Uniform",
]
