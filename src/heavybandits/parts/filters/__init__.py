"""Filters: turn the rewards of one decision (one play or several) into one number.

`norm` is ||x||_{V^-1} and `predicted` is the mean reward that the estimator expects of x. Memory
counts the plays seen and the rewards clipped or truncated.
"""

from .adaptive import AdaptiveClip, MeanScaledClip
from .drift import DriftMonitor
from .leverage import LeverageClip, TailClip
from .medians import MeanOfMedians, Median, MedianOfMeans, TrimmedMean
from .truncation import Clip, NoFilter, Truncate, TruncateByTime

__all__ = [
    "AdaptiveClip",
    "Clip",
    "DriftMonitor",
    "LeverageClip",
    "MeanOfMedians",
    "MeanScaledClip",
    "Median",
    "MedianOfMeans",
    "NoFilter",
    "TailClip",
    "TrimmedMean",
    "Truncate",
    "TruncateByTime",
]
