"""Table 2 of the paper: what eight algorithms cost in CPU time."""

from typing import Any

from ...arms import Fixed
from ...simulation.problem import Problem
from ...support.tables import Row
from ..roster import LINK, make_policy, setting
from ..rows import Compute, timed_rows
from . import settings
from .analysis import analyse

__all__ = ["analyse", "collect", "settings"]


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Time every algorithm alone, with the theorems' constants."""
    horizon, dim = given["horizon"], given["dim"]
    known = setting(settings.NOISE, dim, horizon)
    problem = Problem(Fixed(settings.ARMS, dim), LINK, settings.NOISE)
    runs = []
    for name in [*settings.PAPER, *settings.STAND_INS]:
        repeats = given["slow_runs" if name in settings.SLOW else "runs"]
        names = {"algorithm": name, "horizon": horizon, "dim": dim}
        runs.append((names, make_policy(name, known, None), problem, horizon, repeats))
    return timed_rows(runs, given["seed"], compute)
