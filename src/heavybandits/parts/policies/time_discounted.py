"""Discounted by the clock: what was learned fades with the seconds, not with the rewards."""

import math
from typing import Any, NamedTuple

from ..._utils.display import show_part, show_part_html
from ..._utils.errors import InvalidInputError
from ..._utils.validation import Positive
from ...core.allocation import zeros
from ...core.arm_buffer import ArmBuffer
from ...core.arrays import Floats
from ...core.capabilities import capacity_of, has_own_rows, keeps_factor
from ...core.confidence_region import (
    copy_design,
    discount,
    penalty_of,
    update_count,
    weaken_since,
)
from ...core.dispatch import choose, estimate_arm, learn, tally
from ...core.part import walk
from ...core.protocols import ArmSet, Policy, Tally

SINCE, NOW = 0, 1  # places in TimeDiscountedState.clock
STEPS = 64.0  # of a half-life: V fades at most so often, since that costs O(d^3)
LEAST = 1e-6  # of V that is kept, however long nothing came


class TimeDiscountedState(NamedTuple):
    """State of `TimeDiscounted`: that of the policy inside; until when it has faded, the time of
    the decision that is learned from, which the agent writes there; room for V and V theta."""

    inner: Any
    clock: Floats
    scratch: Floats


class TimeDiscounted(NamedTuple):
    """Give a reward half the weight after each `half_life` seconds.

        V <- rho V + (1 - rho) lambda I,    rho = 2^(-seconds / half_life)

    This is stabilised forgetting as in `estimators.Discounted`, but by the clock of the agent. Time
    is the time of the decisions, not of their rewards, which may come late. The ledger contains it,
    so a replay is exact. The reward of a decision that is older than V has the weight
    2^(-age / half_life) in V and in theta, as if it had faded with V. This is exact for ridge
    regression. In `simulate` and `replay`, where there is no clock, nothing fades.

    Parameters
    ----------
    policy : Policy
        The policy that learns.
    half_life : float
        Time after which a reward has half its weight, in seconds.

    Examples
    --------
    >>> from heavybandits import Agent, auto
    >>> moments = iter([0.0, 0.0, 3600.0, 3600.0])
    >>> agent = Agent(TimeDiscounted(auto(dim=1), half_life=3600.0), clock=lambda: next(moments))
    >>> for _ in range(2):
    ...     _ = agent.update(agent.select([[1.0]]), 1.0)
    >>> float(agent.state.learned.clock[0])
    3600.0
    """

    policy: Policy
    half_life: Positive

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    def check(self) -> None:
        estimator = getattr(self.policy, "estimator", None)
        if estimator is None or capacity_of(self.policy) is not None or hasattr(estimator, "plays"):
            raise InvalidInputError(
                "TimeDiscounted.policy must keep one confidence region, one theta and no history, "
                "but "
                f"{type(self.policy).__name__} does not"
            )
        if keeps_factor(estimator):
            raise InvalidInputError(
                "TimeDiscounted.policy must keep V only, which may fade, but "
                f"{type(estimator).__name__} keeps a Cholesky factor of V"
            )

    @property
    def dim(self) -> int:
        return self.policy.dim

    @property
    def plays(self) -> int:
        return self.policy.plays

    @property
    def choice_writes(self) -> tuple[str, ...]:
        return ()

    def init(self) -> TimeDiscountedState:
        size = self.dim + (1 if has_own_rows(self.policy) else 0)
        return TimeDiscountedState(self.policy.init(), zeros(2), zeros(size + 1, size))

    def choose(self, state: TimeDiscountedState, arms: ArmSet, buffer: ArmBuffer) -> int:
        return choose(self.policy, state.inner, arms, buffer)

    def learn(self, state: TimeDiscountedState, x: Floats, rewards: Floats) -> None:
        clock, region = state.clock, state.inner.estimate.region
        elapsed = clock[NOW] - clock[SINCE]
        if update_count(region) == 0:
            clock[SINCE] = clock[NOW]
        elif elapsed * STEPS >= self.half_life:
            discount(region, max(math.pow(2.0, -elapsed / self.half_life), LEAST))
            clock[SINCE] = clock[NOW]
        late = -elapsed * STEPS >= self.half_life and update_count(region) > 0
        penalty = penalty_of(region)
        if late:
            copy_design(region, state.scratch)
        learn(self.policy, state.inner, x, rewards)
        if late:
            share = max(math.pow(2.0, elapsed / self.half_life), LEAST)
            weaken_since(region, state.scratch, penalty, share)

    def estimate_arm(self, state: TimeDiscountedState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: TimeDiscountedState) -> Tally:
        return tally(self.policy, state.inner)


def has_clock(policy: Policy) -> bool:
    """Return True if the policy, or one inside it, discounts by time.

    >>> from heavybandits import auto
    >>> has_clock(TimeDiscounted(auto(dim=1), half_life=60.0)), has_clock(auto(dim=1))
    (True, False)
    """
    return any(isinstance(part, TimeDiscounted) for part in walk(policy))


def set_time(state: Any, time: float) -> None:
    """Set the time of the decision that is learned from next, in seconds."""
    for part in walk(state):
        if isinstance(part, TimeDiscountedState):
            part.clock[NOW] = time
