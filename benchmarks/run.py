"""Measure speed and write one table and one figure: python benchmarks/run.py --help."""

import argparse
import math
import os
import sys
import time
import traceback
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # one core, before numpy is loaded

import agent  # noqa: E402
import batches  # noqa: E402
import beyond  # noqa: E402
import cold_start  # noqa: E402
import encoding  # noqa: E402
import growth  # noqa: E402
import large_arms  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import table2  # noqa: E402
import whole_job  # noqa: E402
import world_speed  # noqa: E402
import yardsticks  # noqa: E402
from measuring import Outcome, Row, say  # noqa: E402

PARTS = {
    "yardsticks": yardsticks,
    "batches": batches,
    "world_speed": world_speed,
    "agent": agent,
    "encoding": encoding,
    "peers": peers,
    "growth": growth,
    "large_arms": large_arms,
    "beyond": beyond,
    "table2": table2,
    "whole_job": whole_job,
    "cold_start": cold_start,
}

FAILED = "this part failed"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the speed of heavybandits.")
    parser.add_argument("--only", action="append", choices=PARTS, help="a part; may be repeated")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: tries the suite itself")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="where to write")
    return parser.parse_args(arguments)


def measure(names: list[str], folder: Path, quick: bool) -> Outcome:
    """Run the parts one after the other."""
    rows, curves = [], []
    for name in names:
        say(f"{name} ...")
        started = time.perf_counter()
        try:
            outcome = PARTS[name].measure(folder, quick)
        except Exception as error:  # the other parts are worth having
            say(traceback.format_exc())
            broken = Row(name, FAILED, math.nan, "", note=f"{error!r:.200}")
            outcome = Outcome([broken], [])
        rows += outcome.rows
        curves += outcome.curves
        say(f"{name} took {time.perf_counter() - started:.0f} s")
    return Outcome(rows, curves)


def main() -> None:
    chosen = parse(sys.argv[1:])
    names = chosen.only or list(PARTS)
    outcome = measure(names, chosen.out, chosen.quick)
    paths = report.write(chosen.out, outcome, chosen.quick)
    print(paths[0].read_text())
    say(f"written: {', '.join(str(path) for path in paths)}")
    if any(row.what == FAILED for row in outcome.rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
