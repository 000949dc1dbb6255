"""Who has the lowest regret, over the tail index and the level of the noise."""

from itertools import product
from typing import Any

import numpy as np

from ..._utils.statistics import Array
from ..._utils.tables import Row
from ...core.part import classes_of, describe
from ...parts.links import Identity
from ...simulation.problem import Problem, check_problem
from ...sweeps import Cell
from ...sweeps.cell import own_parts
from ..parts import Offers
from ..roster import RANDOM, make_policy, make_setting
from ..rows import Compute, Group, Result, collect_rows
from . import settings
from .analysis import analyse
from .cells import play_cell
from .settings import PROFILES, TITLE

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]

CELL = f"{play_cell.__module__}:{play_cell.__name__}"


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Return all algorithms at all their constants on every point of the map."""
    indices, levels = axis(settings.INDEX, given["points"]), axis(settings.LEVEL, given["points"])
    points = product(given["kinds"], given["horizons"], indices, levels)
    return collect_rows([make_group(given, *point) for point in points], compute, unfold)


def axis(ends: tuple[float, float], points: int) -> list[float]:
    """Log-spaced points between two ends, rounded to four digits.

    >>> axis((1.0, 100.0), 3)
    [1.0, 10.0, 100.0]
    """
    return [float(f"{value:.4g}") for value in np.geomspace(*ends, points)]


def make_noise(kind: str, index: float, level: float) -> Any:
    """Return the noise of this tail index with E|noise| = level.

    >>> round(make_noise("skewed", 1.5, 0.25).central_moment(1.0), 9)
    0.25
    """
    make = settings.KINDS[kind][1]
    return make(index, level / make(index, 1.0).central_moment(1.0))


def moment_order(index: float) -> float:
    """epsilon: of the moments below the tail index, one that is not too close to it.

    >>> moment_order(1.5), moment_order(3.0)
    (0.4, 1.0)
    """
    return min(1.0, 0.8 * (index - 1.0))


def make_group(given: dict[str, Any], kind: str, horizon: int, index: float, level: float) -> Group:
    """Return the cell of one point, and what names its rows."""
    noise = make_noise(kind, index, level)
    arms = Offers(settings.ARMS, settings.DIM, settings.INTERCEPT)
    problem = check_problem(Problem(arms, Identity(), noise))
    fixed: Row = {"epsilon": moment_order(index), "link": Identity(), "arms": settings.ARMS}
    known = make_setting(noise, settings.DIM, horizon, **fixed)
    players = {RANDOM: [make_policy(RANDOM, known, None)]}
    for name in given["algorithms"]:
        algorithm, more, constants = settings.ROSTER[name]
        players[name] = [make_policy(algorithm, known, c, **more) for c in constants]
    policies = [policy for mine in players.values() for policy in mine]
    cell = Cell(
        function=CELL,
        settings={"horizon": horizon, "repetitions": given["repetitions"], "seed": given["seed"]}
        | {"policies": [describe(policy) for policy in policies], "problem": describe(problem)}
        | {"parts": own_parts(classes_of(problem))},
        label=f"map, {kind}, T = {horizon}, index {index:g}, level {level:g}",
        weight=float(horizon * given["repetitions"]),
    )
    named = {"kind": kind, "horizon": horizon, "index": index, "level": level}
    return named | {"players": {name: len(mine) for name, mine in players.items()}}, [cell]


def unfold(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per algorithm and repetition, at the constant that was best in the others."""
    plain = {name: value for name, value in named.items() if name != "players"}
    players = named["players"]
    parts = np.split(result["regret"], np.cumsum(list(players.values()))[:-1])
    return [
        plain | {"algorithm": algorithm, "repetition": repetition, "regret": regret}
        for algorithm, part in zip(players, parts, strict=True)
        for repetition, regret in enumerate(cross_fitted(part).tolist())
    ]


def cross_fitted(regret: Array) -> Array:
    """Return the regret of every repetition at the constant that is best in the other half of them.

    regret: one row per constant, one column per repetition.

    >>> cross_fitted(np.array([[1.0, 5.0, 1.0, 5.0], [2.0, 3.0, 2.0, 3.0]])).tolist()
    [2.0, 5.0, 2.0, 5.0]
    """
    best = [regret[:, half::2].mean(axis=1).argmin() for half in (1, 0)]
    return np.array([regret[best[r % 2], r] for r in range(regret.shape[1])])
