"""Mangle many state files, and report as JSON what became of them.

Stops with an error at the first file that crashes the loader, loads as another state, or runs code.
"""

import argparse
import json
import random
import resource
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import heavybandits as hb
import state_fuzz
from heavybandits.agents.state_file import unpack


def peak_memory(files: int, seed: int) -> dict[str, Any]:
    """The most that reading a file takes, beyond the file: its bytes, and as a multiple of it."""
    dice, seeds = random.Random(seed), state_fuzz.seeds()
    worst = 0
    tracemalloc.start()
    for _ in range(files):
        mangle = dice.choice((*state_fuzz.DAMAGE, *state_fuzz.MALICE))
        data = mangle(dice.choice(seeds), dice)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            unpack(data)
        except hb.StateError:
            pass
        worst = max(worst, tracemalloc.get_traced_memory()[1] - before - 2 * len(data))
    tracemalloc.stop()
    return {"files": files, "most_bytes_beyond_twice_the_file": worst}


def slowest(files: int, seed: int) -> float:
    """The longest that any file took, in seconds of CPU."""
    dice, seeds, worst = random.Random(seed), state_fuzz.seeds(), 0.0
    for _ in range(files):
        mangle = dice.choice((*state_fuzz.DAMAGE, *state_fuzz.MALICE))
        data = mangle(dice.choice(seeds), dice)
        started = time.process_time()
        try:
            unpack(data)
        except hb.StateError:
            pass
        worst = max(worst, time.process_time() - started)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.process_time()
    found = state_fuzz.fuzz(options.files, options.seed)
    outcomes: dict[str, dict[str, int]] = {}
    for (kind, outcome), count in sorted(found.items()):
        outcomes.setdefault(kind, {})[outcome] = count
    report = {
        "files": options.files,
        "crashes": 0,  # fuzz() raises at the first
        "wrong_loads": 0,
        "code_run": 0,
        "outcomes": outcomes,
        "cpu_seconds": round(time.process_time() - started, 1),
        "slowest_seconds": round(slowest(options.files // 10, options.seed + 1), 4),
        "memory": peak_memory(options.files // 50, options.seed + 2),
        "peak_resident_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
