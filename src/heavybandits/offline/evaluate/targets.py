"""The policy to evaluate, in any of its forms, as probabilities of the actions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ..._utils.errors import InvalidInputError
from ..._utils.validation import finite_array, finite_number
from ...core.arrays import Floats
from ...core.part import check_part, is_part
from ...core.protocols import Policy
from ...features.tables import values
from ..actions import Name, NameLookup
from ..log import Decisions, Log
from .models import play_policy

Probabilities: TypeAlias = Mapping[Any, float]  # by action
RowPolicy: TypeAlias = Callable[[dict[str, Any]], Name | Probabilities]
Target: TypeAlias = Policy | RowPolicy | str | Probabilities | ArrayLike

ROUNDING = 1e-6  # largest distance of a sum of probabilities from one


def read_target(policy: Target, log: Log, known: Decisions, folds: int, seed: int) -> Floats:
    """Return the probability of every action in every row, (n, A)."""
    if is_part(policy):
        return play_policy(known, check_part("policy", policy, Policy), folds, seed)
    if callable(policy):
        return _from_answers([policy(known.row(n)) for n in range(known.taken.size)], known)
    if isinstance(policy, str):
        cells = values(log.frame, policy, "policy", as_written=True)
        if len(cells) != known.kept.size:
            raise InvalidInputError(
                f"column {policy!r} must have {known.kept.size} rows like the log, got {len(cells)}"
            )
        return _from_answers([c for c, kept in zip(cells, known.kept, strict=True) if kept], known)
    if isinstance(policy, Mapping):
        return _from_constant(policy, known)
    if hasattr(type(policy), "columns"):
        return check_probabilities(_sort_columns(policy, known), known)
    return check_probabilities(cast(ArrayLike, policy), known)


def _sort_columns(policy: Any, log: Decisions) -> Floats:
    """Return the columns of a frame, which are named by the actions, in the order of the log."""
    known, made = NameLookup(log.actions), np.asarray(policy)
    places = [_place(name, log, known, "a column of policy") for name in policy.columns]
    if sorted(places) != list(range(len(log.actions))):
        raise InvalidInputError(
            f"policy must have a column for each of the actions {list(log.actions)[:20]}, got "
            f"{list(policy.columns)[:20]}"
        )
    return finite_array("policy", made[:, np.argsort(places)], log.available.shape)


def check_probabilities(policy: ArrayLike, log: Decisions) -> Floats:
    """Validate an array of probabilities, one column per action, each row adding up to one."""
    try:
        given = np.asarray(policy)[..., 0] if np.shape(policy)[2:] == (1,) else policy
    except ValueError:  # rows of unequal length
        given = np.asarray(policy, dtype=object)
    made = finite_array("policy", given, log.available.shape)
    wrong = np.flatnonzero((made < 0.0).any(axis=1) | (abs(made.sum(1) - 1.0) > ROUNDING))
    if wrong.size:
        raise InvalidInputError(
            "policy must give probabilities >= 0 that add up to one, "
            f"got {made[wrong[0]].tolist()} in row {wrong[0]}"
        )
    absent = np.argwhere((made > 0.0) & ~log.available)
    if absent.size:
        row, action = absent[0]
        raise InvalidInputError(
            f"policy must choose an available action, got {log.actions[action]!r} in row {row}, "
            f"where {log.names_available(row)} are available"
        )
    return made


def _from_constant(policy: Probabilities, log: Decisions) -> Floats:
    """Return the same probabilities in every row, divided by their sum over available actions."""
    constant = np.zeros(len(log.actions))
    _fill(constant, policy, log, NameLookup(log.actions), "policy")
    if abs(constant.sum() - 1.0) > ROUNDING:
        raise InvalidInputError(
            f"policy must have probabilities that add up to one, got {constant.sum():g}"
        )
    made = np.where(log.available, constant, 0.0)
    total = made.sum(axis=1, keepdims=True)
    empty = np.flatnonzero(total[:, 0] <= 0.0)
    if empty.size:
        raise InvalidInputError(
            "policy must have a probability for some available action, got none in row "
            f"{empty[0]}, where {log.names_available(empty[0])} are available"
        )
    return check_probabilities(made / total, log)


def _from_answers(answers: Sequence[Name | Probabilities], log: Decisions) -> Floats:
    """Return the probabilities of answers, one per row: an action, or probabilities by action."""
    made, known = np.zeros(log.available.shape), NameLookup(log.actions)
    for number, answer in enumerate(answers):
        argument = f"policy(row {number})"
        if isinstance(answer, Mapping):
            _fill(made[number], answer, log, known, argument)
        else:
            made[number, _place(answer, log, known, argument)] = 1.0
    return check_probabilities(made, log)


def _fill(
    row: Floats, given: Probabilities, log: Decisions, known: NameLookup, argument: str
) -> None:
    """Write probabilities by name into a row; raise if two names are one action."""
    named: dict[int, Name] = {}
    for name, value in given.items():
        place = _place(name, log, known, argument)
        if place in named:
            raise InvalidInputError(
                f"{argument} must name each action once, got {named[place]!r} and {name!r}"
            )
        named[place] = name
        row[place] = finite_number(f"{argument}[{name!r}]", value)


def _place(name: Name, log: Decisions, known: NameLookup, argument: str) -> int:
    """Return the place of an action, also by its name as text, as on a command line."""
    place = known.find(name)
    if place is None:
        raise InvalidInputError(
            f"{argument} must name actions of the log, {list(log.actions)[:20]}, got {name!r:.80}"
        )
    return place
