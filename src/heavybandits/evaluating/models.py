"""What is learned from the other folds: a model of the rewards, and what a policy would choose."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms.linear import linucb
from ..arms import Fresh
from ..engine.compiling import Function, compiled
from ..engine.contracts import Policy
from ..engine.kernels import predict_kernel
from ..engine.parts import check_part
from ..engine.views import make_view
from ..filters import AdaptiveClip
from ..support.errors import InvalidInput
from .kernels import choose_rows_kernel, teach_kernel
from .log import DecisionLog

Floats = NDArray[np.float64]
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

    Each action has a model of its own, of the scaled context. It learns rewards around their
    median in units of their spread, so that its penalty pulls towards an ordinary reward.
    """
    width = log.contexts.shape[1]
    usual = linucb(dim=width, radius=1.0, penalty=PENALTY, filter=AdaptiveClip())
    policy: Any = check_part("model", usual if model is None else model, Policy)
    if policy.dim != width or policy.plays != 1:
        raise InvalidInput(
            f"model must have dim {width}, the features with their intercept, and plays 1, "
            f"got {policy.dim} and {policy.plays}"
        )
    pupil = Pupil(policy)
    predicted = np.zeros((log.taken.size, len(log.actions)))
    for learned, judged in folds_of(log.taken.size, folds, seed):
        rewards = log.rewards[learned]
        centre = float(np.median(rewards))
        spread = float(np.abs(rewards - centre).mean()) or 1.0
        for action in range(len(log.actions)):
            mine = learned[log.taken[learned] == action]
            state = pupil.teach(log.contexts[mine], (log.rewards[mine] - centre) / spread)
            means = pupil.predict(state, log.contexts[judged])
            predicted[judged, action] = centre + spread * means
    return predicted


class Pupil:
    """A policy that learns rows; its kernels are looked up once."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self._kernels: dict[Any, Function] = {}

    def teach(self, rows: Floats, rewards: Floats) -> Any:
        """The state of the policy after these rows."""
        state = self.policy.init()
        self._call(teach_kernel, state, rows, rewards, np.zeros(1))
        return state

    def predict(self, state: Any, rows: Floats) -> Floats:
        """The mean rewards expected of the rows."""
        out = np.empty((2, len(rows)))
        self._call(predict_kernel, state, rows, out)
        return out[0]

    def choose(self, state: Any, contexts: Floats, offered: Any) -> Rows:
        """The action chosen in every row."""
        size, chosen = offered.shape[1], np.zeros(len(contexts), np.int64)
        arms, view = Fresh(size, self.policy.dim, 0.0), make_view(self.policy.dim, size)
        self._call(choose_rows_kernel, state, arms, view, contexts, offered, chosen)
        return chosen

    def _call(self, factory: Any, *arguments: Any) -> None:
        if factory not in self._kernels:
            self._kernels[factory] = compiled(factory, self.policy, *arguments)
        self._kernels[factory](self.policy, *arguments)


def play_policy(log: DecisionLog, policy: Any, folds: int, seed: int) -> Floats:
    """What a policy that learned the other folds chooses in every row, as probabilities 0 and 1."""
    width, size = log.contexts.shape[1], len(log.actions)
    if policy.dim != width * size or policy.plays != 1:
        raise InvalidInput(
            f"policy must have dim {width * size}, for each of {size} actions the features with "
            f"their intercept, and plays 1, got {policy.dim} and {policy.plays}"
        )
    scale = float(np.abs(log.rewards).mean()) or 1.0
    pupil, chosen = Pupil(policy), np.zeros(log.taken.size, np.int64)
    for learned, judged in folds_of(log.taken.size, folds, seed):
        rows = np.zeros((learned.size, size, width))
        rows[np.arange(learned.size), log.taken[learned]] = log.contexts[learned]
        state = pupil.teach(rows.reshape(learned.size, -1), log.rewards[learned] / scale)
        chosen[judged] = pupil.choose(state, log.contexts[judged], log.offered[judged])
    return np.eye(size)[chosen]
