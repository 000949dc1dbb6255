"""An observer of runs: after every update, does the region still contain theta*?"""

from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ...core.capabilities import has_own_rows
from ...core.confidence_region import update_count
from ...core.dispatch import radius
from ...core.jit import jitable
from ...core.part import cast
from ...simulation.player import run_once
from ...simulation.problem import check_problem
from ...sweeps.simulation_cell import build_parts


@jitable
def distance(region: Any, theta: Any) -> float:
    """||theta - centre||_V^2."""
    total = 0.0
    for i in range(theta.size):
        row = 0.0
        for j in range(theta.size):
            row += (region.design[i, j] + region.recent[i, j]) * (theta[j] - region.centre[j])
        total += (theta[i] - region.centre[i]) * row
    return total


class Coverage(NamedTuple):
    """How often the region contained theta*, and how close it came to missing it.

    Every field is an array of one number: updates, those after which ||theta* - centre||_V was
    within the radius, the largest ratio of the squares, and both squares after the last update.
    """

    checks: Any
    covered: Any
    worst: Any
    squared_radius: Any
    squared_distance: Any

    def observe(self, policy: Any, state: Any, theta: Any) -> None:
        region = state.estimate.region
        width = radius(policy.radius, state.estimate, update_count(region))
        self.squared_radius[0] = width * width
        self.squared_distance[0] = distance(region, theta)
        self.checks[0] += 1
        if self.squared_distance[0] <= self.squared_radius[0]:
            self.covered[0] += 1
        self.worst[0] = max(self.worst[0], self.squared_distance[0] / self.squared_radius[0])


def coverage_cell(
    policy: Any,
    problem: Any,
    horizon: int,
    repetitions_from: int,
    repetitions_to: int,
    seed: int,
    checkpoints: list[int],
    parts: list[str] | None = None,
) -> dict[str, Any]:
    """Return what the observer saw in each repetition, by the names of its fields."""
    made, where = cast(build_parts(policy, parts)), check_problem(build_parts(problem, parts))
    if has_own_rows(made):
        raise InvalidInputError(f"no region of {type(made.estimator).__name__} covers theta")
    plays, seen = np.array(checkpoints, np.int64), []
    for repetition in range(repetitions_from, repetitions_to):
        observer = Coverage(*np.zeros((5, 1)))
        run_once(made, where, horizon, plays, seed, repetition, observer=observer)
        seen.append(observer)
    return {name: np.concatenate([getattr(o, name) for o in seen]) for name in Coverage._fields}
