"""Arm sets: the available arms of a play, and the exact optimistic arm among them."""

from ..._utils.registry import Entry
from .continuous import Box, UnitBall, UnitSphere
from .finite import Fixed, FromArray, PerDecision, PerRound, Rows
from .shop import Storefront

__all__ = [
    "REGISTRY",
    "Box",
    "Fixed",
    "FromArray",
    "PerDecision",
    "PerRound",
    "Rows",
    "Storefront",
    "UnitBall",
    "UnitSphere",
]

# Random sets of unit vectors, uniform on [low, 1]^d before scaling, by when they are redrawn.
REGISTRY = {
    "never": Entry(Fixed, "one set for the whole run", ("arms", "dimension", "low")),
    "decision": Entry(PerDecision, "a new set at every decision", ("arms", "dimension", "low")),
    "round": Entry(PerRound, "a new set at every play", ("arms", "dimension", "low")),
}
