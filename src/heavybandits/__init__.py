"""heavybandits: contextual bandits whose rewards have heavy tails."""

from . import theory
from .agent import Agent, Ticket
from .algorithms import crmm, crtm, linucb, ol2m
from .arms import FixedArms, FreshArms, FrozenArms, GivenArms
from .estimators import BallProjection, NoProjection, OnlineNewton, Rescaling, Ridge
from .filters import Clip, MeanOfMedians, Median, MedianOfMeans, Raw, TrimmedMean, Truncate
from .links import Exponential, Identity, Logistic, Probit
from .noises import (
    AlphaStable,
    Contaminated,
    Gaussian,
    Laplace,
    LogNormal,
    Outlier,
    Pareto,
    StudentT,
    SymmetricPareto,
)
from .policies import Optimism
from .radii import Constant, Growing, LogisticRegion, MedianRegion, SelfNormalised
from .results import Result
from .simulate import Problem, simulate
from .spaces import Box, UnitBall, UnitSphere
from .state import StateError, load
from .validation import InvalidInput

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AlphaStable",
    "BallProjection",
    "Box",
    "Clip",
    "Constant",
    "Contaminated",
    "Exponential",
    "FixedArms",
    "FreshArms",
    "FrozenArms",
    "Gaussian",
    "GivenArms",
    "Growing",
    "Identity",
    "InvalidInput",
    "Laplace",
    "LogNormal",
    "Logistic",
    "LogisticRegion",
    "MeanOfMedians",
    "Median",
    "MedianOfMeans",
    "MedianRegion",
    "NoProjection",
    "OnlineNewton",
    "Optimism",
    "Outlier",
    "Pareto",
    "Probit",
    "Problem",
    "Raw",
    "Rescaling",
    "Result",
    "Ridge",
    "SelfNormalised",
    "StateError",
    "StudentT",
    "SymmetricPareto",
    "Ticket",
    "TrimmedMean",
    "Truncate",
    "UnitBall",
    "UnitSphere",
    "crmm",
    "crtm",
    "linucb",
    "load",
    "ol2m",
    "simulate",
    "theory",
]
