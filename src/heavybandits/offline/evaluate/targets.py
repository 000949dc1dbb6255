"""The policy to be judged, in whatever words it comes, as probabilities of the actions."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._utils.errors import InvalidInputError
from ..._utils.validation import finite_array, finite_number
from ...core.arrays import Floats
from ...core.part import check_part, is_part
from ...core.protocols import Policy
from .log import DecisionLog
from .models import play_policy

Target = Policy | Callable[[dict[str, Any]], Any] | str | Mapping[Any, float] | ArrayLike

ROUNDING = 1e-6  # by which probabilities may miss one


def read_target(policy: Any, log: DecisionLog, folds: int, seed: int) -> Floats:
    """The probability of every action in every row, (n, A)."""
    if is_part(policy):
        return play_policy(log, check_part("policy", policy, Policy), folds, seed)
    if callable(policy):
        return _ask(policy, log)
    if isinstance(policy, str):
        return _ask(lambda row: row[policy], log)
    if isinstance(policy, Mapping):
        return _fixed(policy, log)
    return check_probabilities(policy, log)


def check_probabilities(policy: Any, log: DecisionLog) -> Floats:
    """An array of probabilities, one column per action, each row adding up to one."""
    given = policy[..., 0] if np.ndim(policy) == 3 and np.shape(policy)[2] == 1 else policy
    shares = finite_array("policy", given, log.offered.shape)
    wrong = np.flatnonzero((shares < 0.0).any(axis=1) | (abs(shares.sum(1) - 1.0) > ROUNDING))
    if wrong.size:
        raise InvalidInputError(
            "policy must give probabilities >= 0 that add up to one, "
            f"got {shares[wrong[0]].tolist()} in row {wrong[0]}"
        )
    absent = np.argwhere((shares > 0.0) & ~log.offered)
    if absent.size:
        row, action = absent[0]
        raise InvalidInputError(
            f"policy must choose what is on offer, got {log.actions[action]!r} in row {row}, "
            f"which has {log.row(row)['offers']}"
        )
    return shares


def _fixed(policy: Mapping[Any, Any], log: DecisionLog) -> Floats:
    """The same shares in every row, made up to one over what is on offer."""
    share = np.zeros(len(log.actions))
    for name, value in policy.items():
        share[_place(name, log, "policy")] = finite_number(f"policy[{name!r}]", value)
    if abs(share.sum() - 1.0) > ROUNDING:
        raise InvalidInputError(f"policy must have shares that add up to one, got {share.sum():g}")
    shares = np.where(log.offered, share, 0.0)
    total = shares.sum(axis=1, keepdims=True)
    empty = np.flatnonzero(total[:, 0] <= 0.0)
    if empty.size:
        raise InvalidInputError(
            f"policy must have a share for something on offer, got none in row {empty[0]}, "
            f"which has {log.row(empty[0])['offers']}"
        )
    return check_probabilities(shares / total, log)


def _ask(policy: Any, log: DecisionLog) -> Floats:
    """A function of a row that gives a name, or probabilities by name."""
    shares = np.zeros(log.offered.shape)
    for number in range(len(shares)):
        answer = policy(log.row(number))
        chosen = answer if isinstance(answer, Mapping) else {answer: 1.0}
        for name, value in chosen.items():
            place = _place(name, log, f"policy(row {number})")
            shares[number, place] = finite_number(f"policy(row {number})[{name!r}]", value)
    return check_probabilities(shares, log)


def _place(name: Any, log: DecisionLog, asked: str) -> int:
    """The place of an action; its name as text will do, which is all that a command line has."""
    for words in (log.actions, tuple(map(str, log.actions))):
        if name in words:
            return words.index(name)
    raise InvalidInputError(
        f"{asked} must name actions of the log, {list(log.actions)[:20]}, got {name!r}"
    )
