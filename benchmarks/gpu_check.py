"""On a machine with a GPU: the same numbers as the CPU, and how fast. `make gpu-check`.

Writes benchmarks/gpu/report.md and report.json: machine, versions, commit, every comparison and
every figure. Ends with status 1 if a comparison fails; figures of speed fail nothing.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import heavybandits as hb
from gpu_cases import cases, forgetful, worlds
from heavybandits._utils.errors import DeviceError
from heavybandits.experiments.run import load_experiment, settings_of
from heavybandits.gpu.batches import Job
from heavybandits.gpu.layout import make_layout
from heavybandits.gpu.supported import require_device
from heavybandits.parts.policies.checks import check_policies
from heavybandits.simulation.problem import Problem, check_problem
from heavybandits.sweeps import Runner

HERE = Path(__file__).parent
SHORT, LONG, RUNS = 60, 600, 64  # plays of the two comparisons, and runs of each
CLOSE = 1e-9  # relative error of a regret that agrees
MOST = 5.0  # standard errors between two means that agree
DIM, ARMS = 10, 20
PARTS = ("comparisons", "speed", "figure1")
# What one lane plays because of its estimator.
ALONE = ("auto", "cral", "cral_tuned", *forgetful())


def simulate(policy: Any, problem: Problem, horizon: int, runs: int, device: str) -> Any:
    return hb.simulate(
        policy, problem, horizon=horizon, repetitions=runs, checkpoints=1, jobs=None, device=device
    )


def compare(name: str, policy: Any, problem: Problem, horizon: int) -> dict[str, Any]:
    """The same runs on both: equal in bits, close, and equal in distribution."""
    ours = simulate(policy, problem, horizon, RUNS, "cuda").data
    theirs = simulate(policy, problem, horizon, RUNS, "cpu").data
    a, b = ours["regret"], theirs["regret"]
    gap, error = a - b, b.std() / np.sqrt(RUNS)
    close = int((np.abs(gap) <= CLOSE * np.maximum(np.abs(b), 1e-3)).sum())
    apart = float(abs(gap.mean()) / max(error, 1e-9))
    counts = ("updates", "projections", "truncated")
    row = {
        "case": name,
        "plays": horizon,
        "equal in bits": int((a == b).sum()),
        "close": close,
        "counts equal": int(sum(np.all([ours[c] == theirs[c] for c in counts], axis=0))),
        "mean on the GPU": float(a.mean()),
        "mean on the CPU": float(b.mean()),
        "apart, in standard errors": apart,
    }
    few = horizon == SHORT and close < 0.8 * RUNS
    return row | {"agrees": not few and apart <= MOST}


def crtm(dim: int, horizon: int, projection: str = "exact") -> Any:
    return hb.crtm(
        dim=dim, horizon=horizon, raw_moment=3.5, radius_scale=1e-3, projection=projection
    )


def crmm(dim: int, horizon: int) -> Any:
    return hb.crmm(dim=dim, horizon=horizon, central_moment=3.5, radius_scale=1e-3)


def problem_of(kind: Any, dim: int = DIM, arms: int = ARMS) -> Problem:
    noise = hb.noises.StudentT(3.0)
    return check_problem(Problem(kind(arms, dim), hb.links.Logistic(), noise))


def timed(policy: Any, problem: Problem, horizon: int, runs: int, device: str) -> dict[str, float]:
    """Seconds of a first short call, which compiles, and plays per second of the whole one."""
    before = time.perf_counter()
    simulate(policy, problem, 64, runs, device)
    first, before = time.perf_counter() - before, time.perf_counter()
    simulate(policy, problem, horizon, runs, device)
    rate = horizon * runs / (time.perf_counter() - before)
    return {"first call, s": first, "plays per second": rate}


def workload(scale: int) -> Iterator[tuple[str, Any, Any, int, int]]:
    """What is timed: its name, the policy, the problem, plays and runs."""
    fresh, fixed = problem_of(hb.arms.PerRound), problem_of(hb.arms.Fixed)
    yield "CRTM, fresh arms", crtm(DIM, 200_000), fresh, 200_000 // scale, 16_896
    yield "CRTM, fixed arms", crtm(DIM, 200_000), fixed, 200_000 // scale, 16_896
    yield "CRMM, fixed arms", crmm(DIM, 200_000), fixed, 200_000 // scale, 67_584
    for dim, arms in ((10, 20), (20, 20), (50, 20), (100, 20), (10, 200), (100, 200)):
        plays = max(10_000_000 // (dim * (dim + arms)) // scale, 300)
        for kind in (hb.arms.PerRound, hb.arms.Fixed):
            name = f"CRTM, {kind.__name__.lower()} arms"
            yield name, crtm(dim, plays), problem_of(kind, dim, arms), plays, 4_224
    yield from alone(scale)
    yield from changing(scale)


def alone(scale: int) -> Iterator[tuple[str, Any, Any, int, int]]:
    """What is timed of the policies that one lane plays."""
    linear = check_problem(fixed_problem()._replace(link=hb.links.Identity()))
    yield "auto, fixed arms", hb.auto(dim=DIM), linear, 20_000 // scale, 16_896
    yield "CRAL, fixed arms", hb.cral(dim=DIM), linear, 20_000 // scale, 16_896


def changing(scale: int) -> Iterator[tuple[str, Any, Any, int, int]]:
    """What is timed of problems that change, whose runs one lane plays."""
    law, plays = hb.noises.StudentT(3.0, 0.3), 20_000 // scale
    drift, delay = hb.worlds.Jumps(every=500), hb.worlds.GeometricDelay(20.0, room=300)
    arms, linucb = hb.arms.Fixed(ARMS, DIM), hb.linucb(dim=DIM, radius=0.1)
    moving = hb.Problem(arms, hb.links.Identity(), law, drift=drift, delay=delay)
    yield "LinUCB, jumps and delays", linucb, check_problem(moving), plays, 16_896
    yield "LinUCB, shop", linucb, hb.worlds.shop(), plays, 16_896


def fixed_problem() -> Problem:
    return problem_of(hb.arms.Fixed)


def precompile(work: list[tuple[Any, Problem, int]]) -> None:
    """Compile the kernels that play so many runs of these policies on these problems."""
    from heavybandits.gpu.precompile import compile_all

    kernels = []
    for policy, problem, runs in work:
        job = Job(check_policies(policy)["policy"], problem, 64, (64,), 0, 0, runs)
        layout = make_layout(job.policy, problem.arms, runs, problem)
        kernels.append(([job], layout))
    compile_all(kernels)


def speeds(quick: bool, only: str | None) -> list[dict[str, Any]]:
    """CRTM and CRMM at the sizes of the paper, CRTM as d and K grow, and what one lane plays,
    next to all CPU cores.

    The kernels of the latter are compiled side by side first. only: "alone" or "worlds".
    """
    work = {"alone": alone, "worlds": changing, None: workload}[only]
    rows, first = [], 0 if only else 3
    precompile([(policy, problem, runs) for _, policy, problem, _, runs in work(1)][first:])
    for what, policy, problem, horizon, runs in work(10 if quick else 1):
        gpu = timed(policy, problem, horizon, runs, "cuda")
        cpu = timed(policy, problem, horizon, 4 * (os.cpu_count() or 1), "cpu")
        row = {"what": what, "d": problem.arms.dim, "K": problem.arms.size}
        row |= {"plays": horizon, "runs": runs}
        row |= {f"GPU: {key}": value for key, value in gpu.items()}
        row["CPU: plays per second, all cores"] = cpu["plays per second"]
        row["times the CPU"] = gpu["plays per second"] / cpu["plays per second"]
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def figure1() -> list[dict[str, Any]]:
    """Figure 1 of the paper, tuned on its grid and on the grown one, twice: the first compiles."""
    given = settings_of("figure1", "default", repetitions=50) | {"tuning_repetitions": 10}
    rows = []
    for what in ("with compiling", "kernels on disk"):
        with TemporaryDirectory() as folder:
            before = time.perf_counter()
            compute = Runner(folder, progress=False, device="cuda", fallback=True)
            load_experiment("figure1").collect(given, compute)
            rows.append({"Figure 1": what, "seconds": time.perf_counter() - before})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def comparisons(names: list[str]) -> list[dict[str, Any]]:
    """Every case, each in a process of its own: most of the time goes into compiling."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rows = [row for pair in pool.map(compare_case, names) for row in pair]
    for row in rows:
        print(json.dumps(row), flush=True)
    return rows


