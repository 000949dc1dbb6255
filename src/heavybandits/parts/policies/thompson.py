"""Thompson sampling that knows how likely its choice was."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..._utils.display import show_part, show_part_html
from ..._utils.errors import InvalidInputError
from ..._utils.validation import Index, Interval, Positive, Share
from ...core.allocation import zeros
from ...core.arm_buffer import ArmBuffer, mark_stale, take
from ...core.arrays import Floats, Integers, Key
from ...core.capabilities import has_own_rows
from ...core.confidence_region import Region, update_count
from ...core.dispatch import estimate_arm, learn, radius, tally
from ...core.jit import jitable, outlined
from ...core.linalg import bounded, cholesky, combine
from ...core.protocols import ArmSet, Policy, Tally
from ...core.rng import uniform
from .randomised import count_learned, count_offered, next_draw, offered_at

MOST_DRAWS = 1 << 16
LOW = 0.02425  # below it, and above 1 - LOW, the quantile has another fraction


@jitable
def normal_quantile(p: float) -> float:
    """Return the z with P(Z <= z) = p for a standard normal Z, to 1.2e-9 of it (Acklam 2003).

    >>> round(normal_quantile(0.975), 6), normal_quantile(0.5)
    (1.959964, 0.0)
    """
    if p > 1.0 - LOW:
        return -normal_quantile_low(1.0 - p)
    if p < LOW:
        return normal_quantile_low(p)
    q = p - 0.5
    r = q * q
    above = (((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r) + (
        138.3577518672690
    )
    above = (above * r - 30.66479806614716) * r + 2.506628277459239
    below = (((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r) + (
        66.80131188771972
    )
    below = (below * r - 13.28068155288572) * r + 1.0
    return above * q / below


@jitable
def normal_quantile_low(p: float) -> float:
    """Return the same far below the median."""
    q = math.sqrt(-2.0 * math.log(p))
    above = (-0.007784894002430293 * q - 0.3223964580411365) * q - 2.400758277161838
    above = ((above * q - 2.549732539343734) * q + 4.374664141464968) * q + 2.938163982698783
    below = (0.007784695709041462 * q + 0.3224671290700398) * q + 2.445134137142996
    return above / ((below * q + 3.754408661907416) * q + 1.0)


class Draws(NamedTuple):
    """Room for the draws of one decision: one theta per row, the triangle of V, the best arms."""

    points: Floats
    factor: Floats
    best: Integers


class ThompsonState(NamedTuple):
    """State of `Thompson`: that of the policy inside, the decisions made and those learned from,
    the probability of the last choice, and room for the draws of one decision."""

    inner: Any
    counts: Integers
    propensity: Floats
    scratch: Draws


@jitable
def fill_hypercube(points: Floats, order: Integers, key: Key, start: int) -> None:
    """Standard normal rows, each column evenly distributed: a Latin hypercube (McKay et al. 1979).

    Each of the M slices of equal probability contains one of the M entries of a column. The numbers
    start, start + 1, ... of the stream shuffle the slices and place the entries in them.
    """
    draws, dim = points.shape
    index = start
    for i in range(dim):
        for m in range(draws):
            order[m] = m
        for m in range(draws - 1, -1, -1):
            other = int(uniform(key, index) * (m + 1))
            order[m], order[other] = order[other], order[m]
            points[m, i] = normal_quantile((order[m] + uniform(key, index + 1)) / draws)
            index += 2


@outlined
def factorise(region: Region, factor: Floats) -> None:
    """L with V = L L^T. If V has not the digits for that, the diagonal matrix whose L^-T g has
    the variances of V^-1, without their correlations."""
    dim = region.centre.size
    for i in range(dim):
        for j in range(dim):
            factor[i, j] = region.design[i, j] + region.recent[i, j]
    if not cholesky(factor, factor):
        for i in range(dim):
            for j in range(dim):
                factor[i, j] = 0.0
            factor[i, i] = 1.0 / math.sqrt(max(region.inverse[i, i], 1e-300))


@jitable
def place_draw(region: Region, factor: Floats, reach: float, point: Floats) -> None:
    """point = centre + reach L^-T point, a draw from N(centre, reach^2 V^-1)."""
    for i in range(point.size - 1, -1, -1):
        point[i] /= factor[i, i]
        for j in range(i):
            point[j] -= factor[i, j] * point[i]
    for i in range(point.size):
        point[i] = region.centre[i] + reach * point[i]


@jitable
def best_offered(buffer: ArmBuffer) -> int:
    """Return the first available arm of the largest score."""
    best = -1
    for k in range(buffer.penalty.size):
        if buffer.penalty[k] == 0.0 and (best < 0 or buffer.scores[k] > buffer.scores[best]):
            best = k
    return best


class Thompson(NamedTuple):
    """Choose by Thompson sampling from the confidence region of a policy, with exact propensities.

        theta_m = centre + scale radius V^{-1/2} g_m,    m = 1 ... M = `draws`,    g_m ~ N(0, I)
        a_m = argmax_a x_a.theta_m
        p(a) = epsilon / K + (1 - epsilon) #{m : a_m = a} / M,    K arms available

    The policy draws the arm from p: with probability 1 - epsilon it plays the arm of one theta_m,
    all equally likely (Thompson 1933; Abeille and Lazaric 2017). Given the M draws, which depend on
    no later reward, the propensity p(a) is exact. Inverse propensity weights need no more than that
    to be unbiased.

    As an estimate of the posterior probability P that an arm is best, the count has a standard
    error of at most sqrt(P (1 - P) / (M - 1)): 0.06 for 64 draws, 0.02 for 1024. The g_m are a
    Latin hypercube, which is never worse than that (Owen 1997). p(a) is at least epsilon / K, and
    at least 1 / M for an arm that a draw has chosen. Decision n uses its own numbers of the random
    stream of the seed. The cost is O(d^3 + M d (d + K)) per decision.

    Parameters
    ----------
    policy : Policy
        A policy with a confidence region, such as `linucb` or `crtm`. Its centre, its V and its
        radius are used; its own choice is not.
    scale : float, default 0.25
        Multiplier of the radius in the draws. With 1 the standard deviation of x.theta is the width
        of the policy, which explores more than needed, because the width is a bound.
    epsilon : float, default 0.01
        Probability of a uniform draw from all available arms.
    draws : int, default 64
        M, the number of draws per decision, at least 2.
    seed : int, default 0
        Seed of the random draws.

    Examples
    --------
    >>> from heavybandits import linucb
    >>> Thompson(linucb(dim=2, radius=1.0)).plays
    1
    """

    policy: Policy
    scale: Positive = 0.25
    epsilon: Share = 0.01
    draws: Annotated[int, Interval(2)] = 64
    seed: Index = 0

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    def check(self) -> None:
        if not (hasattr(self.policy, "estimator") and hasattr(self.policy, "radius")):
            raise InvalidInputError(
                "Thompson.policy must have a confidence region, that is an estimator and a "
                f"radius, as linucb has, got {type(self.policy).__name__}"
            )
        if has_own_rows(self.policy):
            raise InvalidInputError(
                "Thompson.policy must have a theta of the features themselves, as linucb has; auto "
                "standardises them. EpsilonGreedy and SquareCB draw arms with auto"
            )
        if self.draws > MOST_DRAWS:
            raise InvalidInputError(
                f"Thompson.draws must be at most {MOST_DRAWS}, got {self.draws}"
            )

    @property
    def dim(self) -> int:
        return self.policy.dim

    @property
    def plays(self) -> int:
        return self.policy.plays

    @property
    def finite_only(self) -> bool:
        return True

    @property
    def choice_writes(self) -> tuple[str, ...]:
        return ("counts", "propensity")

    def is_valid(self, state: ThompsonState) -> bool:
        return bool(0.0 < state.propensity[0] <= 1.0)

    def init(self) -> ThompsonState:
        room = Draws(
            zeros(self.draws, self.dim),
            zeros(self.dim, self.dim),
            zeros(self.draws, dtype=np.int64),
        )
        return ThompsonState(self.policy.init(), np.zeros(2, np.int64), np.ones(1), room)

    def choose(self, state: ThompsonState, arms: ArmSet, buffer: ArmBuffer) -> int:
        estimate, room, key = state.inner.estimate, state.scratch, np.uint64(self.seed)
        region, width = estimate.region, self.policy.radius  # type: ignore[attr-defined] # see check
        reach = self.scale * bounded(radius(width, estimate, update_count(region)))
        place = next_draw(state) * (2 * self.draws * region.centre.size + 1)
        fill_hypercube(room.points, room.best, key, place + 1)
        factorise(region, room.factor)
        for m in range(self.draws):
            place_draw(region, room.factor, reach, room.points[m])
            combine(buffer.features, room.points[m], buffer.scores)
            room.best[m] = best_offered(buffer)
        mark_stale(buffer)  # scores are those of the last draw
        offered, number = count_offered(buffer), uniform(key, place)
        if number < self.epsilon:
            arm = offered_at(buffer, min(int(number / self.epsilon * offered), offered - 1))
        else:
            number = (number - self.epsilon) / (1.0 - self.epsilon)
            arm = room.best[min(int(number * self.draws), self.draws - 1)]
        wins = 0
        for m in range(self.draws):
            wins += 1 if room.best[m] == arm else 0
        state.propensity[0] = self.epsilon / offered + (1.0 - self.epsilon) * wins / self.draws
        take(buffer, arm)
        return arm

    def learn(self, state: ThompsonState, x: Floats, rewards: Floats) -> None:
        count_learned(state)
        learn(self.policy, state.inner, x, rewards)

    def estimate_arm(self, state: ThompsonState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: ThompsonState) -> Tally:
        return tally(self.policy, state.inner)

    def propensity(self, state: ThompsonState) -> float:
        """Return the probability with which the last choice was made."""
        return float(state.propensity[0])
