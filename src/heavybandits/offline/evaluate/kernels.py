"""The compiled pass of `evaluate`: a policy chooses in every row."""

from typing import Any

from ...core.arm_buffer import ArmBuffer, fill_products
from ...core.arrays import Booleans, Floats, Integers
from ...core.compile import Function, stamped
from ...core.dispatch import choose
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


def choose_products_kernel(stamp: str) -> Function:
    return stamped(choose_products, stamp)
