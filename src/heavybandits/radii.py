"""Radii of the confidence region."""

from .parts.radii import *  # noqa: F403
from .parts.radii import __all__ as __all__
