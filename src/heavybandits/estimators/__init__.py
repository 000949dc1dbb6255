"""Estimators: theta-hat and its design matrix, from one cleaned reward at a time."""

from .batch_huber import BatchHuber
from .columns import NewtonColumns
from .forgetting import Forgetting
from .huber import HuberNewton
from .many_ridges import ManyRidges
from .one_pass import LocalNewton, OnlineNewton, Ridge
from .online_to_confidence import OnlineToConfidence
from .per_arm import MedianRegression, TruncatedRegression
from .projections import BallProjection, NoProjection, Rescaling
from .scale_free import ScaleFreeHuber
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
