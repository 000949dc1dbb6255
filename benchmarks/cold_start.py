"""What a user waits for: the import, the first run on a new machine, the first of a new process."""

import sys
import tempfile
from pathlib import Path

from measuring import Outcome, Row, child

PART = "Cold start"

# Run in a process of its own. CPU time, because compiling and importing keep one core busy.
SCRIPT = """
import time
wall, start = time.perf_counter(), time.process_time()
import heavybandits as hb
imported, wall = time.process_time(), time.perf_counter() - wall
problem = hb.Problem(hb.arms.PerRound(20, 10), hb.links.Logistic(), hb.noises.StudentT(3.0))
policy = hb.crtm(dim=10, horizon=1000, raw_moment=3.5, radius_scale=1e-3)
hb.simulate({"CRTM": policy}, problem, horizon=1000, repetitions=2, progress=False)
end = time.process_time()
problem = hb.Problem(hb.arms.PerRound(20, 10), hb.links.Logistic(), hb.noises.Gaussian(1.0))
hb.simulate({"CRTM": policy}, problem, horizon=1000, repetitions=2, progress=False)
second = time.process_time() - end
text = '{"import": %f, "wall": %f, "simulate": %f, "second": %f}'
print(text % (imported - start, wall, end - imported, second))
"""
AGENT = """
import time
import numpy as np
import heavybandits as hb
arms, start = np.full((20, 10), 0.1), time.process_time()
agent = hb.Agent(hb.auto(dim=10))
agent.update(agent.select(arms), 0.7)
print('{"agent": %f}' % (time.process_time() - start))
"""


def measure(folder: Path, quick: bool) -> Outcome:
    command = [sys.executable, "-c", SCRIPT]
    with tempfile.TemporaryDirectory() as place:
        caches = [{"NUMBA_CACHE_DIR": f"{place}/{i}"} for i in range(1 if quick else 3)]
        fresh = [child(command, cache) for cache in caches]
        cold = [run["simulate"] for run in fresh]
        agents = [child([sys.executable, "-c", AGENT], cache)["agent"] for cache in caches]
        warm = [child(command, caches[0]) for _ in range(2 if quick else 7)]
    imported = min(run["import"] for run in warm)
    wall = min(run["wall"] for run in warm)
    spread = f"CPU; best of {len(cold)}, the worst {max(cold):.1f} s"
    again = min(run["simulate"] for run in warm)
    second = min(run["second"] for run in fresh)
    late = f"CPU; best of {len(agents)}, the worst {max(agents):.1f} s"
    return Outcome(
        [
            Row(PART, "import", imported, "s", most=0.5, note=f"CPU; {wall:.2f} s of wall time"),
            Row(PART, "first simulate, empty cache", min(cold), "s", most=10.0, note=spread),
            Row(PART, "the same policy with another noise, empty cache", second, "s"),
            Row(
                PART,
                "first decision and reward of `auto`, empty cache",
                min(agents),
                "s",
                note=late,
            ),
            Row(PART, "first simulate of a process, warm cache", again, "s", most=0.5),
        ],
        [],
    )
