"""Many short runs: the Python time of a run, and all cores against one.

`python benchmarks/run.py --only batches` takes about a minute, on any number of cores: all cores
make as many times the plays of one as there are cores.
"""

import time
from pathlib import Path
from typing import Any

import heavybandits as hb
from heavybandits._utils.threads import available_cores
from measuring import ARMS, DIM, GAMMA_SCALE, SEED, Outcome, Row, crtm, problem

PART = "Many runs"
FRESH, FIXED = hb.arms.PerRound(ARMS, DIM), hb.arms.Fixed(ARMS, DIM)
PLAYS = 2_000_000  # of CRTM, on each core; those of CRMM are ten times as many
MANY = 100  # runs; of fewer, the time of the call itself would count as theirs


def measure(folder: Path, quick: bool) -> Outcome:
    rows = []
    for horizon in (1_000, 10_000, 1_000_000):
        rows += compare("CRTM, fresh arms", crtm(horizon), FRESH, horizon, PLAYS, quick)
        median = hb.crmm(dim=DIM, horizon=horizon, central_moment=3.0, radius_scale=GAMMA_SCALE)
        rows += compare("CRMM, fixed arms", median, FIXED, horizon, 10 * PLAYS, quick)
    return Outcome(rows, [])


def compare(name: str, policy: Any, arms: Any, horizon: int, plays: int, quick: bool) -> list[Row]:
    """Return the rows of a policy: Python time per run, and plays per second with all cores."""
    cores = available_cores()
    runs = 2 if quick else max(2, plays // horizon)
    take(policy, arms, horizon, 1, 1)  # compiles
    sizes = ((runs, 1), (runs * cores, cores))
    turns = [[take(policy, arms, horizon, *size) for size in sizes] for _ in range(3)]
    ones, alls = zip(*turns, strict=True)
    one, every = (min(each[0] for each in kind) for kind in (ones, alls))
    where, ratio = f"{name}, T = {horizon:,}", one / every
    rate = f"{runs * cores * horizon / every / 1e6:.3g} M plays/s with {cores} jobs"
    what = f"{where}: plays/s with all cores over cores x one"
    rows = [Row(PART, what, ratio, "x", 0.85, note=rate)]
    if runs >= MANY or quick:
        python = min(each[1] for each in ones) * 1e6
        rows.append(Row(PART, f"{where}: Python per run, one job", python, "us", most=20.0))
    return rows


def take(policy: Any, arms: Any, horizon: int, runs: int, jobs: int) -> tuple[float, float]:
    """Return the seconds of a simulation, and the CPU seconds of a run outside compiled code."""
    started, cpu = time.perf_counter(), time.process_time()
    result = hb.simulate(
        policy,
        problem(arms),
        horizon=horizon,
        repetitions=runs,
        seed=SEED,
        checkpoints=1,
        jobs=jobs,
        progress=False,
    )
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return seconds, (cpu - float(result.data["cpu_seconds"].sum())) / runs
