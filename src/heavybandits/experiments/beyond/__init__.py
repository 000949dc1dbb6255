"""Our algorithms next to the paper's, LinUCB with a clip and the newest rivals."""

from itertools import product
from typing import Any, NamedTuple

from ..._utils.tables import Row
from ...simulation.problem import Problem
from .. import realdata
from ..parts import GivenScale, Offers
from ..roster import RANDOM, make_policy, make_setting
from ..rows import Compute, Group, collect_rows, simulation_group, tune_rows
from . import settings
from .analysis import analyse
from .settings import PROFILES, TITLE

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]


class Point(NamedTuple):
    """One algorithm on one problem; `part` is that of the experiment."""

    part: str
    link: str
    intercept: str
    noise: str
    algorithm: str


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Every part of the experiment: tuned on seeds of its own, then run on fresh ones."""
    rows = []
    for part, own in given["parts"].items():
        rows += collect_part(given | own, points(part, own), compute)
    if given["real"] is not None:
        real = given["real"] | {"seed": given["seed"]}
        rows += [{"part": "real"} | row for row in realdata.collect(real, compute)]
    return rows


def points(part: str, given: dict[str, Any]) -> list[Point]:
    """Return the algorithms that can play each of the problems."""
    found = product(given["links"], given["intercepts"], given["noises"], given["algorithms"])
    return [
        point
        for point in (Point(part, *one) for one in found)
        if (point.link == "linear" or point.algorithm not in settings.LINEAR_ONLY)
        and (point.noise == "changing" or point.algorithm != settings.SCALE_GIVEN)
    ]


def collect_part(given: dict[str, Any], wanted: list[Point], compute: Compute) -> list[Row]:
    """Tune what has a constant, and report all; on a problem, constants of a kind share a grid."""

    def make(*point: Any) -> Group:
        return make_group(given, "tuning", Point(*point[:-1]), point[-1])

    rows: list[Row] = []
    chosen: dict[tuple[str, ...], float] = {}
    for kind, (start, within) in settings.GRIDS.items():
        mine = [point for point in wanted if kind_of(point.algorithm) == kind]
        members = {
            place: [point[-1] for point in mine if point[:-1] == place]
            for place in dict.fromkeys(point[:-1] for point in mine)
        }
        ends = within if given["grows"] else (start[0], start[-1])
        tuning, best = tune_rows(make, members, start, ends, compute)
        rows += tuning
        chosen |= best
    groups = [make_group(given, "report", point, chosen.get(point)) for point in wanted]
    return rows + collect_rows(groups, compute)


def kind_of(algorithm: str) -> str | None:
    """Return what the constant of an algorithm is."""
    if algorithm == RANDOM:
        return None
    return "radius" if algorithm.startswith("LinUCB") else "radius_scale"


def make_group(given: dict[str, Any], phase: str, point: Point, constant: float | None) -> Group:
    """Return the cells of one algorithm at one constant, and what names them."""
    arms = Offers(settings.ARMS, settings.DIM, settings.INTERCEPTS[point.intercept])
    problem = Problem(arms, settings.LINKS[point.link][1], settings.NOISES[point.noise][1])
    named = {"phase": phase} | point._asdict() | {"constant": constant}
    policy = build_policy(point, given["horizon"], constant)
    return simulation_group("beyond", named, policy, problem, given)


def build_policy(point: Point, horizon: int, constant: float | None) -> Any:
    """Make the algorithm with the true moments of the noise."""
    _, noise, epsilon = settings.NOISES[point.noise]
    name, more = settings.ROSTER[point.algorithm]
    given = {"epsilon": epsilon, "link": settings.LINKS[point.link][1], "arms": settings.ARMS}
    known = make_setting(noise, settings.DIM, horizon, **given)
    policy: Any = make_policy(name, known, constant, **more)
    if point.algorithm != settings.SCALE_GIVEN:
        return policy
    step, ratio = policy.estimator, settings.RATIO
    return policy._replace(estimator=GivenScale(step, step.noise_scale / ratio, ratio))
