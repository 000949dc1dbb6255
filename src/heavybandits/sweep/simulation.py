"""The cell of a simulation: one policy, one problem, some repetitions."""

from typing import Any

import numpy as np

from ..engine.identity import build, known_parts
from ..families import library_parts
from ..policies.checks import check_match, check_policies
from ..simulation.problem import Problem, check_problem
from ..simulation.run import make_checkpoints, run_cell
from ..support.validation import whole
from .cells import resolve


def simulate_cell(
    policy: dict[str, Any],
    problem: dict[str, Any],
    horizon: int,
    repetitions_from: int,
    repetitions_to: int,
    seed: int,
    checkpoints: int | list[int],
    parts: list[str] | None = None,
) -> dict[str, Any]:
    """Pseudo-regret and tallies at checkpoints, a row for each repetition of a half-open range.

    Repetition r meets the arms and the noise of r whatever the range, so a range can be cut into
    cells at will.

    Parameters
    ----------
    policy, problem : as `describe` writes them.
    checkpoints : how many plays to report at, evenly spaced, or which.
    parts : "module:Class" of parts of your own that they use.

    >>> import heavybandits as hb
    >>> from heavybandits.engine.identity import describe
    >>> policy = describe(hb.linucb(dim=2, radius=1.0))
    >>> problem = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian(1.0))
    >>> result = simulate_cell(policy, describe(problem), 40, 1, 3, seed=0, checkpoints=4)
    >>> result["play"].tolist(), result["regret"].shape
    ([10, 20, 30, 40], (2, 4))
    """
    ours = check_problem(build_parts(problem, parts))
    (player,) = check_policies(build_parts(policy, parts)).values()
    check_match("policy", player, ours.arms)
    first = whole("repetitions_from", repetitions_from, least=0)
    last = whole("repetitions_to", repetitions_to, least=first + 1)
    plays = make_checkpoints(whole("horizon", horizon), checkpoints)
    runs = [run_cell(player, ours, horizon, plays, seed, r) for r in range(first, last)]
    table = np.stack([out for out, _ in runs])
    tallies = table[:, :, 1:].astype(np.int64)
    return {
        "play": plays,
        "regret": table[:, :, 0],
        "updates": tallies[:, :, 0],
        "projections": tallies[:, :, 1],
        "truncated": tallies[:, :, 2],
        "cpu_seconds": np.array([seconds for _, seconds in runs]),
    }


def build_parts(description: Any, parts: list[str] | None = None) -> Any:
    """The part, policy or problem that `describe` described; `parts` are those of your own.

    >>> build_parts({"part": "heavybandits.links:Logistic", "fields": {}})
    Logistic()
    """
    own: list[Any] = [resolve(name) for name in parts or []]
    return build(description, known_parts(library_parts().values(), [Problem], own))
