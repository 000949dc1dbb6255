"""Where the time of a play goes at d = 50 and d = 100 on a GPU.

    python benchmarks/gpu_wide.py --out gpu_wide.json

takes at most three minutes on a machine with an NVIDIA GPU; half of that compiles kernels. Every
case is played in pieces of growing length, and the device times each piece. The share of
projections falls from piece to piece, so a line through microseconds against projections per play
separates the cost of one projection from that of the rest. Further cases leave the projection out,
change the number of runs, or change how the kernel uses a multiprocessor.

Prints one table row per case, and writes one JSON line per case.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits._utils.errors import DeviceError
from heavybandits.gpu import layout as layouts
from heavybandits.gpu.batches import Job
from heavybandits.gpu.layout import make_layout
from heavybandits.gpu.supported import require_device
from heavybandits.parts.policies.checks import check_policies
from heavybandits.simulation.problem import check_problem

FULL = 4_224  # runs that fill an H200
ENDS = (32, 128, 320, 704)  # plays at which a piece ends
LONG = (*ENDS, 1_472, 3_008)
BUDGET = 8.0  # seconds after which a case starts no further piece
SHARED = 100  # percent of the memory next to a multiprocessor that is shared; the rest is L1 cache


class Case(NamedTuple):
    """What is timed; `changes` are constants of the module of layouts."""

    policy: str  # "crtm exact", "crtm euclidean", "crtm none" or "linucb"
    arms: str
    dim: int
    size: int = 20
    runs: int = FULL
    ends: tuple[int, ...] = ENDS
    changes: tuple[tuple[str, int], ...] = ()
    carveout: int = SHARED

    @property
    def name(self) -> str:
        changed = [f"{name}={value}" for name, value in self.changes]
        changed += [f"shared={self.carveout}%"] if self.carveout != SHARED else []
        return ", ".join((self.policy, self.arms, f"d={self.dim}, K={self.size}", *changed))


def cases() -> Iterator[Case]:
    """First teams of several warps, as they are; then the same by a warp each, and variations."""
    narrow, l1 = ("CROWDED", -1), 25  # a team has one warp; a large L1 cache
    kinds = ("PerRound", "Fixed")
    for changes in ((), (narrow,)):
        for kind in kinds:
            yield Case("crtm exact", kind, 100, ends=LONG, changes=changes)
            yield Case("crtm none", kind, 100, changes=changes)
            yield Case("crtm exact", kind, 50, changes=changes)
        yield Case("linucb", "PerRound", 100, changes=changes)
        yield Case("crtm none", "PerRound", 100, size=2, changes=changes)  # learning alone
    for kind in kinds:
        yield Case("crtm exact", kind, 100, size=200)
        for lanes in (64, 256):
            yield Case("crtm exact", kind, 100, changes=(("BLOCK", lanes),))
    for changes in ((), (narrow,)):
        for runs in (132, 264, 528):
            yield Case("crtm exact", "PerRound", 100, runs=runs, changes=changes)
    shared, few = ("TEAMS", 2), ("THREADS", 256)  # V^-1 in shared memory; 8 warps instead of 16
    for policy in ("crtm exact", "crtm none"):
        yield Case(policy, "PerRound", 100, changes=(narrow, shared))
        yield Case(policy, "PerRound", 100, changes=(narrow,), carveout=l1)
        yield Case(policy, "PerRound", 100, changes=(narrow, few))
    yield Case("crtm none", "PerRound", 50, changes=(narrow,))
    yield Case("crtm none", "PerRound", 50)
    for dim in (24, 32, 40):  # where a team of several warps begins to be faster
        yield Case("crtm exact", "PerRound", dim, changes=(narrow,))
        for lanes in (64, 128):
            wide = (("CROWDED", 20), ("BLOCK", lanes))
            yield Case("crtm exact", "PerRound", dim, changes=wide)


@contextmanager
def changed_layout(case: Case) -> Iterator[None]:
    """Make the layouts of a case with its constants."""
    before = {name: getattr(layouts, name) for name, _ in case.changes}
    vars(layouts).update(case.changes)
    try:
        yield
    finally:
        vars(layouts).update(before)


def make_job(case: Case) -> Job:
    policy, _, projection = case.policy.partition(" ")
    if policy == "linucb":
        made = hb.linucb(dim=case.dim)
    else:
        made = hb.crtm(
            dim=case.dim,
            horizon=case.ends[-1],
            raw_moment=3.5,
            radius_scale=1e-3,
            projection=projection,
        )
    arms = getattr(hb.arms, case.arms)(case.size, case.dim)
    problem = check_problem(hb.Problem(arms, hb.links.Logistic(), hb.noises.StudentT(3.0)))
    checked = check_policies(made)["policy"]
    return Job(checked, problem, case.ends[-1], case.ends, 0, 0, case.runs)


def compile_case(case: Case) -> None:
    """Compile the kernel of a case in a process of its own, which leaves it on the disk."""
    from heavybandits.gpu.run import prepare

    quieten()
    job = make_job(case)
    with changed_layout(case):
        prepare([job], make_layout(job.policy, job.problem.arms, job.size))


def quieten() -> None:
    require_device()
    warnings.filterwarnings("ignore", module="numba")


def resources(kernel: Any) -> dict[str, Any]:
    """Registers and bytes of local memory of a thread."""
    (made,) = kernel.overloads.values()
    return {"registers": made.regs_per_thread, "local bytes": made.local_mem_per_thread}


def measure(case: Case) -> dict[str, Any]:
    """Play a case piece by piece: microseconds of the device per play, and projections per play."""
    from numba import cuda

    from heavybandits.gpu import compile as compiling
    from heavybandits.gpu.launch import Launch

    compiling._dispatcher.cache_clear()  # for a kernel with its own share of L1 cache
    job = make_job(case)
    with changed_layout(case):
        layout = make_layout(job.policy, job.problem.arms, job.size)
        launch = Launch([job], layout)
    for made in launch.kernel.overloads.values():
        made._codelibrary.get_cufunc().set_shared_memory_carveout(case.carveout)
    stream, start, spent, seconds = cuda.stream(), 0, 0.0, []
    for stop in case.ends:
        if spent > BUDGET:
            break
        began = time.perf_counter()
        timer = launch.play(start, stop, stream)
        timer.stop()
        cuda.synchronize()
        seconds.append(timer.milliseconds() / 1e3)
        spent, start = spent + time.perf_counter() - began, stop
    projections = launch.out["projections"].copy_to_host()[:, : len(seconds)].mean(axis=0)
    plays = np.diff([0, *case.ends[: len(seconds)]])
    each = np.diff([0.0, *projections]) / plays
    micro = 1e6 * np.array(seconds) / plays / case.runs * layouts.PROCESSORS
    places = {leaf.name.rpartition("_")[2]: leaf.place for leaf in layout.leaves}
    return {
        "case": case.name,
        "runs": case.runs,
        "lanes": layout.lanes,
        "teams per block": layout.teams,
        "blocks": -(-case.runs // layout.teams),
        "inverse": places["inverse"],
        "features": places["features"],
        **resources(launch.kernel),
        "plays per second": float(case.ends[len(seconds) - 1] * case.runs / sum(seconds)),
        "plays": plays.tolist(),
        "processor us per play": micro.round(3).tolist(),
        "projections per play": each.round(4).tolist(),
        **line(each[1:], micro[1:]),
    }


def line(x: Any, y: Any) -> dict[str, float]:
    """The line through the pieces: what a projection costs, and what the rest of a play costs."""
    if x.size < 2 or np.ptp(x) < 0.01:
        return {}
    slope, height = np.polyfit(x, y, 1)
    return {"us per projection": round(slope, 3), "us without": round(height, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("gpu_wide.json"))
    parser.add_argument("--seconds", type=float, default=170.0, help="start no case after these")
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    given = parser.parse_args()
    started = time.perf_counter()
    try:
        quieten()
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 2
    chosen = [case for case in cases() if given.match in case.name]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(compile_case, case) for case in chosen]
    failed = [str(work.exception())[:200] for work in waiting if work.exception() is not None]
    print(*failed, sep="\n")
    print(f"compiled {len(chosen)} kernels in {time.perf_counter() - started:.0f} s", flush=True)
    print("us are of one multiprocessor per play, in the first piece and in the last")
    print(
        f"{'case':62} {'runs':>5} {'M/s':>7} {'us':>15} {'projections':>13}  reg local", flush=True
    )
    with given.out.open("w") as out:
        for case in chosen:
            if time.perf_counter() - started > given.seconds:
                print("out of time")
                break
            try:
                row = measure(case)
            except Exception as error:  # the other cases are worth having
                print(f"{case.name:62} {type(error).__name__}: {str(error)[:80]}", flush=True)
                continue
            micro, each = row["processor us per play"], row["projections per play"]
            print(
                f"{case.name:62} {case.runs:5} {row['plays per second'] / 1e6:7.3f} "
                f"{micro[0]:7.1f} {micro[-1]:7.1f} {each[0]:6.3f} {each[-1]:6.3f}  "
                f"{row['registers']} {row.get('local bytes')} "
                f"{row.get('us per projection', '')} {row.get('us without', '')}",
                flush=True,
            )
            out.write(json.dumps(row) + "\n")
            out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
