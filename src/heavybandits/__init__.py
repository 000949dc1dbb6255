"""heavybandits: contextual bandits whose rewards have heavy tails."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import (
    algorithms,
    arms,
    estimators,
    features,
    filters,
    links,
    noises,
    parts,
    policies,
    radii,
    theory,
)
from .agents.agent import Agent
from .agents.checks import check_policy, list_checks
from .agents.rebuilding import load
from .agents.tickets import Ticket
from .algorithms import *  # noqa: F403 - their names stand in one list, `algorithms.__all__`
from .algorithms.catalogue import CATALOGUE
from .features import Encoder
from .filters.watching import Drift
from .simulation.problem import Problem
from .simulation.results import Result
from .simulation.run import simulate
from .support.errors import (
    DeviceError,
    EncodingError,
    ForeignTicket,
    InvalidInput,
    LedgerError,
    PartError,
    PolicyError,
    StateError,
    SweepError,
)
from .support.version import __version__ as __version__

if TYPE_CHECKING:
    from .agents.explaining import Explanation
    from .agents.rebuilding import rebuild
    from .agents.reports import Monitor
    from .diagnosis.diagnose import Diagnosis, diagnose
    from .evaluating.evaluate import evaluate
    from .evaluating.results import Evaluation
    from .replaying.replay import replay
    from .replaying.results import ReplayResult
    from .sweeping.sweeps import sweep
    from .sweeping.tuned import Tuning
    from .sweeping.tuning import tune

__all__ = [
    "CATALOGUE",
    "Agent",
    "DeviceError",
    "Diagnosis",
    "Drift",
    "Encoder",
    "EncodingError",
    "Evaluation",
    "Explanation",
    "ForeignTicket",
    "InvalidInput",
    "LedgerError",
    "Monitor",
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
    "features",
    "filters",
    "links",
    "list_checks",
    "load",
    "noises",
    "parts",
    "policies",
    "radii",
    "rebuild",
    "replay",
    "simulate",
    "sweep",
    "theory",
    "tune",
]
__all__ += algorithms.__all__

# Loaded when first asked for: who only serves decisions need not wait for them.
_LATER = {
    "Diagnosis": "diagnosis.diagnose",
    "Evaluation": "evaluating.results",
    "Explanation": "agents.explaining",
    "Monitor": "agents.reports",
    "ReplayResult": "replaying.results",
    "Tuning": "sweeping.tuned",
    "diagnose": "diagnosis.diagnose",
    "evaluate": "evaluating.evaluate",
    "rebuild": "agents.rebuilding",
    "replay": "replaying.replay",
    "sweep": "sweeping.sweeps",
    "tune": "sweeping.tuning",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
