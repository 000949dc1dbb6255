"""Table 1 of the paper, measured: how CPU time grows with the horizon and with the dimension."""

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
    """Time every algorithm over a ladder of horizons and over a ladder of dimensions."""
    runs = []
    for name in settings.PAPER:
        sizes = given["quadratic" if name in settings.QUADRATIC else "linear"]
        ladder = [("T", horizon, sizes["dim"]) for horizon in sizes["horizons"]]
        ladder += [("d", sizes["horizon"], dim) for dim in sizes["dims"]]
        for axis, horizon, dim in ladder:
            policy = make_policy(name, setting(settings.NOISE, dim, horizon), None)
            problem = Problem(Fixed(settings.ARMS, dim), LINK, settings.NOISE)
            names = {"algorithm": name, "axis": axis, "horizon": horizon, "dim": dim}
            runs.append((names, policy, problem, horizon, given["runs"]))
    return timed_rows(runs, given["seed"], compute)
