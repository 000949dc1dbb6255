"""Discounted, for effects that move: it can contain any one-pass estimator."""

import math
from typing import Any, NamedTuple

from ..._utils.errors import InvalidInputError
from ..._utils.validation import Count, Positive
from ...core.arm_buffer import ArmBuffer
from ...core.arrays import Floats
from ...core.capabilities import capacity_of, keeps_factor
from ...core.confidence_region import discount, update_count
from ...core.dispatch import arm_norm, best_arm, measure_arm, predict, score_arm, update
from ...core.protocols import ArmSet, Estimator, Observation


class Discounted(NamedTuple):
    """Give a reward half the weight after each `half_life` further rewards.

        V <- rho^m V + (1 - rho^m) lambda I every m = `every` rewards,    rho = 2^(-1/half_life)

    This is stabilised forgetting: V never falls below lambda I, so the region of an arm that is not
    played cannot grow without bound. theta stays, and the next rewards move it further. The cost is
    O(d^2) per reward, and O(d^3) every m rewards. We know of no theorem for heavy tails.

    Parameters
    ----------
    inner : Estimator
        The estimator that learns.
    half_life : float
        Rewards after which a reward has half its weight.
    every : int, default 32
        m, the rewards from one discount to the next.

    See Also
    --------
    TimeDiscounted : Discount by seconds instead of rewards.

    Examples
    --------
    >>> from heavybandits.estimators import Ridge
    >>> Discounted(Ridge(3, 1.0), half_life=500.0).dim
    3
    """

    inner: Estimator
    half_life: Positive
    every: Count = 32

    def check(self) -> None:
        if capacity_of(self.inner) is not None:
            raise InvalidInputError(
                f"Discounted.inner must see each reward once, but {type(self.inner).__name__} "
                "keeps them all"
            )
        if hasattr(self.inner, "plays"):
            raise InvalidInputError(
                "Discounted.inner must have one theta, whose V may fade, but "
                f"{type(self.inner).__name__} has one per play, and keeps their distances"
            )
        if keeps_factor(self.inner):
            raise InvalidInputError(
                "Discounted.inner must keep V only, which may fade, but "
                f"{type(self.inner).__name__} keeps a Cholesky factor of V"
            )

    @property
    def dim(self) -> int:
        return self.inner.dim

    def init(self) -> Any:
        return self.inner.init()

    def predict(self, estimate: Any, z: float) -> float:
        return predict(self.inner, estimate, z)

    def best_arm(self, estimate: Any, arms: ArmSet, buffer: ArmBuffer, width: float) -> int:
        return best_arm(self.inner, estimate, arms, buffer, width)

    def arm_norm(self, estimate: Any, x: Floats) -> float:
        return arm_norm(self.inner, estimate, x)

    def measure_arm(self, estimate: Any, x: Floats) -> float:
        return measure_arm(self.inner, estimate, x)

    def score_arm(self, estimate: Any, x: Floats) -> float:
        return score_arm(self.inner, estimate, x)

    def update(self, estimate: Any, observation: Observation) -> None:
        update(self.inner, estimate, observation)
        if update_count(estimate.region) % self.every == 0:
            discount(estimate.region, math.pow(2.0, -self.every / self.half_life))
