"""What one reward of -10^4 does to a bandit."""

from itertools import product
from typing import Any

from ...algorithms.linear import linucb
from ...simulation.problem import Problem
from ...support.tables import Row
from ...sweeping import Cell
from ...sweeping.simulation import simulation_cells
from ..roster import make_policy as make_named
from ..roster import setting
from ..rows import Compute, collect_rows
from ..tuning import TUNING_SEEDS, best_constant, grid
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
    names = given["algorithms"]
    constants = grid(given["constants"])
    tuned = [name for name in names if name not in settings.UNTUNED]
    points = product(["tuning"], ["clean"], tuned, constants)
    tuning = collect_rows([make_group(given, *point) for point in points], compute)
    chosen = {
        name: best_constant(row for row in tuning if row["algorithm"] == name) for name in tuned
    }
    report = [
        make_group(given, "report", noise, name, chosen.get(name, constants[0]))
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
