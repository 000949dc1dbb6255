"""The compiled entries: each holds the stamp of its sources (see compiling.py)."""

from typing import Any

from .compiling import Function, stamped
from .loop import draw_noise, play
from .verbs import choose, estimate_arm, learn


def play_kernel(stamp: str) -> Function:
    return stamped(play, stamp)


def noise_kernel(stamp: str) -> Function:
    return stamped(draw_noise, stamp)


def choose_kernel(stamp: str) -> Function:
    def kernel(policy: Any, state: Any, arms: Any, view: Any) -> tuple[int, float, float]:
        stamp  # noqa: B018
        view.synced[0] = -1  # the widths of other arms, or of an older state, must not linger
        arm = choose(policy, state, arms, view)
        expected, width = estimate_arm(policy, state, view.chosen)
        return arm, expected, width

    return kernel


def learn_kernel(stamp: str) -> Function:
    def kernel(policy: Any, state: Any, x: Any, rewards: Any) -> None:
        stamp  # noqa: B018
        learn(policy, state, x, rewards)

    return kernel


def predict_kernel(stamp: str) -> Function:
    def kernel(policy: Any, state: Any, arms: Any, out: Any) -> None:
        stamp  # noqa: B018
        for k in range(arms.shape[0]):
            out[0, k], out[1, k] = estimate_arm(policy, state, arms[k])

    return kernel
