"""Policies: how the parts play together."""

from .elimination import BaseUCB, Elimination
from .randomised import InverseGap, Mixed
from .thompson import Thompson
from .time_discounted import Fading
from .ucb import Optimism
from .uniform import Uniform

__all__ = [
    "BaseUCB",
    "Elimination",
    "Fading",
    "InverseGap",
    "Mixed",
    "Optimism",
    "Thompson",
    "Uniform",
]
