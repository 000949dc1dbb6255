"""Grids of cells: policies over problems, or any function over settings, to one Result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.validation import whole
from ..core.part import is_part
from ..core.protocols import Policy, Recorder
from ..parts.policies.checks import check_match, check_names, check_policies, check_room
from ..simulation.problem import Problem, check_problem
from ..simulation.provenance import describe_runs
from ..simulation.recorders import check_recorders, list_recorders
from ..simulation.result import Result
from ..simulation.run import make_checkpoints
from .cell import Cell, name_of
from .run import CellResult, Runner
from .simulation_cell import simulation_cells

Maker = Policy | Callable[..., Any]  # a policy, or a function that makes it
Makers = Maker | Mapping[str, Maker]
Settings = Mapping[str, Any]  # the keywords of one call


def sweep(
    policies: Makers,
    problems: Problem | Mapping[str, Problem],
    /,
    *,
    horizon: int,
    repetitions: int = 10,
    seed: int = 0,
    checkpoints: int | Iterable[int] = 100,
    folder: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "threads",
    address: str | None = None,
    retries: int = 3,
    progress: bool | None = None,
    device: str = "cpu",
    record: Recorder | Sequence[Recorder] | None = None,
) -> Result:
    """Simulate policies on problems, and store every finished cell in a folder.

    A cell is stored under the hash of everything that can change it: its settings and the sources
    of its parts, yours and ours. A sweep that was killed resumes when it is started again; after an
    edit of a part, the cells that use it are computed again. The numbers are those of `simulate`,
    for any backend, number of jobs and interruptions.

    Parameters
    ----------
    policies : Policy, function, or mapping of str to either
        One policy, or policies by name. A function makes the policy for a problem.
    problems : Problem or mapping of str to Problem
        One problem, or problems by name.
    horizon : int
        T, plays per run.
    repetitions : int, default 10
        Runs per policy and problem.
    seed : int, default 0
        Seed of all random numbers.
    checkpoints : int or iterable of int, default 100
        Number of plays to report at, or these plays themselves.
    folder : str or Path, optional
        Folder in which results are stored. None stores nothing. All machines of a cluster must see
        it.
    jobs : int, optional
        Workers. None for all cores, or for all of the cluster.
    backend : str, default "threads"
        "threads" of this process, which compiled policies do not block; "loky" for processes,
        "dask", "ray", or "sequential".
    address : str, optional
        Address of a Dask or Ray cluster that is already running.
    retries : int, default 3
        Attempts before a cell fails.
    progress : bool, optional
        True shows a bar on stderr, and lines where there is no terminal. None shows the bar alone.
    device : str, default "cpu"
        "cpu", or "cuda" for a GPU, which plays all policies and problems together; then `jobs` and
        `backend` have no effect.
    record : Recorder or sequence of Recorder, optional
        What else to record at the checkpoints, as for `simulate`.

    Returns
    -------
    Result
        One row per problem, policy, repetition and checkpoint.

    Raises
    ------
    SweepError
        Some cells failed, or the folder cannot be written. The other cells are stored.

    See Also
    --------
    map_cells : Call any function with many settings.
    tune : Tune a hyperparameter first.

    Examples
    --------
    >>> import heavybandits as hb
    >>> problems = {
    ...     name: hb.Problem(hb.arms.Fixed(20, 10), hb.links.Logistic(), hb.noises.StudentT(dof))
    ...     for name, dof in {"light": 9.0, "heavy": 1.5}.items()
    ... }
    >>> policy = hb.crtm(dim=10, horizon=1000, raw_moment=3.5, radius_scale=1e-3)
    >>> result = hb.sweep({"CRTM": policy}, problems, horizon=1000, repetitions=2, checkpoints=4)
    >>> len(result), result.problems, result.policies
    (16, ['light', 'heavy'], ['CRTM'])
    """
    run = Runner(folder, jobs, backend, address, retries, progress, device)
    if callable(policies) and not is_part(policies):
        policies = {getattr(policies, "__name__", "policy"): policies}
    size = Size(whole("horizon", horizon), repetitions, seed)
    plays = make_checkpoints(size.horizon, checkpoints)
    points, recorders = make_points(policies, problems), list_recorders(record)
    if recorders and device == "cuda":
        raise InvalidInputError("record must be None with device='cuda': use device='cpu'")
    check_recorders(recorders, {point.policy_name: point.policy for point in points})
    return play_all(points, size, plays.tolist(), run, isinstance(problems, Mapping), recorders)


def map_cells(
    function: Callable[..., Mapping[str, Any]],
    grid: Iterable[Settings],
    /,
    *,
    folder: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "threads",
    address: str | None = None,
    retries: int = 3,
    progress: bool | None = None,
) -> Result:
    """Call a function with every settings of a grid, and store every finished call in a folder.

    Parameters
    ----------
    function : function
        A function at the top of a module. It receives the settings as keywords and returns a dict
        of numbers, strings, and arrays of one length.
    grid : iterable of mapping
        Settings of each call, plain JSON.
    folder : str or Path, optional
        Folder in which results are stored. None stores nothing. All machines of a cluster must see
        it.
    jobs : int, optional
        Workers. None for all cores, or for all of the cluster.
    backend : str, default "threads"
        "threads" of this process, which compiled policies do not block; "loky" for processes,
        "dask", "ray", or "sequential".
    address : str, optional
        Address of a Dask or Ray cluster that is already running.
    retries : int, default 3
        Attempts before a cell fails.
    progress : bool, optional
        True shows a bar on stderr, and lines where there is no terminal. None shows the bar alone.

    Returns
    -------
    Result
        One row per call, or one per entry of the arrays that the call returned.

    Raises
    ------
    SweepError
        Some calls failed, or the folder cannot be written. The other results are stored.
    """
    run = Runner(folder, jobs, backend, address, retries, progress)
    name = name_of(function, "function")
    given = [dict(one) for one in grid]
    cells = [Cell(name, one, label=f"{function.__name__} {one}") for one in given]
    if not cells:
        raise InvalidInputError("grid must have the settings of at least one call, got none")
    pieces = [unfold_call(one, found) for one, found in zip(given, run(cells), strict=True)]
    columns = list(dict.fromkeys(column for piece in pieces for column in piece))
    for piece, one in zip(pieces, given, strict=True):
        if set(piece) != set(columns):
            lost = ", ".join(set(columns) - set(piece))
            raise InvalidInputError(f"every call must have the same columns; {one} has no {lost}")
    return Result({name: np.concatenate([piece[name] for piece in pieces]) for name in columns})


def unfold_call(settings: Settings, found: CellResult) -> dict[str, Any]:
    """The columns of one call: its plain settings and what it returned, as long as its arrays.

    >>> unfold_call({"n": 2}, {"square": np.array([4.0, 5.0])})
    {'n': array([2, 2]), 'square': array([4., 5.])}
    """
    twice = sorted(set(settings) & set(found))
    if twice:
        raise InvalidInputError(
            f"a result must differ in name from the settings, got {twice[0]!r} twice"
        )
    sizes = {value.shape for value in found.values() if isinstance(value, np.ndarray)}
    if len(sizes) > 1 or any(len(shape) != 1 for shape in sizes):
        raise InvalidInputError(
            f"arrays of a result must have one axis and one length, got {sizes}"
        )
    rows = next(iter(sizes), (1,))[0]
    plain = {n: v for n, v in settings.items() if not isinstance(v, dict | list | tuple)}
    return {
        name: np.broadcast_to(np.asarray(value), rows) for name, value in (plain | found).items()
    }


# ---- policies over problems


class Size(NamedTuple):
    """Plays per run, runs per policy, and the seed."""

    horizon: int
    repetitions: int
    seed: int


class Point(NamedTuple):
    """One policy on one problem."""

    problem_name: str
    policy_name: str
    problem: Problem
    policy: Policy


def make_points(policies: Any, problems: Any) -> list[Point]:
    """Return every validated policy on every problem, problem by problem."""
    makers = check_names("policies", policies, "policy")
    points = []
    for place, problem in check_problems(problems).items():
        for name, maker in makers.items():
            made = maker if is_part(maker) or not callable(maker) else maker(problem)
            points.append(make_point(place, name, problem, made))
    return points


def check_problems(problems: Problem | Mapping[str, Problem]) -> dict[str, Problem]:
    """Return the validated problems by name."""
    return {n: check_problem(p) for n, p in check_names("problems", problems, "problem").items()}


def make_point(place: str, name: str, problem: Problem, policy: Any) -> Point:
    """Return a policy on a problem, if the one can play the other."""
    (checked,) = check_policies({name: policy}).values()
    check_match(name, checked, problem.arms)
    return Point(place, name, problem, checked)


def play_all(
    points: Sequence[Point],
    size: Size,
    checkpoints: list[int],
    run: Runner,
    named: bool,
    recorders: Sequence[Any] = (),
) -> Result:
    """Simulate every point; the column `problem` is there if problems have names."""
    groups = [point_cells(point, size, checkpoints, recorders) for point in points]
    results = iter(run([cell for cells in groups for cell in cells]))
    names = {"problem": [point.problem_name for point in points]} if named else {}
    names["policy"] = [point.policy_name for point in points]
    made = Result.from_played(names, [[next(results) for _ in cells] for cells in groups])
    made.provenance = describe_runs(
        {(one.policy_name, one.problem_name): (one.policy, one.problem) for one in points},
        **size._asdict(),
        device=run.device,
    )
    return made


def point_cells(
    point: Point, size: Size, checkpoints: list[int], recorders: Sequence[Any] = ()
) -> list[Cell]:
    """Return the cells of one policy on one problem."""
    decisions = size.horizon // point.policy.plays
    check_room(f"policies[{point.policy_name!r}]", point.policy, decisions)
    return simulation_cells(
        point.policy,
        point.problem,
        horizon=size.horizon,
        repetitions=whole("repetitions", size.repetitions),
        seed=whole("seed", size.seed, least=0),
        checkpoints=checkpoints,
        label=f"{point.policy_name}, {point.problem_name}",
        recorders=recorders,
    )
