"""TOFU's estimator: the whole history truncated again in every round, by coordinates."""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.validation import Count, Positive, Share, Weight
from ...core.allocation import zeros
from ...core.arrays import Floats, Integers
from ...core.confidence_region import (
    Region,
    add_observation,
    count_clipped,
    make_region,
    set_clipped,
    update_count,
)
from ...core.jit import jitable
from ...core.linalg import combine, norm
from ...core.protocols import Observation
from .roots import RANGES, Root, extend_root, longest_spectrum, make_root

_LIVE = 0  # place in TruncatedHistoryEstimate.counts
SAFE = 1.0 - 1e-9  # rounding must not stretch a promise


class TruncatedHistoryEstimate(NamedTuple):
    """State of `TruncatedHistory`. Rewards that may still be truncated are in the first slots."""

    region: Region
    root: Root
    kept: Floats  # sum y x over the rewards no coordinate of which is cut
    sums: Floats
    image: Floats
    features: Floats
    rewards: Floats
    whole: Integers  # 1 for a slot that is in `kept`
    deadlines: Floats  # the drift up to which a whole slot stays whole
    drift: Floats  # how far V^-1/2 has moved, in all
    counts: Integers


def live_count(estimate: TruncatedHistoryEstimate) -> int:
    """Return the number of rewards that may still be truncated."""
    return int(estimate.counts[_LIVE])


@jitable
def add_to_kept(estimate: TruncatedHistoryEstimate, slot: int, sign: float) -> None:
    """kept += sign y x"""
    factor = sign * estimate.rewards[slot]
    for i in range(estimate.kept.size):
        estimate.kept[i] += factor * estimate.features[slot, i]


@jitable
def drop(estimate: TruncatedHistoryEstimate, slot: int) -> None:
    """Free a slot: the last live one moves into it."""
    last = estimate.counts[_LIVE] - 1
    for i in range(estimate.kept.size):
        estimate.features[slot, i] = estimate.features[last, i]
    estimate.rewards[slot] = estimate.rewards[last]
    estimate.whole[slot] = estimate.whole[last]
    estimate.deadlines[slot] = estimate.deadlines[last]
    estimate.counts[_LIVE] = last


@jitable
def add_uncut(estimate: TruncatedHistoryEstimate, reward: float, threshold: float) -> None:
    """sums_i += u_i y where |u_i y| <= threshold, u being in `image`."""
    for i in range(estimate.sums.size):
        term = estimate.image[i] * reward
        if abs(term) <= threshold:
            estimate.sums[i] += term


@jitable
def examine(estimate: TruncatedHistoryEstimate, slot: int, threshold: float) -> bool:
    """Look at u = V^-1/2 x of a slot; True if the slot was freed.

    |u_i y| <= ||u|| |y|, ||u|| = ||x||_{V^-1} only falls and the threshold only rises: once that
    product is below the threshold, the reward is never truncated again and needs no features.
    """
    combine(estimate.root.root, estimate.features[slot], estimate.image)
    reward = estimate.rewards[slot]
    size, peak = abs(reward), 0.0
    for i in range(estimate.image.size):
        peak = max(peak, abs(estimate.image[i]))
    if peak * size > threshold:
        if estimate.whole[slot] == 1:
            add_to_kept(estimate, slot, -1.0)
            estimate.whole[slot] = 0
        add_uncut(estimate, reward, threshold)
        count_clipped(estimate.region)
        return False
    if estimate.whole[slot] == 0:
        add_to_kept(estimate, slot, 1.0)
        estimate.whole[slot] = 1
    if norm(estimate.image) * size <= threshold * SAFE:
        drop(estimate, slot)
        return True
    room = (threshold - peak * size) / (size * norm(estimate.features[slot]))
    estimate.deadlines[slot] = estimate.drift[0] + room * SAFE
    return False


@jitable
def examine_all(estimate: TruncatedHistoryEstimate, threshold: float) -> None:
    """sums = sum over the history of u y, every coordinate truncated at the threshold.

    A whole slot is looked at again only when V^-1/2 has moved far enough to bring a coordinate
    of u to the threshold: each |u_i| moves by at most ||x|| times the Frobenius norm of the change.
    """
    set_clipped(estimate.region, 0)
    for i in range(estimate.sums.size):
        estimate.sums[i] = 0.0
    slot = 0
    while slot < estimate.counts[_LIVE]:
        settled = estimate.whole[slot] == 1 and estimate.drift[0] <= estimate.deadlines[slot]
        if settled or not examine(estimate, slot, threshold):
            slot += 1
    combine(estimate.root.root, estimate.kept, estimate.image)
    for i in range(estimate.sums.size):
        estimate.sums[i] += estimate.image[i]


class TruncatedHistory(NamedTuple):
    """Estimate theta by ridge regression with truncated coordinates: TOFU (Shao et al. 2018).

        u_tau = V^-1/2 x_tau;  s_i = sum_tau u_{tau,i} y_tau 1{|u_{tau,i} y_tau| <= b_t}
        centre = V^-1/2 s,    b_t = scale t^power

    Algorithm 2 truncates all rewards so far again in each round, which costs d^3 + d^2 t per round.
    Here V^-1/2 is updated by rank-one steps, and a reward is examined only when it could have
    crossed the threshold. The result is the same for O(d^2) per round and per reward near the
    threshold. The memory is at most T d.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    capacity : int
        T, the largest number of rewards.
    penalty : float
        lambda; V starts at lambda I.
    scale : float
        Threshold of the first reward, in the unit of the reward.
    power : float
        Power of t in the threshold.

    Examples
    --------
    >>> TruncatedHistory(dim=3, capacity=100, penalty=1.0, scale=0.5, power=0.0).init().kept.shape
    (3,)
    """

    dim: Count
    capacity: Count
    penalty: Weight
    scale: Positive
    power: Share

    def init(self) -> TruncatedHistoryEstimate:
        return TruncatedHistoryEstimate(
            region=make_region(self.dim, self.penalty),
            root=make_root(self.dim, self.penalty, self.capacity),
            kept=zeros(self.dim),
            sums=zeros(self.dim),
            image=zeros(self.dim),
            features=zeros(self.capacity, self.dim),
            rewards=zeros(self.capacity),
            whole=zeros(self.capacity, dtype=np.int64),
            deadlines=zeros(self.capacity),
            drift=zeros(1),
            counts=zeros(1, dtype=np.int64),
        )

    def is_valid(self, state: TruncatedHistoryEstimate) -> bool:
        """Return True if the slots of a state file can be used."""
        live, updates = state.counts[_LIVE], update_count(state.region)
        return bool(live <= updates <= self.capacity and state.root.node_set[0] < RANGES)

    def predict(self, estimate: TruncatedHistoryEstimate, z: float) -> float:
        return z

    def update(self, estimate: TruncatedHistoryEstimate, observation: Observation) -> None:
        region, slot, x = estimate.region, estimate.counts[_LIVE], observation.x
        if update_count(region) >= self.capacity:
            return  # callers reject this earlier
        add_observation(region, x, 1.0)
        t = update_count(region)
        top = longest_spectrum(self.penalty, self.capacity)
        estimate.drift[0] += extend_root(estimate.root, region, x, t, self.penalty, top)
        for i in range(x.size):
            estimate.features[slot, i] = x[i]
        estimate.rewards[slot] = observation.reward
        estimate.whole[slot] = 0
        estimate.counts[_LIVE] += 1
        examine_all(estimate, self.scale * math.pow(t, self.power))
        combine(estimate.root.root, estimate.sums, region.centre)
