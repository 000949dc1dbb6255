"""Rejection sampling: a policy learns from the rows on which it chooses the logged action."""

import numpy as np

from ..._utils.errors import InvalidInputError
from ...core.arm_buffer import make_arm_buffer
from ...core.arrays import Floats
from ...core.part import check_part, is_part
from ...core.protocols import Policy
from ...core.state import make_state
from ...parts.arms import Rows
from ..actions import Bools
from ..log import Decisions
from ..replay.kernels import for_pass, run_timed
from ..replay.protocols import choose_scale
from .kernels import encoded_kernel, log_kernel
from .means import LEAST_ROWS
from .models import check_learner
from .targets import Target


def accept_rows(log: Decisions, policy: Target, vectors: Floats | None) -> Bools:
    """Let a policy pass over a log in its order; return the rows on which both agree.

    The policy learns from these rows, and the others are skipped, so that their rewards are those
    of the policy itself if all actions had the same propensity (Li et al. 2011). The policy sees
    rewards divided by their mean size, and actions with the features `vectors` (A, a) times the
    context; None for one-hot vectors.
    """
    if not is_part(policy):
        raise InvalidInputError(
            "policy must be a policy that learns, such as auto(dim=log.dim), for the estimator "
            f"'rejection', got {type(policy).__name__}; use 'ips' for probabilities"
        )
    _check_uniform(log, vectors)
    player = for_pass(check_part("policy", policy, Policy), 0)
    own = np.eye(len(log.actions)) if vectors is None else vectors
    dim = log.width if log.rows is not None else log.width * own.shape[1]
    check_learner(log, "policy", player, dim=dim, words="the `dim` of the log")
    state, chosen = make_state(player), np.zeros(log.taken.size, np.int64)
    arms, buffer = Rows(len(log.actions), dim), make_arm_buffer(dim, len(log.actions))
    given = log.taken, log.rewards / choose_scale(log.rewards, None), np.zeros(1), chosen
    if log.rows is not None:
        run_timed(encoded_kernel, player, state, arms, buffer, log.rows, *given)
    else:
        run_timed(log_kernel, player, state, arms, buffer, log.contexts, own, *given)
    agreed = chosen == log.taken
    if agreed.sum() < LEAST_ROWS:
        raise InvalidInputError(
            f"policy must choose the logged action in at least {LEAST_ROWS} rows, "
            f"does in {agreed.sum()} of {agreed.size}"
        )
    return agreed


def _check_uniform(log: Decisions, vectors: Floats | None) -> None:
    """Raise an error unless all actions are available in every row with the same propensity."""
    size = len(log.actions)
    if vectors is not None and size > len(vectors):
        raise InvalidInputError(
            f"action must be in 0..{len(vectors) - 1}, the rows of action_features, "
            f"got {log.actions[len(vectors)]!r}"
        )
    if not log.available.all():
        raise InvalidInputError(
            "available must be all actions in every row for the estimator 'rejection': use 'dr'"
        )
    off = np.flatnonzero(np.abs(log.propensities * size - 1.0) > 1e-3)
    if off.size:
        raise InvalidInputError(
            f"propensity must be 1 / {size} in every row for the estimator 'rejection', got "
            f"{log.propensities[off[0]]:.4g} in row {off[0]}: use 'dr', 'ips' or 'snips', which "
            "weigh the rows by their propensities"
        )
