"""How context and offer meet: x out of the features c of the one and o of the other."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import EncodingError
from ..core.arrays import Floats
from .values import read_text

Names = list[str]

MEETINGS = ("shared", "per-offer", "hybrid")


class Shared(NamedTuple):
    """x = (1, c, o)."""

    intercept: bool

    def size(self, context: int, offer: int) -> int:
        """The length of x, from those of c and o."""
        return self.intercept + context + offer

    def names(self, context: Names, offer: Names) -> Names:
        return one(self.intercept) + context + offer

    def bound(self, context: float, offer: float) -> float:
        """The greatest norm of x, from those of c and o."""
        return math.hypot(self.intercept, context, offer)

    def join(self, context: Floats, offer: Floats, names: Iterable[Any]) -> Floats:
        """x for every row of (1, o), from as many rows of (1, c) or from one."""
        first = 0 if self.intercept else 1
        width = context.shape[1] - first
        out = np.empty((len(offer), width + offer.shape[1] - 1))
        out[:, :width] = context[:, first:]
        out[:, width:] = offer[:, 1:]
        return out


class Hybrid(NamedTuple):
    """x = (1, c, o_1, o_1 c, o_2, o_2 c, ...): all of (1, o) times all of (1, c)."""

    intercept: bool

    def size(self, context: int, offer: int) -> int:
        return (1 + context) * (1 + offer) - 1 + self.intercept

    def names(self, context: Names, offer: Names) -> Names:
        products = [name for o in offer for name in (o, *(f"{o} x {c}" for c in context))]
        return one(self.intercept) + context + products

    def bound(self, context: float, offer: float) -> float:
        return math.sqrt(math.hypot(1, context) ** 2 * math.hypot(1, offer) ** 2 - 1 + self[0])

    def join(self, context: Floats, offer: Floats, names: Iterable[Any]) -> Floats:
        out = (offer[:, :, None] * context[:, None, :]).reshape(len(offer), -1)
        return out if self.intercept else out[:, 1:].copy()


class PerOffer(NamedTuple):
    """x = (0, ..., (1, c), ..., 0, o): (1, c) stands in the block of the offer's name."""

    intercept: bool
    places: dict[str, int]
    action: str

    def size(self, context: int, offer: int) -> int:
        return (self.intercept + context) * len(self.places) + offer

    def names(self, context: Names, offer: Names) -> Names:
        block = one(self.intercept) + context
        return [f"{name}: {part}" for name in self.places for part in block] + offer

    def bound(self, context: float, offer: float) -> float:
        return math.hypot(self.intercept, context, offer)

    def join(self, context: Floats, offer: Floats, names: Iterable[Any]) -> Floats:
        own = context if self.intercept else context[:, 1:]
        width = own.shape[1] * len(self.places)
        out = np.zeros((len(offer), width + offer.shape[1] - 1))
        blocks = out[:, :width].reshape(len(offer), len(self.places), -1)
        rows = [self.place(row, name) for row, name in enumerate(names)]
        blocks[np.arange(len(offer)), rows] = own
        out[:, width:] = offer[:, 1:]
        return out

    def place(self, row: int, name: Any) -> int:
        """The block of an offer; one that is not known has none, and nothing could be learned."""
        place = self.places.get(name if type(name) is str else read_text(name))
        if place is None:
            shown = ", ".join(list(self.places)[:20])
            reason = f"must be an offer with a block ({shown})"
            raise EncodingError(reason, self.action, name, f"in row {row}")
        return place


Meeting = Shared | Hybrid | PerOffer


def one(intercept: bool) -> Names:
    return ["1"] if intercept else []


def make_meeting(kind: str, intercept: bool, offers: Sequence[str], action: str | None) -> Meeting:
    """The meeting by its name."""
    if kind == "per-offer":
        return PerOffer(intercept, {name: i for i, name in enumerate(offers)}, str(action))
    return Shared(intercept) if kind == "shared" else Hybrid(intercept)
