"""Policies: how the parts play together."""

from .elimination import BaseUCB, Elimination
from .optimism import Optimism
from .uniform import Uniform

__all__ = ["BaseUCB", "Elimination", "Optimism", "Uniform"]
