"""Links mu: the mean reward of an arm is mu(x.theta)."""

from .parts.links import *  # noqa: F403
from .parts.links import __all__ as __all__
