"""How time and memory grow: with t, d, K, repetitions and cores. Slopes next to the theory's."""

import json
import os
import sys
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.agents.state import flatten
from heavybandits.core.compile import compiled
from heavybandits.core.confidence_region import projection_count
from heavybandits.core.kernels import noise_kernel, play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace
from heavybandits.core.rng import ARMS as STREAM_ARMS
from heavybandits.core.rng import NOISE, stream_key
from heavybandits.core.world import STILL
from measuring import (
    ARMS,
    DIM,
    SEED,
    Curve,
    Outcome,
    Row,
    best_of,
    child,
    crtm,
    play,
    problem,
    slope,
    taker,
)

PART = "Growth"
KILOBYTE = 1024.0


def measure(folder: Path, quick: bool) -> Outcome:
    found = [with_time(quick), with_dimension(quick), with_arms(quick), with_cores(quick)]
    found += [memory(quick)]
    return Outcome([r for o in found for r in o.rows], [c for o in found for c in o.curves])


# ---- t


PIECE = 4096  # rounds between two looks at the clock
FEW = 2048  # plays of a short run


class Run:
    """A run of CRTM on fresh arms, as `simulate` plays it, that can be halted and started again.

    Always in the same arrays: the place of arrays in memory can cost as much as what is measured.
    """

    def __init__(self, horizon: int) -> None:
        where, self.noise = problem(hb.arms.PerRound(ARMS, DIM)), np.empty(PIECE)
        arms_key, self.key = (stream_key(SEED, 0, stream) for stream in (STREAM_ARMS, NOISE))
        policy, plays = crtm(horizon), np.array([horizon], np.int64)
        self.state, self.source, self.done = policy.init(), where.noise, 0
        buffer, episode = where.arms.make_buffer(), make_episode(1)
        first = (policy, self.state, where.arms, where.link, where.theta, buffer, arms_key)
        last = (episode, make_trace(plays), Unobserved(), STILL)
        arrays = [*flatten(self.state).values(), *episode]
        self.beginning = [(array, array.copy()) for array in arrays]
        self.draw = compiled(noise_kernel, self.source, self.key, 0, self.noise)
        kernel = compiled(play_kernel, *first, self.noise, *last)
        self.play = lambda: kernel(*first, self.noise, *last)

    def restart(self) -> "Run":
        for array, first in self.beginning:
            array[...] = first
        self.done = 0
        return self

    def advance(self) -> float:
        """Play a piece: CPU microseconds a round."""
        started = time.thread_time()
        self.draw(self.source, self.key, self.done, self.noise)
        self.play()
        self.done += PIECE
        return (time.thread_time() - started) / PIECE * 1e6

    def window(self, t: int) -> tuple[list[float], float]:
        """Times of the pieces that reach within 10 percent of t, and the share projected."""
        while self.done + PIECE <= 0.9 * t:
            self.advance()
        before, start, times = self._projections(), self.done, []
        while self.done < 1.1 * t:
            times.append(self.advance())
        return times, (self._projections() - before) / (self.done - start)

    def _projections(self) -> int:
        return int(projection_count(self.state.estimate.region))


def with_time(quick: bool) -> Outcome:
    """Time a round in windows of rounds about t, each run again as often as time allows.

    The lower quartile of the pieces: what the machine does when it is left alone.
    """
    tries = {10**4: 3, 10**5: 1} if quick else {10**4: 120, 10**5: 30, 10**6: 6, 10**7: 2}
    run = Run(max(tries))
    found = {t: [run.restart().window(t) for _ in range(tries[t])] for t in tries}
    rows, points = [], []
    for t, windows in found.items():
        pieces = [taken for times, _ in windows for taken in times]
        points.append(float(np.quantile(pieces, 0.25)))
        note = f"CRTM, fresh arms; {windows[0][1]:.1%} of the rounds projected"
        rows.append(Row(PART, f"time a round about t = {t:,}", points[-1], "us", note=note))
    what = f"slowest over fastest of these, t = {min(tries):,} to {max(tries):,}"
    spread = max(points) / min(points)
    rows.append(Row(PART, what, spread, "x", most=1.05, note="theory: 1"))
    return Outcome(
        rows, [Curve("round t", "CRTM, fresh arms", list(map(float, tries)), points, 0.0)]
    )


# ---- d and K


def with_dimension(quick: bool) -> Outcome:
    """Time a round against d, the projections and the repairs of the inverse included."""
    dims = [5, 20] if quick else [5, 10, 20, 50, 100, 200, 400]
    rounds = {d: 600 if quick else max(2048, round(2e6 / d**1.5)) for d in dims}
    made = {d: (crtm(rounds[d], d), hb.arms.PerRound(ARMS, d)) for d in dims}
    takers = {str(d): taker(policy, arms, rounds[d]) for d, (policy, arms) in made.items()}
    best = best_of(2 if quick else 3, takers)
    rows = []
    for d, (policy, arms) in made.items():
        projections = play(policy, arms, rounds[d])[0].projections[-1] / rounds[d]
        note = f"{rounds[d]} rounds, {projections:.1%} of them projected"
        rows.append(Row(PART, f"time a round at d = {d}", best[str(d)], "us", note=note))
    times = [best[str(d)] for d in dims]
    high = [d for d in dims if d >= 50] or dims
    exponent = slope(high, [best[str(d)] for d in high])
    what = f"exponent in d, {high[0]} to {high[-1]}"
    rows.append(Row(PART, what, exponent, "", most=2.1, note="theory: 2"))
    return Outcome(
        rows, [Curve("dimension d", "CRTM, fresh arms", list(map(float, dims)), times, 2.0)]
    )


