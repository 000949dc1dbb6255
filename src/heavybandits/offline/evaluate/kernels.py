"""The compiled passes of `evaluate`: a policy chooses in every row and learns from some of them."""

from typing import Any

from ...core.arm_buffer import ArmBuffer, fill_products, fill_rows
from ...core.arrays import Booleans, Floats, Integers
from ...core.compile import Function, stamped
from ...core.dispatch import choose, learn
from ...core.jit import jitable
from ...core.protocols import ArmSet, Policy


@jitable
def choose_products(
    policy: Policy,
    state: Any,
    arms: ArmSet,
    buffer: ArmBuffer,
    contexts: Floats,
    actions: Floats,
    mask: Booleans,
    chosen: Integers,
) -> None:
    """Choose among the actions of every row, whose features are products with the context."""
    for t in range(contexts.shape[0]):
        fill_products(buffer, contexts[t], actions, mask[t])
        chosen[t] = choose(policy, state, arms, buffer)


@jitable
def pass_log(
    policy: Policy,
    state: Any,
    arms: ArmSet,
    buffer: ArmBuffer,
    contexts: Floats,
    actions: Floats,
    taken: Integers,
    rewards: Floats,
    pending: Floats,
    chosen: Integers,
) -> None:
    """One pass over a log: learn where the policy chose the action taken, skip the rest."""
    for t in range(chosen.size):
        fill_products(buffer, contexts[t], actions)
        chosen[t] = choose(policy, state, arms, buffer)
        if chosen[t] == taken[t]:
            pending[0] = rewards[t]
            learn(policy, state, buffer.chosen, pending)


@jitable
def pass_encoded(
    policy: Policy,
    state: Any,
    arms: ArmSet,
    buffer: ArmBuffer,
    rows: Floats,
    taken: Integers,
    rewards: Floats,
    pending: Floats,
    chosen: Integers,
) -> None:
    """As `pass_log`, over a log that has the features of all actions, rows[t, k]."""
    for t in range(chosen.size):
        fill_rows(buffer, rows[t])
        chosen[t] = choose(policy, state, arms, buffer)
        if chosen[t] == taken[t]:
            pending[0] = rewards[t]
            learn(policy, state, buffer.chosen, pending)


def choose_products_kernel(stamp: str) -> Function:
    return stamped(choose_products, stamp)


def log_kernel(stamp: str) -> Function:
    return stamped(pass_log, stamp)


def encoded_kernel(stamp: str) -> Function:
    return stamped(pass_encoded, stamp)
