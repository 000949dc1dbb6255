"""Radii of the confidence region after t updates: the root of the papers' gamma."""

from .auto import ScaleFreeRadius
from .doubling import DoublingRadius, GrowingRadius
from .huber import HuberRadius, NewtonEnsembleRadius, PseudoHuberRadius
from .theorems import (
    LogisticRadius,
    MedianRadius,
    MiniBatchRadius,
    OnlineToConfidenceRadius,
    SelfNormalised,
    TruncatedRadius,
)
from .tuned import Constant, GradientSum, LogRadius, PowerRadius, Scaled

__all__ = [
    "Constant",
    "DoublingRadius",
    "GradientSum",
    "GrowingRadius",
    "HuberRadius",
    "LogRadius",
    "LogisticRadius",
    "MedianRadius",
    "MiniBatchRadius",
    "NewtonEnsembleRadius",
    "OnlineToConfidenceRadius",
    "PowerRadius",
    "PseudoHuberRadius",
    "ScaleFreeRadius",
    "Scaled",
    "SelfNormalised",
    "TruncatedRadius",
]
