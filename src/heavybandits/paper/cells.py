"""Cells: the pieces of work of an experiment, keyed by content and by the code that matters."""

import functools
import hashlib
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..engine.compiling import parts_of
from ..engine.identity import describe
from ..engine.sources import digest
from ..simulation.problem import Problem, check_problem
from ..sweep import Cell

Result = dict[str, Any]
Compute = Callable[..., list[Result]]  # compute(cells, alone=False): results in the order of cells

# What every run goes through, whatever its parts.
_ALWAYS = ("heavybandits.engine.kernels", "heavybandits.simulation.run")


def code_of(function: str, *parts: Any) -> str:
    """A hash of the sources that can change what this function makes of these parts."""
    return _code_of(function, frozenset().union(*(parts_of(part) for part in parts)))


@functools.cache
def _code_of(function: str, kinds: frozenset[type]) -> str:
    module = importlib.import_module(function.partition(":")[0])
    own = hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()
    return digest({base.__module__ for kind in kinds for base in kind.__mro__} | {*_ALWAYS}) + own


SIMULATE = "heavybandits.sweep.simulation:simulate_cell"


def simulation_cells(
    policy: Any,
    problem: Problem,
    *,
    horizon: int,
    repetitions: int,
    seed: int,
    checkpoints: Sequence[int],
    label: str,
    chunk: int = 5,
    function: str = SIMULATE,
    **more: Any,
) -> list[Cell]:
    """Cells of up to `chunk` repetitions each, so that asking for more repetitions adds cells."""
    problem = check_problem(problem)
    code = code_of(function, policy, problem)
    plays = getattr(policy, "plays", 1)
    return [
        Cell(
            function=function,
            settings={
                "policy": describe(policy),
                "problem": describe(problem),
                "horizon": horizon,
                "repetitions_from": first,
                "repetitions_to": min(first + chunk, repetitions),
                "seed": seed,
                "checkpoints": [int(play) for play in checkpoints],
            }
            | more,
            code=code,
            label=label,
            weight=horizon
            * (min(first + chunk, repetitions) - first)
            * (1.0 if plays == 1 else 0.1),
        )
        for first in range(0, repetitions, chunk)
    ]