def compare_case(name: str) -> list[dict[str, Any]]:
    quieten()
    return [compare(name, *cases()[name], horizon) for horizon in (SHORT, LONG)]


def quieten() -> None:
    """Small grids are slow, says numba-cuda; here they are meant."""
    require_device()
    warnings.filterwarnings("ignore", module="numba")


def machine(commit: str | None) -> dict[str, Any]:
    from numba import cuda

    asked = ["git", "rev-parse", "--short", "HEAD"]
    return {
        "GPU": str(cuda.gpus[0].name),
        "CPU cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numba", "numba-cuda", "numpy")},
        "commit": commit or subprocess.check_output(asked, text=True, cwd=HERE).strip(),
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    def cell(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    lines = [f"| {' | '.join(rows[0])} |", "|" + "---|" * len(rows[0])]
    return lines + [f"| {' | '.join(map(cell, row.values()))} |" for row in rows]


def write(report: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    lines = ["# The GPU next to the CPU", "", "Made by `make gpu-check`.", ""]
    lines += [f"- {key}: {value}" for key, value in report["machine"].items()]
    for title in PARTS:
        if report[title]:
            lines += ["", f"## {title.capitalize()}", "", *table(report[title])]
    (folder / "report.md").write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the plays for speed")
    parser.add_argument("--only", choices=PARTS)
    some = parser.add_mutually_exclusive_group()
    some.add_argument(
        "--alone",
        action="store_const",
        const="alone",
        dest="some",
        help="only auto, CRAL and Discounted, which one lane plays",
    )
    some.add_argument(
        "--worlds",
        action="store_const",
        const="worlds",
        dest="some",
        help="only problems that change while they are played",
    )
    parser.add_argument("--cases", nargs="+", help="compare these cases only")
    parser.add_argument("--commit", help="of the sources, where they are no clone")
    parser.add_argument("--out", type=Path, default=HERE / "gpu")
    given = parser.parse_args()
    try:
        quieten()
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 2
    names = {"alone": [*ALONE], "worlds": [*worlds()], None: [*cases()]}[given.some]
    parts = (
        lambda: comparisons(given.cases or names),
        lambda: speeds(given.quick, given.some),
        lambda: [] if given.some else figure1(),
    )
    report: dict[str, Any] = {"machine": machine(given.commit)}
    for title, make in zip(PARTS, parts, strict=True):
        report[title] = make() if given.only in (None, title) else []
    write(report, given.out)
    return 0 if all(row["agrees"] for row in report["comparisons"]) else 1


if __name__ == "__main__":
    sys.exit(main())
