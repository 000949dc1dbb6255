"""What is learned from the other folds: a model of the rewards, and what a policy would choose."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import InvalidInputError
from ...algorithms.linear import linucb
from ...core.arrays import Floats
from ...core.part import check_part
from ...core.protocols import Policy
from ...core.state import make_state
from ...parts.arms import Rows as ArmRows
from ...parts.compiled_policy import CompiledPolicy, State
from ...parts.filters import AdaptiveClip
from ...parts.policies.checks import check_room
from ..log import Decisions
from .kernels import choose_products_kernel

Rows = NDArray[np.int64]

PENALTY = 0.1  # of the ridge: an action that was rarely taken must not be pulled to the median


def folds_of(size: int, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows to learn from and the rows to judge of each fold, in the order of the log.

    >>> [(a.size, b.size) for a, b in folds_of(10, 2, seed=0)]
    [(5, 5), (5, 5)]
    """
    fold = np.random.default_rng(seed).permutation(size) % folds
    for number in range(folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def check_learner(log: Decisions, name: str, policy: Policy, *, dim: int, words: str) -> None:
    """Raise InvalidInputError unless this policy can learn from the rows of the log."""
    if policy.dim != dim or policy.plays != 1:
        raise InvalidInputError(
            f"{name} must have dim {dim}, {words}, and plays 1, got {policy.dim} and {policy.plays}"
        )
    check_room(name, policy, log.taken.size)


def predict_rewards(log: Decisions, model: Policy | None, folds: int, seed: int) -> Floats:
    """Return the mean reward of every action in every row, learned on folds without the row.

    Each action has its own model of the scaled context; with an encoder one model serves all.
    It learns rewards around their median in units of their scale, so that its penalty pulls
    towards an ordinary reward.
    """
    width = log.width
    usual = linucb(dim=width, radius=1.0, penalty=PENALTY, filter=AdaptiveClip())
    policy = check_part("model", usual if model is None else model, Policy)
    check_learner(log, "model", policy, dim=width, words="the features with their intercept")
    regression = CompiledPolicy(policy)
    predicted = np.zeros((log.taken.size, len(log.actions)))
    for learned, judged in folds_of(log.taken.size, folds, seed):
        rewards = log.rewards[learned]
        centre = float(np.median(rewards))
        spread = float(np.abs(rewards - centre).mean()) or 1.0
        with np.errstate(over="ignore"):  # of rows that are judged
            scaled = (log.rewards - centre) / spread
        predicted[judged] = centre + spread * _predict(log, regression, scaled, learned, judged)
    return predicted


def _predict(
    log: Decisions, model: CompiledPolicy, rewards: Floats, learned: Rows, judged: Rows
) -> Floats:
    """Return the rewards predicted of every action in the rows that are judged."""
    size = len(log.actions)
    if log.rows is not None:
        state = _learned(model, log.rows[learned, log.taken[learned]], rewards[learned])
        return model.predict(state, log.rows[judged].reshape(-1, log.width))[0].reshape(-1, size)
    means = np.empty((judged.size, size))
    for action in range(size):
        mine = learned[log.taken[learned] == action]
        state = _learned(model, log.contexts[mine], rewards[mine])
        means[:, action] = model.predict(state, log.contexts[judged])[0]
    return means


def _learned(policy: CompiledPolicy, rows: Floats, rewards: Floats) -> State:
    """Return a new state of the policy after these rows."""
    state = make_state(policy.policy)
    policy.warm_start(state, rows, rewards[:, None])
    return state


def _choose(policy: CompiledPolicy, state: State, log: Decisions, judged: Rows) -> Rows:
    """Return the action that the policy chooses in each of these rows."""
    mask = log.available[judged]
    if log.rows is not None:
        return policy.choose_many(state, log.rows[judged], mask).arms
    arms, chosen = ArmRows(mask.shape[1], policy.policy.dim), np.zeros(judged.size, np.int64)
    actions = np.eye(arms.size)  # the features of an action are the context in its place
    given = (arms, arms.make_buffer(), log.contexts[judged], actions, mask, chosen)
    policy.compile(choose_products_kernel, state, *given)(policy.policy, state, *given)
    return chosen


def play_policy(log: Decisions, policy: Policy, folds: int, seed: int) -> Floats:
    """Return what a policy that learned the other folds chooses, as probabilities 0 and 1."""
    size = len(log.actions)
    dim = log.width * size if log.rows is None else log.width
    words = f"for each of {size} actions the features with their intercept"
    words = words if log.rows is None else "that of the encoder"
    check_learner(log, "policy", policy, dim=dim, words=words)
    scale = float(np.abs(log.rewards).mean()) or 1.0
    player, chosen = CompiledPolicy(policy), np.zeros(log.taken.size, np.int64)
    for learned, judged in folds_of(log.taken.size, folds, seed):
        state = _learned(player, taken_rows(log, learned), log.rewards[learned] / scale)
        chosen[judged] = _choose(player, state, log, judged)
    return np.eye(size)[chosen]


def taken_rows(log: Decisions, places: Rows) -> Floats:
    """Return the features of the actions taken in these rows, (n, d)."""
    if log.rows is not None:
        return log.rows[places, log.taken[places]]
    rows = np.zeros((places.size, len(log.actions), log.width))
    rows[np.arange(places.size), log.taken[places]] = log.contexts[places]
    return rows.reshape(places.size, -1)
