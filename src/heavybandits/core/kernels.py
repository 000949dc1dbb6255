"""The entry points that are compiled: each contains the stamp of its sources (see compile.py)."""

from typing import Any

from .arm_buffer import ArmBuffer, fill_rows, mark_stale
from .arrays import Booleans, Floats, Integers
from .compile import Function, stamped
from .dispatch import choose, estimate_arm, learn, propensity
from .linalg import limited
from .loop import draw_noise, play
from .protocols import ArmSet, Policy
from .runs import draw_runs, play_runs


def play_kernel(stamp: str) -> Function:
    return stamped(play, stamp)


def runs_kernel(stamp: str) -> Function:
    return stamped(play_runs, stamp)


def draw_runs_kernel(stamp: str) -> Function:
    return stamped(draw_runs, stamp)


def noise_kernel(stamp: str) -> Function:
    return stamped(draw_noise, stamp)


def choose_kernel(stamp: str) -> Function:
    """One decision among the arms in the buffer: the arm, its mean, its width, its propensity."""

    def kernel(
        policy: Any, state: Any, arms: ArmSet, buffer: ArmBuffer
    ) -> tuple[int, float, float, float]:
        stamp  # noqa: B018
        mark_stale(buffer)  # scores and squares may belong to other arms or to an older state
        arm = choose(policy, state, arms, buffer)
        chance = propensity(policy, state)
        expected, width = estimate_arm(policy, state, buffer.chosen)
        return arm, limited(expected), limited(width), chance

    return kernel


def choose_rows_kernel(stamp: str) -> Function:
    """One decision per block of rows; `numbers` gets the mean, the width and the propensity."""

    def kernel(
        policy: Any,
        state: Any,
        arms: ArmSet,
        buffer: ArmBuffer,
        rows: Floats,
        mask: Booleans,
        order: Integers,
        chosen: Integers,
        numbers: Floats,
    ) -> None:
        stamp  # noqa: B018
        for n in range(rows.shape[0]):
            fill_rows(buffer, rows[n], mask[n], order[n])
            arm = choose(policy, state, arms, buffer)
            chosen[n] = order[n, arm] if 0 <= arm < order.shape[1] else arm
            numbers[n, 2] = propensity(policy, state)
            expected, width = estimate_arm(policy, state, buffer.chosen)
            numbers[n, 0], numbers[n, 1] = limited(expected), limited(width)

    return kernel


def learn_kernel(stamp: str) -> Function:
    def kernel(policy: Policy, state: Any, x: Floats, rewards: Floats, lessons: Integers) -> None:
        stamp  # noqa: B018
        learn(policy, state, x, rewards)
        lessons[0] += 1  # in compiled code no signal comes between learning and counting

    return kernel


def warm_start_kernel(stamp: str) -> Function:
    def kernel(
        policy: Policy, state: Any, rows: Floats, rewards: Floats, lessons: Integers
    ) -> None:
        stamp  # noqa: B018
        for t in range(rows.shape[0]):
            learn(policy, state, rows[t], rewards[t])
        lessons[0] += 1  # as in `learn_kernel`: after all rows

    return kernel


def predict_kernel(stamp: str) -> Function:
    def kernel(policy: Policy, state: Any, arms: Floats, out: Floats) -> None:
        stamp  # noqa: B018
        for k in range(arms.shape[0]):
            expected, width = estimate_arm(policy, state, arms[k])
            out[0, k], out[1, k] = limited(expected), limited(width)

    return kernel
