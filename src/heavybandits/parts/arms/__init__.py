"""Arm sets: the arms on offer at a play, and the exact optimistic arm among them."""

from ..._utils.registry import Entry
from .continuous import Box, UnitBall, UnitSphere
from .finite import Fixed, Fresh, Frozen, Given

__all__ = ["REGISTRY", "Box", "Fixed", "Fresh", "Frozen", "Given", "UnitBall", "UnitSphere"]

# Random sets of unit vectors, uniform on [low, 1]^d before scaling, by how they change.
REGISTRY = {
    "fixed": Entry(Fixed, "one set for ever", ("arms", "dimension", "low")),
    "frozen": Entry(Frozen, "a new set at every decision", ("arms", "dimension", "low")),
    "fresh": Entry(Fresh, "a new set at every play", ("arms", "dimension", "low")),
}
