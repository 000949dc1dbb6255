"""The repetitions of a policy on a problem, played on the CPU, and the checks of your own parts."""

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import PartError
from ..core.arm_buffer import ArmBuffer
from ..core.compile import Factory, Function, compiled
from ..core.dispatch import estimate_arm, refresh
from ..core.dry_run import debugged, first_plays
from ..core.kernels import draw_runs_kernel, noise_kernel, runs_kernel
from ..core.loop import Trace, Unobserved, make_episode, make_traces
from ..core.part import has_seed, own_classes, regions_of, reseeded
from ..core.part_errors import explain
from ..core.protocols import ArmSet, Noise, Observer, Policy
from ..core.recording import Recording, make_recording
from ..core.rng import ARMS, NOISE
from ..core.runs import make_runs, next_play, plays_left, trace_of
from ..core.state import make_state
from ..core.stream_keys import stream_keys
from ..core.world import World, changing_of, make_world, no_room, overflow_of
from ..gpu.batches import Job
from ..parts.policies.checks import check_room
from .problem import Problem

CHUNK = 2**18  # plays of a call, at most: their noise is drawn at once and should stay in a cache
FIRST_CALL = 1_024  # plays of the first call of a kernel
DEBUGGED = 32  # the same, uncompiled
SHORT, LONG = 0.05, 0.2  # seconds of a call; outside, the next makes more or fewer plays
FEW_NUMBERS = 5_000  # of fixed arms that are drawn again, uncompiled, after a run

Advance = Callable[[int], None]


