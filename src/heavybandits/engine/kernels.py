"""The compiled entries: each holds the stamp of its sources (see compiling.py)."""

from typing import Any

from .arrays import Floats, Integers
from .compiling import Function, stamped
from .contracts import ArmSet, Policy
from .loop import draw_noise, play
from .verbs import choose, estimate_arm, learn
from .views import View


def play_kernel(stamp: str) -> Function:
    return stamped(play, stamp)


def noise_kernel(stamp: str) -> Function:
    return stamped(draw_noise, stamp)


def choose_kernel(stamp: str) -> Function:
    def kernel(policy: Policy, state: Any, arms: ArmSet, view: View) -> tuple[int, float, float]:
        stamp  # noqa: B018
        view.synced[0] = -1  # the widths of other arms, or of an older state, must not linger
        arm = choose(policy, state, arms, view)
        expected, width = estimate_arm(policy, state, view.chosen)
        return arm, expected, width

    return kernel


def learn_kernel(stamp: str) -> Function:
    def kernel(policy: Policy, state: Any, x: Floats, rewards: Floats, lessons: Integers) -> None:
        stamp  # noqa: B018
        learn(policy, state, x, rewards)
        lessons[0] += 1  # here, where no signal comes between: learned, and known to be

    return kernel


def predict_kernel(stamp: str) -> Function:
    def kernel(policy: Policy, state: Any, arms: Floats, out: Floats) -> None:
        stamp  # noqa: B018
        for k in range(arms.shape[0]):
            out[0, k], out[1, k] = estimate_arm(policy, state, arms[k])

    return kernel
