"""The entry points that are compiled: each contains the stamp of its sources (see compile.py)."""

import math
from typing import Any

from .arm_buffer import ArmBuffer, mark_stale
from .arrays import Booleans, Floats, Integers
from .compile import Function, stamped
from .dispatch import choose, estimate_arm, learn, propensity
from .jit import jitable
from .loop import draw_noise, play
from .protocols import ArmSet, Policy


def play_kernel(stamp: str) -> Function:
    return stamped(play, stamp)


def noise_kernel(stamp: str) -> Function:
    return stamped(draw_noise, stamp)


def choose_kernel(stamp: str) -> Function:
    def kernel(
        policy: Policy, state: Any, arms: ArmSet, buffer: ArmBuffer
    ) -> tuple[int, float, float]:
        stamp  # noqa: B018
        mark_stale(buffer)  # scores and squares may belong to other arms or to an older state
        arm = choose(policy, state, arms, buffer)
        expected, width = estimate_arm(policy, state, buffer.chosen)
        return arm, expected, width

    return kernel


def learn_kernel(stamp: str) -> Function:
    def kernel(policy: Policy, state: Any, x: Floats, rewards: Floats, lessons: Integers) -> None:
        stamp  # noqa: B018
        learn(policy, state, x, rewards)
        lessons[0] += 1  # in compiled code no signal comes between learning and counting

    return kernel


def teach_kernel(stamp: str) -> Function:
    def kernel(
        policy: Policy, state: Any, rows: Floats, rewards: Floats, lessons: Integers
    ) -> None:
        stamp  # noqa: B018
        for t in range(rows.shape[0]):
            learn(policy, state, rows[t], rewards[t])
        lessons[0] += 1  # as in `learn_kernel`: after all rows

    return kernel


@jitable
def offer_rows(buffer: ArmBuffer, rows: Floats, hidden: Booleans, order: Integers) -> None:
    """Make the rows of one decision the available arms, in this order."""
    for k in range(order.size):
        row = order[k]
        buffer.penalty[k] = math.inf if hidden[row] else 0.0
        for i in range(rows.shape[1]):
            buffer.features[i, k] = rows[row, i]
    mark_stale(buffer)


def choose_many_kernel(stamp: str) -> Function:
    """Make one decision per block of rows; write mean, width and propensity into `numbers`."""

    def kernel(
        policy: Policy,
        state: Any,
        arms: ArmSet,
        buffer: ArmBuffer,
        rows: Floats,
        hidden: Booleans,
        order: Integers,
        chosen: Integers,
        numbers: Floats,
    ) -> None:
        stamp  # noqa: B018
        for n in range(rows.shape[0]):
            offer_rows(buffer, rows[n], hidden[n], order[n])
            arm = choose(policy, state, arms, buffer)
            chosen[n] = order[n, arm]
            numbers[n, 0], numbers[n, 1] = estimate_arm(policy, state, buffer.chosen)

    return kernel


def draw_many_kernel(stamp: str) -> Function:
    """Do the same for a policy that draws its arm."""

    def kernel(
        policy: Any,
        state: Any,
        arms: ArmSet,
        buffer: ArmBuffer,
        rows: Floats,
        hidden: Booleans,
        order: Integers,
        chosen: Integers,
        numbers: Floats,
    ) -> None:
        stamp  # noqa: B018
        for n in range(rows.shape[0]):
            offer_rows(buffer, rows[n], hidden[n], order[n])
            arm = choose(policy, state, arms, buffer)
            chosen[n] = order[n, arm]
            numbers[n, 2] = propensity(policy, state)
            numbers[n, 0], numbers[n, 1] = estimate_arm(policy, state, buffer.chosen)

    return kernel


def predict_kernel(stamp: str) -> Function:
    def kernel(policy: Policy, state: Any, arms: Floats, out: Floats) -> None:
        stamp  # noqa: B018
        for k in range(arms.shape[0]):
            out[0, k], out[1, k] = estimate_arm(policy, state, arms[k])

    return kernel