def play_job(
    job: Job,
    advance: Advance = lambda plays: None,
    observer: Observer = Unobserved(),
    recorder: Any = None,
    debug: bool = False,
) -> dict[str, Any]:
    """Play the repetitions of a job; return their numbers, one row per repetition.

    Repetitions of the library's parts are played in one compiled call, which a policy that draws
    or a part of your own makes alone.

    Parameters
    ----------
    job : Job
        The policy, the problem, the sizes, and the range of repetitions.
    advance : function, optional
        Called with the number of plays of every compiled call.
    observer : Observer, optional
        Called after every decision that the policy learned from.
    recorder : Recorder, optional
        Records columns at the checkpoints. It takes the place of `observer`.
    debug : bool, default False
        Play uncompiled, and twice, with checks of your own parts.

    Returns
    -------
    dict of str to array
        `play`, the checkpoints; the arrays of a `Trace`, (repetitions, checkpoints), and as many of
        each column of the recorder; `cpu_seconds`, (repetitions,), where repetitions that were
        played together have equal shares.
    """
    check_room("policy", job.policy, job.horizon // job.policy.plays)
    traces = make_traces(np.array(job.checkpoints, np.int64), job.size)
    seconds = np.zeros(job.size)
    parts = (job.policy, *job.problem, observer, recorder)
    alone = debug or has_seed(job.policy) or bool(own_classes(parts))
    names = () if recorder is None else recorder.columns
    tables = np.zeros((job.size, len(job.checkpoints), len(names)))
    size = 1 if alone else job.size
    keys = [
        stream_keys(job.seed, np.arange(job.first, job.last), stream) for stream in (ARMS, NOISE)
    ]
    for first in range(0, job.size, size):
        rows = slice(first, first + size)
        mine = rows_of(traces, rows)
        arm_keys, noise_keys = (each[rows] for each in keys)
        if recorder is not None:
            observer = make_recording(recorder, tables[rows].reshape(-1, len(names)))
        run = (job, arm_keys, noise_keys, mine, advance, observer, debug)
        seconds[rows] = play_together(*run) / size
    columns = {name: array for name, array in traces._asdict().items() if name != "plays"}
    columns |= {name: tables[:, :, i] for i, name in enumerate(names)}
    return {"play": traces.plays, **columns, "cpu_seconds": seconds}


def rows_of(traces: Trace, rows: slice) -> Trace:
    """Return the traces of some of the runs."""
    columns = {name: array[rows] for name, array in traces._asdict().items() if name != "plays"}
    return Trace(traces.plays, **columns)


def run_once(
    policy: Policy,
    problem: Problem,
    horizon: int,
    checkpoints: NDArray[np.int64],
    seed: int,
    repetition: int,
    observer: Observer = Unobserved(),
) -> tuple[Trace, float]:
    """Run one policy once; return its trace and the CPU seconds of this thread."""
    plays = tuple(checkpoints.tolist())
    job = Job(policy, problem, horizon, plays, seed, repetition, repetition + 1)
    found = play_job(job, observer=observer)
    columns = {name: found[name] for name in Trace._fields if name != "plays"}
    return trace_of(Trace(found["play"], **columns), 0), float(found["cpu_seconds"][0])


def play_together(
    job: Job,
    arm_keys: Any,
    noise_keys: Any,
    traces: Trace,
    advance: Advance,
    observer: Observer,
    debug: bool,
) -> float:
    """Play repetitions one after the other in the same memory; return CPU seconds."""
    arms, link, law, theta, drift, delay, adversary = job.problem
    policy = reseeded(job.policy, noise_keys[0])
    state, buffer = make_state(policy), arms.make_buffer()
    episode, theta = make_episode(policy.plays), theta.copy()
    world = make_world(law, theta, drift, delay, adversary, policy.plays)
    memory = observer.memory if isinstance(observer, Recording) else ()
    changing = (state, buffer, episode, theta, changing_of(world), memory)
    runs = make_runs(arm_keys, noise_keys, job.horizon, *changing)
    noise = np.empty(min(CHUNK, plays_left(runs)))
    first = noise[: first_plays(policy, arms)]
    drawing: Any = (law, noise_keys, job.horizon)
    playing: Any = (policy, state, arms, link, theta, buffer)
    then = (episode, traces, observer, world, runs)
    own_noise = bool(own_classes(law))
    if own_noise and not debug:
        check_draws(law, noise_keys[0], first[: job.horizon])
    draw = make_kernel(draw_runs_kernel, (*drawing, *next_play(runs), first), debug)
    draw(*drawing, *next_play(runs), first)
    play = make_kernel(runs_kernel, (*playing, first, *then), debug)
    pace, started = Pace(DEBUGGED if debug else FIRST_CALL), time.thread_time()
    while left := plays_left(runs):
        drawn = noise[: min(pace.plays, left)]
        with pace:
            draw(*drawing, *next_play(runs), drawn)
            if own_noise:
                check_finite(law, drawn)
            play(*playing, drawn, *then)
        check_delay(world)
        advance(drawn.size)
    seconds = time.thread_time() - started
    check_end(policy, state, arms, arm_keys[-1], buffer)
    return seconds


def make_kernel(factory: Factory, arguments: tuple[Any, ...], debug: bool) -> Function:
    """Return a kernel that is compiled, or with `debug` runs uncompiled and is checked."""
    if debug:
        return debugged(factory(""), own_classes(arguments))
    return compiled(factory, *arguments)


class Pace:
    """Choose how many plays a call of a kernel makes, from how long the last one took.

    A call should last long next to the work of Python around it, and short for people who wait for
    the progress bar or interrupt.
    """

    def __init__(self, plays: int) -> None:
        self.plays = plays
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *failure: object) -> None:
        taken = time.perf_counter() - self._started
        if taken < SHORT:
            self.plays = min(2 * self.plays, CHUNK)
        elif taken > LONG:
            self.plays = max(1, self.plays // 2)


# ---- checks of your own parts


def check_draws(law: Noise, key: Any, drawn: NDArray[np.float64]) -> None:
    """Raise an error if your own noise does not draw finite numbers, the same ones every time."""
    again = np.empty_like(drawn)
    draw = compiled(noise_kernel, law, key, 0, drawn)
    for out in (drawn, again):
        draw(law, key, 0, out)
    check_finite(law, drawn)
    if not np.array_equal(drawn, again):
        raise PartError(
            f"{type(law).__name__}.draw: it must return the same number for the same key and "
            "play, and did not: random numbers come from uniform(key, ...) alone"
        )


def check_delay(world: World) -> None:
    """Raise an error if more decisions wait for their rewards than there is room for."""
    if overflow_of(world):
        raise no_room(world.mail.delay if world.mail else None)


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
