"""Results of cells made into tidy rows: of simulations, of the search for constants, of timings."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._utils.statistics import Array
from .._utils.tables import Row, grouped, shown
from ..core.part import cast, describe
from ..core.protocols import Tally
from ..simulation.player import run_once
from ..simulation.problem import Problem, check_problem
from ..sweeps import Cell
from ..sweeps.run import CellResult
from ..sweeps.search import TUNING_SEEDS, Choice, choose, mean_losses, search
from ..sweeps.simulation_cell import build_parts, simulation_cells

Result = CellResult
Compute = Callable[..., list[Result]]  # compute(cells, alone=False): results in the order of cells
Unfold = Callable[[Row, dict[str, Any], Result], list[Row]]
Group = tuple[Row, list[Cell]]  # the columns that name some cells, and the cells

COUNTS = ("regret", *Tally._fields)


def unfold(named: Row, settings: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per repetition and checkpoint of a simulation.

    >>> made = {name: np.ones((1, 1)) for name in COUNTS} | {"play": np.array([10])}
    >>> unfold({}, {"repetitions_from": 3}, made)
    [{'repetition': 3, 'play': 10, 'regret': 1.0, 'updates': 1.0, 'projections': 1.0,
    'truncated': 1.0}]
    """
    first, plays = settings["repetitions_from"], result["play"].tolist()
    names, columns = ("repetition", "play", *COUNTS), [result[name].tolist() for name in COUNTS]
    return [
        named | dict(zip(names, (first + r, *values), strict=True))
        for r, counts in enumerate(zip(*columns, strict=True))
        for values in zip(plays, *counts, strict=True)
    ]


def simulation_group(
    experiment: str, named: Row, policy: Any, problem: Problem, given: dict[str, Any], **more: Any
) -> Group:
    """Make the cells of a policy on a problem, under the settings of an experiment.

    In the phase "tuning" they have their own seeds and number of repetitions, and one checkpoint.
    more: other arguments of `simulation_cells`.
    """
    tuning = named.get("phase") == "tuning"
    sizes = {
        "horizon": given["horizon"],
        "repetitions": given["tuning_repetitions" if tuning else "repetitions"],
        "seed": given["seed"] + (TUNING_SEEDS if tuning else 0),
        "checkpoints": 1 if tuning else given.get("checkpoints", 1),
        "label": ", ".join(
            [experiment, *(f"{name} {shown(value)}" for name, value in named.items())]
        ),
    }
    return named, simulation_cells(policy, problem, **(sizes | {"chunk": 20} | more))


def collect_groups(
    groups: Sequence[Group], compute: Compute, unfold: Unfold = unfold
) -> list[list[Row]]:
    """Compute the cells of all groups at once, and unfold the results of each group."""
    results = iter(compute([cell for _, cells in groups for cell in cells]))
    return [
        [row for cell in cells for row in unfold(named, cell.settings, next(results))]
        for named, cells in groups
    ]


def collect_rows(groups: Sequence[Group], compute: Compute, unfold: Unfold = unfold) -> list[Row]:
    """Return the rows of all groups, one after the other."""
    return [row for rows in collect_groups(groups, compute, unfold) for row in rows]


def column(rows: Iterable[Row], name: str = "regret") -> Array:
    """Return a column as an array.

    >>> column([{"regret": 1.0}, {"regret": 3.0}])
    array([1., 3.])
    """
    return np.array([row[name] for row in rows])


def final_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the last checkpoint.

    >>> final_rows([{"play": 1}, {"play": 2}])
    [{'play': 2}]
    """
    last = max(row["play"] for row in rows)
    return [row for row in rows if row["play"] == last]


# ---- the search for constants (`sweeps.search`) over the cells of an experiment

PAPER = (1e-4, 1.0)  # the range of the paper's grid


def tune_rows(
    make: Callable[..., Group],
    members: Mapping[Any, Sequence[str]],
    start: Sequence[float],
    bounds: tuple[float, float],
    compute: Compute,
) -> tuple[list[Row], dict[tuple[str, ...], float]]:
    """Return the rows of all tuning runs, and the best constant of every member of every place.

    make: the cells of (*place, member, constant) and what names them. Members of one place share a
    grid.
    """
    rows: list[Row] = []

    def make_groups(points: Sequence[tuple[Any, str, float]]) -> list[Group]:
        return [make(*place, member, constant) for place, member, constant in points]

    def evaluate(points: Sequence[tuple[Any, str, float]]) -> list[Array]:
        found = collect_groups(make_groups(points), compute)
        rows.extend(row for mine in found for row in mine)
        return [column(mine) for mine in found]

    def ahead(points: Sequence[tuple[Any, str, float]]) -> None:
        compute([cell for _, cells in make_groups(points) for cell in cells])

    device = getattr(compute, "device", "cpu")
    curves = search(evaluate, members, start, bounds, None if device == "cpu" else ahead)
    return rows, {(*p, member): choose(curve).constant for (p, member), curve in curves.items()}


def curve_of(rows: Iterable[Row], loss: str = "regret", sign: float = 1.0) -> dict[float, Array]:
    """Return the losses at every constant; `sign` is -1 if large values are good.

    >>> curve_of([{"constant": c, "regret": abs(c - 0.1)} for c in (0.1, 1.0)])
    {0.1: array([0.]), 1.0: array([0.9])}
    """
    found = grouped(list(rows), "constant")
    return {c: sign * column(mine, loss) for c, mine in found}


def choices(rows: Iterable[Row], key: str) -> dict[Any, Choice]:
    """Return the choice that tuning rows lead to, by this column."""
    return {value: choose(curve_of(mine)) for value, mine in grouped(list(rows), key)}


def grid_table(rows: Iterable[Row], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the whole grid, one row for each value of the keys and one column per constant.

    >>> rows = [{"algorithm": "A", "constant": c, "regret": c} for c in (0.1, 1.0)]
    >>> grid_table(rows, ("algorithm",))
    [{'algorithm': 'A', 'c at': 'lower end', 'c = 0.1': 0.1, 'c = 1': 1.0}]
    """
    every = sorted({row["constant"] for row in rows})
    table = []
    for *key, mine in grouped(list(rows), *keys):
        curve = curve_of(mine)
        means = mean_losses(curve)
        named = dict(zip(keys, key, strict=True)) | {"c at": choose(curve).at}
        table.append(named | {f"c = {c:g}": means.get(c, np.nan) for c in every})
    return table


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
    """Return one cell per repetition."""
    where, label = check_problem(problem), ", ".join(str(value) for value in names.values())
    common = {"policy": describe(policy), "problem": describe(where), "horizon": horizon}
    common |= {"seed": seed}
    return [
        Cell(function=TIME, settings=common | {"repetition": repetition}, label=label)
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
