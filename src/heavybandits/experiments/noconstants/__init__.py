"""`auto` beside every constant radius and filter of a grid, on many problems and real data."""

from typing import Any

from ..._utils.tables import Row
from ...algorithms.auto import auto
from ...algorithms.linear import linucb
from ...core.part import describe
from ...core.sources import digest
from ...sweeps import Cell
from ..data import load_data
from ..realdata import CELL as REPLAY
from ..realdata import examine, is_there, replay_code
from ..rows import Compute, Group, Result, collect_rows
from . import settings
from .analysis import analyse
from .cells import regret_cell, sparse_cell
from .settings import PROFILES, TITLE
from .stretches import stretch_cell

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]

REGRET = f"{regret_cell.__module__}:{regret_cell.__name__}"
SPARSE = f"{sparse_cell.__module__}:{sparse_cell.__name__}"
STRETCH = f"{stretch_cell.__module__}:{stretch_cell.__name__}"


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Regret on every problem at every scale; the gain on real and on sparse rows; and by days."""
    problems = [(name, scale) for name in given["problems"] for scale in given["scales"]]
    rows = collect_rows([problem_group(given, *point) for point in problems], compute, regrets)
    there = [name for name in given["sets"] if is_there(name)]
    replays = [set_group(given, name) for name in there]
    replays += [sparse_group(given, share) for share in given["sparse"]]
    dated = [stretch_group(given, name) for name in there if "rounds" in load_data(name).protocols]
    return (
        rows + collect_rows(replays, compute, gains) + collect_rows(dated, compute, stretch_gains)
    )


def make_policies(given: dict[str, Any], dim: int) -> dict[str, Any]:
    """`auto`, and LinUCB at every radius with every filter, by name."""
    return {settings.AUTO: auto(dim=dim)} | {
        f"{name}, radius {radius:g}": linucb(dim=dim, radius=radius, filter=settings.FILTERS[name])
        for name in given["filters"]
        for radius in given["radii"]
    }


def problem_group(given: dict[str, Any], problem: str, scale: float) -> Group:
    """All policies at scale 1: elsewhere the grid would only move. There, `auto` and radius 1."""
    spec = settings.PROBLEMS[problem]
    made = make_policies(given, spec.dim)
    if scale != 1.0:
        fixed = linucb(dim=spec.dim, radius=1.0, filter=settings.FILTERS[settings.JUDGED])
        made = {settings.AUTO: made[settings.AUTO], f"{settings.JUDGED}, radius 1": fixed}
    sizes = {name: given[name] for name in ("horizon", "repetitions", "seed")}
    return make_group(
        {"problem": problem, "scale": scale},
        made,
        function=REGRET,
        given={"problem": problem, "scale": scale} | sizes,
        code=digest({regret_cell.__module__}),  # which knows the problem by its name
        label=f"noconstants, {problem}, rewards x {scale:g}",
        weight=float(len(made) * spec.dim * (spec.dim + spec.size)),
    )


def make_group(named: Row, policies: dict[str, Any], *, given: Row, **more: Any) -> Group:
    """The cell of these policies, with `more` of its fields, and what names it."""
    given = given | {"policies": [describe(policy) for policy in policies.values()]}
    return named | {"policies": list(policies)}, [Cell(settings=given, **more)]


def set_group(given: dict[str, Any], name: str) -> Group:
    """All policies on a real data set."""
    orders = {"orders_from": 0, "orders_to": given["orders"], "plays": 2, "seed": given["seed"]}
    return make_group(
        {"rows": name},
        make_policies(given, int(examine(name).dim or 0) + 1),
        function=REPLAY,
        given={"dataset": name, "protocol": next(iter(load_data(name).protocols))} | orders,
        code=replay_code(),
        label=f"noconstants, {name}",
        weight=1e5,
    )


def stretch_group(given: dict[str, Any], name: str) -> Group:
    """The same passes over a data set of days, by stretch of days."""
    return make_group(
        {"days": name},
        make_policies(given, int(examine(name).dim or 0) + 1),
        function=STRETCH,
        given={"dataset": name} | {n: given[n] for n in ("orders", "stretches", "seed")},
        code=replay_code(),
        label=f"noconstants, {name}, by days",
        weight=1e5,
    )


def sparse_group(given: dict[str, Any], share: float) -> Group:
    """All policies on rows of which a share pays."""
    return make_group(
        {"rows": f"{share:.1%} pay"},
        make_policies(given, 5),
        function=SPARSE,
        given={"share": share, "draws": given["orders"], "seed": given["seed"]},
        code=replay_code(),
        label=f"noconstants, {share:.1%} of rows pay",
        weight=5e4,
    )


def regrets(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """One row per policy and repetition of a problem."""
    plain = {"problem": named["problem"], "scale": named["scale"]}
    return [
        plain
        | {"policy": policy, "repetition": r, "gap": result["gap"][r].item()}
        | {"regret": result["regret"][i][r].item()}
        for i, policy in enumerate(named["policies"])
        for r in range(given["repetitions"])
    ]


def gains(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """One row per policy and order: its share of the oracle's gain."""
    spans = result["oracle"] - result["random"]
    return [
        {"rows": named["rows"], "policy": policy, "repetition": o}
        | {"fraction": ((result["value"][i][o] - result["random"][o]) / spans[o]).item()}
        for i, policy in enumerate(named["policies"])
        for o in range(len(spans))
    ]


def stretch_gains(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """One row per policy and stretch of days: its gain there in units of the oracle's on all."""
    shares = (result["value"] - result["random"]) / result["gain"]
    return [
        {"days": named["days"], "policy": policy, "repetition": s, "fraction": shares[i][s].item()}
        for i, policy in enumerate(named["policies"])
        for s in range(shares.shape[1])
    ]
