"""The cell of a simulation: one policy, one problem, some repetitions."""

from typing import Any

import numpy as np

from ..agents import state
from ..engine.identity import build
from ..engine.contracts import Tally
from ..policies.checks import check_match, check_policies
from ..simulation.problem import check_problem
from ..simulation.run import make_checkpoints, run_once
from ..support.errors import InvalidInput
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
    """Pseudo-regret and tallies at checkpoints, one row per repetition of a half-open range.

    Repetition r meets the arms and the noise of r whatever the range, so a range can be cut into
    cells at will.

    Parameters
    ----------
    policy, problem : as `state.describe` writes them.
    checkpoints : how many plays to report at, evenly spaced, or which.
    parts : "module:Class" of parts of your own that they use.

    >>> import heavybandits as hb
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
    runs = [run_once(player, ours, horizon, plays, seed, r) for r in range(first, last)]
    traces, seconds = zip(*runs, strict=True)
    columns = {
        name: np.stack([getattr(trace, name) for trace in traces])
        for name in ("regret", *Tally._fields)
    }
    return {"play": plays, **columns, "cpu_seconds": np.array(seconds)}


def build_parts(description: Any, parts: list[str] | None = None) -> Any:
    """The part, policy or problem that `state.describe` described.

    >>> build_parts({"part": "StudentT", "fields": {"dof": 3.0, "scale": 2.0}})
    StudentT(dof=3.0, scale=2.0)
    """
    return build(description, known_parts(parts or []))


def known_parts(names: list[str]) -> dict[str, Any]:
    """The parts of the library by name, and those named as "module:Class"."""
    own = {name: resolve(name) for name in names}
    for name, item in own.items():
        if not (isinstance(item, type) and issubclass(item, tuple) and hasattr(item, "_fields")):
            raise InvalidInput(f"parts must name NamedTuples, got {name!r}")
    return state.known_parts() | {item.__name__: item for item in own.values()}
