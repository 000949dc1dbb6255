"""Policies that play problems."""

import contextlib
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError, PartError
from .._utils.progress import Progress
from .._utils.threads import count_workers, run_all
from .._utils.validation import one_of, whole
from ..core.arm_buffer import ArmBuffer
from ..core.compile import compiled
from ..core.dispatch import estimate_arm, refresh
from ..core.dry_run import first_plays
from ..core.kernels import noise_kernel, play_kernel
from ..core.loop import Trace, Unobserved, make_episode, make_trace
from ..core.part import fallbacks_of, own_classes, regions_of, reseeded
from ..core.part_errors import explain
from ..core.protocols import ArmSet, Noise, Observer, Policy
from ..core.rng import ARMS, NOISE, stream_key
from ..core.state import make_state
from ..parts.policies.checks import check_match, check_policies, check_room, warn_norms
from .problem import Problem, check_problem
from .provenance import describe_runs
from .result import Result

DEVICES = ("cpu", "cuda")
CHUNK = 16_384  # plays between two looks at the progress bar; small enough for the cache

FEW_NUMBERS = 5_000  # of fixed arms that are drawn again, uncompiled, after a run


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
    runs = [(name, r) for name in named for r in range(repetitions)]
    workers = count_workers(jobs)
    one_of("device", device, DEVICES)
    provenance = describe_runs(
        {(name, ""): (policy, problem) for name, policy in named.items()},
        **{"horizon": horizon, "repetitions": repetitions, "seed": seed, "device": device},
    )
    with Progress(len(runs) * horizon, progress) as bar:
        if device == "cuda":
            from ..gpu.supported import play_policies

            sizes = (horizon, tuple(plays.tolist()), seed, 0, repetitions)
            done = play_policies(named, problem, sizes, bar.advance)
            made = Result.from_played({"policy": list(named)}, [[one] for one in done])
            made.provenance = provenance
            return made

        def run(which: tuple[str, int]) -> tuple[Trace, float]:
            name, repetition = which
            return run_once(named[name], problem, horizon, plays, seed, repetition, bar)

        outcomes = run_all(run, runs, workers)
    made = Result.from_runs(runs, outcomes)
    made.provenance = provenance
    return made


def check_draws(noise: Noise, draw: Any, key: Any, drawn: NDArray[np.float64]) -> None:
    """Raise an error if your own noise does not draw finite numbers, the same ones every time."""
    again = np.empty_like(drawn)
    draw(noise, key, 0, again)
    check_finite(noise, drawn)
    if not np.array_equal(drawn, again):
        raise PartError(
            f"{type(noise).__name__}.draw: it must return the same number for the same key and "
            "play, and did not: random numbers come from uniform(key, ...) alone"
        )


def check_finite(noise: Noise, drawn: NDArray[np.float64]) -> None:
    """Raise an error if your own noise has drawn a number that is not finite."""
    if not np.isfinite(drawn).all():
        wrong = drawn[~np.isfinite(drawn)][0]
        method = f"{type(noise).__name__}.draw"
        raise PartError(f"{method}: it must return a finite number, and returned {wrong}")


def check_theta(state: Any, own: Iterable[type]) -> None:
    """Raise an error if your own parts have left an estimate that is not finite."""
    if not all(np.isfinite(region.centre).all() for region in regions_of(state)):
        names = ", ".join(sorted(part.__name__ for part in own))
        raise PartError(
            f"{names}: theta is no longer finite. A part must return a finite number for every "
            "finite reward; check_policy tries many"
        )


def check_end(policy: Policy, state: Any, arms: ArmSet, key: Any, buffer: ArmBuffer) -> None:
    """Raise an error if the last choice shows what your own parts did after the rehearsed plays.

    A mistake may come late, or with other fields than those of the first run.
    """
    there = buffer.penalty[: arms.size] == 0.0
    offered = buffer.features[:, : arms.size][:, there]
    if own := own_classes(arms):
        names = ", ".join(sorted(part.__name__ for part in own))
        if arms.size > 0 and (offered.size == 0 or not np.isfinite(offered).all()):
            raise PartError(f"{names}.refresh: the last arms are not finite, or none is available")
    if not (own := own_classes(policy)):
        return
    check_theta(state, own)
    names = ", ".join(sorted(part.__name__ for part in own))
    if arms.size > 0 and not (offered == buffer.chosen[:, None]).all(axis=0).any():
        raise PartError(
            f"{names}: the last buffer.chosen is none of the available arms. A policy calls "
            "take(buffer, arm), and nothing else may write into the features x of an arm"
        )
    if arms.redraw == "never" and 0 < arms.size * arms.dim <= FEW_NUMBERS:
        twin = arms.make_buffer()
        refresh(arms, twin, key, 0)
        if not np.array_equal(twin.features, buffer.features):
            raise PartError(f"{names}: buffer.features changed; only arms.refresh may write there")
    x = buffer.chosen.copy()
    # A table for the plays of this run may end here.
    with contextlib.suppress(LookupError, ArithmeticError), np.errstate(all="ignore"):
        try:
            estimate_arm(policy, state, x)
        except (LookupError, ArithmeticError, PartError):
            raise
        except Exception as error:  # such as a math domain error: compiled code went on with nan
            raise PartError(explain(error, own)) from None


def run_once(
    policy: Policy,
    problem: Problem,
    horizon: int,
    checkpoints: NDArray[np.int64],
    seed: int,
    repetition: int,
    bar: Progress | None = None,
    observer: Observer = Unobserved(),
) -> tuple[Trace, float]:
    """Run one policy once; return its trace and the CPU seconds of this thread."""
    check_room("policy", policy, horizon // policy.plays)
    arms_key, noise_key = (stream_key(seed, repetition, stream) for stream in (ARMS, NOISE))
    policy = reseeded(policy, noise_key)
    noise, trace = np.empty(min(CHUNK, horizon)), make_trace(checkpoints)
    state, buffer, episode = (
        make_state(policy),
        problem.arms.make_buffer(),
        make_episode(policy.plays),
    )
    setting = (policy, state, problem.arms, problem.link, problem.theta, buffer, arms_key)
    record = (episode, trace, observer)
    first = noise[: first_plays(policy, problem.arms)]
    draw = compiled(noise_kernel, problem.noise, noise_key, 0, first)
    draw(problem.noise, noise_key, 0, first)
    if own_noise := bool(own_classes(problem.noise)):
        check_draws(problem.noise, draw, noise_key, first)
    play = compiled(play_kernel, *setting, first, *record)
    started = time.thread_time()
    for start in range(0, horizon, noise.size):
        piece = noise[: min(noise.size, horizon - start)]
        draw(problem.noise, noise_key, start, piece)
        if own_noise:
            check_finite(problem.noise, piece)
        play(*setting, piece, *record)
        if bar is not None:
            bar.advance(piece.size)
    seconds = time.thread_time() - started
    check_end(policy, state, problem.arms, arms_key, buffer)
    trace.fallbacks[:] = fallbacks_of(state)
    return trace, seconds


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
