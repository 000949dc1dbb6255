"""Recorders: columns of a result that describe a policy at the checkpoints of a simulation."""

from .choices import Choices
from .estimates import Coverage, Theta, Threshold

__all__ = ["Choices", "Coverage", "Theta", "Threshold"]
