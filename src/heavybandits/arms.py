"""Arm sets: the arms available in a round."""

from .parts.arms import *  # noqa: F403
from .parts.arms import __all__ as __all__
