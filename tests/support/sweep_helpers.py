"""Cells, runs and killed processes for the tests of sweeps."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
from heavybandits.core.part import describe
from heavybandits.sweeps import Cell, run_cells
from paths import ROOT, SUPPORT

HERE = "sweep_functions"


def cell(function: str, number: float = 1.0, **settings: Any) -> Cell:
    label = f"{function} of {number}"
    return Cell(f"{HERE}:{function}", {"number": number, **settings}, label=label)


def squares(count: int = 6) -> list[Cell]:
    return [cell("square", float(number)) for number in range(count)]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "cells").iterdir())}


def finished_files(folder: Path) -> dict[str, bytes]:
    """The files of finished cells, without those that a killed worker was writing."""
    return {path.name: path.read_bytes() for path in sorted((folder / "cells").glob("*.npz"))}


def needs(backend: str, module: str) -> Any:
    missing = importlib.util.find_spec(module) is None
    reason = f"{module} is not installed: pip install 'heavybandits[{backend}]'"
    return pytest.param(backend, marks=pytest.mark.skipif(missing, reason=reason))


def run(cells: list[Cell], folder: Path, **options: Any) -> Any:
    chosen: dict[str, Any] = {"backend": "sequential", "progress": False}
    return run_cells(cells, folder, **chosen | options)


def simulations() -> list[Cell]:
    problem = hb.Problem(hb.arms.Fixed(5, 3), hb.links.Logistic(), hb.noises.StudentT(3.0))
    policy = hb.crtm(dim=3, horizon=500, raw_moment=3.5, radius_scale=1e-2)
    return [
        Cell(
            "heavybandits.sweeps.simulation_cell:simulate_cell",
            {
                "policy": describe(policy),
                "problem": describe(problem),
                "horizon": 500,
                "repetitions_from": first,
                "repetitions_to": first + 2,
                "seed": 7,
                "checkpoints": [100, 500],
            },
        )
        for first in (0, 2)
    ]


def start_python(arguments: list[str], mark: str) -> Any:
    """A Python process; its environment, and that of all it starts, holds the mark."""
    paths = [str(SUPPORT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HEAVYBANDITS_MARK": mark},
        # a suite that was started in the background ignores Ctrl-C, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def start(folder: Path, count: int, seconds: float, backend: str, mark: str) -> Any:
    """A process that runs a sweep and says so."""
    script = str(SUPPORT / "sweep_functions.py")
    return start_python([script, str(folder), str(count), str(seconds), backend], mark)


def kill(process: Any) -> None:
    process.kill()
    process.communicate()
