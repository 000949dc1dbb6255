"""Protocols that arrange rows in rounds, and what random play and an oracle earn there."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._utils.errors import InvalidInputError
from ..._utils.validation import positive, whole
from ...core.arrays import Floats

Rows = NDArray[np.int64]
TIED = 1e-12  # distance of two scores, in the largest |score|, that is rounding


class Schedule(NamedTuple):
    """The rounds of one pass: `arms[t, k]` is the row of `features` of arm k (-1: no such arm),
    `payers[t, k]` the row of the rewards that it pays."""

    arms: Rows
    payers: Rows


@runtime_checkable
class Rounds(Protocol):
    """Rows arranged in rounds, in another order for each pass."""

    features: Floats
    rewards: Floats
    size: int
    fixed: bool

    def deal(self, number: int) -> Schedule: ...

    def oracle(self) -> Floats: ...


def choose_scale(rewards: Floats, given: float | None) -> float:
    """Return the number by which rewards are divided: the mean |reward| if not given.

    >>> choose_scale(np.array([-1.0, 3.0]), None)
    2.0
    """
    if given is not None:
        return positive("reward_scale", given)
    return float(np.abs(rewards).mean()) or 1.0


def fit_oracle(features: Floats, rewards: Floats) -> Floats:
    """Return the scores of the rows by least squares on all rows with their rewards (in-sample).

    >>> fit_oracle(np.array([[1.0], [2.0]]), np.array([1.0, 2.0])).round(6).tolist()
    [1.0, 2.0]
    """
    return features @ np.linalg.lstsq(features, rewards, rcond=None)[0]


def distinct(groups: ArrayLike) -> tuple[NDArray[np.generic], Rows, Rows]:
    """Return the values of a column, the first row of each, and which one every row has.

    >>> distinct(np.array([1, "1"], object))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: group must have values of one kind, got int and str
    """
    try:
        return np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in np.asarray(groups).tolist()})
        raise InvalidInputError(
            f"group must have values of one kind, got {' and '.join(kinds)}"
        ) from error


class RowRounds:
    """K random rows per round, without replacement; rows left over are not used."""

    fixed = False

    def __init__(self, features: Floats, rewards: Floats, size: int, seed: int) -> None:
        self.features, self.rewards, self.seed = features, rewards, seed
        self.size = whole("arms_per_round", size, least=2)
        if rewards.size < 2 * self.size:
            raise InvalidInputError(
                f"arms_per_round must leave two rounds of {rewards.size} rows, got {size}"
            )

    def deal(self, number: int) -> Schedule:
        rng = np.random.default_rng([self.seed, number])
        rounds = self.rewards.size // self.size
        rows = rng.permutation(self.rewards.size)[: rounds * self.size].reshape(rounds, self.size)
        return Schedule(rows, rows)

    def oracle(self) -> Floats:
        return fit_oracle(self.features, self.rewards)


class NamedRounds:
    """The rows of a group are the arms of a round. Pass 0 has the order of the data, the others a
    random order of the rounds."""

    fixed = False

    def __init__(self, features: Floats, rewards: Floats, groups: ArrayLike, seed: int) -> None:
        self.features, self.rewards, self.seed = features, rewards, seed
        _, first, which = distinct(groups)
        rank = np.empty(first.size, np.int64)
        rank[np.argsort(first)] = np.arange(first.size)  # rounds in the order of their first row
        which = rank[which]
        order = np.argsort(which, kind="stable")
        counts = np.bincount(which)
        self.size = int(counts.max())
        if first.size < 2 or self.size < 2:
            raise InvalidInputError(
                f"group must make two rounds of two rows or more, got {first.size} groups "
                f"of at most {self.size}"
            )
        place = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
        self._rounds = np.full((first.size, self.size), -1, np.int64)
        self._rounds[which[order], place] = order

    def deal(self, number: int) -> Schedule:
        rounds = self._rounds
        if number > 0:
            rng = np.random.default_rng([self.seed, number])
            rounds = rounds[rng.permutation(len(rounds))]
        return Schedule(rounds, rounds)

    def oracle(self) -> Floats:
        return fit_oracle(self.features, self.rewards)


class GroupRounds:
    """Fixed arms: a group has the mean features of its rows, and pays one of its rows at each play,
    in a random order that repeats. Policies that play an arm many times per decision can play."""

    fixed = True

    def __init__(
        self, features: Floats, rewards: Floats, groups: ArrayLike, horizon: int | None, seed: int
    ) -> None:
        self.rewards, self.seed = rewards, seed
        names, _, group = distinct(groups)
        self.size = names.size
        if self.size < 2:
            raise InvalidInputError(f"group must make two arms or more, got {self.size}")
        self._groups = [np.flatnonzero(group == k) for k in range(self.size)]
        self.features = np.array([features[rows].mean(axis=0) for rows in self._groups])
        self.horizon = rewards.size if horizon is None else whole("horizon", horizon, least=2)

    def deal(self, number: int) -> Schedule:
        rng = np.random.default_rng([self.seed, number])
        payers = np.empty((self.horizon, self.size), np.int64)
        for k, rows in enumerate(self._groups):
            payers[:, k] = np.resize(rng.permutation(rows), self.horizon)
        arms = np.broadcast_to(np.arange(self.size), payers.shape)
        return Schedule(np.ascontiguousarray(arms), payers)

    def oracle(self) -> Floats:
        """Return the mean reward of each group: the oracle always plays the best."""
        return np.array([self.rewards[rows].mean() for rows in self._groups])


def judge_random(schedule: Schedule, rewards: Floats) -> float:
    """Return the exact value of uniformly random play."""
    there = schedule.arms >= 0
    paid = np.where(there, rewards[schedule.payers], 0.0)
    return float(np.mean(paid.sum(axis=1) / there.sum(axis=1)))


def judge_oracle(schedule: Schedule, rewards: Floats, scores: Floats) -> float:
    """Return the value of playing the best score in every round, ties at random (exact)."""
    return float(paid_by_best(schedule, rewards[schedule.payers], scores).mean())


def paid_by_best(schedule: Schedule, paid: Floats, scores: Floats) -> Floats:
    """Return the reward of the arm with the best score in each round: the mean of those tied.

    Equal features may have scores that differ by rounding, and are tied nevertheless. If the first
    of them won, rows sorted by their rewards would show a gain where nothing can be learned.

    >>> schedule = Schedule(np.array([[0, 1, 2]]), np.array([[0, 1, 2]]))
    >>> paid_by_best(schedule, np.array([[9.0, 1.0, 7.0]]), np.array([2.0, 2.0, 1.0])).tolist()
    [5.0]
    """
    shown = np.where(schedule.arms >= 0, scores[schedule.arms], -np.inf)
    best = shown >= shown.max(axis=1, keepdims=True) - TIED * np.abs(scores).max()
    return np.asarray(np.where(best, paid, 0.0).sum(axis=1) / best.sum(axis=1))


def shuffle_arms(schedule: Schedule, rng: np.random.Generator, fixed: bool) -> Schedule:
    """Return the same rounds with their arms in a random order; fixed arms keep theirs in a pass.

    A policy plays the first of equal arms. In the order of the data, that would tell it something.

    >>> rows = np.arange(8).reshape(2, 4)
    >>> dealt = shuffle_arms(Schedule(rows, rows), np.random.default_rng(0), fixed=False)
    >>> np.sort(dealt.arms, axis=1).tolist()
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    """
    shape = schedule.arms.shape
    order = np.tile(rng.permutation(shape[1]), (shape[0], 1))
    if not fixed:
        order = rng.permuted(order, axis=1)
    order = np.take_along_axis(  # absent arms stay behind the others
        order, np.argsort(np.take_along_axis(schedule.arms < 0, order, 1), axis=1, kind="stable"), 1
    )
    return Schedule(*(np.take_along_axis(rows, order, axis=1) for rows in schedule))


def holdout_gains(rounds: Rounds, schedule: Schedule) -> Floats:
    """Return the gain over random play of a linear score fitted to the other half of the rounds.

    One number per round, both halves in turn. If their mean is not clearly above zero, there is
    little to learn, even if an in-sample oracle gains much.
    """
    there = schedule.arms >= 0
    paid = np.where(there, rounds.rewards[schedule.payers], 0.0)
    random = paid.sum(axis=1) / there.sum(axis=1)
    gains = np.empty(len(paid))
    for part in (0, 1):
        fit, test = np.arange(len(paid)) % 2 != part, np.arange(len(paid)) % 2 == part
        shown, known = rounds.features[schedule.arms[fit][there[fit]]], paid[fit][there[fit]]
        scores = rounds.features @ np.linalg.lstsq(shown, known, rcond=None)[0]
        tested = Schedule(schedule.arms[test], schedule.payers[test])
        gains[test] = paid_by_best(tested, paid[test], scores) - random[test]
    return gains
