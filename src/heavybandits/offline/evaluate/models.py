"""What is learned from the other folds: a model of the rewards, and what a policy would choose."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import InvalidInputError
from ...algorithms.linear import linucb
from ...core.arm_buffer import make_arm_buffer
from ...core.arrays import Floats
from ...core.compile import Function, compiled
from ...core.kernels import predict_kernel, teach_kernel
from ...core.part import check_part
from ...core.protocols import Policy
from ...parts.arms import PerRound
from ...parts.filters import AdaptiveClip
from ...parts.policies.checks import check_room
from .kernels import choose_encoded_kernel, choose_rows_kernel
from .log import DecisionLog

Rows = NDArray[np.int64]

PENALTY = 0.1  # of the ridge: an action that was rarely taken must not be pulled to the median


def folds_of(size: int, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """The rows to learn from and the rows to judge, fold by fold; both in the order of the log.

    >>> [(a.size, b.size) for a, b in folds_of(10, 2, seed=0)]
    [(5, 5), (5, 5)]
    """
    fold = np.random.default_rng(seed).permutation(size) % folds
    for number in range(folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def predict_rewards(log: DecisionLog, model: Any, folds: int, seed: int) -> Floats:
    """The mean reward of every action in every row, learned on folds that the row is not in.

    Each action has a model of its own, of the scaled context; with an encoder one model serves
    all. It learns rewards around their median in units of their spread, so that its penalty pulls
    towards an ordinary reward.
    """
    width = log.width
    usual = linucb(dim=width, radius=1.0, penalty=PENALTY, filter=AdaptiveClip())
    policy: Any = check_part("model", usual if model is None else model, Policy)
    if policy.dim != width or policy.plays != 1:
        raise InvalidInputError(
            f"model must have dim {width}, the features with their intercept, and plays 1, "
            f"got {policy.dim} and {policy.plays}"
        )
    check_room("model", policy, log.taken.size)
    pupil = Pupil(policy)
    predicted = np.zeros((log.taken.size, len(log.actions)))
    for learned, judged in folds_of(log.taken.size, folds, seed):
        rewards = log.rewards[learned]
        centre = float(np.median(rewards))
        spread = float(np.abs(rewards - centre).mean()) or 1.0
        scaled = (log.rewards - centre) / spread
        predicted[judged] = centre + spread * _predict(log, pupil, scaled, learned, judged)
    return predicted


def _predict(log: DecisionLog, pupil: "Pupil", rewards: Floats, learned: Rows, judged: Rows) -> Any:
    """The rewards of every action in the rows that are judged."""
    size = len(log.actions)
    if log.rows is not None:
        state = pupil.teach(log.rows[learned, log.taken[learned]], rewards[learned])
        return pupil.predict(state, log.rows[judged].reshape(-1, log.width)).reshape(-1, size)
    means = np.empty((judged.size, size))
    for action in range(size):
        mine = learned[log.taken[learned] == action]
        state = pupil.teach(log.contexts[mine], rewards[mine])
        means[:, action] = pupil.predict(state, log.contexts[judged])
    return means


class Pupil:
    """A policy that learns rows; its kernels are looked up once."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self._kernels: dict[Any, Function] = {}

    def teach(self, rows: Floats, rewards: Floats) -> Any:
        """The state of the policy after these rows."""
        state = self.policy.init()
        self._call(teach_kernel, state, rows, rewards[:, None].copy(), np.zeros(1, np.int64))
        return state

    def predict(self, state: Any, rows: Floats) -> Floats:
        """The mean rewards expected of the rows."""
        out = np.empty((2, len(rows)))
        self._call(predict_kernel, state, rows, out)
        return out[0]

    def choose(self, state: Any, rows: Floats, offered: Any) -> Rows:
        """The action chosen in every row, of a context (n, p) or of all features (n, A, d)."""
        size, chosen = offered.shape[1], np.zeros(len(rows), np.int64)
        arms, view = PerRound(size, self.policy.dim, 0.0), make_arm_buffer(self.policy.dim, size)
        kernel = choose_rows_kernel if rows.ndim == 2 else choose_encoded_kernel
        self._call(kernel, state, arms, view, rows, offered, chosen)
        return chosen

    def _call(self, factory: Any, *arguments: Any) -> None:
        if factory not in self._kernels:
            self._kernels[factory] = compiled(factory, self.policy, *arguments)
        self._kernels[factory](self.policy, *arguments)


def play_policy(log: DecisionLog, policy: Any, folds: int, seed: int) -> Floats:
    """What a policy that learned the other folds chooses in every row, as probabilities 0 and 1."""
    size = len(log.actions)
    dim = log.width * size if log.rows is None else log.width
    if policy.dim != dim or policy.plays != 1:
        made = (
            "that of the encoder"
            if log.rows is not None
            else (f"for each of {size} actions the features with their intercept")
        )
        raise InvalidInputError(
            f"policy must have dim {dim}, {made}, and plays 1, got {policy.dim} and {policy.plays}"
        )
    check_room("policy", policy, log.taken.size)
    scale = float(np.abs(log.rewards).mean()) or 1.0
    pupil, chosen = Pupil(policy), np.zeros(log.taken.size, np.int64)
    rows = log.contexts if log.rows is None else log.rows
    for learned, judged in folds_of(log.taken.size, folds, seed):
        state = pupil.teach(taken_rows(log, learned), log.rewards[learned] / scale)
        chosen[judged] = pupil.choose(state, rows[judged], log.offered[judged])
    return np.eye(size)[chosen]


def taken_rows(log: DecisionLog, places: Rows) -> Floats:
    """The features of the actions taken in these rows, (n, d)."""
    if log.rows is not None:
        return log.rows[places, log.taken[places]]
    rows = np.zeros((places.size, len(log.actions), log.width))
    rows[np.arange(places.size), log.taken[places]] = log.contexts[places]
    return rows.reshape(places.size, -1)
