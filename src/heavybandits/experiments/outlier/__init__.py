"""What one reward of -10^4 does to a bandit."""

from itertools import product
from typing import Any

from ...algorithms import linucb
from ...simulate import Problem, make_checkpoints
from ...sweep import Cell
from ..common.cells import Compute, simulation_cells
from ..common.outputs import Row
from ..common.roster import make_policy as make_named
from ..common.roster import setting
from ..common.rows import simulated_rows
from ..common.tuning import best_width, grid
from . import settings
from .analysis import analyse

__all__ = ["analyse", "collect", "settings"]

TUNING_SEEDS = 1_000_000


def make_policy(name: str, horizon: int, width: float) -> Any:
    """The algorithm of this name at this width; it knows nothing of the outlier."""
    if name == "LinUCB":
        return linucb(dim=settings.DIM, width=width)
    if name in settings.FILTERED:
        return linucb(dim=settings.DIM, width=width, filter=settings.FILTERED[name])
    return make_named(
        name, setting(settings.BASE, settings.DIM, horizon, link=settings.LINK), width
    )


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Tune on clean rewards and other seeds; then run with and without the outlier."""
    names = given["algorithms"]
    widths = grid(given["widths"])
    tuned = [name for name in names if name not in settings.UNTUNED]
    points = product(["tuning"], ["clean"], tuned, widths)
    tuning = simulated_rows([make_group(given, *point) for point in points], compute)
    chosen = {name: best_width(row for row in tuning if row["algorithm"] == name) for name in tuned}
    report = [
        make_group(given, "report", noise, name, chosen.get(name, widths[0]))
        for noise, name in product(settings.NOISES, names)
    ]
    return tuning + simulated_rows(report, compute)


def make_group(
    given: dict[str, Any], phase: str, noise: str, algorithm: str, width: float
) -> tuple[Row, list[Cell]]:
    """The cells of one algorithm at one width, and what names them."""
    tuning, horizon = phase == "tuning", given["horizon"]
    cells = simulation_cells(
        make_policy(algorithm, horizon, width),
        Problem(settings.ARMS, settings.LINK, settings.NOISES[noise][1]),
        horizon=horizon,
        repetitions=given["tuning_repetitions" if tuning else "repetitions"],
        seed=given["seed"] + (TUNING_SEEDS if tuning else 0),
        checkpoints=make_checkpoints(horizon, 1 if tuning else given["checkpoints"]).tolist(),
        label=f"outlier, {algorithm}, {noise}, c = {width:g}, {phase}",
        chunk=20,
    )
    return {"phase": phase, "noise": noise, "algorithm": algorithm, "width": width}, cells
