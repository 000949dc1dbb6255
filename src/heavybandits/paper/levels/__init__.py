"""Filters that set their own level against fixed levels, over the problems of `tails`."""

from itertools import product
from typing import Any

from ...algorithms.glm import crtm
from ...algorithms.linear import linucb
from ...arms import Fixed, Fresh
from ...links import Identity, Logistic
from ...radii import Constant
from ...simulation.problem import Problem
from ...support.tables import Row
from ...sweeping import Cell
from ...sweeping.simulation import simulation_cells
from ..rows import Compute, collect_rows
from . import settings
from .analysis import analyse

__all__ = ["analyse", "collect", "settings"]


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Every filter on every problem and noise, at one radius."""
    points = product(given["problems"], given["noises"], given["filters"])
    return collect_rows([make_group(given, *point) for point in points], compute)


def make_policy(problem: str, horizon: int, name: str) -> Any:
    """The estimator of this problem with the filter of this name."""
    filter = (settings.FIXED | settings.ADAPTIVE)[name]
    if problem == "linear":
        return linucb(dim=settings.DIM, radius=settings.RADIUS, filter=filter)
    policy = crtm(dim=settings.DIM, horizon=horizon, moment=1.0, gamma_scale=1.0, truncation=filter)
    return policy._replace(radius=Constant(settings.RADIUS**2))


def make_problem(problem: str, noise: str) -> Problem:
    """One of the two problems with one of the noises."""
    made = settings.NOISES[noise][1]
    if problem == "linear":
        return Problem(Fresh(settings.ARMS, settings.DIM, -1.0), Identity(), made)
    return Problem(Fixed(settings.ARMS, settings.DIM), Logistic(), made)


def make_group(
    given: dict[str, Any], problem: str, noise: str, name: str
) -> tuple[Row, list[Cell]]:
    """The cells of one filter, and what names them."""
    cells = simulation_cells(
        make_policy(problem, given["horizon"], name),
        make_problem(problem, noise),
        horizon=given["horizon"],
        repetitions=given["repetitions"],
        seed=given["seed"],
        checkpoints=1,
        label=f"levels, {problem}, {noise}, {name}",
        chunk=20,
    )
    return {"problem": problem, "noise": noise, "filter": name}, cells
