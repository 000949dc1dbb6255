"""Policies without tuning, next to peers at their defaults and radii chosen in hindsight."""

from collections.abc import Iterator
from typing import Any

from ..._utils.tables import Row
from ...core.part import describe
from ...core.sources import digest
from ...offline.replay.kernels import rounds_kernel
from ...sweeps import Cell
from ..data import load_data
from ..realdata import CELL as REPLAY
from ..realdata import examine, is_there, replay_code
from ..rows import Compute, Group, Result, collect_rows
from . import settings
from .analysis import analyse
from .catalogue import FIXED, listed
from .cells import advice_cell, gap_cell, problem_cell, sparse_cell, world_cell
from .draws import uniforms
from .policies import GRID, OUR_NAMES, Facts, cells_of
from .problems import PROBLEMS, make_problem
from .settings import PROFILES, TITLE
from .stretches import stretch_cell
from .worlds import write_world

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]

WORLD = f"{world_cell.__module__}:{world_cell.__name__}"
ADVICE = f"{advice_cell.__module__}:{advice_cell.__name__}"
PROBLEM = f"{problem_cell.__module__}:{problem_cell.__name__}"
GAP = f"{gap_cell.__module__}:{gap_cell.__name__}"
SPARSE = f"{sparse_cell.__module__}:{sparse_cell.__name__}"
STRETCH = f"{stretch_cell.__module__}:{stretch_cell.__name__}"

# Modules that no part leads to, and on which results depend.
WORLD_CODE = (write_world.__module__, uniforms.__module__, rounds_kernel.__module__)
PROBLEM_CODE = (make_problem.__module__, write_world.__module__)  # which has the noises


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Regret on every world and problem; the gain on real and on sparse rows; and by days."""
    groups = [
        *(group for one in listed(given["groups"], given["worlds"]) for group in play(given, *one)),
        *(group for name in given["problems"] for group in play_problem(given, name)),
    ]
    rows = collect_rows(groups, compute, unfold)
    there = [name for name in given["sets"] if is_there(name)]
    replays = [set_group(given, name) for name in there]
    replays += [sparse_group(given, share) for share in given["sparse"]]
    dated = [stretch_group(given, name) for name in there if "rounds" in load_data(name).protocols]
    return (
        rows + collect_rows(replays, compute, gains) + collect_rows(dated, compute, stretch_gains)
    )


# ---- worlds and problems


def play(given: dict[str, Any], group: str, name: str, world: Any) -> Iterator[Group]:
    """Yield the cells of every policy on one world, and of the diagnosis of its rewards."""
    horizon = given["long_horizon" if group in settings.LONG_GROUPS else "horizon"]
    named = {"group": group, "world": name, "dim": world.dim, "horizon": horizon}
    fixed = {"world": write_world(world), "horizon": horizon, "seed": given["seed"]}
    code, facts = digest(set(WORLD_CODE)), Facts(world.dim, horizon)
    for cell, policies in cells_of(facts, given["policies"], world.still).items():
        often = given["often"] if group == FIXED and set(policies) <= set(OUR_NAMES) else 1
        more = {"function": WORLD, "code": code, "label": f"untuned, {group}, {name}, {cell}"}
        weight = horizon * cost(policies, world.dim, world.arms)
        sizes = {"runs": often * given["repetitions"], "chunk": given["chunk"]}
        cells = run_cells(policies, fixed, weight, more, **sizes)
        yield named | {"policies": list(policies)}, cells
    more = {"function": ADVICE, "code": digest({*WORLD_CODE, advice_cell.__module__})}
    more |= {"label": f"untuned, {group}, {name}, diagnosis"}
    fixed |= {"rows": given["logged"]}
    sizes = {"runs": given["repetitions"], "chunk": given["chunk"]}
    yield named, run_cells(None, fixed, 1e5, more, **sizes)


def play_problem(given: dict[str, Any], problem: str) -> Iterator[Group]:
    """Yield the cells of every policy at scale 1, of two at other scales, and of the gaps."""
    spec = PROBLEMS[problem]
    code, facts = digest(set(PROBLEM_CODE)), Facts(spec.dim, given["horizon"])
    for scale in given["scales"]:
        names = given["policies"]
        if scale != 1.0:
            names = [name for name in names if name in settings.AT_ALL_SCALES]
        fixed = {"problem": problem, "scale": scale, "horizon": given["horizon"]}
        fixed |= {"seed": given["seed"]}
        named = {"problem": problem, "scale": scale, "horizon": given["horizon"]}
        named |= {"seed": given["seed"]}
        for cell, policies in cells_of(facts, names, spec.still).items():
            more = {"function": PROBLEM, "code": code}
            more |= {"label": f"untuned, {problem}, rewards x {scale:g}, {cell}"}
            weight = given["horizon"] * cost(policies, spec.dim, spec.size)
            sizes = {"runs": given["repetitions"], "chunk": given["chunk"]}
            cells = run_cells(policies, fixed, weight, more, **sizes)
            yield named | {"policies": list(policies)}, cells
    more = {"function": GAP, "code": code, "label": f"untuned, {problem}, gaps"}
    fixed = {"problem": problem, "seed": given["seed"]}
    sizes = {"runs": settings.GAP_RUNS, "chunk": settings.GAP_RUNS}
    yield {"problem": problem}, run_cells(None, fixed, 1e4, more, **sizes)


def cost(policies: dict[str, Any], dim: int, size: int) -> float:
    """Return the time of one round in microseconds, about: for the time left."""
    total = 2.0
    for policy in policies.values():
        total += 0.3 + size * dim * dim / 10_000.0
        if draws := getattr(policy, "draws", 0):  # of Thompson sampling
            total += (dim**3 + draws * dim * (dim + size)) / 1000.0
    return total


def run_cells(
    policies: dict[str, Any] | None,
    fixed: Row,
    weight: float,
    more: dict[str, str],
    *,
    runs: int,
    chunk: int,
) -> list[Cell]:
    """Return cells of `chunk` runs each, so that more runs only add cells."""
    if policies is not None:
        fixed = fixed | {"policies": [describe(policy) for policy in policies.values()]}
    ends = [(first, min(first + chunk, runs)) for first in range(0, runs, chunk)]
    return [
        Cell(
            settings=fixed | {"runs_from": first, "runs_to": last},
            weight=weight * (last - first),
            **more,
        )
        for first, last in ends
    ]


def unfold(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per policy and run, with regret at scale 1; or per run an advice or a gap."""
    plain = {name: value for name, value in named.items() if name != "policies"}
    runs = range(given["runs_from"], given["runs_to"])
    if "algorithms" in result:
        found = str(result["algorithms"]).splitlines()
        return [plain | {"run": run, "advice": one} for run, one in zip(runs, found, strict=True)]
    if "gap" in result:
        gaps = result["gap"].tolist()
        return [plain | {"run": run, "gap": gap} for run, gap in zip(runs, gaps, strict=True)]
    kept = [name for name in ("regret", "late") if name in result]
    unit = given.get("scale", 1.0)
    return [
        plain
        | {"policy": policy, "run": run}
        | {name: result[name][i][r].item() / unit for name in kept}
        for i, policy in enumerate(named["policies"])
        for r, run in enumerate(runs)
    ]


