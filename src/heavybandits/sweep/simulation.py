"""The cells of simulations: one policy, one problem, some repetitions. Made and computed."""

import functools
import hashlib
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.contracts import Tally
from ..engine.identity import build, describe, known_parts
from ..engine.kernels import play_kernel
from ..engine.parts import classes_of
from ..engine.sources import digest
from ..families import library_parts
from ..policies.checks import check_match, check_policies
from ..simulation.problem import Problem, check_problem
from ..simulation.run import make_checkpoints, run_once
from ..support.validation import whole
from .cells import Cell, resolve

SIMULATE = f"{__name__}:simulate_cell"
# What every run goes through, whatever its parts.
_ALWAYS = {play_kernel.__module__, run_once.__module__}


def code_of(function: str, *parts: Any) -> str:
    """A hash of the sources that can change what this function makes of these parts."""
    return _code_of(function, frozenset().union(*map(classes_of, parts)))


@functools.cache
def _code_of(function: str, kinds: frozenset[type]) -> str:
    module = importlib.import_module(function.partition(":")[0])
    own = hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()
    return digest(_ALWAYS | {base.__module__ for kind in kinds for base in kind.__mro__}) + own


def simulation_cells(
    policy: Any,
    problem: Problem,
    *,
    horizon: int,
    repetitions: int,
    seed: int,
    checkpoints: int | Sequence[int],
    label: str,
    chunk: int = 5,
    function: str = SIMULATE,
    parts: Sequence[str] = (),
) -> list[Cell]:
    """Cells of up to `chunk` repetitions each, so that asking for more repetitions adds cells.

    checkpoints: how many plays to report at, evenly spaced, or which.
    parts: "module:Class" of parts of your own that policy or problem use.
    """
    problem = check_problem(problem)
    common = {"policy": describe(policy), "problem": describe(problem), "horizon": horizon}
    common |= {"seed": seed, "checkpoints": checkpoints}
    common |= {"parts": list(parts)} if parts else {}
    code, cost = code_of(function, policy, problem), horizon * (1.0 if policy.plays == 1 else 0.1)
    ranges = [(first, min(first + chunk, repetitions)) for first in range(0, repetitions, chunk)]
    return [
        Cell(
            function=function,
            settings=common | {"repetitions_from": first, "repetitions_to": last},
            code=code,
            label=label,
            weight=cost * (last - first),
        )
        for first, last in ranges
    ]


def simulate_cell(
    policy: dict[str, Any],
    problem: dict[str, Any],
    horizon: int,
    repetitions_from: int,
    repetitions_to: int,
    seed: int,
    checkpoints: int | list[int],
    parts: list[str] | None = None,
) -> dict[str, Any]:
    """Pseudo-regret and tallies at checkpoints, one row per repetition of a half-open range.

    Repetition r meets the arms and the noise of r whatever the range, so a range can be cut into
    cells at will.

    Parameters
    ----------
    policy, problem : as `describe` writes them.
    checkpoints : how many plays to report at, evenly spaced, or which.
    parts : "module:Class" of parts of your own that they use.

    >>> import heavybandits as hb
    >>> from heavybandits.engine.identity import describe
    >>> policy = describe(hb.linucb(dim=2, radius=1.0))
    >>> problem = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian(1.0))
    >>> result = simulate_cell(policy, describe(problem), 40, 1, 3, seed=0, checkpoints=4)
    >>> result["play"].tolist(), result["regret"].shape
    ([10, 20, 30, 40], (2, 4))
    """
    ours = check_problem(build_parts(problem, parts))
    (player,) = check_policies(build_parts(policy, parts)).values()
    check_match("policy", player, ours.arms)
    first = whole("repetitions_from", repetitions_from, least=0)
    last = whole("repetitions_to", repetitions_to, least=first + 1)
    plays = make_checkpoints(whole("horizon", horizon), checkpoints)
    runs = [run_once(player, ours, horizon, plays, seed, r) for r in range(first, last)]
    traces, seconds = zip(*runs, strict=True)
    columns = {
        name: np.stack([getattr(trace, name) for trace in traces])
        for name in ("regret", *Tally._fields)
    }
    return {"play": plays, **columns, "cpu_seconds": np.array(seconds)}


def build_parts(description: Any, parts: list[str] | None = None) -> Any:
    """The part, policy or problem that `describe` described; `parts` are those of your own.

    >>> build_parts({"part": "heavybandits.links:Logistic", "fields": {}})
    Logistic()
    """
    own: list[Any] = [resolve(name) for name in parts or []]
    return build(description, known_parts(library_parts().values(), [Problem], own))
