"""Recorders: columns of a result that describe a policy at the checkpoints of a simulation."""

from .parts.recorders import *  # noqa: F403
from .parts.recorders import __all__ as __all__
