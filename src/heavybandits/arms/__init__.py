"""Arm sets: the arms on offer at a play, and the exact optimistic arm among them."""

from .continuous import Box, UnitBall, UnitSphere
from .finite import Fixed, Fresh, Frozen, Given

__all__ = ["Box", "Fixed", "Fresh", "Frozen", "Given", "UnitBall", "UnitSphere"]
