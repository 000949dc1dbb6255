"""What changes: the state when a policy chooses, and a policy between two openings of a ledger."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..support.errors import StateError
from .generators import make_generator, position_of
from .state import AgentState
from .state_arrays import check_numbers, check_sound, kept


def written_by_choice(state: AgentState) -> dict[str, NDArray[Any]]:
    """The arrays of a policy in which a choice leaves something that matters later.

    A policy names them in `choice_writes`; for one that does not, they are all that is kept.
    """
    names = getattr(state.policy, "choice_writes", None)
    if names == ():
        return {}
    arrays = kept(state.learned)
    return arrays if names is None else {name: arrays[name] for name in names}


class StateDiff:
    """What a choice may change, as it was before: to log what it changed, or to undo it."""

    def __init__(self, state: AgentState) -> None:
        self._arrays = written_by_choice(state)
        self._before = {name: array.copy() for name, array in self._arrays.items()}
        self._generator = state.generator
        self._position = position_of(state.generator)

    def changes(self) -> str | None:
        """What differs from before, as JSON; None if nothing does."""
        arrays = {
            name: array.tobytes().hex()
            for name, array in self._arrays.items()
            if array.tobytes() != self._before[name].tobytes()
        }
        if not arrays and self._generator is None:
            return None
        return json.dumps({"arrays": arrays, "generator": position_of(self._generator)})

    def undo(self) -> None:
        for name, array in self._arrays.items():
            array[...] = self._before[name]
        if self._generator is not None and self._position is not None:
            self._generator.bit_generator.state = self._position


def install(state: AgentState, text: str) -> AgentState:
    """The state after the changes that `StateDiff.changes` saw, if a policy can have made them."""
    changes, arrays = json.loads(text), written_by_choice(state)
    for name, data in changes["arrays"].items():
        if name not in arrays or len(data) != 2 * arrays[name].nbytes:
            raise StateError(f"a choice of this policy does not change an array {name!r} so")
        array = arrays[name]
        array[...] = np.frombuffer(bytes.fromhex(data), array.dtype).reshape(array.shape)
        check_numbers({name: array})
    if changes["arrays"]:
        check_sound(state.policy, state.learned)
    return state._replace(generator=make_generator(changes["generator"]))


def differences(stored: Any, given: Any, name: str = "policy") -> Iterator[str]:
    """Where two described policies differ, in words.

    >>> list(differences({"level": 1.0, "plays": 1}, {"level": 2.0, "plays": 1}))
    ['policy.level is 1.0 in the ledger, 2.0 here']
    """
    if isinstance(stored, dict) and isinstance(given, dict) and set(stored) == set(given):
        if stored.get("part") != given.get("part"):
            yield f"{name} is a {stored['part']} in the ledger, a {given['part']} here"
            return
        for key in stored:
            label = name if key == "fields" else f"{name}.{key}"
            yield from differences(stored[key], given[key], label)
    elif stored != given:
        yield f"{name} is {stored} in the ledger, {given} here"
