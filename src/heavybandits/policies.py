"""Policies: how an arm is chosen."""

from .parts.policies import *  # noqa: F403
from .parts.policies import __all__ as __all__
