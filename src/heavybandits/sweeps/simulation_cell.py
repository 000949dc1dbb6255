"""The cells of simulations: one policy, one problem, some repetitions. Made and computed."""

import functools
from collections.abc import Sequence
from typing import Any

from .._utils.validation import whole
from ..core.part import build, classes_of, describe, known_parts
from ..gpu.batches import Job
from ..parts.policies.checks import check_match, check_policies
from ..parts.registry import library_parts
from ..simulation.player import play_job
from ..simulation.problem import Problem, check_problem
from ..simulation.recorders import join_recorders
from ..simulation.run import make_checkpoints
from .cell import Cell, own_parts, resolve
from .gpu_cells import on_device

SIMULATE = f"{__name__}:simulate_cell"


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
    recorders: Sequence[Any] = (),
) -> list[Cell]:
    """Return the cells of a simulation, of up to `chunk` repetitions each.

    More repetitions add cells and leave the others unchanged. Parts of your own must be written in
    a module, because the cells name their classes.

    Parameters
    ----------
    policy : Policy
        The policy.
    problem : Problem
        The problem.
    horizon : int
        T, plays per run.
    repetitions : int
        Number of runs.
    seed : int
        Seed of all random numbers.
    checkpoints : int or sequence of int
        Number of plays to report at, evenly spaced, or these plays themselves.
    label : str
        Text for people.
    chunk : int, default 5
        Repetitions per cell.
    function : str, optional
        "package.module:function" to call. The default simulates.
    recorders : sequence of Recorder, default ()
        Recorders of further columns.

    Returns
    -------
    list of Cell
        The cells, in the order of the repetitions.
    """
    problem = check_problem(problem)
    own = own_parts(classes_of(policy) | classes_of(problem) | classes_of(tuple(recorders)))
    common = {"policy": describe(policy), "problem": describe(problem), "horizon": horizon}
    common |= {"seed": seed, "checkpoints": checkpoints}
    common |= {"parts": own} if own else {}
    common |= {"record": [describe(one) for one in recorders]} if recorders else {}
    cost = horizon * (1.0 if policy.plays == 1 else 0.1)
    ranges = [(first, min(first + chunk, repetitions)) for first in range(0, repetitions, chunk)]
    return [
        Cell(
            function=function,
            settings=common | {"repetitions_from": first, "repetitions_to": last},
            label=label,
            weight=cost * (last - first),
        )
        for first, last in ranges
    ]


def simulate_cell(**settings: Any) -> dict[str, Any]:
    """Pseudo-regret and tallies at checkpoints, one row per repetition of a half-open range.

    Repetition r meets the arms and the noise of r whatever the range, so a range can be divided
    into cells at will.

    The settings are the parameters of `simulation_jobs`.

    >>> import heavybandits as hb
    >>> from heavybandits.core.part import describe
    >>> policy = describe(hb.linucb(dim=2, radius=1.0))
    >>> problem = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian(1.0))
    >>> result = simulate_cell(
    ...     policy=policy, problem=describe(problem), horizon=40, checkpoints=4,
    ...     repetitions_from=1, repetitions_to=3, seed=0,
    ... )
    >>> result["play"].tolist(), result["regret"].shape
    ([10, 20, 30, 40], (2, 4))
    """
    recorders = [build_parts(one, settings.get("parts")) for one in settings.pop("record", ())]
    (job,) = simulation_jobs(**settings)
    return play_job(job, recorder=join_recorders(recorders))


def simulation_jobs(
    policy: dict[str, Any],
    problem: dict[str, Any],
    horizon: int,
    repetitions_from: int,
    repetitions_to: int,
    seed: int,
    checkpoints: int | list[int],
    parts: list[str] | None = None,
) -> list[Job]:
    """Return the one job of a cell: the repetitions of a half-open range.

    Parameters
    ----------
    policy, problem : as `describe` writes them.
    checkpoints : how many plays to report at, evenly spaced, or which.
    parts : "module:Class" of parts of your own that they use.
    """
    ours = check_problem(build_parts(problem, parts))
    (player,) = check_policies(build_parts(policy, parts)).values()
    check_match("policy", player, ours.arms)
    first = whole("repetitions_from", repetitions_from, least=0)
    last = whole("repetitions_to", repetitions_to, least=first + 1)
    plays = tuple(make_checkpoints(whole("horizon", horizon), checkpoints).tolist())
    return [Job(player, ours, horizon, plays, seed, first, last)]


def only_job(jobs: list[Job], found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a cell that is one job."""
    (one,) = found
    return one


simulate_cell_on_device = on_device(simulation_jobs, only_job)


def build_parts(description: Any, parts: list[str] | None = None) -> Any:
    """Return the part, policy or problem that `describe` described; `parts` are those of your own.

    >>> build_parts({"part": "heavybandits.links:Logistic", "fields": {}})
    Logistic()
    """
    return build(description, _known(tuple(resolve(name, "part") for name in parts or ())))


@functools.cache
def _known(own: tuple[Any, ...]) -> dict[str, type]:
    """Return the library's parts and these, by their names."""
    return known_parts(library_parts().values(), [Problem], own)
