"""Resumable sweeps and tuning: many cells, one file each, on one machine or a cluster.

A sweep is a list of cells; a cell is a function and its settings. A finished cell is a file named
by the hash of its content, so a sweep that is killed resumes, whatever the order, the number of
workers and the backend.
"""

from .._utils.errors import CellError, SweepError
from ..core.part import describe
from .cell import Cell
from .grid import map_cells, sweep
from .run import Outcome, Runner, run_cells
from .search import Choice
from .simulation_cell import simulation_cells
from .store import digest, read_cell
from .tune import Tuning, tune

__all__ = ["Cell", "CellError", "Choice", "Outcome", "Runner", "SweepError", "Tuning", "describe"]
__all__ += ["digest", "map_cells", "read_cell", "run_cells", "simulation_cells", "sweep", "tune"]
