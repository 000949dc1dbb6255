"""Interactions: the features x from the features c of the context and a of the action."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .._utils.errors import EncodingError, printable
from ..core.arrays import Floats
from .values import Lookup, read_text

Names = list[str]

INTERACTIONS = ("none", "per_action", "all")


class NoInteractions(NamedTuple):
    """x = (1, c, a)."""

    intercept: bool

    def size(self, context: int, action: int) -> int:
        """Return the length of x, from the lengths of c and a."""
        return self.intercept + context + action

    def names(self, context: Names, action: Names) -> Names:
        """Return the names of the features x."""
        return _one(self.intercept) + context + action

    def bound(self, context: float, action: float) -> float:
        """Return the largest norm of x, from the largest norms of c and a."""
        return math.hypot(self.intercept, context, action)

    def join(self, context: Floats, action: Floats, names: Iterable[object]) -> Floats:
        """Return x for every row of (1, a), from as many rows of (1, c) or from one."""
        first = 0 if self.intercept else 1
        width = context.shape[1] - first
        out = np.empty((len(action), width + action.shape[1] - 1))
        out[:, :width] = context[:, first:]
        out[:, width:] = action[:, 1:]
        return out


class AllInteractions(NamedTuple):
    """x = (1, c, a_1, a_1 c, a_2, a_2 c, ...): all of (1, a) times all of (1, c)."""

    intercept: bool

    def size(self, context: int, action: int) -> int:
        return (1 + context) * (1 + action) - 1 + self.intercept

    def names(self, context: Names, action: Names) -> Names:
        products = [name for a in action for name in (a, *(f"{a} x {c}" for c in context))]
        return _one(self.intercept) + context + products

    def bound(self, context: float, action: float) -> float:
        product = math.hypot(1, context) ** 2 * math.hypot(1, action) ** 2
        return math.sqrt(product - 1 + self.intercept)

    def join(self, context: Floats, action: Floats, names: Iterable[object]) -> Floats:
        out = (action[:, :, None] * context[:, None, :]).reshape(len(action), -1)
        return out if self.intercept else out[:, 1:].copy()


class PerAction(NamedTuple):
    """x = (0, ..., (1, c), ..., 0, a): (1, c) is in the block of the action's name."""

    intercept: bool
    blocks: Lookup
    action: str

    def size(self, context: int, action: int) -> int:
        return (self.intercept + context) * len(self.blocks.places) + action

    def names(self, context: Names, action: Names) -> Names:
        block = _one(self.intercept) + context
        return [f"{name}: {part}" for name in self.blocks.places for part in block] + action

    def bound(self, context: float, action: float) -> float:
        return math.hypot(self.intercept, context, action)

    def join(self, context: Floats, action: Floats, names: Iterable[object]) -> Floats:
        own = context if self.intercept else context[:, 1:]
        count = len(self.blocks.places)
        width = own.shape[1] * count
        out = np.zeros((len(action), width + action.shape[1] - 1))
        blocks = out[:, :width].reshape(len(action), count, -1)
        known = self.blocks.places
        found = [
            known[name] if type(name) is str and name in known else self.find_block(row, name)
            for row, name in enumerate(names)
        ]
        blocks[np.arange(len(action)), found] = own
        out[:, width:] = action[:, 1:]
        return out

    def find_block(self, row: int, name: object) -> int:
        """Return the block of an action. An unknown action has none, so that it raises."""
        block = self.blocks.find(read_text(name, self.action))
        if block is None:
            shown = printable(", ".join(list(self.blocks.places)[:20]))
            reason = f"must be an action of the encoder ({shown})"
            raise EncodingError(reason, self.action, name, f"in row {row}")
        return block


Interactions = NoInteractions | AllInteractions | PerAction


def _one(intercept: bool) -> Names:
    return ["1"] if intercept else []


def make_interactions(
    kind: str, intercept: bool, *, actions: Sequence[str], action: str | None
) -> Interactions:
    """Return the interactions of this name, one of `INTERACTIONS`."""
    if kind == "per_action":
        return PerAction(intercept, Lookup(actions), str(action))
    return NoInteractions(intercept) if kind == "none" else AllInteractions(intercept)
