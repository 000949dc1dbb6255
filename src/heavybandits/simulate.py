"""Problems, and policies that play them."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arms import FRESH
from .compiling import compiled
from .kernels import noise_kernel, play_kernel
from .loop import make_episode
from .noises import check_noise
from .parts import cast, check_arms, check_finite, check_link, check_room
from .progress import Progress
from .results import Result
from .streams import ARMS, NOISE, stream_key
from .validation import InvalidInput, finite_array, whole

CHUNK = 16_384  # plays between two looks at the progress bar; small enough for the cache


class Problem(NamedTuple):
    """y = mu(x.theta*) + noise, x from the arm set. `theta` is ones / sqrt(d) unless given.

    >>> import heavybandits as hb
    >>> hb.Problem(hb.FreshArms(20, 10), hb.Logistic(), hb.StudentT(3.0)).arms.dim
    10
    """

    arms: Any
    link: Any
    noise: Any
    theta: Any = None


def simulate(
    policies: Mapping[str, Any] | Any,
    problem: Problem,
    *,
    horizon: int,
    repetitions: int = 10,
    seed: int = 0,
    jobs: int | None = 1,
    checkpoints: int | Iterable[int] = 100,
    spacing: str = "even",
    progress: bool | None = None,
) -> Result:
    """Let policies play a problem; pseudo-regret at checkpoints, for every policy and repetition.

    All policies of a repetition meet the same arms and the same noise, and the numbers do not
    depend on `jobs`. T = `horizon` counts plays: a policy that plays an arm r times a decision
    makes T // r decisions it learns from, and the tail is played and not learned from.

    Parameters
    ----------
    policies : one policy, or a mapping from names to policies.
    problem : arms, link, noise and theta*.
    horizon, repetitions, seed : plays a run, runs a policy, and the seed of everything random.
    jobs : threads (the loop is compiled and holds no lock); None for all cores.
    checkpoints : how many plays to report at, or which.
    spacing : "even" or "log", when `checkpoints` is a number.
    progress : a bar on stderr; None shows it on a terminal.

    >>> import heavybandits as hb
    >>> problem = hb.Problem(hb.FixedArms(20, 10), hb.Logistic(), hb.StudentT(3.0))
    >>> policy = hb.crtm(dim=10, horizon=1000, moment=3.5, width=1e-3)
    >>> result = hb.simulate({"CRTM": policy}, problem, horizon=1000, repetitions=2, checkpoints=4)
    >>> len(result), result.columns[:4]
    (8, ('policy', 'repetition', 'play', 'regret'))
    """
    named = check_policies(policies)
    problem = check_problem(problem)
    for name, policy in named.items():
        check_match(name, policy, problem)
    horizon = whole("horizon", horizon)
    for name, policy in named.items():
        check_room(f"policies[{name!r}]", policy, horizon // policy.plays)
    plays = make_checkpoints(horizon, checkpoints, spacing)
    repetitions, seed = whole("repetitions", repetitions), whole("seed", seed, least=0)
    cells = [(name, r) for name in named for r in range(repetitions)]
    workers = (os.cpu_count() or 1) if jobs is None else whole("jobs", jobs)
    with Progress(len(cells) * horizon, progress) as bar:

        def run(cell: tuple[str, int]) -> tuple[NDArray[np.float64], float]:
            name, repetition = cell
            return run_cell(named[name], problem, horizon, plays, seed, repetition, bar)

        outcomes = run_all(run, cells, workers)
    return Result.from_cells(cells, plays, outcomes)


def run_all(run: Any, cells: Sequence[Any], workers: int) -> list[Any]:
    """run(cell) for every cell, in threads; an error in one of them stops the rest."""
    if workers == 1:
        return [run(cell) for cell in cells]
    with ThreadPoolExecutor(workers) as pool:
        futures: list[Future[Any]] = [pool.submit(run, cell) for cell in cells]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def run_cell(
    policy: Any,
    problem: Problem,
    horizon: int,
    checkpoints: NDArray[np.int64],
    seed: int,
    repetition: int,
    bar: Progress | None = None,
) -> tuple[NDArray[np.float64], float]:
    """One policy, one repetition: a row a checkpoint, and the CPU seconds of this thread."""
    check_room("policy", policy, horizon // policy.plays)
    arms_key, noise_key = (stream_key(seed, repetition, stream) for stream in (ARMS, NOISE))
    noise = np.empty(min(CHUNK, horizon))
    out = np.full((checkpoints.size, 4), np.nan)
    state, view, episode = policy.init(), problem.arms.view(), make_episode(policy.plays)
    setting = (policy, state, problem.arms, problem.link, problem.theta, view, arms_key)
    record = (episode, checkpoints, out)
    draw = compiled(noise_kernel, problem.noise, noise_key, 0, noise)
    play = compiled(play_kernel, *setting, noise, *record)
    started = time.thread_time()
    with np.errstate(over="ignore"):  # uncompiled, the counters of the streams wrap around loudly
        for start in range(0, horizon, noise.size):
            piece = noise[: min(noise.size, horizon - start)]
            draw(problem.noise, noise_key, start, piece)
            play(*setting, piece, *record)
            if bar is not None:
                bar.advance(piece.size)
    return out, time.thread_time() - started


def check_policies(policies: Any) -> dict[str, Any]:
    """Policies by name, their fields cast."""
    named = dict(policies) if isinstance(policies, Mapping) else {"policy": policies}
    if not named:
        raise InvalidInput("policies must hold at least one policy, got none")
    for name, policy in named.items():
        lacking = [
            verb for verb in ("init", "choose", "learn", "plays") if not hasattr(policy, verb)
        ]
        if lacking:
            raise InvalidInput(f"policies[{name!r}] must be a policy, got {type(policy).__name__}")
    return {str(name): cast(policy) for name, policy in named.items()}


def check_problem(problem: Any) -> Problem:
    """The problem with its parts cast and theta* filled in."""
    if not isinstance(problem, Problem):
        raise InvalidInput(f"problem must be a Problem, got {type(problem).__name__}")
    arms = check_arms(problem.arms)
    dim = whole("arms.dim", arms.dim)
    given = np.ones(dim) / np.sqrt(dim) if problem.theta is None else problem.theta
    theta = finite_array("theta", given, (dim,))
    noise = cast(problem.noise)
    check_noise(noise)
    check_link(problem.link, float(np.linalg.norm(theta)))
    return Problem(arms, cast(problem.link), noise, theta)


def check_match(name: str, policy: Any, problem: Problem) -> None:
    """Whether this policy can play this problem at all."""
    if policy.dim != problem.arms.dim:
        raise InvalidInput(
            f"policies[{name!r}] has dim {policy.dim}, the arms have dim {problem.arms.dim}"
        )
    if policy.plays > 1 and problem.arms.changes == FRESH:
        raise InvalidInput(
            f"policies[{name!r}] plays an arm {policy.plays} times a decision, but "
            f"{type(problem.arms).__name__} changes at every play: use FixedArms, or FrozenArms, "
            "which stand still for a decision"
        )
    check_finite(f"policies[{name!r}]", policy, problem.arms)


def make_checkpoints(
    horizon: int, checkpoints: int | Iterable[int], spacing: str = "even"
) -> NDArray[np.int64]:
    """The plays to report at, the last one included.

    >>> make_checkpoints(1000, 4).tolist(), make_checkpoints(1000, 4, "log").tolist()
    ([250, 500, 750, 1000], [1, 10, 100, 1000])
    """
    if isinstance(checkpoints, Iterable):
        given = sorted({whole("checkpoints", play) for play in checkpoints})
        if not given or given[-1] > horizon:
            raise InvalidInput(f"checkpoints must lie in 1..{horizon}, got {given[-1:] or 'none'}")
        return np.array(given, np.int64)
    size = min(whole("checkpoints", checkpoints), horizon)
    if spacing == "even":
        points = np.linspace(horizon / size, horizon, size)
    elif spacing == "log":
        points = np.geomspace(horizon, 1, size)
    else:
        raise InvalidInput(f"spacing must be 'even' or 'log', got {spacing!r}")
    return np.unique(np.round(points).astype(np.int64))
