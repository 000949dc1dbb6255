"""Filters: clip, truncate or average the rewards of one decision."""

from .parts.filters import *  # noqa: F403
from .parts.filters import __all__ as __all__
