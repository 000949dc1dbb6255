"""Cells for the tests of sweeps: pure functions, and some that misbehave once or always."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from heavybandits.noises import StudentT
from heavybandits.sweeps import Cell, run_cells


class OwnNoise(StudentT):
    """A part that the library does not know."""

    __slots__ = ()


def square(number: float, size: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng([int(number), size])
    return {"squares": rng.normal(size=size) + number * number, "name": f"{number}", "count": size}


def slow_square(number: float, seconds: float = 0.05, size: int = 3) -> dict[str, Any]:
    time.sleep(seconds)
    return square(number, size)


def large(number: float) -> dict[str, Any]:
    return {"many": np.full(4096, number)}


def raises(number: float) -> dict[str, Any]:
    raise ArithmeticError(f"no square of {number}")


def raises_once(number: float, marker: str) -> dict[str, Any]:
    if _first(marker):
        raise ArithmeticError("once")
    return square(number)


def dies(number: float) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def dies_once(number: float, marker: str) -> dict[str, Any]:
    if _first(marker):
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def leaves(number: float) -> dict[str, Any]:
    raise SystemExit(3)


def bad_result(number: float) -> dict[str, Any]:
    return {"thing": object()}


def timed(number: float) -> dict[str, Any]:
    return {"number": number, "cpu_seconds": np.array([1.5, 2.5]), "seconds": 4.0}


def interrupts(number: float) -> dict[str, Any]:
    raise KeyboardInterrupt


def settings_as_given(**settings: Any) -> dict[str, Any]:
    settings["list"].append("changed")
    return {"length": len(settings["list"])}


def calls(number: float, log: str) -> dict[str, Any]:
    with open(log, "a") as file:
        file.write(f"{number}\n")
    return square(number)


def process(number: float) -> dict[str, Any]:
    time.sleep(0.05)
    return {"process": os.getpid(), "threads": os.environ.get("OMP_NUM_THREADS", "")}


def _first(marker: str) -> bool:
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def sweep(count: int, seconds: float) -> list[Cell]:
    """Cells of some bytes and some milliseconds each."""
    return [
        Cell("sweep_functions:slow_square", {"number": float(n), "seconds": seconds, "size": 3000})
        for n in range(count)
    ]


def main(folder: str, count: str, seconds: str, backend: str) -> None:
    """A sweep in a process of its own, which says so when it gets going."""
    print("ready", flush=True)
    cells = sweep(int(count), float(seconds))
    run_cells(cells, folder, jobs=2, backend=backend, on_progress=lambda *_: print(".", flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