def with_arms(quick: bool) -> Outcome:
    """Time a round against K."""
    sizes = [2, 50] if quick else [2, 5, 20, 50, 200, 500, 2000]
    rows, curves = [], []
    for name, kind in (("fresh", hb.arms.PerRound), ("fixed", hb.arms.Fixed)):
        rounds = {k: 500 if quick else max(3000, round(1e6 / k)) for k in sizes}
        takers = {str(k): taker(crtm(10**5), kind(k, DIM), rounds[k]) for k in sizes}
        best = best_of(2 if quick else 3, takers)
        times = [best[str(k)] for k in sizes]
        pairs = zip(sizes, times, strict=True)
        rows += [Row(PART, f"time a round at K = {k}, {name} arms", t, "us") for k, t in pairs]
        high = sizes[-3:]
        what, exponent = (
            f"exponent in K, {high[0]} to {high[-1]}, {name} arms",
            slope(high, times[-3:]),
        )
        rows.append(Row(PART, what, exponent, "", note="theory: 1"))
        curves.append(Curve("arms K", f"CRTM, {name} arms", list(map(float, sizes)), times, 1.0))
    return Outcome(rows, curves)


# ---- repetitions and cores


def with_cores(quick: bool) -> Outcome:
    """Wall time of a job like figure 1's quick one with one thread and with two."""
    from whole_job import job

    # several short jobs: on a busy machine some of them find both cores free
    horizon, repeats = (2_000, 1) if quick else (100_000, 12)
    job(200, repetitions=1, jobs=1)

    def timed(jobs: int, repetitions: int) -> float:
        started = time.perf_counter()
        job(horizon, repetitions=repetitions, jobs=jobs)
        return time.perf_counter() - started

    names = {"one": (1, 4), "two": (2, 4), "twice": (1, 8)}
    best = best_of(repeats, {n: partial(timed, *a) for n, a in names.items()})
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    note = f"wall time, {cores} cores, load average {load:.1f}: other work on the machine counts"
    speedup, twice = best["one"] / best["two"], best["twice"] / best["one"]
    least = 1.8 if cores >= 2 else None
    rows = [
        Row(PART, "two threads over one, job like figure 1", speedup, "x", least=least, note=note),
        Row(PART, "eight repetitions over four", twice, "x", note="wall time; theory: 2"),
    ]
    return Outcome(rows, [])


# ---- memory


def peak_of(horizon: int, dim: int, repetitions: int = 1, jobs: int = 1) -> float:
    """Kilobytes that a job allocates at its worst, state, arms, noise and results together."""
    policy, where = crtm(horizon, dim), problem(hb.arms.PerRound(ARMS, dim))
    common: dict[str, Any] = {"seed": SEED, "checkpoints": 10, "progress": False}
    hb.simulate(policy, where, horizon=10, **common)
    tracemalloc.start()
    hb.simulate(policy, where, horizon=horizon, repetitions=repetitions, jobs=jobs, **common)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / KILOBYTE


def resident_growth(short: int, long: int) -> float:
    """Megabytes by which a process grows when a long run follows a short one."""
    return float(child([sys.executable, __file__, str(short), str(long)])["megabytes"])


def memory(quick: bool) -> Outcome:
    horizons = [2 * FEW, 4 * FEW] if quick else [10**5, 10**6]
    dims = [20, 50] if quick else [50, 100, 200, 400]
    grown = [peak_of(horizon, DIM) for horizon in horizons]
    rows = [
        Row(PART, f"memory of a run, T = {t:,}", kilobytes, "kB", note="d = 10, K = 20")
        for t, kilobytes in zip(horizons, grown, strict=True)
    ]
    what = f"memory at T = {horizons[-1]:,} over T = {horizons[0]:,}"
    rows.append(Row(PART, what, grown[-1] / grown[0], "x", most=1.01, note="theory: 1"))
    long = 10 * horizons[-1]
    what = f"resident memory that T = {long:,} adds to T = {horizons[0]:,}"
    added = resident_growth(horizons[0], long)
    rows.append(Row(PART, what, added, "MB", most=2.0, note="in one process"))
    states = [peak_of(FEW, d) for d in dims]
    rows += [
        Row(PART, f"memory of a run, d = {d}", s, "kB") for d, s in zip(dims, states, strict=True)
    ]
    what = f"exponent of memory in d, {dims[0]} to {dims[-1]}"
    rows.append(Row(PART, what, slope(dims, states), "", most=2.1, note="theory: 2"))
    one, many = peak_of(FEW, 100), peak_of(FEW, 100, repetitions=16, jobs=16)
    what = "memory of 16 repetitions at once over that of one, d = 100"
    rows.append(Row(PART, what, many / one, "x", most=16.0, note="theory: at most 16"))
    return Outcome(
        rows, [Curve("memory, dimension d", "one run", list(map(float, dims)), states, 2.0)]
    )


def resident() -> float:
    """Megabytes of this process at its worst."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(used) / (KILOBYTE if sys.platform != "darwin" else KILOBYTE * KILOBYTE)


if __name__ == "__main__":
    policy, used = crtm(10**6), []
    for horizon in sys.argv[1:]:
        play(policy, hb.arms.PerRound(ARMS, DIM), int(horizon))
        used.append(resident())
    print(json.dumps({"megabytes": used[-1] - used[0]}))
