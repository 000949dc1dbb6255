"""How rows become rounds: what is on offer, who pays, and what an oracle would have made of it."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import InvalidInputError
from ..._utils.validation import positive, whole
from ...core.arrays import Floats

Rows = NDArray[np.int64]


class Offer(NamedTuple):
    """The rounds of one pass: `offers[t, k]` is the row of `features` that arm k shows (-1: no such
    arm), `payers[t, k]` the row of the rewards it pays."""

    offers: Rows
    payers: Rows


@runtime_checkable
class Rounds(Protocol):
    """Rows dealt into rounds, differently for each `order`."""

    features: Floats
    rewards: Floats
    size: int
    fixed: bool

    def deal(self, order: int) -> Offer: ...

    def oracle(self) -> Floats: ...


def choose_scale(rewards: Floats, given: float | None) -> float:
    """What policies see rewards divided by: the mean |reward| if not given.

    >>> choose_scale(np.array([-1.0, 3.0]), None)
    2.0
    """
    if given is not None:
        return positive("reward_scale", given)
    return float(np.abs(rewards).mean()) or 1.0


def fit_oracle(features: Floats, rewards: Floats) -> Floats:
    """The scores of the rows by least squares on all of them, rewards included: in-sample.

    >>> fit_oracle(np.array([[1.0], [2.0]]), np.array([1.0, 2.0])).round(6).tolist()
    [1.0, 2.0]
    """
    return features @ np.linalg.lstsq(features, rewards, rcond=None)[0]


class RowRounds:
    """K rows per round, without replacement, in a random order; rows left over are not offered."""

    fixed = False

    def __init__(self, features: Floats, rewards: Floats, size: int, seed: int) -> None:
        self.features, self.rewards, self.seed = features, rewards, seed
        self.size = whole("arms_per_round", size, least=2)
        if rewards.size < 2 * self.size:
            raise InvalidInputError(
                f"arms_per_round must leave two rounds of {rewards.size} rows, got {size}"
            )

    def deal(self, order: int) -> Offer:
        rng = np.random.default_rng([self.seed, order])
        rounds = self.rewards.size // self.size
        rows = rng.permutation(self.rewards.size)[: rounds * self.size].reshape(rounds, self.size)
        return Offer(rows, rows)

    def oracle(self) -> Floats:
        return fit_oracle(self.features, self.rewards)


class DayRounds:
    """The rows of a group are the arms of a round. Order 0 is the data's, others are random."""

    fixed = False

    def __init__(self, features: Floats, rewards: Floats, groups: Any, seed: int) -> None:
        self.features, self.rewards, self.seed = features, rewards, seed
        _, first, day = np.unique(groups, return_index=True, return_inverse=True)
        rank = np.empty(first.size, np.int64)
        rank[np.argsort(first)] = np.arange(first.size)  # days in the order of their first row
        day = rank[day]
        order = np.argsort(day, kind="stable")
        counts = np.bincount(day)
        self.size = int(counts.max())
        if first.size < 2 or self.size < 2:
            raise InvalidInputError(
                f"group must make two rounds of two rows or more, got {first.size} groups "
                f"of at most {self.size}"
            )
        place = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
        self._days = np.full((first.size, self.size), -1, np.int64)
        self._days[day[order], place] = order

    def deal(self, order: int) -> Offer:
        days = self._days
        if order > 0:
            days = days[np.random.default_rng([self.seed, order]).permutation(len(days))]
        return Offer(days, days)

    def oracle(self) -> Floats:
        return fit_oracle(self.features, self.rewards)


class GroupRounds:
    """Fixed arms: a group shows the mean features of its rows, and pays a row of its own at each
    play, in a random order that starts again when it is used up. So policies that play an arm many
    times per decision can play as well."""

    fixed = True

    def __init__(
        self, features: Floats, rewards: Floats, groups: Any, horizon: int | None, seed: int
    ) -> None:
        self.rewards, self.seed = rewards, seed
        names, group = np.unique(groups, return_inverse=True)
        self.size = names.size
        if self.size < 2:
            raise InvalidInputError(f"group must make two arms or more, got {self.size}")
        self._groups = [np.flatnonzero(group == k) for k in range(self.size)]
        self.features = np.array([features[rows].mean(axis=0) for rows in self._groups])
        self.horizon = rewards.size if horizon is None else whole("horizon", horizon, least=2)

    def deal(self, order: int) -> Offer:
        rng = np.random.default_rng([self.seed, order])
        payers = np.empty((self.horizon, self.size), np.int64)
        for k, rows in enumerate(self._groups):
            payers[:, k] = np.resize(rng.permutation(rows), self.horizon)
        offers = np.broadcast_to(np.arange(self.size), payers.shape)
        return Offer(np.ascontiguousarray(offers), payers)

    def oracle(self) -> Floats:
        """The mean reward of each group: the best of them is always played."""
        return np.array([self.rewards[rows].mean() for rows in self._groups])


def judge_random(offer: Offer, rewards: Floats) -> float:
    """The value of uniformly random play, exactly."""
    there = offer.offers >= 0
    paid = np.where(there, rewards[offer.payers], 0.0)
    return float(np.mean(paid.sum(axis=1) / there.sum(axis=1)))


def judge_oracle(offer: Offer, rewards: Floats, scores: Floats) -> float:
    """The value of playing the best score in every round."""
    shown = np.where(offer.offers >= 0, scores[offer.offers], -np.inf)
    best = shown.argmax(axis=1)
    return float(rewards[offer.payers[np.arange(best.size), best]].mean())


def holdout_gains(rounds: Rounds, offer: Offer) -> Floats:
    """What a linear score fitted on one half of the rounds makes on the other, above random play.

    One number per round, both halves in turn. If their mean is not clearly above zero, there is
    next to nothing to learn, whatever an in-sample oracle makes.
    """
    there = offer.offers >= 0
    paid = np.where(there, rounds.rewards[offer.payers], 0.0)
    random = paid.sum(axis=1) / there.sum(axis=1)
    gains = np.empty(len(paid))
    for part in (0, 1):
        fit, test = np.arange(len(paid)) % 2 != part, np.arange(len(paid)) % 2 == part
        shown, known = rounds.features[offer.offers[fit][there[fit]]], paid[fit][there[fit]]
        scores = rounds.features @ np.linalg.lstsq(shown, known, rcond=None)[0]
        index = np.where(there[test], scores[offer.offers[test]], -np.inf).argmax(axis=1)
        gains[test] = paid[test, index] - random[test]
    return gains
