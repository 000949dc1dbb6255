"""Policies: how the parts play together."""

from .elimination import BaseUCB, Elimination
from .fading import Fading
from .optimism import Optimism
from .randomised import InverseGap, Mixed
from .thompson import Thompson
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
