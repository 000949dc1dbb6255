"""What changes: the state when a policy chooses, and a policy between two openings of a ledger."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .state_arrays import flatten, kept
from .state_book import make_generator

if TYPE_CHECKING:
    from .agent import Agent


class StateDiff:
    """The kept arrays and the generator before a choice: to log what it changed, or to undo it."""

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent
        self._arrays = {k: a.copy() for k, a in flatten(agent._state).items()}
        self._generator = None if agent._rng is None else agent._rng.bit_generator.state

    def changes(self) -> str | None:
        """What differs from before, as JSON; None if nothing does."""
        now = kept(self._agent._state)
        rng = self._agent._rng
        arrays = {
            name: array.tobytes().hex()
            for name, array in now.items()
            if array.tobytes() != self._arrays[name].tobytes()
        }
        if not arrays and rng is None:
            return None
        generator = None if rng is None else rng.bit_generator.state
        return json.dumps({"arrays": arrays, "generator": generator})

    def undo(self) -> None:
        for name, array in flatten(self._agent._state).items():
            array[...] = self._arrays[name]
        if self._agent._rng is not None and self._generator is not None:
            self._agent._rng.bit_generator.state = self._generator


def install(agent: "Agent", changes: dict[str, Any]) -> None:
    """Do to the agent what `StateDiff.changes` saw."""
    arrays = kept(agent._state)
    for name, data in changes["arrays"].items():
        array = arrays[name]
        array[...] = np.frombuffer(bytes.fromhex(data), array.dtype).reshape(array.shape)
    if changes["generator"] is not None:
        agent._rng = make_generator(changes["generator"])


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
