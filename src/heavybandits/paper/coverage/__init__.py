"""How often the theorems' confidence regions contain theta*, and how large they are."""

from itertools import product
from typing import Any

from ...arms import Fixed
from ...simulation.problem import Problem
from ...support.tables import Row
from ...sweeping.simulation import simulation_cells
from ..roster import LINK, make_policy, setting
from ..rows import Compute, Result, collect_rows
from . import settings
from .analysis import analyse
from .watch import Coverage

__all__ = ["analyse", "collect", "settings"]

WATCH = f"{Coverage.__module__}:coverage_cell"


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
    return collect_rows(groups, compute, unfold)


def unfold(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """One row per repetition."""
    columns = [result[name].tolist() for name in Coverage._fields]
    return [
        named | dict(zip(Coverage._fields, row, strict=True)) for row in zip(*columns, strict=True)
    ]
