"""The events of an agent: one frozen class for each thing that can happen to it.

`ticket` is the number of the ticket that an event is about, or that of the next ticket for an event
about none in particular. `kind` is the name of the event in a ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

from numpy.typing import NDArray

from ..core.arrays import Floats
from .tickets import Choices, Decision

Arrays = Mapping[str, NDArray[Any]]  # arrays of a policy's state by dotted name
Position = Mapping[str, Any]  # the state of a PCG64 generator, as JSON
Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True)
def event(cls: Class) -> Class:
    """Make a class of events: frozen for type checkers only, because a frozen instance takes three
    times as long to create, and every call of an agent creates one."""
    return dataclass(slots=True)(cls)  # type: ignore[return-value]


class Lesson:
    """Rows and rewards, (n, d) and (n, plays), to learn without a decision.

    `lessons` is as for a `Decision`.
    """

    __slots__ = ("lessons", "rewards", "rows")

    def __init__(self, rows: Floats, rewards: Floats) -> None:
        self.rows, self.rewards = rows, rewards
        self.lessons: int | None = None


class Revision:
    """The features of a reward that is revised, and the reward before.

    `after` holds the arrays of the policy once they are computed, so that it is applied once.
    """

    __slots__ = ("after", "before", "features")

    def __init__(self, features: Floats, before: float) -> None:
        self.features, self.before = features, before
        self.after: Arrays | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What a choice changed: arrays of the policy as bytes, and the position of the generator."""

    arrays: Mapping[str, bytes]
    generator: Position | None


@event
class Selected:
    """A ticket was issued. `inputs` is the JSON of the named inputs, if the ledger logs them."""

    kind: ClassVar[str] = "select"
    ticket: int
    time: float
    decision: Decision
    changes: Changes | None = None
    inputs: str | None = None


@event
class SelectedMany:
    """Tickets were issued together, by an agent without a ledger."""

    kind: ClassVar[str] = "select_many"
    choices: Choices


@event
class Rewarded:
    """A ticket received its reward, with its own noise scale or None for the policy's."""

    kind: ClassVar[str] = "reward"
    ticket: int
    time: float
    reward: float
    noise_scale: float | None = None


@event
class Cancelled:
    """The reward of a ticket will never come."""

    kind: ClassVar[str] = "cancel"
    ticket: int
    time: float


@event
class Expired:
    """A ticket waited too long; `reward` is what the policy learns instead, None for nothing."""

    kind: ClassVar[str] = "expire"
    ticket: int
    time: float
    reward: float | None = None


@event
class CancelledAll:
    """Every pending ticket was cancelled."""

    kind: ClassVar[str] = "cancel_all"
    ticket: int
    time: float


@event
class Reset:
    """The agent forgot what it had learned, and every ticket."""

    kind: ClassVar[str] = "reset"
    ticket: int
    time: float


@event
class WarmStarted:
    """The policy learned rows without decisions. `inputs` is the JSON of the rows by name."""

    kind: ClassVar[str] = "warm_start"
    ticket: int
    time: float
    lesson: Lesson
    inputs: str | None = None


@event
class Revised:
    """Another reward replaced one that was learned."""

    kind: ClassVar[str] = "revise"
    ticket: int
    time: float
    reward: float
    revision: Revision


Settled = Rewarded | Cancelled | Expired
Event = Selected | SelectedMany | Settled | CancelledAll | Reset | WarmStarted | Revised

SETTLING = (Rewarded.kind, Cancelled.kind, Expired.kind)  # of these a ticket has one at most
