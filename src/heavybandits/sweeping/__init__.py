"""Sweeps that survive: many pure cells, one file each, on one machine or on a cluster.

A sweep is a list of cells, a cell is a function and its settings. A finished cell is a file named
by the hash of what it is, so a sweep that is killed goes on where it stood, whatever the order,
the number of workers and the backend.
"""

from ..engine.parts import describe
from ..support.errors import CellError, SweepError
from .cells import Cell
from .run import Outcome, run_cells
from .search import Choice
from .simulation import simulation_cells
from .store import digest, read_cell
from .sweeps import sweep
from .tuned import Tuning
from .tuning import tune

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
