"""The compiled loop of `replay`: a policy chooses among rows whose rewards are all known."""

import time
from typing import Any

from ...core.arm_buffer import ArmBuffer, fill_rows
from ...core.arrays import Floats, Integers
from ...core.compile import Factory, Function, stamped
from ...core.dispatch import choose, learn
from ...core.dry_run import first_plays
from ...core.jit import jitable
from ...core.part import reseeded
from ...core.protocols import ArmSet, Policy
from ...core.rng import NOISE, stream_key
from ...parts.compiled_policy import CompiledPolicy


@jitable
def pass_rounds(
    policy: Policy,
    state: Any,
    arms: ArmSet,
    buffer: ArmBuffer,
    features: Floats,
    offers: Integers,
    rewards: Floats,
    payers: Integers,
    pending: Floats,
    chosen: Integers,
) -> None:
    """Play one pass: the arms of round t are rows `offers[t]`; arm k pays rewards[payers[t, k]]."""
    waiting = 0
    arm = 0
    for t in range(chosen.size):
        if waiting == 0:
            fill_rows(buffer, features, None, offers[t])
            arm = choose(policy, state, arms, buffer)
        chosen[t] = arm
        pending[waiting] = rewards[payers[t, arm]]
        waiting += 1
        if waiting == pending.size:
            learn(policy, state, buffer.chosen, pending)
            waiting = 0


def rounds_kernel(stamp: str) -> Function:
    return stamped(pass_rounds, stamp)


def for_pass(policy: Policy, order: int) -> Policy:
    """Return the policy for one pass, with seeds of its own if it has any."""
    return reseeded(policy, stream_key(0, order, NOISE))


def run_timed(factory: Factory, policy: Policy, state: Any, arms: ArmSet, *rest: Any) -> float:
    """Run a kernel and return the CPU seconds it takes, without compilation."""
    *given, chosen = (arms, *rest)
    short = chosen[: first_plays(policy, arms)]
    kernel = CompiledPolicy(policy).compile(factory, state, *given, short)
    started = time.thread_time()
    kernel(policy, state, *given, chosen)
    return time.thread_time() - started
