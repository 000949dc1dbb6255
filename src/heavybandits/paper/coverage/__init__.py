"""How often the theorems' confidence regions contain theta*, and how large they are."""

from itertools import product
from typing import Any

from ...arms import Fixed
from ...reporting.outputs import Row
from ...simulation.problem import Problem
from ..cells import Compute, simulation_cells
from ..roster import LINK, make_policy, setting
from . import settings
from .analysis import analyse
from .watch import Coverage

__all__ = ["analyse", "collect", "settings"]

WATCH = "heavybandits.paper.coverage.watch:coverage_cell"


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Watch every algorithm under every noise with the theorem's radius and with tuned ones."""
    groups = []
    for noise, algorithm, region in product(given["noises"], given["algorithms"], given["regions"]):
        _, made, epsilon = settings.NOISES[noise]
        known = setting(made, settings.DIM, given["horizon"], epsilon)
        cells = simulation_cells(
            make_policy(algorithm, known, settings.REGIONS[region]),
            Problem(Fixed(settings.ARMS, settings.DIM), LINK, made),
            horizon=given["horizon"],
            repetitions=given["runs"],
            seed=given["seed"],
            checkpoints=[],
            label=f"coverage, {algorithm}, {noise}, {region}",
            chunk=100,
            function=WATCH,
        )
        groups.append(({"noise": noise, "algorithm": algorithm, "region": region}, cells))
    results = iter(compute([cell for _, cells in groups for cell in cells]))
    return [
        row for names, cells in groups for cell in cells for row in unfold(names, next(results))
    ]


def unfold(names: Row, result: dict[str, Any]) -> list[Row]:
    """One row per repetition."""
    columns = {name: result[name].tolist() for name in Coverage._fields}
    return [
        names | dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
