"""heavybandits: contextual bandits whose rewards have heavy tails."""

from . import arms, estimators, filters, links, noises, parts, policies, radii, theory
from .agents.agent import Agent, load
from .agents.checks import check_policy, list_checks
from .agents.tickets import Ticket
from .algorithms import (
    bmm,
    btc,
    crmm,
    crt,
    crtm,
    gloc,
    gloc_mom,
    linucb,
    menu,
    mom,
    ol2m,
    ol2m_mom,
    supbmm,
    supbtc,
    tofu,
)
from .algorithms.catalogue import CATALOGUE
from .diagnosis.diagnose import Diagnosis, diagnose
from .replaying.replay import replay
from .replaying.results import ReplayResult
from .simulation.problem import Problem
from .simulation.results import Result
from .simulation.run import simulate
from .support.errors import InvalidInput, LedgerError, PolicyError, StateError
from .support.version import __version__ as __version__

__all__ = [
    "CATALOGUE",
    "Agent",
    "Diagnosis",
    "InvalidInput",
    "LedgerError",
    "PolicyError",
    "Problem",
    "ReplayResult",
    "Result",
    "StateError",
    "Ticket",
    "arms",
    "bmm",
    "btc",
    "check_policy",
    "crmm",
    "crt",
    "crtm",
    "diagnose",
    "estimators",
    "filters",
    "gloc",
    "gloc_mom",
    "links",
    "linucb",
    "list_checks",
    "load",
    "menu",
    "mom",
    "noises",
    "ol2m",
    "ol2m_mom",
    "parts",
    "policies",
    "radii",
    "replay",
    "simulate",
    "supbmm",
    "supbtc",
    "theory",
    "tofu",
]
