"""Revisions: another reward in place of one that a policy has learned, such as a refund."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError
from ..core.capabilities import innermost
from ..core.dispatch import measure_arm, score_arm
from ..core.linalg import bounded, clamp
from ..core.protocols import Policy
from ..parts.policies.time_discounted import TimeDiscounted, has_clock
from .events import Revised, Revision
from .state import AgentState, Plan, kept, make_plan


def check_revisable(policy: Policy, learned: Any) -> None:
    """Raise InvalidInputError unless this policy can replace a reward that it has learned."""
    inside, _ = innermost(policy, learned)
    estimator = getattr(inside, "estimator", None)
    discounts = has_clock(policy)
    if policy.plays != 1 or discounts or not hasattr(estimator, "revise"):
        name = type(inside).__name__ if estimator is None else type(estimator).__name__
        name = TimeDiscounted.__name__ if discounts else name
        why = "learns from several plays at once" if policy.plays != 1 else "cannot revise a reward"
        raise InvalidInputError(
            f"revise needs a policy of single plays and an estimator such as Ridge; {name} {why}. "
            "Agent.rebuild(ledger, corrections=...) makes an agent that learns the right rewards "
            "from the start"
        )


def check_settled(state: AgentState, number: int) -> None:
    """Raise InvalidInputError unless this ticket was issued and no longer waits."""
    check_revisable(state.policy, state.learned)
    state.tickets.check_issued(number)
    if number in state.tickets.pending:
        raise InvalidInputError(f"ticket {number} still waits for its reward: update it")


def plan_revision(state: AgentState, event: Revised) -> Plan | None:
    """Plan a revision; None, and a duplicate is counted, if the reward is in force already."""
    if event.revision.before == event.reward:
        state.tickets.counts["duplicate"] += 1
        return None
    return make_plan(state, [event])


def revised_arrays(
    policy: Policy, learned: Any, revision: Revision, reward: float
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the policy after a revision; `learned` itself does not change.

    Both rewards are filtered as the filter would do it now, and the filter remembers neither. An
    estimator that has restarted since the reward was learned has nothing to revise.
    """
    after = copy.deepcopy(learned)
    inside, state = innermost(policy, after)
    count = getattr(inside.estimator, "learned_count", None)
    if count is not None and revision.later >= count(state.estimate):
        return kept(after)
    region, x = state.estimate.region, revision.features
    numbers = region.numbers.copy()
    norm = measure_arm(inside.estimator, state.estimate, x)
    region.numbers[:] = numbers
    z = score_arm(inside.estimator, state.estimate, x)
    expected = bounded(inside.estimator.predict(state.estimate, z))
    filtered = []
    for given in (revision.before, reward):
        rewards = np.array([given])
        clamp(rewards)
        memory = copy.deepcopy(state.memory)
        filtered.append(bounded(inside.filter.apply(memory, rewards, norm, expected)))
    inside.estimator.revise(state.estimate, x, *filtered)
    return kept(after)
