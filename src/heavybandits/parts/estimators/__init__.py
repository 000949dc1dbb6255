"""Estimators: theta-hat and its design matrix, from one cleaned reward at a time."""

from .auto import ScaleFreeHuber
from .batch_huber import BatchHuber
from .discounted import Forgetting
from .huber import HuberNewton
from .newton_ensemble import NewtonColumns
from .one_pass import LocalNewton, OnlineNewton, Ridge
from .online_to_confidence import OnlineToConfidence
from .per_arm import MedianRegression, TruncatedRegression
from .projection import BallProjection, NoProjection, Rescaling
from .ridge_ensemble import ManyRidges
from .truncated_history import TruncatedHistory

__all__ = [
    "BallProjection",
    "BatchHuber",
    "Forgetting",
    "HuberNewton",
    "LocalNewton",
    "ManyRidges",
    "MedianRegression",
    "NewtonColumns",
    "NoProjection",
    "OnlineNewton",
    "OnlineToConfidence",
    "Rescaling",
    "Ridge",
    "ScaleFreeHuber",
    "TruncatedHistory",
    "TruncatedRegression",
]
