"""What a policy has learned: theta, the radius of its region, and the threshold of a reward."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Count
from ...core.arm_buffer import ArmBuffer
from ...core.arrays import Floats
from ...core.capabilities import has_own_rows
from ...core.confidence_region import Region, update_count
from ...core.dispatch import radius, threshold_in_force
from ...core.jit import jitable
from ...core.protocols import Policy
from ..policies import UCB


def check_region(recorder: str, name: str, policy: Any) -> None:
    """Raise if a policy has no region of the features of the arms."""
    if not isinstance(policy, UCB) or has_own_rows(policy):
        kind = type(getattr(policy, "estimator", policy)).__name__
        raise InvalidInputError(
            f"record: {recorder} needs a confidence region for theta*, which policies[{name!r}] "
            f"with {kind} does not have: leave it out for this policy"
        )


@jitable
def squared_distance(region: Region, theta: Floats) -> float:
    """Return ||theta - centre||_V^2."""
    total = 0.0
    for i in range(theta.size):
        row = 0.0
        for j in range(theta.size):
            row += (region.design[i, j] + region.recent[i, j]) * (theta[j] - region.centre[j])
        total += (theta[i] - region.centre[i]) * row
    return total


class Theta(NamedTuple):
    """Record the estimate of theta*: columns `theta_0`, `theta_1`, ...

    For policies of the family `UCB` whose estimate belongs to the features of the arms, so not for
    `auto`.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.

    Examples
    --------
    >>> Theta(2).columns
    ('theta_0', 'theta_1')
    """

    dim: Count

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"theta_{i}" for i in range(self.dim))

    def check_policy(self, name: str, policy: Any) -> None:
        check_region("Theta", name, policy)
        if policy.dim != self.dim:
            raise InvalidInputError(
                f"record: Theta.dim must be that of policies[{name!r}], {policy.dim}, "
                f"got {self.dim}"
            )

    def record(
        self,
        memory: Any,
        policy: Policy,
        state: Any,
        theta: Floats,
        buffer: ArmBuffer,
        reward: float,
        out: Floats,
    ) -> None:
        for i in range(out.size):
            out[i] = state.estimate.region.centre[i]


class Seen(NamedTuple):
    """Decisions so far, and those after which the region contained theta*."""

    counts: Floats


class Coverage(NamedTuple):
    """Record the confidence region, and how often it contained theta*.

    Columns: `radius`; `distance`, ||theta* - theta||_V; `covered`, the share of the decisions so
    far after which the distance was at most the radius, nan before the first. For policies of the
    family `UCB` whose estimate belongs to the features of the arms, so not for `auto`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> problem = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian(0.1))
    >>> policy, wanted = hb.linucb(dim=2, radius=9.0), {"horizon": 40, "repetitions": 1}
    >>> hb.simulate(policy, problem, **wanted, record=Coverage()).data["covered"][-1]
    np.float64(1.0)
    """

    @property
    def columns(self) -> tuple[str, ...]:
        return ("radius", "distance", "covered")

    def check_policy(self, name: str, policy: Any) -> None:
        check_region("Coverage", name, policy)

    def start(self) -> Seen:
        return Seen(np.zeros(2))

    def watch(self, memory: Seen, policy: Any, state: Any, theta: Floats) -> None:
        region = state.estimate.region
        width = radius(policy.radius, state.estimate, update_count(region))
        memory.counts[0] += 1.0
        if squared_distance(region, theta) <= width * width:
            memory.counts[1] += 1.0

    def record(
        self,
        memory: Seen,
        policy: Any,
        state: Any,
        theta: Floats,
        buffer: ArmBuffer,
        reward: float,
        out: Floats,
    ) -> None:
        region = state.estimate.region
        out[0] = radius(policy.radius, state.estimate, update_count(region))
        out[1] = math.sqrt(max(squared_distance(region, theta), 0.0))
        out[2] = math.nan
        if memory.counts[0] > 0.0:
            out[2] = memory.counts[1] / memory.counts[0]


class Threshold(NamedTuple):
    """Record the threshold at which the next reward is clipped or truncated, as `threshold`.

    It is that of the filter, else that of the estimator, else nan. For policies of the family
    `UCB`, `auto` included.

    Examples
    --------
    >>> Threshold().columns
    ('threshold',)
    """

    @property
    def columns(self) -> tuple[str, ...]:
        return ("threshold",)

    def check_policy(self, name: str, policy: Any) -> None:
        if not isinstance(policy, UCB):
            raise InvalidInputError(
                f"record: Threshold needs a policy of the family UCB, which policies[{name!r}], "
                f"{type(policy).__name__}, is not: leave it out for this policy"
            )

    def record(
        self,
        memory: Any,
        policy: Any,
        state: Any,
        theta: Floats,
        buffer: ArmBuffer,
        reward: float,
        out: Floats,
    ) -> None:
        out[0] = threshold_in_force(policy.filter, state.memory)
        if math.isnan(out[0]):
            out[0] = threshold_in_force(policy.estimator, state.estimate)
