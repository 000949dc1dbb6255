"""heavybandits: contextual bandits whose rewards have heavy tails."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import (
    algorithms,
    arms,
    authoring,
    estimators,
    features,
    filters,
    links,
    noises,
    policies,
    radii,
    recorders,
    theory,
    worlds,
)
from ._utils.errors import (
    CellError,
    DataError,
    DeviceError,
    EncodingError,
    ForeignTicketError,
    InvalidInputError,
    LedgerError,
    LedgerFencedError,
    PartError,
    PolicyError,
    ReuseWarning,
    StateError,
    SweepError,
)
from ._utils.validation import closest
from ._utils.version import __version__ as __version__
from .agents.agent import Agent
from .agents.tickets import Ticket
from .algorithms import *  # noqa: F403 - their names stand in one list, `algorithms.__all__`
from .algorithms.catalogue import ALGORITHMS
from .features import Encoder
from .parts.filters.drift import DriftReport
from .simulation.problem import Problem
from .simulation.result import Result
from .simulation.run import simulate
from .testing.check_policy import check_policy, list_checks

if TYPE_CHECKING:
    from .agents.explain import Explanation
    from .ledger.reader import LedgerReader
    from .offline.action_means import action_means
    from .offline.diagnose.diagnosis import Diagnosis, diagnose
    from .offline.evaluate.estimators import evaluate
    from .offline.evaluate.result import Evaluation
    from .offline.log import Log
    from .offline.replay.replay import replay
    from .offline.replay.result import ReplayResult
    from .offline.robust_interval import robust_interval
    from .offline.uplift import Uplift, uplift
    from .sweeps.grid import map_cells, sweep
    from .sweeps.tune import Tuning, tune

__all__ = [
    "ALGORITHMS",
    "Agent",
    "CellError",
    "DataError",
    "DeviceError",
    "Diagnosis",
    "DriftReport",
    "Encoder",
    "EncodingError",
    "Evaluation",
    "Explanation",
    "ForeignTicketError",
    "InvalidInputError",
    "LedgerError",
    "LedgerFencedError",
    "LedgerReader",
    "Log",
    "PartError",
    "PolicyError",
    "Problem",
    "ReplayResult",
    "Result",
    "ReuseWarning",
    "StateError",
    "SweepError",
    "Ticket",
    "Tuning",
    "Uplift",
    "action_means",
    "algorithms",
    "arms",
    "authoring",
    "check_policy",
    "diagnose",
    "estimators",
    "evaluate",
    "features",
    "filters",
    "links",
    "list_checks",
    "map_cells",
    "noises",
    "policies",
    "radii",
    "recorders",
    "replay",
    "robust_interval",
    "simulate",
    "sweep",
    "theory",
    "tune",
    "uplift",
    "worlds",
]
__all__ += algorithms.__all__

# Loaded when first asked for: who only serves decisions need not wait for them.
_LATER = {
    "Diagnosis": "offline.diagnose.diagnosis",
    "Evaluation": "offline.evaluate.result",
    "Explanation": "agents.explain",
    "LedgerReader": "ledger.reader",
    "Log": "offline.log",
    "ReplayResult": "offline.replay.result",
    "Tuning": "sweeps.tune",
    "Uplift": "offline.uplift",
    "action_means": "offline.action_means",
    "diagnose": "offline.diagnose.diagnosis",
    "evaluate": "offline.evaluate.estimators",
    "map_cells": "sweeps.grid",
    "replay": "offline.replay.replay",
    "robust_interval": "offline.robust_interval",
    "sweep": "sweeps.grid",
    "tune": "sweeps.tune",
    "uplift": "offline.uplift",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        close = closest(name, __all__)
        hint = f"; did you mean {close!r}?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
