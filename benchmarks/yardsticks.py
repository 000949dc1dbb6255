"""How fast a run is: against NumPy, against C++ by hand, against the machine."""

import json
import math
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import heavybandits as hb
import numpy_crtm
from heavybandits import algorithms as baselines
from heavybandits.core import rng as streams
from heavybandits.core.compile import compiled
from heavybandits.core.kernels import noise_kernel
from measuring import ARMS, DIM, GAMMA_SCALE, HERE, SEED, Outcome, Row, best_of, crtm, play, taker

PART = "Yardsticks"
NOISE = "drawing the noise, nothing else"
FRESH, FROZEN, FIXED = (
    hb.arms.PerRound(ARMS, DIM),
    hb.arms.PerDecision(ARMS, DIM),
    hb.arms.Fixed(ARMS, DIM),
)


def measure(folder: Path, quick: bool) -> Outcome:
    horizon, repeats = (5_000, 2) if quick else (200_000, 7)
    folder.mkdir(parents=True, exist_ok=True)
    binaries = build(folder)
    takers = policies(horizon)
    takers[NOISE] = noise_taker(horizon)
    takers["NumPy"] = numpy_taker(horizon // 20)
    if binaries:
        takers["C++"] = lambda: run_yardstick(binaries["timed"], horizon)[1] / horizon * 1e6
    times = best_of(repeats, takers)
    rows = [Row(PART, name, taken, "us a play") for name, taken in times.items()]
    rows += ratios(times) + agreement(binaries, horizon)
    return Outcome(rows + against_the_machine(binaries, times), [])


def policies(horizon: int) -> dict[str, Callable[[], float]]:
    """CPU microseconds a play of what the library plays, by name."""
    tuned: dict[str, Any] = {"dim": DIM, "radius_scale": GAMMA_SCALE}
    sized = tuned | {"horizon": horizon}
    median = hb.crmm(**sized, central_moment=3.0)
    made = {
        "CRTM, fresh arms": (crtm(horizon), FRESH),
        "CRTM, fixed arms": (crtm(horizon), FIXED),
        "OL2M, fresh arms": (hb.ol2m(**tuned), FRESH),
        "LinUCB, fresh arms": (hb.linucb(dim=DIM, radius=GAMMA_SCALE), FRESH),
        "GLOC, fresh arms": (baselines.gloc(**tuned), FRESH),
        "CRMM, frozen arms": (median, FROZEN),
        "CRMM, fixed arms": (median, FIXED),
        "OL2M_mom, fixed arms": (baselines.ol2m_mom(**sized), FIXED),
        "GLOC_mom, fixed arms": (baselines.gloc_mom(**sized), FIXED),
    }
    return {name: taker(policy, arms, horizon) for name, (policy, arms) in made.items()}


def noise_taker(horizon: int) -> Callable[[], float]:
    """What every play costs at least: its draw of Student's t_3."""
    source, out = hb.noises.StudentT(3.0), np.empty(horizon)
    key = streams.stream_key(SEED, 0, streams.NOISE)
    draw = compiled(noise_kernel, source, key, 0, out)

    def take() -> float:
        started = time.thread_time()
        draw(source, key, 0, out)
        return (time.thread_time() - started) / horizon * 1e6

    return take


def numpy_taker(horizon: int) -> Callable[[], float]:
    return lambda: numpy_crtm.run(horizon, SEED, crtm(horizon), FRESH)[1] / horizon * 1e6


def ratios(times: dict[str, float]) -> list[Row]:
    """The ratios that are promised."""
    fresh, fixed = times["CRTM, fresh arms"], times["CRTM, fixed arms"]
    against = times.get("C++", math.nan)
    note = "" if "C++" in times else "no g++ here: not measured"
    rows = [
        Row(PART, "CRTM, fresh arms, over C++", fresh / against, "x", most=1.5, note=note),
        Row(PART, "NumPy over CRTM, fresh arms", times["NumPy"] / fresh, "x", least=25.0),
        Row(PART, "CRTM: fresh over fixed arms", fresh / fixed, "x", least=3.0),
    ]
    frozen = times["CRMM, frozen arms"]
    what = "plays a second: CRMM, frozen arms, over CRTM, fresh arms"
    rows.append(Row(PART, what, fresh / frozen, "x", least=5.0))
    note = f"noise alone: {fixed / times[NOISE]:.1f}x"
    for name in ("CRMM", "OL2M_mom", "GLOC_mom"):
        what, taken = f"plays a second: {name} over CRTM, fixed arms", times[f"{name}, fixed arms"]
        rows.append(Row(PART, what, fixed / taken, "x", least=5.0, note=note))
    return rows


# ---- C++


def build(folder: Path) -> dict[str, Path]:
    """Compile the C++ sources, or nothing if there is no g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        return {}
    plain, native = ["-ffp-contract=off"], ["-O3", "-march=native"]
    wanted = {"timed": ("yardstick.cpp", []), "exact": ("yardstick.cpp", plain)}
    wanted["peak"] = ("peak.cpp", [])
    made = {}
    for name, (source, more) in wanted.items():
        made[name] = folder / f"yardstick-{name}"
        command = [compiler, *native, *more, "-o", str(made[name]), str(HERE / source)]
        subprocess.run(command, check=True)
    return made


def run_yardstick(binary: Path, horizon: int) -> tuple[float, float]:
    """Regret and CPU seconds of the C++ loop on our arms and noise."""
    policy = crtm(horizon)
    keys = [int(streams.stream_key(SEED, 0, s)) for s in (streams.ARMS, streams.NOISE)]
    numbers = [horizon, *keys, policy.radius.radius(None, 0), policy.filter.threshold]
    command = [str(binary), *(repr(number) for number in numbers)]
    done = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return done["regret"], done["seconds"]


def agreement(binaries: dict[str, Path], horizon: int) -> list[Row]:
    """How far the regret of the yardsticks is from ours: they must do the same work."""
    short = max(horizon // 20, 100)
    policy = crtm(horizon)
    twin = numpy_crtm.run(short, SEED, policy, FRESH)[0]
    apart = abs(twin / play(policy, FRESH, short)[0].regret[-1] - 1.0)
    what = f"regret after {short} rounds: NumPy against ours"
    rows = [Row(PART, what, apart, "relative", most=1e-9)]
    if binaries:
        exact = run_yardstick(binaries["exact"], horizon)[0]
        apart = abs(exact / play(policy, FRESH, horizon)[0].regret[-1] - 1.0)
        what = f"regret after {horizon} rounds: C++ (-ffp-contract=off) against ours"
        rows.append(Row(PART, what, apart, "relative", most=1e-11, note="printed to 12 digits"))
    return rows


# ---- the machine


def operations(dim: int, size: int) -> dict[str, int]:
    """What one round of CRTM on fresh arms asks for, however it is written."""
    return {
        "uniforms": dim * size + 2,
        "multiply-adds": 2 * dim * size  # lengths of the arms, and scaling
        + 2 * dim * size  # x.theta* and x.theta
        + size * dim * (dim + 1) // 2  # ||x||^2 in the inverse, by symmetry
        + 3 * dim * dim,  # V^-1 x, and V and V^-1 widened
    }


@njit(cache=False)
def _fill(key: Any, out: Any, rounds: int) -> None:
    for n in range(rounds):
        for i in range(out.size):
            out[i] = streams.uniform(key, n * out.size + i)


def uniform_rate(rounds: int) -> float:
    """Uniforms a second of CPU at best, into an array that stays in the nearest cache."""
    out, key = np.empty(1024), streams.stream_key(SEED, 0, streams.ARMS)
    _fill(key, out, 1)
    times = []
    for _ in range(5):
        started = time.process_time()
        _fill(key, out, rounds)
        times.append(time.process_time() - started)
    return rounds * out.size / min(times)


def against_the_machine(binaries: dict[str, Path], times: dict[str, float]) -> list[Row]:
    """The round's operations at the rates this machine reaches for nothing else."""
    if not binaries:
        return [Row(PART, "measured peak", math.nan, "G multiply-adds/s", note="no g++ here")]
    runs = [subprocess.run([binaries["peak"]], capture_output=True, check=True) for _ in range(3)]
    peak = max(json.loads(run.stdout)["rate"] for run in runs)
    rate, asked = uniform_rate(20_000), operations(DIM, ARMS)
    floor = (asked["uniforms"] / rate + asked["multiply-adds"] / peak) * 1e6
    fresh, note = times["CRTM, fresh arms"], ", ".join(f"{n} {what}" for what, n in asked.items())
    achieved = asked["multiply-adds"] / fresh * 1e-3
    return [
        Row(PART, "measured peak", peak * 1e-9, "G multiply-adds/s", note="one core, fused"),
        Row(PART, "uniforms, nothing else", rate * 1e-9, "G/s", note="compiled with numba"),
        Row(PART, "floor of a round: its operations at these rates", floor, "us", note=note),
        Row(PART, "CRTM, fresh arms, over that floor", fresh / floor, "x"),
        Row(PART, "multiply-adds of CRTM, fresh arms", achieved, "G multiply-adds/s"),
    ]
