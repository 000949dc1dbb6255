"""The paper's experiments and ours: one folder each.

An experiment is a package with

    settings.TITLE and settings.PROFILES    data: what to run in each profile
    collect(settings, compute) -> rows      cells made, computed and unfolded into tidy rows
    analyse(rows) -> Findings               pure: tables, figures and verdicts

`compute(cells, alone=False)` returns the results of cells in their order. To add an experiment,
add a folder and its name here.
"""

import importlib
from typing import Any

from ..support.errors import InvalidInput

NAMES = (
    "figure1",
    "table2",
    "table1",
    "coverage",
    "tails",
    "outlier",
    "levels",
    "realdata",
)


def load_experiment(name: str) -> Any:
    """The package of an experiment.

    >>> load_experiment("figure1").settings.PROFILES["default"]["horizon"]
    1000000
    """
    if name not in NAMES:
        raise InvalidInput(f"experiment must be one of {', '.join(NAMES)}, got {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
