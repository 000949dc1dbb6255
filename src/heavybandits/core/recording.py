"""The observer of a run that calls a recorder and stores what it writes."""

from typing import Any, NamedTuple

import numpy as np

from .arm_buffer import ArmBuffer
from .arrays import Floats, Integers
from .dispatch import record, watch
from .protocols import Policy


class NoMemory(NamedTuple):
    """The memory of a recorder that keeps nothing between checkpoints."""

    unused: Floats


class Recording(NamedTuple):
    """An observer: the recorder, its memory, and one row of numbers per run and checkpoint."""

    recorder: Any
    memory: Any
    table: Floats  # (runs x checkpoints, columns), in the order in which runs are played
    place: Integers  # rows that are full

    def observe(self, policy: Policy, state: Any, theta: Floats) -> None:
        watch(self.recorder, self.memory, policy, state, theta)

    def mark(
        self, policy: Policy, state: Any, theta: Floats, buffer: ArmBuffer, reward: float
    ) -> None:
        row = self.table[self.place[0]]
        record(self.recorder, self.memory, policy, state, theta, buffer, reward, row)
        self.place[0] += 1


class Pair(NamedTuple):
    """Two recorders as one."""

    first: Any
    second: Any
    split: int  # columns of the first

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.first.columns, *self.second.columns)

    def start(self) -> "Memories":
        return Memories(start_memory(self.first), start_memory(self.second))

    def watch(self, memory: Any, policy: Policy, state: Any, theta: Floats) -> None:
        watch(self.first, memory.first, policy, state, theta)
        watch(self.second, memory.second, policy, state, theta)

    def record(
        self,
        memory: Any,
        policy: Policy,
        state: Any,
        theta: Floats,
        buffer: ArmBuffer,
        reward: float,
        out: Floats,
    ) -> None:
        one, other = out[: self.split], out[self.split :]
        record(self.first, memory.first, policy, state, theta, buffer, reward, one)
        record(self.second, memory.second, policy, state, theta, buffer, reward, other)


class Memories(NamedTuple):
    """The memories of a `Pair`."""

    first: Any
    second: Any


def start_memory(recorder: Any) -> Any:
    """Return the memory of a recorder before the first play."""
    return recorder.start() if hasattr(recorder, "start") else NoMemory(np.zeros(1))


def make_recording(recorder: Any, table: Floats) -> Recording:
    """Return the observer that writes what a recorder records into a table."""
    return Recording(recorder, start_memory(recorder), table, np.zeros(1, np.int64))
