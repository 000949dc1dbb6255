"""Figure 1 of the paper: the regret of six algorithms under two heavy-tailed noises."""

import functools
import math
from itertools import product
from typing import Any

from ..._utils.tables import Row
from ...parts.arms import Fixed, PerDecision
from ...simulation.problem import Problem
from ...sweeps.search import log_grid
from ..roster import LINK, RANDOM, make_policy, make_setting
from ..rows import PAPER, Compute, Group, collect_rows, simulation_group, tune_rows
from . import settings
from .analysis import analyse
from .settings import PROFILES, TITLE

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]

ARM_SETS: dict[str, Any] = {"fixed": Fixed, "frozen": PerDecision}


def make_problem(reading: str, noise: str) -> Problem:
    """Return the problem of one panel under one reading."""
    arms = ARM_SETS[settings.READINGS[reading]["arms"]](settings.ARMS, settings.DIM)
    return Problem(arms, LINK, settings.NOISES[noise][1])


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Tune every algorithm on seeds of its own, then run it at the best constant on fresh ones."""
    start = log_grid(given["constants"])
    make = functools.cache(functools.partial(make_group, given, "tuning"))
    pairs = list(product(given["readings"], given["noises"]))
    tuning: list[Row] = []
    best: dict[tuple[str, ...], float] = {}
    for within, wanted in ((settings.WIDER, True), (PAPER, False)):  # the wider grid holds both
        members = {pair: given["algorithms"] for pair in pairs if is_grown(pair[0]) == wanted}
        rows, found = tune_rows(make, members, start, within, compute)
        tuning, best = rows + tuning, found | best
    chosen: list[Any] = [(*point, constant) for point, constant in best.items()]
    chosen += [(*pair, RANDOM, math.nan) for pair in pairs]
    report = collect_rows([make_group(given, "report", *point) for point in chosen], compute)
    return tuning + report


def is_grown(reading: str) -> bool:
    """Return True if the grid of this reading may leave the paper's."""
    return reading.endswith(settings.GROWN)


def make_group(
    given: dict[str, Any], phase: str, reading: str, noise: str, algorithm: str, constant: float
) -> Group:
    """Return the cells of one algorithm at one constant, and what names them."""
    budget = given | given["variants"].get(reading.removesuffix(settings.GROWN), {})
    known = make_setting(settings.NOISES[noise][1], settings.DIM, given["horizon"])
    policy = make_policy(algorithm, known, constant, settings.READINGS[reading]["projection"])
    named: Row = {"phase": phase, "reading": reading, "noise": noise, "algorithm": algorithm}
    named |= {"constant": constant}
    return simulation_group("figure1", named, policy, make_problem(reading, noise), budget, chunk=5)
