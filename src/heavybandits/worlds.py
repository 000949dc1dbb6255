"""Worlds: theta that moves, rewards that come late or never, and rewards that are corrupted."""

from .parts.worlds import *  # noqa: F403
from .parts.worlds import __all__ as __all__
