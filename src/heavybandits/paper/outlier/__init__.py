"""What one reward of -10^4 does to a bandit."""

import functools
from itertools import product
from typing import Any

from ...algorithms.linear import linucb
from ...simulation.problem import Problem
from ...support.tables import Row
from ...sweeping import Cell
from ...sweeping.search import TUNING_SEEDS, grid
from ...sweeping.simulation import simulation_cells
from ..roster import make_policy as make_named
from ..roster import setting
from ..rows import Compute, collect_rows
from ..tuning import PAPER, tune_rows
from . import settings
from .analysis import analyse

__all__ = ["analyse", "collect", "settings"]


def make_policy(name: str, horizon: int, constant: float) -> Any:
    """The algorithm of this name at this constant; it knows nothing of the outlier."""
    if name == "LinUCB":
        return linucb(dim=settings.DIM, radius=constant)
    if name in settings.FILTERED:
        return linucb(dim=settings.DIM, radius=constant, filter=settings.FILTERED[name])
    return make_named(
        name, setting(settings.BASE, settings.DIM, horizon, link=settings.LINK), constant
    )


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Tune on clean rewards and other seeds; then run with and without the outlier."""
    names, start = given["algorithms"], grid(given["constants"])
    tuned = {("clean",): [name for name in names if name not in settings.UNTUNED]}
    make = functools.partial(make_group, given, "tuning")
    tuning, best = tune_rows(make, tuned, start, PAPER, compute)
    report = [
        make_group(given, "report", noise, name, best.get(("clean", name), start[0]))
        for noise, name in product(settings.NOISES, names)
    ]
    return tuning + collect_rows(report, compute)


def make_group(
    given: dict[str, Any], phase: str, noise: str, algorithm: str, constant: float
) -> tuple[Row, list[Cell]]:
    """The cells of one algorithm at one constant, and what names them."""
    tuning, horizon = phase == "tuning", given["horizon"]
    cells = simulation_cells(
        make_policy(algorithm, horizon, constant),
        Problem(settings.ARMS, settings.LINK, settings.NOISES[noise][1]),
        horizon=horizon,
        repetitions=given["tuning_repetitions" if tuning else "repetitions"],
        seed=given["seed"] + (TUNING_SEEDS if tuning else 0),
        checkpoints=1 if tuning else given["checkpoints"],
        label=f"outlier, {algorithm}, {noise}, c = {constant:g}, {phase}",
        chunk=20,
    )
    return {"phase": phase, "noise": noise, "algorithm": algorithm, "constant": constant}, cells
