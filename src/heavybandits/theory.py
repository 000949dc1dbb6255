"""Formulas of the theorems: radii, thresholds and regret bounds."""

from .algorithms.theory import *  # noqa: F403
from .algorithms.theory import __all__ as __all__
