"""heavybandits: contextual bandits whose rewards have heavy tails."""

from . import theory
from .adaptive import AdaptiveClip, AdaptiveTruncate
from .agents.agent import Agent, Ticket
from .agents.checks import PolicyError, check_policy, list_checks
from .agents.ledger import LedgerError
from .agents.state import StateError, load
from .algorithms import crmm, crtm, linucb, ol2m
from .arms import FixedArms, FreshArms, FrozenArms, GivenArms
from .baselines import bmm, btc, crt, gloc, gloc_mom, menu, mom, ol2m_mom, supbmm, supbtc, tofu
from .baselines.elimination import Elimination, Greedy
from .baselines.gloc import GradientSum, OnlineToConfidence, OnlineToConfidenceRegion
from .baselines.histories import TruncatedHistory
from .baselines.levels import MedianRegression, TruncatedRegression
from .baselines.radii import MiniBatchRegion, Powered, Scaled, TruncatedRegion
from .baselines.ridges import ManyRidges
from .catalogue import CATALOGUE
from .estimators import BallProjection, NoProjection, OnlineNewton, Rescaling, Ridge
from .filters import (
    Clip,
    MeanOfMedians,
    Median,
    MedianOfMeans,
    Raw,
    TrimmedMean,
    Truncate,
    TruncateByTime,
)
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
    reward_moment,
)
from .policies import Optimism, Uniform
from .radii import Constant, Growing, LogisticRegion, MedianRegion, SelfNormalised
from .replaying.replay import replay
from .replaying.results import ReplayResult
from .results import Result
from .simulate import Problem, simulate
from .spaces import Box, UnitBall, UnitSphere
from .tails.diagnose import Diagnosis, diagnose
from .validation import InvalidInput

__version__ = "0.1.0"

__all__ = [
    "CATALOGUE",
    "AdaptiveClip",
    "AdaptiveTruncate",
    "Agent",
    "AlphaStable",
    "BallProjection",
    "Box",
    "Clip",
    "Constant",
    "Contaminated",
    "Diagnosis",
    "Elimination",
    "Exponential",
    "FixedArms",
    "FreshArms",
    "FrozenArms",
    "Gaussian",
    "GivenArms",
    "GradientSum",
    "Greedy",
    "Growing",
    "Identity",
    "InvalidInput",
    "Laplace",
    "LedgerError",
    "LogNormal",
    "Logistic",
    "LogisticRegion",
    "ManyRidges",
    "MeanOfMedians",
    "Median",
    "MedianOfMeans",
    "MedianRegion",
    "MedianRegression",
    "MiniBatchRegion",
    "NoProjection",
    "OnlineNewton",
    "OnlineToConfidence",
    "OnlineToConfidenceRegion",
    "Optimism",
    "Outlier",
    "Pareto",
    "PolicyError",
    "Powered",
    "Probit",
    "Problem",
    "Raw",
    "ReplayResult",
    "Rescaling",
    "Result",
    "Ridge",
    "Scaled",
    "SelfNormalised",
    "StateError",
    "StudentT",
    "SymmetricPareto",
    "Ticket",
    "TrimmedMean",
    "Truncate",
    "TruncateByTime",
    "TruncatedHistory",
    "TruncatedRegion",
    "TruncatedRegression",
    "Uniform",
    "UnitBall",
    "UnitSphere",
    "bmm",
    "btc",
    "check_policy",
    "crmm",
    "crt",
    "crtm",
    "diagnose",
    "gloc",
    "gloc_mom",
    "linucb",
    "list_checks",
    "load",
    "menu",
    "mom",
    "ol2m",
    "ol2m_mom",
    "replay",
    "reward_moment",
    "simulate",
    "supbmm",
    "supbtc",
    "theory",
    "tofu",
]
