"""Where truncation matters: heavier tails, a sweep of the level and of the radius."""

import math
from itertools import product
from typing import Any

from ...algorithms.glm import crtm
from ...radii import Constant
from ...simulation.problem import Problem
from ...support.tables import Row
from ...sweeping import Cell
from ...sweeping.simulation import simulation_cells
from ..roster import setting
from ..rows import Compute, collect_rows
from . import settings
from .analysis import analyse

__all__ = ["analyse", "collect", "settings"]


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """CRTM at every level and radius, and the same without truncation."""
    points = product(given["problems"], given["noises"], given["radii"], given["levels"])
    return collect_rows([make_group(given, *point) for point in points], compute)


def make_policy(problem: str, noise: str, horizon: int, radius: float, level: float) -> Any:
    """CRTM with this radius and this multiple of Algorithm 1's Gamma (0: no truncation)."""
    _, made, epsilon = settings.NOISES[noise]
    link = settings.PROBLEMS[problem][1]
    known = setting(made, settings.DIM, horizon, epsilon, link)
    told: dict[str, Any] = {
        "dim": known.dim,
        "horizon": horizon,
        "moment": known.raw_moment,
        "epsilon": epsilon,
        "link": link,
    }
    printed: Any = crtm(**told)
    cut = math.inf if level == settings.NONE else level * printed.filter.level
    policy = crtm(**told, truncation=cut)
    return policy._replace(radius=Constant(radius * radius))


def make_group(
    given: dict[str, Any], problem: str, noise: str, radius: float, level: float
) -> tuple[Row, list[Cell]]:
    """The cells of one level and radius, and what names them."""
    cells = simulation_cells(
        make_policy(problem, noise, given["horizon"], radius, level),
        Problem(settings.ARMS, settings.PROBLEMS[problem][1], settings.NOISES[noise][1]),
        horizon=given["horizon"],
        repetitions=given["repetitions"],
        seed=given["seed"],
        checkpoints=1,
        label=f"tails, {problem}, {noise}, radius {radius:g}, level {level:g}",
        chunk=20,
    )
    return {"problem": problem, "noise": noise, "radius": radius, "level": level}, cells
