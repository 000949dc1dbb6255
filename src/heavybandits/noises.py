"""Noises eta: a reward is y = mu(x.theta) + eta."""

from .parts.noises import *  # noqa: F403
from .parts.noises import __all__ as __all__
