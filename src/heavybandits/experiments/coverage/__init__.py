"""How often the theorems' confidence regions contain theta*, and how large they are."""

from itertools import product
from typing import Any

from ..._utils.tables import Row
from ...algorithms.catalogue import ALGORITHMS
from ...parts.arms import Fixed
from ...parts.links import Identity
from ...parts.radii import Scaled
from ...simulation.problem import Problem
from ..roster import LINK, make_policy, make_setting
from ..rows import Compute, Group, Result, collect_rows, simulation_group
from . import settings
from .analysis import analyse
from .observer import Coverage
from .settings import PROFILES, TITLE

__all__ = ["PROFILES", "TITLE", "analyse", "collect"]

WATCH = f"{Coverage.__module__}:coverage_cell"


def collect(given: dict[str, Any], compute: Compute) -> list[Row]:
    """Watch the paper's algorithms and ours, each with the theorem's radius and with others."""
    groups = []
    for part in (given, given | given["ours"], given | given["adaptive"]):
        points = product(part["noises"], part["algorithms"], part["regions"])
        groups += [make_group(part, *point) for point in points]
    return collect_rows(groups, compute, unfold)


def make_group(given: dict[str, Any], noise: str, algorithm: str, region: str) -> Group:
    """Return the cells of one algorithm with one radius, and what names them."""
    policy, problem = (adaptive_run if algorithm == "CRAL" else moment_run)(
        given, noise, algorithm, region
    )
    named = {"noise": noise, "algorithm": algorithm, "region": region}
    budget = given | {"repetitions": given["runs"], "checkpoints": []}
    return simulation_group("coverage", named, policy, problem, budget, chunk=100, function=WATCH)


def moment_run(
    given: dict[str, Any], noise: str, algorithm: str, region: str
) -> tuple[Any, Problem]:
    """Return a policy that receives a moment of the noise, and its problem."""
    _, made, epsilon = settings.NOISES[noise]
    known = make_setting(made, settings.DIM, given["horizon"], epsilon=epsilon)
    policy: Any = make_policy(algorithm, known, settings.REGIONS.get(region))
    policy = shrunk(policy) if region == settings.FIFTIETH else policy
    return policy, Problem(Fixed(settings.ARMS, settings.DIM), LINK, made)


def adaptive_run(
    given: dict[str, Any], noise: str, algorithm: str, region: str
) -> tuple[Any, Problem]:
    """CRAL, which receives C, and its problem: linear rewards and noise that dwarfs them."""
    _, made, asymmetry = settings.ADAPTIVE[noise]
    policy: Any = ALGORITHMS[algorithm].make(dim=settings.SMALL_DIM, asymmetry=asymmetry)
    if region == settings.FIFTIETH:
        estimator = policy.estimator
        policy = policy._replace(estimator=estimator._replace(factor=estimator.factor / 50.0))
    arms = Fixed(settings.FEW_ARMS, settings.SMALL_DIM, -1.0)
    return policy, Problem(arms, Identity(), made)


def shrunk(policy: Any) -> Any:
    """The policy with a fiftieth of its radius, where it chooses and where it trusts itself."""
    radius, estimator = Scaled(policy.radius, 0.02), policy.estimator
    if hasattr(estimator, "radius"):
        estimator = estimator._replace(radius=radius)
    return policy._replace(estimator=estimator, radius=radius)


def unfold(named: Row, given: dict[str, Any], result: Result) -> list[Row]:
    """Return one row per repetition."""
    columns = [result[name].tolist() for name in Coverage._fields]
    return [
        named | dict(zip(Coverage._fields, row, strict=True)) for row in zip(*columns, strict=True)
    ]
