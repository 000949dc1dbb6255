"""The time of a play on a GPU at d = 50 and d = 100, cause by cause.

    python benchmarks/gpu_wide.py --out gpu_wide.jsonl

takes less than two minutes on a machine with an NVIDIA GPU and 16 cores; most of it compiles
kernels. A case is played in pieces, and the device times each piece. Cases without projection, with
few runs, with fixed arms and with a warp per run separate the causes.

Every group of cases has a process of its own, so that an error of the device ends one group only.
What teams of several warps play is compared with the CPU before it is timed. Prints a table, and
writes one JSON line per case.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 imports it, NumPy 2.5 dropped it
    setattr(np, "row_stack", np.vstack)  # noqa: B010

import heavybandits as hb
from heavybandits._utils.errors import DeviceError
from heavybandits.gpu import layout as layouts
from heavybandits.gpu.batches import Job
from heavybandits.gpu.layout import make_layout
from heavybandits.gpu.supported import require_device
from heavybandits.parts.policies.checks import check_policies
from heavybandits.simulation.player import play_job
from heavybandits.simulation.problem import check_problem

FULL = 2_112  # runs that fill an H200, 16 per multiprocessor
ENDS = (32, 128, 320)  # plays at which a piece ends
LONG = (*ENDS, 704, 1_472)
INVERTED = (1_000, 2_200)  # V is inverted after 1,024 and 2,048 updates
COMPARED = 16  # runs that are compared with the CPU
CLOSE = 1e-9  # relative error of a regret that agrees
SHARED = 100  # percent of the memory next to a multiprocessor that is shared; the rest is L1 cache


class Case(NamedTuple):
    """What is timed; `changes` are constants of the module of layouts."""

    policy: str  # "crtm exact", "crtm none" or "linucb none"
    arms: str
    dim: int
    size: int = 20
    runs: int = FULL
    ends: tuple[int, ...] = ENDS
    changes: tuple[tuple[str, int], ...] = ()
    carveout: int = SHARED
    compared: bool = False

    @property
    def same(self) -> tuple[Any, ...]:
        """What decides the numbers of a run: not how a device plays it."""
        return self.policy, self.arms, self.dim, self.size, self.ends

    @property
    def name(self) -> str:
        changed = [f"{name}={value}" for name, value in self.changes]
        changed += [f"shared={self.carveout}%"] if self.carveout != SHARED else []
        return ", ".join((self.policy, self.arms, f"d={self.dim}, K={self.size}", *changed))


NARROW, WIDE = ("CROWDED", -1), ("CROWDED", 6)  # a team has one warp, or several
EXACT, NONE = "crtm exact", "crtm none"
GROUPS: dict[str, list[Case]] = {
    "a warp per run": [
        Case("linucb none", "PerRound", 10, ends=INVERTED, changes=(NARROW,), compared=True),
        Case(EXACT, "PerRound", 100, changes=(NARROW,), compared=True),
        Case(NONE, "PerRound", 100, changes=(NARROW,)),
        Case(NONE, "PerRound", 100, size=2, changes=(NARROW,)),  # what learning alone costs
        Case(EXACT, "Fixed", 100, ends=LONG, changes=(NARROW,), compared=True),
        Case(EXACT, "PerRound", 100, runs=528, changes=(NARROW,)),
        Case(EXACT, "PerRound", 100, changes=(NARROW,), carveout=25),  # a large L1 cache
        Case(EXACT, "PerRound", 100, changes=(NARROW, ("TEAMS", 2))),  # V^-1 in shared memory
        Case(EXACT, "PerRound", 50, changes=(NARROW,), compared=True),
    ],
    "several warps": [
        Case("linucb none", "PerRound", 100, changes=(WIDE,), compared=True),
        Case(NONE, "PerRound", 100, changes=(WIDE,), compared=True),
        Case("linucb none", "Fixed", 100, changes=(WIDE,), compared=True),
    ],
    "sizes": [
        Case("linucb none", "PerRound", 50, ends=INVERTED, changes=(WIDE,), compared=True),
        Case("linucb none", "PerRound", 100, size=200, changes=(WIDE,), compared=True),
    ],
    "more lanes": [Case(NONE, "PerRound", 100, changes=(WIDE, ("BLOCK", 256)), compared=True)],
}


PROBE = "what a team does"


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
    name, _, projection = case.policy.partition(" ")
    if name == "linucb":
        made = hb.linucb(dim=case.dim, radius=1.0)
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


def quieten() -> None:
    require_device()
    warnings.filterwarnings("ignore", module="numba")


def kernel_key(case: Case) -> tuple[Any, ...]:
    """What is the same for cases that one kernel plays."""
    from heavybandits.gpu.kernels import kernel_text
    from heavybandits.gpu.layout import numbers_of

    job = make_job(case)
    with changed_layout(case):
        layout = make_layout(job.policy, job.problem.arms, job.size)
    text, _ = kernel_text(job.parts, [False] * len(numbers_of(job.parts)), layout)
    return case.policy, case.arms, text


def compile_case(case: Case) -> None:
    """Compile the kernel of a case, in a process of its own, and leave it on the disk."""
    quieten()
    from heavybandits.gpu.run import prepare

    job = make_job(case)
    with changed_layout(case):
        prepare([job], make_layout(job.policy, job.problem.arms, job.size))


def play_on_cpu(case: Case) -> dict[str, Any]:
    """What the CPU finds in some runs of a case."""
    return play_job(make_job(case)._replace(last=COMPARED))


def start(case: Case, runs: int) -> Any:
    """The runs of a case on the device, before their first play."""
    from heavybandits.gpu import compile as compiling
    from heavybandits.gpu.launch import Launch

    compiling._dispatcher.cache_clear()  # for a kernel with its own share of L1 cache
    job = make_job(case)
    with changed_layout(case):
        layout = make_layout(job.policy, job.problem.arms, job.size)
        launch = Launch([job._replace(last=runs)], layout)
    for made in launch.kernel.overloads.values():
        made._codelibrary.get_cufunc().set_shared_memory_carveout(case.carveout)
    return launch


def compare(case: Case, wanted: dict[str, Any]) -> str:
    """Play some runs on the device, and say how many agree with the CPU."""
    from numba import cuda

    launch = start(case, COMPARED)
    launch.play(0, case.ends[-1], cuda.stream()).stop()
    cuda.synchronize()
    found = launch.outcomes(0.0)[0]
    gap = np.abs(found["regret"] - wanted["regret"])
    close = (gap <= CLOSE * np.maximum(np.abs(wanted["regret"]), 1e-3)).sum(axis=0)
    counts = ("updates", "projections", "truncated")
    equal = np.all([found[name] == wanted[name] for name in counts], axis=(0, 2)).sum()
    means = f"{found['regret'][:, -1].mean():.6g} and {wanted['regret'][:, -1].mean():.6g}"
    return f"{close.tolist()} of {COMPARED} regrets close, {equal} counts equal, means {means}"


def measure(case: Case) -> dict[str, Any]:
    """Play a case piece by piece: microseconds of the device per play, and projections per play."""
    from numba import cuda

    launch = start(case, case.runs)
    layout, stream, before, seconds = launch.layout, cuda.stream(), 0, []
    for stop in case.ends:
        timer = launch.play(before, stop, stream)
        timer.stop()
        cuda.synchronize()
        seconds.append(timer.milliseconds() / 1e3)
        before = stop
    projections = launch.out["projections"].copy_to_host().mean(axis=0)
    plays = np.diff([0, *case.ends])
    micro = 1e6 * np.array(seconds) / plays / case.runs * layouts.PROCESSORS
    (made,) = launch.kernel.overloads.values()
    return {
        "case": case.name,
        "runs": case.runs,
        "lanes": layout.lanes,
        "teams per block": layout.teams,
        "registers": made.regs_per_thread,
        "local bytes": made.local_mem_per_thread,
        "plays per second": case.ends[-1] * case.runs / sum(seconds),
        "plays": plays.tolist(),
        "processor us per play": micro.round(3).tolist(),
        "projections per play": (np.diff([0.0, *projections]) / plays).round(4).tolist(),
    }


def run_group(name: str, folder: Path, out: Path) -> int:
    """Compare and time the cases of a group; the first error ends it."""
    quieten()
    if name == PROBE:
        probe()
        return 0
    wanted = pickle.loads((folder / "cpu").read_bytes())
    for case in GROUPS[name]:
        try:
            if case.compared:
                print(f"{case.name:55} {compare(case, wanted[case.same])}", flush=True)
            row = measure(case)
        except Exception as error:  # other groups have processes of their own
            print(f"{case.name:55} {type(error).__name__}: {str(error)[:400]}", flush=True)
            return 1
        micro, each = row["processor us per play"], row["projections per play"]
        print(
            f"{case.name:55} {case.runs:5} {row['plays per second'] / 1e6:8.3f} "
            f"{micro[0]:8.1f} {micro[-1]:8.1f} {each[0]:6.3f} {each[-1]:6.3f}  "
            f"{row['lanes']} x {row['teams per block']}, {row['registers']}, {row['local bytes']}",
            flush=True,
        )
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
    return 0


def probe(lanes: int = 128, dim: int = 20, size: int = 7) -> None:
    """Let a block do, one after the other, what a team of several warps does; print what agrees."""
    from numba import cuda
    from numba.cuda.types import float64

    from heavybandits.core.jit import jitable
    from heavybandits.gpu.arms import squares_by_rows
    from heavybandits.gpu.team import carve, lane, maximum, sync, total, value_of, writable

    carve_features, carve_matrix = carve((dim, size), lanes), carve((dim, dim), lanes)
    carve_squares, measure = carve((size,), lanes), jitable(squares_by_rows(lanes))

    def waiting(given, out):
        if cuda.threadIdx.x < 5:
            out[cuda.threadIdx.x] = given[cuda.threadIdx.x]
        sync(lanes)
        out[cuda.threadIdx.x] = given[cuda.threadIdx.x]

    def largest(given, out):
        out[cuda.threadIdx.x] = maximum(given[cuda.threadIdx.x], lanes)

    def summing(given, out):
        out[cuda.threadIdx.x] = total(given[cuda.threadIdx.x], lanes)

    def asking(given, out):
        out[cuda.threadIdx.x] = value_of(given[cuda.threadIdx.x], 31 - lane(32))

    def measuring(given, out):
        pool = cuda.shared.array(0, float64)
        features, matrix = carve_features(pool, 32), carve_matrix(pool, 32 + dim * size)
        squares, i = carve_squares(pool, 32 + dim * (size + dim)), lane(lanes)
        while i < dim * (size + dim):
            pool[32 + i] = given[i]
            i += lanes
        sync(lanes)
        measure(features, matrix, squares, squares, squares)
        out[cuda.threadIdx.x] = writable(squares)[cuda.threadIdx.x % size]

    drawn = np.random.default_rng(0).integers(0, 9, dim * (size + dim)).astype(float)
    x, matrix = drawn[: dim * size].reshape(dim, size), drawn[dim * size :].reshape(dim, dim)
    lower = np.tril(matrix, -1)
    width = np.einsum("ik,ij,jk->k", x, lower + lower.T + np.diag(np.diag(matrix)), x)
    mine, places = drawn[:lanes], np.arange(lanes)
    wanted = {
        waiting: mine,
        largest: np.full(lanes, mine.max()),
        summing: np.full(lanes, mine.sum()),
        asking: mine[places // 32 * 32 + 31 - places % 32],
        measuring: width[places % size],
    }
    for function, right in wanted.items():
        out = cuda.to_device(np.zeros(lanes))
        cuda.jit(function)[1, lanes, 0, 8_192](cuda.to_device(drawn), out)
        found = out.copy_to_host()
        print(f"{function.__name__:55} {(found == right).sum()} of {lanes} agree", flush=True)


def answer(work: Future[Any], left: float, what: str) -> Any:
    """What a process has found; None, and its error printed, if it failed or takes too long."""
    try:
        return work.result(max(left, 0.1))
    except Exception as error:
        print(f"{what}: {type(error).__name__}: {str(error)[:400]}", flush=True)
        return None


def prepare_all(groups: Sequence[str], folder: Path, seconds: float) -> None:
    """Compile all kernels side by side, and play on the CPU what is compared."""
    cases = [case for name in groups for case in GROUPS.get(name, [])]
    end, compared = time.perf_counter() + seconds, {c.same: c for c in cases if c.compared}
    pool = ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))
    kernels = {kernel_key(case): case for case in cases}
    compiling = {case.name: pool.submit(compile_case, case) for case in kernels.values()}
    playing = {same: pool.submit(play_on_cpu, case) for same, case in compared.items()}
    for name, work in compiling.items():
        answer(work, end - time.perf_counter(), f"compiling {name}")
    wanted = {
        same: answer(work, end - time.perf_counter(), compared[same].name)
        for same, work in playing.items()
    }
    (folder / "cpu").write_bytes(pickle.dumps(wanted))
    pool.shutdown(wait=False, cancel_futures=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("gpu_wide.jsonl"))
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=[*GROUPS][:-1])
    parser.add_argument("--compiling", type=float, default=60.0, help="seconds, at most")
    parser.add_argument("--group", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.group:
        return run_group(given.group, given.folder, given.out)
    try:
        quieten()
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 2
    started = time.perf_counter()
    with TemporaryDirectory() as place:
        words = [sys.executable, __file__, "--out", str(given.out), "--folder", place, "--group"]
        with subprocess.Popen([*words, PROBE]) as probing:
            prepare_all(given.groups, Path(place), given.compiling)
            probing.kill()  # if it still waits for its block
        print(f"prepared in {time.perf_counter() - started:.0f} s", flush=True)
        print("us: of one multiprocessor per play, in the first piece and in the last", flush=True)
        title = f"{'case':55} {'runs':>5} {'M/s':>8} {'us':>17} {'projections':>13}"
        print(f"{title}  lanes x teams, registers, local bytes", flush=True)
        for name in given.groups:
            print(f"-- {name}", flush=True)
            try:
                subprocess.run([*words, name], timeout=30, check=False)
            except subprocess.TimeoutExpired:
                print(f"{name}: stopped after 30 s", flush=True)
    print(f"ended after {time.perf_counter() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
