"""Sweeps for people: policies over problems, or any function over settings, to one Result."""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError, SweepError
from .._utils.validation import whole
from ..core.part import is_part
from ..core.protocols import Policy
from ..parts.policies.checks import check_match, check_names, check_policies, check_room
from ..simulation.problem import Problem, check_problem
from ..simulation.result import Result
from ..simulation.run import check_device, make_checkpoints
from .backends import check_backend
from .calls import Compute, call_all
from .cell import Cell
from .gpu_cells import Twins
from .run import run_cells
from .simulation_cell import simulation_cells

HERE = ("sequential", "threads")  # backends that compute in this very process
MAIN = "__main__"

Maker = Policy | Callable[..., Any]  # a policy, or what makes it
Makers = Maker | Mapping[str, Maker]


def sweep(
    what: Makers,
    where: Problem | Mapping[str, Problem] | Iterable[Mapping[str, Any]],
    /,
    *,
    horizon: int | None = None,
    repetitions: int | None = None,
    seed: int | None = None,
    checkpoints: int | Iterable[int] | None = None,
    folder: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "threads",
    address: str | None = None,
    retries: int = 3,
    progress: bool | None = None,
    device: str = "cpu",
) -> Result:
    """Let policies play problems, or call any function with many settings, and keep what is done.

    Finished cells lie in the folder under the hash of all that can change them: their settings and
    the sources of their parts, yours and ours. Kill the sweep and start it again, and it goes on;
    edit a part, and what it touches is computed anew. The numbers are those of `simulate`, whatever
    the backend, the number of jobs and the interruptions.

    Parameters
    ----------
    what : a policy, or policies by name; instead of a policy, a function that makes it for a
        problem. Or, where there are settings and no problems, any function at the top of a module:
        it is called with settings as keywords and returns a dict of numbers, strings, and arrays of
        one length.
    where : a problem, or problems by name; for a function, the settings of each call.
    horizon, repetitions, seed, checkpoints : of policies, as in `simulate`; repetitions are 10 and
        checkpoints 100 unless said.
    folder : where results are kept; without one, nothing is. All machines of a cluster must see it.
    jobs : workers; None for all cores, or for all of the cluster.
    backend : "threads" of this process, which compiled policies do not hold up; "loky" for
        processes, "dask", "ray", or "sequential".
    address : of a Dask or Ray cluster that is already there.
    retries : how often a cell may fail before the sweep ends without it, and with an error.
    progress : a bar on stderr, and lines where there is no terminal; None for the bar alone.
    device : "cpu", or "cuda" for a GPU, which plays all policies and problems together; then jobs
        and backend do not matter.

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
    run = Workplace(folder, jobs, backend, address, retries, progress, device)
    check_backend(backend, jobs, address)
    check_device(device)
    if callable(what) and not is_part(what) and are_problems(where):
        what = {getattr(what, "__name__", "policy"): what}
    if callable(what) and not is_part(what):
        given: dict[str, Any] = {"horizon": horizon, "repetitions": repetitions, "seed": seed}
        given |= {"checkpoints": checkpoints, "device": None if device == "cpu" else device}
        for name, value in given.items():
            if value is not None:
                raise InvalidInputError(
                    f"{name} is for policies: put it into the settings, got {value}"
                )
        return call_all(what, where, run)
    if horizon is None:
        raise InvalidInputError("horizon must be given: how many plays a policy has")
    horizon = whole("horizon", horizon)
    seed = 0 if seed is None else seed
    size = Size(horizon, 10 if repetitions is None else repetitions, seed)
    plays = make_checkpoints(horizon, 100 if checkpoints is None else checkpoints)
    points = make_points(what, where)
    return play_all(points, size, plays.tolist(), run, isinstance(where, Mapping))


def are_problems(where: Any) -> bool:
    """Whether what is called makes policies, for each of these."""
    found = list(where.values()) if isinstance(where, Mapping) else [where]
    return bool(found) and all(isinstance(problem, Problem) for problem in found)


# ---- where and how much


@dataclass(frozen=True)
class Workplace:
    """Where cells are computed and kept; results come in the order in which cells are given."""

    folder: str | Path | None
    jobs: int | None = None
    backend: str = "threads"
    address: str | None = None
    retries: int = 3
    progress: bool | None = None
    device: str = "cpu"
    known: dict[str, dict[str, Any]] = field(default_factory=dict)  # what the device has played

    def place(self, cells: Sequence[Cell]) -> Sequence[Cell]:
        """The cells that are computed in their place; InvalidInputError if the device has none."""
        return cells if self.device == "cpu" else Twins().require(cells)

    def __call__(self, cells: Sequence[Cell]) -> list[dict[str, Any]]:
        cells = self.place(cells)
        if self.backend not in HERE:
            check_findable(cells)
        with _kept(self.folder) as folder:
            outcome = run_cells(
                [cell for cell in cells if cell.key not in self.known],
                folder,
                jobs=self.jobs,
                backend=self.backend,
                address=self.address,
                retries=self.retries,
                quiet=None if self.progress is None else not self.progress,
                kept=self.folder is not None,
            )
        if outcome.failed:
            raise SweepError(failures(outcome.failed, len(cells), self.folder is not None))
        results = self.known | outcome.results
        if self.device != "cpu":
            self.known.update(outcome.results)
        return [results[cell.key] for cell in cells]


@contextlib.contextmanager
def _kept(folder: str | Path | None) -> Iterator[str | Path]:
    if folder is not None:
        yield folder
    else:
        with tempfile.TemporaryDirectory() as place:
            yield place


def failures(failed: Sequence[tuple[Cell, str]], size: int, kept: bool) -> str:
    """What became of a sweep with failed cells, in a few lines."""
    shown = "\n".join(f"{cell.name}: {text.strip().splitlines()[-1]}" for cell, text in failed[:3])
    more = f"\nand {len(failed) - 3} more" if len(failed) > 3 else ""
    rest = "the others are kept, and not computed again" if kept else "nothing is kept"
    return f"{len(failed)} of {size} cells failed; {rest}\n{shown}{more}"


def check_findable(cells: Sequence[Cell]) -> None:
    """Refuse what only the script that is being run knows: other processes cannot import that."""
    for cell in cells:
        names = [cell.function, *cell.settings.get("parts", [])]
        lost = [str(name) for name in names if str(name).startswith(f"{MAIN}:")]
        if lost:
            raise InvalidInputError(
                f"{lost[0].partition(':')[2]} stands in the script itself, where other processes "
                "do not find it: move it to a module of its own, or use backend='threads'"
            )


class Size(NamedTuple):
    """How long, how often and where the random numbers start."""

    horizon: int
    repetitions: int
    seed: int


# ---- policies over problems


class Point(NamedTuple):
    """One policy on one problem."""

    problem_name: str
    policy_name: str
    problem: Problem
    policy: Policy


def make_points(policies: Any, problems: Any) -> list[Point]:
    """Every policy on every problem, checked; problem by problem."""
    makers = check_names("policies", policies, "policy")
    points = []
    for place, given in check_names("problems", problems, "problem").items():
        problem = check_problem(given)
        for name, maker in makers.items():
            made = maker if is_part(maker) or not callable(maker) else maker(problem)
            (policy,) = check_policies({name: made}).values()
            check_match(name, policy, problem.arms)
            points.append(Point(place, name, problem, policy))
    return points


def play_all(
    points: Sequence[Point], size: Size, checkpoints: list[int], compute: Compute, named: bool
) -> Result:
    """Simulate every point; the column `problem` is there if problems have names."""
    groups = [point_cells(point, size, checkpoints) for point in points]
    results = iter(compute([cell for cells in groups for cell in cells]))
    names = {"problem": [point.problem_name for point in points]} if named else {}
    names["policy"] = [point.policy_name for point in points]
    return Result.from_played(names, [[next(results) for _ in cells] for cells in groups])


def point_cells(point: Point, size: Size, checkpoints: list[int]) -> list[Cell]:
    """The cells of one policy on one problem."""
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
    )
