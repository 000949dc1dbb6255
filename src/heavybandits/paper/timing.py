"""CPU time of one run, in this process, compilation not counted."""

from typing import Any

import numpy as np

from ..engine.identity import describe
from ..engine.parts import cast
from ..reporting.outputs import Row
from ..simulation.problem import check_problem
from ..simulation.run import run_once
from ..sweep import Cell
from ..sweep.simulation import build_parts
from .cells import Compute, code_of

TIME = "heavybandits.paper.timing:time_cell"
WARM_UP = 300  # plays of a run before the clock starts, so that code and data are in the caches


def time_cell(
    policy: Any, problem: Any, horizon: int, seed: int, repetition: int
) -> dict[str, Any]:
    """CPU seconds of one run of a described policy on a described problem."""
    made, where = cast(build_parts(policy)), check_problem(build_parts(problem))
    plays = np.array([horizon], np.int64)
    short = min(WARM_UP, horizon)
    run_once(made, where, short, np.array([short], np.int64), seed, repetition)
    trace, seconds = run_once(made, where, horizon, plays, seed, repetition)
    return {"seconds": seconds, "updates": int(trace.updates[0]), "regret": float(trace.regret[0])}


def timed_rows(
    runs: list[tuple[Row, Any, Any, int, int]], seed: int, compute: Compute
) -> list[Row]:
    """Time runs one after the other; each is (names, policy, problem, horizon, repetitions)."""
    cells, named = [], []
    for names, policy, problem, horizon, repetitions in runs:
        where = check_problem(problem)
        for repetition in range(repetitions):
            cells.append(
                Cell(
                    function=TIME,
                    settings={
                        "policy": describe(policy),
                        "problem": describe(where),
                        "horizon": horizon,
                        "seed": seed,
                        "repetition": repetition,
                    },
                    code=code_of(TIME, policy, where),
                    label=", ".join(str(value) for value in names.values()),
                )
            )
            named.append(names | {"repetition": repetition})
    results = compute(cells, alone=True)
    return [names | result for names, result in zip(named, results, strict=True)]
