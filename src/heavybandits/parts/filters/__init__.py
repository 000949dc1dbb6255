"""Filters: the rewards of one decision (one play or several) made into one number.

`norm` is ||x||_{V^-1} and `predicted` is the mean reward the estimator expects of x. Memory counts
the plays seen and the rewards cut.
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
