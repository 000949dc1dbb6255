"""The events of an agent: one frozen class for each thing that can happen to it.

`ticket` is the number of the ticket that an event is about, or that of the next ticket for an event
about none in particular. `kind` is the name of the event in a ledger.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from numpy.typing import NDArray

from ..core.arrays import Floats
from .raw_inputs import RawInputs
from .tickets import Choices, Decision

Arrays = Mapping[str, NDArray[Any]]  # arrays of a policy's state by dotted name
Position = Mapping[str, Any]  # the state of a PCG64 generator, as JSON
Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True)
def event(cls: Class) -> Class:
    """Make a frozen dataclass whose `__init__` sets the slots directly.

    Every call of an agent creates events, and the `__init__` of `dataclass(frozen=True)` takes
    three times as long as that of a class that is not frozen; this one takes twice as long.
    """
    made: Any = dataclass(frozen=True, slots=True)(cls)
    slots = {f.name: f for f in fields(made)}
    names = {f"set_{name}": vars(made)[name].__set__ for name in slots}
    names |= {f"default_{name}": f.default for name, f in slots.items()}
    given = (n if f.default is MISSING else f"{n}=default_{n}" for n, f in slots.items())
    body = "; ".join(f"set_{name}(self, {name})" for name in slots)
    exec(f"def __init__(self, {', '.join(given)}): {body}", names)
    made.__init__ = names["__init__"]
    return made


class Lesson:
    """Rows and rewards, (n, d) and (n, plays), to learn without a decision.

    `lessons` is as for a `Decision`.
    """

    __slots__ = ("lessons", "rewards", "rows")

    def __init__(self, rows: Floats, rewards: Floats) -> None:
        self.rows, self.rewards = rows, rewards
        self.lessons: int | None = None


class Revision:
    """The features of a reward that is revised, the reward before, and the number of rewards that
    were learned after it.

    `after` contains the arrays of the policy once they are computed, so that it is applied once.
    """

    __slots__ = ("after", "before", "features", "later")

    def __init__(self, features: Floats, before: float, later: int = 0) -> None:
        self.features, self.before, self.later = features, before, later
        self.after: Arrays | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What a choice changed: arrays of the policy as bytes, and the position of the generator."""

    arrays: Mapping[str, bytes]
    generator: Position | None


@event
class Selected:
    """A ticket was issued.

    `event_id` is the caller's id of it, `available` the JSON of what could be chosen, `inputs`
    what the decision was made from, if the ledger logs it. Group and version are those of the
    decision.
    """

    kind: ClassVar[str] = "select"
    ticket: int
    time: float
    decision: Decision
    changes: Changes | None = None
    event_id: str | None = None
    available: str | None = None
    inputs: RawInputs | None = None


@event
class SelectedMany:
    """Tickets were issued together, by an agent without a ledger."""

    kind: ClassVar[str] = "select_many"
    choices: Choices


@event
class Rewarded:
    """A ticket received its reward, with its own noise scale or None for the policy's.

    `lesson` counts the rewards that were learned before this one.
    """

    kind: ClassVar[str] = "reward"
    ticket: int
    time: float
    reward: float
    noise_scale: float | None = None
    lesson: int = 0


@event
class Cancelled:
    """The reward of a ticket will never come."""

    kind: ClassVar[str] = "cancel"
    ticket: int
    time: float


@event
class Expired:
    """A ticket waited too long; `reward` is what the policy learns instead, None for nothing.

    `lesson` is as for a reward.
    """

    kind: ClassVar[str] = "expire"
    ticket: int
    time: float
    reward: float | None = None
    lesson: int = 0


@event
class CancelledAll:
    """Every pending ticket was cancelled."""

    kind: ClassVar[str] = "cancel_all"
    ticket: int
    time: float


@event
class Reset:
    """The agent forgot what it had learned, and every ticket; `version` is its new version."""

    kind: ClassVar[str] = "reset"
    ticket: int
    time: float
    version: int


@event
class WarmStarted:
    """The policy learned rows without decisions. `inputs` has the rows by name, if logged."""

    kind: ClassVar[str] = "warm_start"
    ticket: int
    time: float
    lesson: Lesson
    inputs: RawInputs | None = None


@event
class Revised:
    """Another reward replaced one that was learned; `lesson` is that of the first reward."""

    kind: ClassVar[str] = "revise"
    ticket: int
    time: float
    reward: float
    revision: Revision
    lesson: int = 0


@event
class Marked:
    """The caller gave this moment a name, to return to it later."""

    kind: ClassVar[str] = "mark"
    ticket: int
    time: float
    name: str


Settled = Rewarded | Cancelled | Expired
Event = Selected | SelectedMany | Settled | CancelledAll | Reset | WarmStarted | Revised | Marked

SETTLING = (Rewarded.kind, Cancelled.kind, Expired.kind)  # of these a ticket has one at most
