"""The cell of this experiment: all algorithms at all constants on one point of the map."""

from typing import Any

import numpy as np

from ...gpu.batches import Job
from ...parts.policies.checks import check_policies
from ...simulation.player import play_job
from ...simulation.problem import check_problem
from ...sweeps.gpu_cells import on_device
from ...sweeps.simulation_cell import build_parts


def jobs_of(
    policies: list[dict[str, Any]],
    problem: dict[str, Any],
    horizon: int,
    repetitions: int,
    seed: int,
    parts: list[str],
) -> list[Job]:
    """Return the runs of every policy: all meet the same arms and the same noise."""
    players = [check_policies(build_parts(policy, parts))["policy"] for policy in policies]
    ours = check_problem(build_parts(problem, parts))
    return [Job(player, ours, horizon, (horizon,), seed, 0, repetitions) for player in players]


def play_cell(**given: Any) -> dict[str, Any]:
    """Final regret, (policies, repetitions), of the runs of `jobs_of`."""
    jobs = jobs_of(**given)
    return assemble(jobs, [play_job(job) for job in jobs])


def assemble(jobs: list[Job], found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of `play_cell`, of what was played for every policy."""
    return {
        "regret": np.array([one["regret"][:, 0] for one in found]),
        "cpu_seconds": float(sum(one["cpu_seconds"].sum() for one in found)),
    }


play_cell_on_device = on_device(jobs_of, assemble)
