"""Resumable sweeps and tuning: many cells, one file each, on one machine or a cluster.

A sweep is a list of cells, a cell is a function and its settings. A finished cell is a file named
by the hash of what it is, so a sweep that is killed goes on where it stood, whatever the order,
the number of workers and the backend.
"""

from .._utils.errors import CellError, SweepError
from ..core.part import describe
from .cell import Cell
from .run import Outcome, run_cells
from .search import Choice
from .simulation_cell import simulation_cells
from .store import digest, read_cell
from .sweep import sweep
from .tune import tune
from .tune_result import Tuning

__all__ = [
    "Cell",
    "CellError",
    "Choice",
    "Outcome",
    "SweepError",
    "Tuning",
    "describe",
    "digest",
    "read_cell",
    "run_cells",
    "simulation_cells",
    "sweep",
    "tune",
]
