"""Helpers for writing your own parts: protocols, types and compiled functions."""

from .parts.authoring import *  # noqa: F403
from .parts.authoring import __all__ as __all__
