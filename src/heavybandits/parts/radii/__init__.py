"""Radii: how wide the confidence region is after t updates: the root of the papers' gamma."""

from .auto import ScaleFreeRegion
from .huber import ColumnRegion, HuberRegion, PseudoHuberRegion
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
    "ColumnRegion",
    "Constant",
    "GradientSum",
    "Growing",
    "HuberRegion",
    "LogisticRegion",
    "MedianRegion",
    "MiniBatchRegion",
    "OnlineToConfidenceRegion",
    "Powered",
    "PseudoHuberRegion",
    "ScaleFreeRegion",
    "Scaled",
    "SelfNormalised",
    "TruncatedRegion",
]
