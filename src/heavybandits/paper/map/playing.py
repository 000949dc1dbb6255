"""The cell of this experiment: all algorithms at all constants on one point of the map."""

from typing import Any

import numpy as np

from ...policies.checks import check_policies
from ...simulation.problem import check_problem
from ...simulation.run import run_once
from ...sweeping.simulation import build_parts


def play_cell(
    policies: list[dict[str, Any]],
    problem: dict[str, Any],
    horizon: int,
    repetitions: int,
    seed: int,
    parts: list[str],
) -> dict[str, Any]:
    """Final regret, (policies, repetitions): all meet the same arms and the same noise."""
    ours, last = check_problem(build_parts(problem, parts)), np.array([horizon], np.int64)
    players = [check_policies(build_parts(policy, parts))["policy"] for policy in policies]
    runs = [
        [run_once(player, ours, horizon, last, seed, r) for r in range(repetitions)]
        for player in players
    ]
    return {
        "regret": np.array([[trace.regret[0] for trace, _ in mine] for mine in runs]),
        "cpu_seconds": float(sum(seconds for mine in runs for _, seconds in mine)),
    }
