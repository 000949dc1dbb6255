"""Policies replayed over real data with heavy tails."""

import functools
import math
from typing import Any

from ..._utils.errors import DataError
from ..._utils.tables import Row
from ...algorithms.catalogue import ALGORITHMS
from ...algorithms.glm import crmm, crtm
from ...algorithms.linear import linucb
from ...core.part import describe
from ...core.protocols import Filter
from ...core.sources import digest
from ...offline.diagnose.diagnosis import Diagnosis, diagnose
from ...offline.log import Log
from ...parts.filters import AdaptiveClip, Clip, NoFilter
from ...parts.links import Identity
from ...sweeps import Cell
from ...sweeps.search import TUNING_SEEDS
from ..data import load_data
from ..rows import Compute, Group, Result, collect_rows
from . import settings
from .analysis import analyse
from .cells import fitted_norm, replay_cell
from .settings import PROFILES, TITLE

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]

POLICIES = settings.POLICIES | settings.RIVALS
CELL = f"{replay_cell.__module__}:{replay_cell.__name__}"


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Every policy at every constant: on tuning orders, and on the orders that are reported.

    A data set whose package is not installed is left out.
    """
    groups = [
        make_group(given, phase, name, policy)
        for name in given["sets"]
        if is_there(settings.SETS[name][0])
        for phase in ("tuning", "report")
        for policy in given["policies"]
        if settings.SETS[name][1] == "groups" or POLICIES[policy][0] not in settings.FIXED_ONLY
    ]
    return collect_rows(groups, compute, unfold) if groups else []


@functools.cache
def is_there(dataset: str) -> bool:
    """Return True if the package with this data set is installed."""
    try:
        load_data(dataset)
    except (DataError, ModuleNotFoundError):
        return False
    return True


def make_group(given: dict[str, Any], phase: str, name: str, policy: str) -> Group:
    """Return the cell of one policy at all its constants, and what names its rows.

    Order 0 of days is that of the calendar: it is reported, and never tuned on.
    """
    dataset, protocol, _ = settings.SETS[name]
    family = POLICIES[policy][0]
    made = [make_policy(given, name, policy, constant) for constant in settings.CONSTANTS[family]]
    tuning = phase == "tuning"
    first = 1 if tuning else 0
    cell = Cell(
        function=CELL,
        settings={
            "dataset": dataset,
            "protocol": protocol,
            "policies": [describe(one) for one in made],
            "orders_from": first,
            "orders_to": first + given["tuning_orders" if tuning else "repetitions"],
            "plays": given["plays"],
            "seed": given["seed"] + (TUNING_SEEDS if tuning else 0),
        },
        code=replay_code(),
        label=f"realdata, {name}, {policy}, {phase}",
    )
    named = {"phase": phase, "set": name, "policy": policy}
    return named | {"constants": settings.CONSTANTS[family]}, [cell]


def make_policy(given: dict[str, Any], name: str, policy: str, constant: float) -> Any:
    """A policy for this data set. The theorems' constants are estimated from all of its rewards."""
    dataset, protocol, _ = settings.SETS[name]
    family, kind = POLICIES[policy]
    found = examine(dataset)
    dim = int(found.dim or 0) + 1
    filters: dict[str, Filter] = {"none": NoFilter(), "clip": Clip(settings.CLIP)}
    filters["adaptive"] = AdaptiveClip()
    if family == "linucb":
        return linucb(dim=dim, radius=constant, filter=filters[kind])
    raw, central = found.raw_moment.high, found.central_moment.high
    horizon = given["plays"] if protocol == "groups" else found.horizon
    arguments: dict[str, Any] = {"dim": dim, "horizon": horizon, "epsilon": found.epsilon.value}
    arguments |= {"link": Identity(), "norm": fitted_norm(dataset, protocol)}
    arguments |= {"radius_scale": constant}
    if policy in settings.RIVALS:
        return ALGORITHMS[kind].make(**arguments, raw_moment=raw, central_moment=central)
    if family == "crmm":
        plays = None if kind == "theory" else int(kind)
        return crmm(**arguments, central_moment=central, plays=plays)
    cut = {"theory": None, "none": math.inf}.get(kind, filters.get(kind))
    return crtm(**arguments, raw_moment=raw, truncation=cut)


@functools.cache
def examine(dataset: str) -> Diagnosis:
    """Return the diagnosis of a data set; its horizon is the number of rounds in a pass."""
    loaded = load_data(dataset)
    rows = len(loaded.frame[loaded.reward])
    group = loaded.protocol.get("group")
    rounds = len(set(loaded.frame[group].tolist())) if group else rows // 10
    log = Log(loaded.frame, features=loaded.features, reward=loaded.reward)
    return diagnose(log, horizon=rounds)


@functools.cache
def replay_code() -> str:
    """Return a hash of the sources behind the rounds, which no part leads to."""
    return digest({fitted_norm.__module__, load_data.__module__})


def unfold(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per constant and order of a cell."""
    plain = {name: value for name, value in named.items() if name != "constants"}
    once = {name: float(result[name]) for name in ("holdout", "holdout_error")}
    return [
        plain
        | {"constant": constant, "order": given["orders_from"] + o}
        | once
        | {name: result[name][o].item() for name in ("random", "oracle", "rounds")}
        | {name: result[name][w][o].item() for name in ("value", "truncated", "updates")}
        for w, constant in enumerate(named["constants"])
        for o in range(len(result["random"]))
    ]
