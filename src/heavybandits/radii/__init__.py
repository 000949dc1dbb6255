"""Radii: how wide the confidence region is after t updates: the root of the papers' gamma."""

from .theorems import (
    LogisticRegion,
    MedianRegion,
    MiniBatchRegion,
    OnlineToConfidenceRegion,
    SelfNormalised,
    TruncatedRegion,
)
from .tuned import Constant, GradientSum, Growing, Powered, Scaled

__all__ = [
    "Constant",
    "GradientSum",
    "Growing",
    "LogisticRegion",
    "MedianRegion",
    "MiniBatchRegion",
    "OnlineToConfidenceRegion",
    "Powered",
    "Scaled",
    "SelfNormalised",
    "TruncatedRegion",
]
