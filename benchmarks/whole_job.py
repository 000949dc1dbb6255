"""A whole job like figure 1: six algorithms on the same arms and noise, with all cores."""

import os
import time
from pathlib import Path
from typing import Any

import heavybandits as hb
from heavybandits import algorithms as baselines
from measuring import ARMS, DIM, MOMENT, SEED, Outcome, Row

PART = "Whole job"


def roster(horizon: int) -> dict[str, Any]:
    """The six algorithms of figure 1, each with a width in the middle of its grid."""
    sized: dict[str, Any] = {"dim": DIM, "horizon": horizon}
    return {
        "CRTM": hb.crtm(**sized, raw_moment=MOMENT, radius_scale=1e-4),
        "CRMM": hb.crmm(**sized, central_moment=3.0, radius_scale=1e-2),
        "OL2M": hb.ol2m(dim=DIM, radius_scale=1e-3),
        "GLOC": baselines.gloc(dim=DIM, radius_scale=1e-3),
        "OL2M_mom": baselines.ol2m_mom(**sized, radius_scale=1e-2),
        "GLOC_mom": baselines.gloc_mom(**sized, radius_scale=1e-2),
    }


def job(horizon: int, repetitions: int, jobs: int | None) -> Any:
    where = hb.Problem(hb.arms.Fixed(ARMS, DIM), hb.links.Logistic(), hb.noises.StudentT(3.0))
    sizes: dict[str, Any] = {"horizon": horizon, "repetitions": repetitions, "seed": SEED}
    return hb.simulate(roster(horizon), where, **sizes, jobs=jobs, progress=False)


def measure(folder: Path, quick: bool) -> Outcome:
    horizon, repetitions = (500, 2) if quick else (10**6, 10)
    job(200, 1, 1)  # compiles
    started, burnt = time.perf_counter(), time.process_time()
    job(horizon, repetitions, None)
    wall, cpu = time.perf_counter() - started, time.process_time() - burnt
    plays = len(roster(horizon)) * repetitions * horizon
    load = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    sizes = f"6 algorithms x {repetitions} repetitions x T = {horizon:,}, fixed arms"
    return Outcome(
        [
            Row(PART, "plays a second, all cores", plays / wall * 1e-6, "million/s", note=load),
            Row(PART, "plays a second of CPU", plays / cpu * 1e-6, "million/s", note=sizes),
            Row(PART, "the whole job", wall, "s", note="wall time"),
        ],
        [],
    )
