"""The time of the experiments of `heavybandits reproduce`, of this tree or of another.

    python benchmarks/experiment_time.py --full --jobs 2
    python benchmarks/experiment_time.py --full --jobs 2 --source ../before/src --names map tails

Every experiment computes all its cells in a process of its own and stores them in an empty folder.
With `--warm` it does so twice and the second time counts, so that kernels are compiled already.
Prints a JSON line per experiment: seconds of wall time, and of CPU time with that of all workers.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = (
    "table2",
    "table1",
    "coverage",
    "tails",
    "outlier",
    "levels",
    "evaluation",
    "beyond",
    "map",
)

COLLECT = """
import sys
from heavybandits.experiments.run import load_experiment, settings_of
from heavybandits.sweeps import Runner
name, profile, jobs, folder = sys.argv[1:]
runner = Runner(folder, int(jobs), "loky", progress=False)
rows = load_experiment(name).collect(settings_of(name, profile), runner)
print(len(rows))
"""


def compute(name: str, profile: str, jobs: int, source: Path | None) -> dict[str, float]:
    """Compute an experiment in an empty folder; return its seconds and the number of its rows."""
    environment = dict(os.environ)
    if source is not None:
        others = environment.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join([str(source.resolve()), others])
    before, started = os.times(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", COLLECT, name, profile, str(jobs), folder]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    wall, after = time.perf_counter() - started, os.times()
    burnt = after.children_user + after.children_system
    burnt -= before.children_user + before.children_system
    return {"rows": int(done.stdout), "wall": round(wall, 2), "cpu": round(burnt, 2)}


def main() -> None:
    """Time the experiments one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", nargs="*", default=NAMES, help="experiments, in this order")
    parser.add_argument("--full", action="store_true", help="the sizes of `reproduce --full`")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--source", type=Path, help="folder of the package heavybandits to measure")
    parser.add_argument("--warm", action="store_true", help="compile before the clock starts")
    given = parser.parse_args()
    profile = "full" if given.full else "default"
    for name in given.names:
        for _ in range(1 + given.warm):
            found = compute(name, profile, given.jobs, given.source)
        print(json.dumps({"experiment": name, "profile": profile, **found}), flush=True)


if __name__ == "__main__":
    main()
