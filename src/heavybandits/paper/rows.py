"""Results of cells made into tidy rows: of simulations, and of runs that are timed."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine.contracts import Tally
from ..engine.parts import cast, describe
from ..simulation.problem import check_problem
from ..simulation.run import run_once
from ..support.tables import Row
from ..sweeping import Cell
from ..sweeping.simulation import build_parts

Result = dict[str, Any]
Compute = Callable[..., list[Result]]  # compute(cells, alone=False): results in the order of cells
Unfold = Callable[[Row, dict[str, Any], Result], list[Row]]

COUNTS = ("regret", *Tally._fields)


def unfold(named: Row, settings: dict[str, Any], result: Result) -> list[Row]:
    """One row per repetition and checkpoint of a simulation.

    >>> made = {name: np.ones((1, 1)) for name in COUNTS} | {"play": np.array([10])}
    >>> unfold({}, {"repetitions_from": 3}, made)
    [{'repetition': 3, 'play': 10, 'regret': 1.0, 'updates': 1.0, 'projections': 1.0,
    'truncated': 1.0}]
    """
    first, plays = settings["repetitions_from"], result["play"].tolist()
    return [
        named
        | {"repetition": first + r, "play": play}
        | {name: result[name][r][i].item() for name in COUNTS}
        for r in range(len(result["regret"]))
        for i, play in enumerate(plays)
    ]


def collect_groups(
    groups: Sequence[tuple[Row, list[Cell]]], compute: Compute, unfold: Unfold = unfold
) -> list[list[Row]]:
    """Compute the cells of all groups at once, and unfold the results of each group.

    groups: the columns that name a group of cells, and the cells.
    """
    results = iter(compute([cell for _, cells in groups for cell in cells]))
    return [
        [row for cell in cells for row in unfold(named, cell.settings, next(results))]
        for named, cells in groups
    ]


def collect_rows(
    groups: Sequence[tuple[Row, list[Cell]]], compute: Compute, unfold: Unfold = unfold
) -> list[Row]:
    """The rows of all groups, one after the other."""
    return [row for rows in collect_groups(groups, compute, unfold) for row in rows]


def final_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last checkpoint.

    >>> final_rows([{"play": 1}, {"play": 2}])
    [{'play': 2}]
    """
    last = max(row["play"] for row in rows)
    return [row for row in rows if row["play"] == last]


# ---- CPU time of one run, in this process, compilation not counted

TIME = f"{__name__}:time_cell"
WARM_UP = 300  # plays of a run before the clock starts, so that code and data are in the caches


def time_cell(
    policy: Any, problem: Any, horizon: int, seed: int, repetition: int
) -> dict[str, Any]:
    """CPU seconds of one run of a described policy on a described problem."""
    made, where = cast(build_parts(policy)), check_problem(build_parts(problem))
    for plays in (min(WARM_UP, horizon), horizon):
        last = np.array([plays], np.int64)
        trace, seconds = run_once(made, where, plays, last, seed, repetition)
    return {"seconds": seconds, "updates": int(trace.updates[0]), "regret": float(trace.regret[0])}


def timing_cells(
    names: Row, policy: Any, problem: Any, horizon: int, repetitions: int, seed: int
) -> list[Cell]:
    """One cell per repetition."""
    where = check_problem(problem)
    common = {"policy": describe(policy), "problem": describe(where), "horizon": horizon}
    return [
        Cell(
            function=TIME,
            settings=common | {"seed": seed, "repetition": repetition},
            label=", ".join(str(value) for value in names.values()),
        )
        for repetition in range(repetitions)
    ]


def timed_rows(
    runs: Sequence[tuple[Row, Any, Any, int, int]], seed: int, compute: Compute
) -> list[Row]:
    """Time runs one after the other; each is (names, policy, problem, horizon, repetitions)."""
    groups = [(run[0], timing_cells(*run, seed)) for run in runs]

    def name(named: Row, settings: dict[str, Any], result: Result) -> list[Row]:
        return [named | {"repetition": settings["repetition"]} | result]

    return collect_rows(groups, functools.partial(compute, alone=True), name)
