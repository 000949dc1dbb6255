"""Worlds: theta that moves, rewards that come late or never, corrupted rewards, and a shop."""

from .parts import worlds as _parts
from .parts.worlds import *  # noqa: F403
from .simulation.shop import shop

__all__ = [*_parts.__all__, "shop"]
