"""heavybandits: contextual bandits whose rewards have heavy tails."""

from . import algorithms, arms, estimators, filters, links, noises, parts, policies, radii, theory
from .agents.agent import Agent, load
from .agents.book import Ticket
from .agents.checks import check_policy, list_checks
from .algorithms import *  # noqa: F403 - their names stand in one list, `algorithms.__all__`
from .algorithms.catalogue import CATALOGUE
from .diagnosis.diagnose import Diagnosis, diagnose
from .evaluating.evaluate import evaluate
from .evaluating.results import Evaluation
from .replaying.replay import replay
from .replaying.results import ReplayResult
from .simulation.problem import Problem
from .simulation.results import Result
from .simulation.run import simulate
from .support.errors import (
    DeviceError,
    InvalidInput,
    LedgerError,
    PartError,
    PolicyError,
    StateError,
    SweepError,
)
from .support.version import __version__ as __version__
from .sweeping.sweeps import sweep
from .sweeping.tuned import Tuning
from .sweeping.tuning import tune

__all__ = [
    "CATALOGUE",
    "Agent",
    "DeviceError",
    "Diagnosis",
    "Evaluation",
    "InvalidInput",
    "LedgerError",
    "PartError",
    "PolicyError",
    "Problem",
    "ReplayResult",
    "Result",
    "StateError",
    "SweepError",
    "Ticket",
    "Tuning",
    "algorithms",
    "arms",
    "check_policy",
    "diagnose",
    "estimators",
    "evaluate",
    "filters",
    "links",
    "list_checks",
    "load",
    "noises",
    "parts",
    "policies",
    "radii",
    "replay",
    "simulate",
    "sweep",
    "theory",
    "tune",
]
__all__ += algorithms.__all__
