"""Validate policies: that they are policies, and that they can play the given arms."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._utils.errors import InvalidInputError, warn_caller
from ...core.arrays import Floats
from ...core.capabilities import accepts_any_norm, capacity_of, is_finite_only
from ...core.dry_run import rehearse
from ...core.part import check_part, own_classes
from ...core.protocols import ArmSet, Policy
from ..arms import Box, FromArray

LONGEST = 1.0 + 1e-6  # norm of an arm without a warning: unit vectors in single precision are fine


def check_names(what: str, given: Any, alone: str) -> dict[str, Any]:
    """Things by name; a single one is named `alone`. Names that read the same raise.

    >>> check_names("policies", {1: "a", "1": "b"}, "policy")
    Traceback (most recent call last):
    heavybandits.InvalidInputError: policies must differ in name, got two called '1'
    """
    if isinstance(given, list):
        raise InvalidInputError(f"{what} must be a {alone}, or a dict by name, got a list")
    if not isinstance(given, Mapping):
        return {alone: given}
    if not given:
        raise InvalidInputError(f"{what} must have at least one {alone}, got none")
    named: dict[str, Any] = {}
    for name, value in given.items():
        if str(name) in named:
            raise InvalidInputError(f"{what} must differ in name, got two called {str(name)!r}")
        named[str(name)] = value
    return named


def check_policies(policies: Policy | Mapping[str, Policy]) -> dict[str, Policy]:
    """Policies by name, their fields cast."""
    return {
        name: check_part(f"policies[{name!r}]", policy, Policy)
        for name, policy in check_names("policies", policies, "policy").items()
    }


def check_match(name: str, policy: Policy, arms: ArmSet) -> None:
    """Raise if this policy cannot play these arms."""
    if policy.dim != arms.dim:
        raise InvalidInputError(
            f"policies[{name!r}] has dim {policy.dim}, the arms have dim {arms.dim}"
        )
    if policy.plays > 1 and arms.redraw == "round":
        raise InvalidInputError(
            f"policies[{name!r}] plays an arm {policy.plays} times per decision, but "
            f"{type(arms).__name__} changes with every play: use Fixed, or PerDecision, "
            "which do not change during a decision"
        )
    check_finite(f"policies[{name!r}]", policy, arms)


def check_finite(name: str, policy: Policy, arms: ArmSet) -> None:
    """Raise if the arm set is continuous and the policy looks at every arm separately."""
    if is_finite_only(policy) and arms.size == 0:
        raise InvalidInputError(
            f"{name} estimates every available arm separately, so it needs a finite set: "
            f"{type(arms).__name__} has infinitely many arms. Offer rows of features, or use a "
            "policy with a confidence region, such as crtm"
        )


def check_room(name: str, policy: Policy, decisions: int) -> None:
    """Raise if a policy that keeps its history has no room for so many decisions."""
    capacity = capacity_of(policy)
    if capacity is not None and decisions > capacity:
        raise InvalidInputError(
            f"{name} keeps its history and has room for {capacity} decisions, "
            f"but {decisions} are asked for: build it with a larger horizon"
        )


def warn_norms(policies: Mapping[str, Policy], arms: ArmSet) -> None:
    """Warn once of an arm that is longer than the theory of some of the policies assumes."""
    names = ", ".join(name for name, policy in policies.items() if not accepts_any_norm(policy))
    longest = longest_arm(arms) if names else 0.0
    if longest > LONGEST:
        warn_caller(
            f"an arm has norm {longest:.3g}; the theory of {names} assumes at most 1. Divide the "
            "arms by the largest norm, and multiply theta and `norm` by it: rewards stay the same"
        )


def longest_arm(arms: ArmSet) -> float:
    """Return the largest norm of an arm; for an arm set of your own, in the first round.

    >>> longest_arm(FromArray(np.array([[3.0, 4.0], [1.0, 0.0]])))
    5.0
    """
    if isinstance(arms, FromArray):
        rows = arms.features
    elif isinstance(arms, Box):
        rows = np.maximum(np.abs(arms.low), np.abs(arms.high))[None]
    elif own := own_classes(arms):
        rows = first_arms(arms, own)
    else:
        return 1.0
    return float(np.linalg.norm(rows, axis=1).max(initial=0.0))


def first_arms(arms: ArmSet, own: frozenset[type]) -> Floats:
    """Return the arms of the first round of a set, shape (size, d)."""
    found: list[Floats] = []

    def draw(arms: ArmSet) -> None:
        buffer = arms.make_buffer()
        arms.refresh(buffer, np.uint64(0), 0)
        offered = buffer.penalty[: arms.size] == 0.0
        found.append(buffer.features[:, : arms.size].T[offered])

    rehearse(draw, (arms,), own)
    return found[0] if found else np.zeros((0, arms.dim))
