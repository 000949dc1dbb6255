"""Estimators: theta-hat and its design matrix, from one filtered reward at a time."""

from .auto import ScaleFreeHuber
from .batch_huber import BatchHuber
from .discounted import Discounted
from .doubling import DoublingHuber, GrowingHuber
from .huber import HuberNewton
from .newton_ensemble import NewtonEnsemble
from .one_pass import LocalNewton, OnlineNewton, Ridge
from .online_to_confidence import OnlineToConfidence
from .per_arm import MedianRegression, TruncatedRegression
from .projection import BallProjection, EuclideanProjection, NoProjection
from .ridge_ensemble import RidgeEnsemble
from .truncated_history import TruncatedHistory

__all__ = [
    "BallProjection",
    "BatchHuber",
    "Discounted",
    "DoublingHuber",
    "EuclideanProjection",
    "GrowingHuber",
    "HuberNewton",
    "LocalNewton",
    "MedianRegression",
    "NewtonEnsemble",
    "NoProjection",
    "OnlineNewton",
    "OnlineToConfidence",
    "Ridge",
    "RidgeEnsemble",
    "ScaleFreeHuber",
    "TruncatedHistory",
    "TruncatedRegression",
]
