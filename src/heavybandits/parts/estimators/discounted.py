"""Discounted, for effects that move: any one-pass estimator can be held by it."""

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
    """An estimator in which a reward counts half as much after `half_life` rewards more.

    V <- rho^m V + (1 - rho^m) lambda I every m = `every` rewards, rho = 2^(-1/half_life):
    stabilised forgetting, under which V never falls below lambda I, so that nothing winds up where
    no arm is played. theta stays, and what comes next moves it further. O(d^2) per reward, and
    O(d^3) every m. No theorem for heavy tails is known to us.

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
