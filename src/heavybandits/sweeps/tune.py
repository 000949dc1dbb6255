"""Tuning for people: constants searched on seeds of their own, results reported on others."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.statistics import Array
from .._utils.validation import whole
from ..core.part import is_part
from ..core.protocols import Policy
from ..parts.policies.checks import check_match, check_names, check_policies
from ..simulation.problem import Problem, check_problem
from ..simulation.run import check_device, make_checkpoints
from .backends import check_backend
from .search import TUNING_SEEDS, check_grid, choose, search
from .sweep import Makers, Point, Size, Workplace, play_all, point_cells
from .tune_result import Key, Tuning

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def tune(
    policies: Makers,
    problems: Problem | Mapping[str, Problem],
    /,
    *,
    horizon: int,
    repetitions: int = 10,
    tuning_repetitions: int = 10,
    seed: int = 0,
    constants: int | Iterable[float] = 9,
    within: tuple[float, float] = (1e-6, 1e4),
    checkpoints: int | Iterable[int] = 100,
    folder: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "threads",
    address: str | None = None,
    retries: int = 3,
    progress: bool | None = None,
    device: str = "cpu",
) -> Tuning:
    """Search a constant of every policy on tuning seeds, and report it at the best one on others.

    All policies of a problem try the same constants in the same number of runs. Where one of them
    is best at an end of the grid, or as good there, the grid grows at that end by its ratio, for
    all of them, until every optimum lies inside or the range `within` is used up; a choice that is
    not inside says so. The smallest mean final regret wins, the smaller constant among equals.

    Parameters
    ----------
    policies : functions by name that make a policy of a constant, or of a constant and a problem.
        What the constant is for is theirs to say: any argument of any constructor. A policy
        instead of a function is taken along as it is.
    problems : a problem, or problems by name.
    horizon, checkpoints : plays per run, and where to report.
    repetitions, tuning_repetitions : runs that are reported, and runs at each constant.
    seed : of the reported runs; the tuning runs have seed + 1 000 000.
    constants : how many log-spaced constants in [1e-4, 1] to begin with (or in what `within` leaves
        of it), or which.
    within : the range in which the grid may grow.
    folder, jobs, backend, address, retries, progress, device : as in `sweep`.

    >>> import heavybandits as hb
    >>> problem = hb.Problem(hb.arms.Fixed(20, 10), hb.links.Logistic(), hb.noises.StudentT(3.0))
    >>> def crtm(constant: float) -> hb.policies.UCB:
    ...     return hb.crtm(dim=10, horizon=1000, raw_moment=3.5, radius_scale=constant)
    >>> found = hb.tune({"CRTM": crtm}, problem, horizon=1000, repetitions=2,
    ...                 tuning_repetitions=2, constants=[0.01, 1.0], within=(0.01, 1.0))
    >>> found.choices["problem", "CRTM"].constant in (0.01, 1.0), found.result.policies
    (True, ['CRTM'])
    """
    start, seed = check_grid(constants, within), whole("seed", seed, least=0)
    horizon, repetitions = whole("horizon", horizon), whole("repetitions", repetitions)
    tuning_repetitions = whole("tuning_repetitions", tuning_repetitions)
    check_backend(backend, jobs, address)
    check_device(device)
    places = {n: check_problem(p) for n, p in check_names("problems", problems, "problem").items()}
    makers = check_names("policies", policies, "policy")
    compute = Workplace(folder, jobs, backend, address, retries, progress, device)
    size = Size(horizon, tuning_repetitions, seed + TUNING_SEEDS)
    check_played(places, makers, size, start[0], compute)
    plays = make_checkpoints(horizon, checkpoints).tolist()
    curves = search_points(places, makers, size, start, within, compute)
    best = {key: choose(curve).constant for key, curve in curves.items()}
    points = [
        make_point(place, name, problem, maker, best.get((place, name)))
        for place, problem in places.items()
        for name, maker in makers.items()
    ]
    reported = Size(horizon, repetitions, seed)
    result = play_all(points, reported, plays, compute, isinstance(problems, Mapping))
    made = {(point.problem_name, point.policy_name): point.policy for point in points}
    return Tuning(curves, made, result, within)


def search_points(
    places: Mapping[str, Problem],
    makers: Mapping[str, Any],
    size: Size,
    start: Sequence[float],
    within: tuple[float, float],
    compute: Workplace,
) -> dict[Key, dict[float, Array]]:
    """The final regrets of all tuning runs, by problem and policy."""
    tuned = [name for name, maker in makers.items() if not is_part(maker)]
    if not tuned:
        raise InvalidInputError(
            "policies must hold at least one function of a constant, got "
            f"{', '.join(makers)}, which have none to tune"
        )

    def evaluate(points: Sequence[tuple[str, str, float]]) -> list[Array]:
        made = [make_point(p, name, places[p], makers[name], c) for p, name, c in points]
        groups = [point_cells(point, size, [size.horizon]) for point in made]
        results = iter(compute([cell for cells in groups for cell in cells]))
        return [np.concatenate([next(results)["regret"][:, -1] for _ in g]) for g in groups]

    ahead = None if compute.device == "cpu" else evaluate
    return search(evaluate, dict.fromkeys(places, tuned), start, within, ahead)


def check_played(
    places: Mapping[str, Problem],
    makers: Mapping[str, Any],
    size: Size,
    constant: float,
    compute: Workplace,
) -> None:
    """Refuse what the device cannot play, before anything runs."""
    for place, problem in places.items() if compute.device != "cpu" else ():
        for name, maker in makers.items():
            given = None if is_part(maker) else constant
            point = make_point(place, name, problem, maker, given)
            compute.place(point_cells(point, size, [size.horizon]))


def make_point(
    place: str, name: str, problem: Problem, maker: Any, constant: float | None = None
) -> Point:
    """A policy at a constant on a problem; without a constant, a policy as it is."""
    made = maker if constant is None else make_tuned(name, maker, constant, problem)
    (policy,) = check_policies({name: made}).values()
    check_match(name, policy, problem.arms)
    return Point(place, name, problem, policy)


def make_tuned(name: str, maker: Any, constant: float, problem: Problem) -> Policy:
    """What the function makes of a constant, or of a constant and a problem."""
    if not callable(maker):
        raise InvalidInputError(
            f"policies[{name!r}] must be a function of a constant, got {maker!r}"
        )
    named = inspect.signature(maker).parameters
    if "problem" in named and named["problem"].kind is inspect.Parameter.KEYWORD_ONLY:
        return maker(constant, problem=problem)
    needed = [
        parameter
        for parameter in named.values()
        if parameter.default is parameter.empty and parameter.kind in POSITIONAL
    ]
    return maker(constant, problem) if len(needed) > 1 else maker(constant)
