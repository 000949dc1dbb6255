"""Rewards that turn out otherwise: what a policy makes of a refund."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError
from ..core.capabilities import innermost
from ..core.confidence_region import measure
from ..core.linalg import bounded, clamp, dot
from ..parts.policies.time_discounted import TimeDiscounted, has_clock
from .events import Revision
from .state import kept


def check_revisable(policy: Any, learned: Any) -> None:
    """Refuse a policy that cannot put another reward in the place of one it has learned."""
    inside, _ = innermost(policy, learned)
    estimator = getattr(inside, "estimator", None)
    fades = has_clock(policy)
    if policy.plays != 1 or fades or not hasattr(estimator, "revise"):
        name = type(inside).__name__ if estimator is None else type(estimator).__name__
        name = TimeDiscounted.__name__ if fades else name
        why = "learns from several plays at once" if policy.plays != 1 else "cannot revise a reward"
        raise InvalidInputError(
            f"revise needs a policy of single plays and an estimator such as Ridge; {name} {why}. "
            "rebuild(ledger, corrections=...) makes an agent that has known better from the start"
        )


def revised_arrays(
    policy: Any, learned: Any, revision: Revision, reward: float
) -> dict[str, NDArray[Any]]:
    """The arrays of the policy after a revision; `learned` itself stays as it is.

    What the filter makes of either reward is what it would make of it today, and it remembers
    neither.
    """
    after = copy.deepcopy(learned)
    inside, state = innermost(policy, after)
    region, x = state.estimate.region, revision.features
    numbers = region.numbers.copy()
    norm = measure(region, x)
    region.numbers[:] = numbers
    expected = bounded(inside.estimator.predict(state.estimate, dot(x, region.centre)))
    cleaned = []
    for told in (revision.before, reward):
        rewards = np.array([told])
        clamp(rewards)
        memory = copy.deepcopy(state.memory)
        cleaned.append(bounded(inside.filter.apply(memory, rewards, norm, expected)))
    inside.estimator.revise(state.estimate, x, *cleaned)
    return kept(after)