# ---- replays


def replayed_policies(given: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return our policies and LinUCB at every radius with every filter, by name."""
    names = [*OUR_NAMES, *(row.name for row in GRID)]
    wanted = [name for name in names if name in given["policies"]]
    cells = cells_of(Facts(dim, 10_000), wanted, False)
    return {name: policy for cell in cells.values() for name, policy in cell.items()}


def make_group(named: Row, policies: dict[str, Any], *, given: Row, **more: Any) -> Group:
    """Return the cell of these policies, with `more` of its fields, and the columns of its rows."""
    given = given | {"policies": [describe(policy) for policy in policies.values()]}
    return named | {"policies": list(policies)}, [Cell(settings=given, **more)]


def set_group(given: dict[str, Any], name: str) -> Group:
    """Return the cell of all policies on a real data set."""
    orders = {"orders_from": 0, "orders_to": given["orders"], "plays": 2, "seed": given["seed"]}
    return make_group(
        {"rows": name},
        replayed_policies(given, int(examine(name).dim or 0) + 1),
        function=REPLAY,
        given={"dataset": name, "protocol": next(iter(load_data(name).protocols))} | orders,
        code=replay_code(),
        label=f"untuned, {name}",
        weight=1e6,
    )


def stretch_group(given: dict[str, Any], name: str) -> Group:
    """Return the cell of the same passes over a data set of days, by stretch of days."""
    return make_group(
        {"days": name},
        replayed_policies(given, int(examine(name).dim or 0) + 1),
        function=STRETCH,
        given={"dataset": name} | {n: given[n] for n in ("orders", "stretches", "seed")},
        code=replay_code(),
        label=f"untuned, {name}, by days",
        weight=1e6,
    )


def sparse_group(given: dict[str, Any], share: float) -> Group:
    """Return the cell of all policies on rows of which a share pays."""
    return make_group(
        {"rows": f"{share:.1%} pay"},
        replayed_policies(given, 5),
        function=SPARSE,
        given={"share": share, "draws": given["orders"], "seed": given["seed"]},
        code=replay_code(),
        label=f"untuned, {share:.1%} of rows pay",
        weight=1e6,
    )


def gains(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per policy and order: its share of the oracle's gain."""
    spans = result["oracle"] - result["random"]
    return [
        {"rows": named["rows"], "policy": policy, "repetition": o}
        | {"fraction": ((result["value"][i][o] - result["random"][o]) / spans[o]).item()}
        for i, policy in enumerate(named["policies"])
        for o in range(len(spans))
    ]


def stretch_gains(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per policy and stretch of days: its gain in units of the oracle's on all."""
    shares = (result["value"] - result["random"]) / result["gain"]
    return [
        {"days": named["days"], "policy": policy, "repetition": s, "fraction": shares[i][s].item()}
        for i, policy in enumerate(named["policies"])
        for s in range(shares.shape[1])
    ]
