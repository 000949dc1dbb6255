"""Estimators of theta and its design matrix."""

from .parts.estimators import *  # noqa: F403
from .parts.estimators import __all__ as __all__
