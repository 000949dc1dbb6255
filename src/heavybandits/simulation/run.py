"""Policies that play problems."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError
from .._utils.progress import Progress
from .._utils.threads import count_workers, run_all
from .._utils.validation import one_of, whole
from ..core.compile import compile_seconds
from ..core.protocols import Policy, Recorder
from ..gpu.batches import Job
from ..parts.policies.checks import check_match, check_policies, check_room, warn_norms
from .player import play_job
from .problem import Problem, check_problem
from .provenance import describe_runs
from .recorders import check_recorders, join_recorders, list_recorders
from .result import Result

DEVICES = ("cpu", "cuda")
SHARES = 4  # into which the repetitions of a policy are divided for each worker


def simulate(
    policies: Policy | Mapping[str, Policy],
    problem: Problem,
    *,
    horizon: int,
    repetitions: int = 10,
    seed: int = 0,
    jobs: int | None = 1,
    checkpoints: int | Iterable[int] = 100,
    spacing: str = "even",
    progress: bool | None = None,
    device: str = "cpu",
    record: Recorder | Sequence[Recorder] | None = None,
    debug: bool = False,
) -> Result:
    """Simulate policies on a problem and return their pseudo-regret at checkpoints.

    All policies of a repetition meet the same arms and the same noise, and the numbers do not
    depend on `jobs`. T = `horizon` counts plays: a policy that plays an arm r times per decision
    makes T // r decisions it learns from; it plays the remaining rounds without learning.

    Parameters
    ----------
    policies : Policy or mapping of str to Policy
        One policy, or policies by name.
    problem : Problem
        Arms, link, noise and theta*.
    horizon : int
        T, plays per run.
    repetitions : int, default 10
        Runs per policy.
    seed : int, default 0
        Seed of all random numbers. A policy that draws uses other random numbers in every
        repetition, whatever its own `seed`.
    jobs : int or None, default 1
        Threads (the compiled loop holds no lock); None for all cores.
    checkpoints : int or iterable of int, default 100
        Number of plays to report at, or these plays themselves.
    spacing : str, default "even"
        "even" or "log", when `checkpoints` is a number.
    progress : bool, optional
        Show a progress bar on stderr. None shows it on a terminal.
    device : str, default "cpu"
        "cpu", or "cuda" for a GPU (docs/gpu.md), where `jobs` has no effect.
    record : Recorder or sequence of Recorder, optional
        What else to record at the checkpoints, as further columns: `hb.recorders.Choices()`,
        `Coverage()`, `Theta(d)`, `Threshold()`, or your own.
    debug : bool, default False
        Play uncompiled, hundreds of times slower, and every piece twice: an index outside its
        array, a return value of another type, a write to a field and a result that changes raise a
        `PartError` with the line, at any play. Without it, parts of your own are checked so for the
        first plays, and compiled code checks indices in all.

    Returns
    -------
    Result
        One row per policy, repetition and checkpoint.

    Raises
    ------
    InvalidInputError
        An argument is invalid, or a policy cannot play these arms.
    PartError
        A part of your own fails.

    See Also
    --------
    sweep : Simulate on several problems, with storage on disk.
    tune : Find the best hyperparameters first.

    Examples
    --------
    >>> import heavybandits as hb
    >>> problem = hb.Problem(hb.arms.Fixed(20, 10), hb.links.Logistic(), hb.noises.StudentT(3.0))
    >>> policy = hb.crtm(dim=10, horizon=1000, raw_moment=3.5, radius_scale=1e-3)
    >>> result = hb.simulate({"CRTM": policy}, problem, horizon=1000, repetitions=2, checkpoints=4)
    >>> len(result), result.columns[:4]
    (8, ('policy', 'repetition', 'play', 'regret'))
    """
    named = check_policies(policies)
    problem = check_problem(problem)
    for name, policy in named.items():
        check_match(name, policy, problem.arms)
    horizon = whole("horizon", horizon)
    for name, policy in named.items():
        check_room(f"policies[{name!r}]", policy, horizon // policy.plays)
    plays = make_checkpoints(horizon, checkpoints, spacing)
    repetitions, seed = whole("repetitions", repetitions), whole("seed", seed, least=0)
    warn_norms(named, problem.arms)
    workers = count_workers(jobs)
    one_of("device", device, DEVICES)
    recorders = list_recorders(record)
    check_recorders(recorders, named)
    sizes = (horizon, tuple(plays.tolist()), seed, 0, repetitions)
    if device == "cuda":
        from ..gpu.supported import check_supported

        check_supported(named, problem.arms)
        if recorders or debug:
            name = "record" if recorders else "debug"
            raise InvalidInputError(f"{name} is for device='cpu' only, got device='cuda'")
    made = [Job(policy, problem, *sizes) for policy in named.values()]
    plays_of_all = len(made) * repetitions * horizon
    with Progress(plays_of_all, progress, lambda: compile_seconds() / workers) as bar:
        if device == "cuda":
            groups = play_on_device(made, bar)
        else:
            groups = play_here(made, bar, workers, join_recorders(recorders), debug)
    result = Result.from_played({"policy": list(named)}, groups)
    result.provenance = describe_runs(
        {(name, ""): (policy, problem) for name, policy in named.items()},
        **{"horizon": horizon, "repetitions": repetitions, "seed": seed, "device": device},
    )
    return result


Played = list[list[dict[str, Any]]]  # of every job its pieces, as `play_job` returns them


def play_on_device(jobs: list[Job], bar: Progress) -> Played:
    """Play jobs on a GPU."""
    from ..gpu import supported

    return [[played] for played in supported.play_on_device(jobs, bar.advance)]


def play_here(
    jobs: list[Job], bar: Progress, workers: int, recorder: Any = None, debug: bool = False
) -> Played:
    """Play jobs in threads of this process; an interrupt stops all of them soon."""
    halted = threading.Event()

    def advance(plays: int) -> None:
        if halted.is_set():
            raise CancelledError
        bar.advance(plays)

    pieces = [(place, piece) for place, job in enumerate(jobs) for piece in divide(job, workers)]

    def play(task: tuple[int, Job]) -> dict[str, Any]:
        return play_job(task[1], advance, recorder=recorder, debug=debug)

    played = run_all(play, pieces, workers, halted)
    groups: Played = [[] for _ in jobs]
    for (place, _), found in zip(pieces, played, strict=True):
        groups[place].append(found)
    return groups


def divide(job: Job, workers: int) -> list[Job]:
    """Divide the repetitions of a job among workers, in pieces that end at about the same time.

    >>> [(piece.first, piece.last) for piece in divide(Job(None, None, 9, (9,), 0, 0, 10), 1)]
    [(0, 10)]
    >>> len(divide(Job(None, None, 9, (9,), 0, 0, 10), 2))
    5
    """
    size = job.size if workers == 1 else -(-job.size // (SHARES * workers))
    starts = range(job.first, job.last, size)
    return [job._replace(first=first, last=min(first + size, job.last)) for first in starts]


def make_checkpoints(
    horizon: int, checkpoints: int | Iterable[int], spacing: str = "even"
) -> NDArray[np.int64]:
    """Return the plays to report at, the last one included.

    >>> make_checkpoints(1000, 4).tolist(), make_checkpoints(1000, 4, "log").tolist()
    ([250, 500, 750, 1000], [1, 10, 100, 1000])
    """
    if isinstance(checkpoints, Iterable):
        given = sorted({whole("checkpoints", play) for play in checkpoints})
        if not given or given[-1] > horizon:
            raise InvalidInputError(
                f"checkpoints must be in 1..{horizon}, got {given[-1:] or 'none'}"
            )
        return np.array(given, np.int64)
    size = min(whole("checkpoints", checkpoints), horizon)
    if one_of("spacing", spacing, ("even", "log")) == "even":
        points = np.linspace(horizon / size, horizon, size)
    else:
        points = np.geomspace(horizon, 1, size)
    return np.unique(np.round(points).astype(np.int64))
