"""What every part shares: rows with targets, fair clocks, slopes, the standard work."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.simulation.player import run_once
from heavybandits.simulation.problem import check_problem

DIM, ARMS = 10, 20
GAMMA_SCALE, MOMENT = 1e-4, 3.534446647  # E y^2 of a logistic mean in [0, 1] plus t_3 noise
SEED = 0
HERE = Path(__file__).parent


class Row(NamedTuple):
    """One measurement, with its target if it has one: at least `least`, at most `most`."""

    part: str
    what: str
    measured: float
    unit: str
    least: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Return True if the target is met; None without a target or a measurement."""
        if (self.least is None and self.most is None) or math.isnan(self.measured):
            return None
        above = self.least is None or self.measured >= self.least
        return bool(above and (self.most is None or self.measured <= self.most))


class Curve(NamedTuple):
    """Points for the figure: a measured line, and the slope that theory gives it, if any."""

    panel: str
    name: str
    x: list[float]
    y: list[float]
    slope: float | None = None


class Outcome(NamedTuple):
    """What a part of the suite found."""

    rows: list[Row]
    curves: list[Curve]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def best_of(repeats: int, takers: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The least of several times of each, in turns, so that all share quiet and busy spells."""
    times: dict[str, list[float]] = {name: [] for name in takers}
    for _ in range(repeats):
        for name, take in takers.items():
            times[name].append(take())
    return {name: min(taken) for name, taken in times.items()}


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent p of y ~ x^p: least squares through the logarithms.

    >>> round(slope([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def problem(arms: Any) -> hb.Problem:
    """Logistic rewards with Student t_3 noise."""
    return check_problem(hb.Problem(arms, hb.links.Logistic(), hb.noises.StudentT(3.0)))


def crtm(horizon: int, dim: int = DIM) -> Any:
    return hb.crtm(dim=dim, horizon=horizon, raw_moment=MOMENT, radius_scale=GAMMA_SCALE)


def play(policy: Any, arms: Any, horizon: int, repetition: int = 0) -> tuple[Any, float]:
    """One run: its trace, which ends at the horizon, and CPU seconds, compiling left out.

    The first call of a policy on a kind of arms compiles before the clock starts.
    """
    plays = np.array([horizon], np.int64)
    return run_once(policy, problem(arms), horizon, plays, SEED, repetition)


def taker(policy: Any, arms: Any, horizon: int) -> Callable[[], float]:
    """For `best_of`: CPU microseconds a play of one run."""
    play(policy, arms, 1)
    return lambda: play(policy, arms, horizon)[1] / horizon * 1e6


def child(arguments: Sequence[str], environment: dict[str, str] | None = None) -> Any:
    """Run a Python script in a process of its own and read the JSON of its last line."""
    command = list(arguments)
    settings = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)  # a user has bytecode
    done = subprocess.run(
        command, env=settings | (environment or {}), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(f"{Path(command[1]).name} failed: {words[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
