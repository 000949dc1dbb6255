"""The state of an agent as a value: what each event makes of it, its arrays, its generator.

The agent owns it, the ledger restores it, the state file stores it. Arrays that come from a file
are validated before they are used.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError, StateError
from .._utils.validation import whole
from ..core.allocation import state_bytes
from ..core.capabilities import choice_writes_of, is_valid_state
from ..core.confidence_region import is_valid_region
from ..core.part import regions_of
from ..core.protocols import Policy
from ..features import FeatureMap
from . import events
from .pending import ActionCount, Limits, TicketTable
from .tickets import Decision, Owner, Owners, Ticket

LARGEST_NUMBER = 1 << 62  # of counts: what a 64-bit integer holds with room to spare
MOST_SCRATCH = 1 << 30  # bytes that a state may take beyond those in its file

Undo = Callable[[], None]
RandomSource = int | np.random.SeedSequence | np.random.Generator | None


class AgentState(NamedTuple):
    """Everything that an agent is.

    `learned` is the state of the policy; its arrays are changed in place, and so are the tickets.
    `owners` says which agent issued which tickets, this one last; `encoder` makes the features of
    named inputs; `version` grows with each reset and rebuild.
    """

    policy: Policy
    learned: Any
    tickets: TicketTable
    generator: np.random.Generator | None
    limits: Limits
    owners: Owners
    encoder: FeatureMap | None = None
    version: int = 1


ANYONE: Owners = (Owner("", 0),)


def anonymous(state: AgentState) -> AgentState:
    """Return the state without its version and the ids of its agents: an agent and one rebuilt
    from its ledger differ in nothing else."""
    return state._replace(owners=ANYONE, version=1)


class Learner(Protocol):
    """Updates the state of a policy: once for each argument, however often it is called."""

    def learn(self, learned: Any, decision: Decision) -> None:
        """Learn from a decision whose rewards are all in."""

    def teach(self, learned: Any, lesson: events.Lesson, time: float) -> None:
        """Learn rows without a decision."""

    def revise(self, learned: Any, revision: events.Revision, reward: float) -> None:
        """Replace a reward that was learned."""


class Plan(NamedTuple):
    """Events that happen together, the counts after them, and the tickets to hand out.

    `undo` takes back what the choice of these tickets has changed already.
    """

    events: Sequence[events.Event]
    counts: dict[str, int]
    action_counts: Mapping[str, ActionCount] | None
    undo: Undo | None
    tickets: Sequence[Ticket]


def make_plan(
    state: AgentState,
    events: Sequence[events.Event],
    undo: Undo | None = None,
    tickets: Sequence[Ticket] = (),
) -> Plan:
    """Plan these events."""
    known = state.tickets
    named = None if state.encoder is None else known.action_counts_after(events)
    return Plan(events, known.counts_after(events), named, undo, tickets)


def apply(state: AgentState, plan: Plan, learner: Learner) -> AgentState:
    """Return the state after a plan. To apply it twice has no effect, so an interrupted call can
    be repeated."""
    for event in plan.events:
        state = _apply_event(state, event, learner)
    state.tickets.counts = plan.counts
    if plan.action_counts is not None:
        state.tickets.action_counts.update(plan.action_counts)
    return state


def _apply_event(state: AgentState, event: events.Event, learner: Learner) -> AgentState:
    tickets, learned = state.tickets, state.learned
    match event:
        case events.Selected():
            tickets.issue(event.ticket, event.decision, event.time, event.event_id)
            if event.decision.version > state.version:
                return state._replace(version=event.decision.version)
        case events.Rewarded() | events.Expired() | events.Cancelled():
            tickets.settle(event, learned, learner.learn)
        case events.SelectedMany():
            tickets.issue_many(event.choices)
        case events.WarmStarted():
            learner.teach(learned, event.lesson, event.time)
        case events.Revised():
            learner.revise(learned, event.revision, event.reward)
        case events.CancelledAll():
            tickets.cancel_all()
        case events.Reset():
            fresh = TicketTable(event.ticket, tickets.expired)
            learned = state.policy.init()
            return state._replace(learned=learned, tickets=fresh, version=event.version)
    return state


# ---- its arrays


def flatten(state: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a nested state by dotted name."""
    if isinstance(state, np.ndarray):
        return {prefix: state}
    found: dict[str, NDArray[Any]] = {}
    for name, field in zip(state._fields, state, strict=True):
        found |= flatten(field, f"{prefix}.{name}" if prefix else name)
    return found


def kept(state: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays that must be stored: all but those called `scratch`, or inside it."""
    return {name: a for name, a in flatten(state).items() if "scratch" not in name.split(".")}


def check_size(policy: Any, size: int) -> None:
    """Raise StateError if the policy needs other arrays than the file has, before making any."""
    if state_bytes(policy, scratch=False) != size:
        raise StateError("the policy in the file is larger or smaller than the arrays in it")
    if state_bytes(policy) - size > MOST_SCRATCH:
        raise StateError("the policy in the file asks for more memory than a state may take")


def fill(state: Any, declared: dict[str, Any], blobs: Mapping[str, bytes | memoryview]) -> None:
    """Copy the arrays of a file into the state, if they are exactly those it has."""
    arrays = kept(state)
    sizes = {f"{name}.bin": array.nbytes for name, array in arrays.items()}
    if shapes_of(arrays) != declared or sizes != {name: len(blob) for name, blob in blobs.items()}:
        raise StateError("the arrays in the file are not those of its policy")
    for name, array in arrays.items():
        array[...] = np.frombuffer(blobs[f"{name}.bin"], array.dtype).reshape(array.shape)


def shapes_of(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return type and shape of each array, as JSON."""
    return {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}


def check_state(policy: Any, state: Any) -> None:
    """Raise StateError unless a policy can have made these arrays.

    A part that uses a number of its state as an index has a method `is_valid(state)` that returns
    True if it is one.
    """
    check_numbers(kept(state))
    check_indices(policy, state)
    if not all(map(is_valid_region, regions_of(state))):
        raise StateError("the design matrix in the file is not one a policy can have made")
    if hasattr(policy, "radius"):
        with np.errstate(all="ignore"):
            width = policy.radius.radius(state.estimate, policy.tally(state)[0])
        if not width >= 0.0:  # an infinite one is cut where it is used
            raise StateError(f"the radius in the file is {width}")


def check_numbers(arrays: dict[str, NDArray[Any]]) -> None:
    """Raise StateError unless the numbers are finite and the counts are counts."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StateError(f"the array {name} contains values that are not finite")
        if array.dtype.kind in "iu" and not ((array >= 0) & (array < LARGEST_NUMBER)).all():
            raise StateError(f"the array {name} contains counts that cannot be")


def check_indices(policy: Any, state: Any) -> None:
    """Raise StateError if a part finds an index in its state that is out of range."""
    if not is_valid_state(policy, state):
        raise StateError("the arrays in the file do not fit together")


# ---- its generator, which breaks ties between arms


def own_generator(rng: RandomSource) -> np.random.Generator | None:
    """Make a PCG64 generator from an int, a SeedSequence or a Generator (which may draw a seed)."""
    if rng is None:
        return None
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"rng must be None, an int, a SeedSequence or a Generator, got {rng!r}"
        ) from error
    if type(generator.bit_generator) is np.random.PCG64:
        return generator
    return np.random.default_rng(generator.integers(1 << 63))


def position_of(generator: np.random.Generator | None) -> events.Position | None:
    """Return the position of a generator, as JSON."""
    return None if generator is None else generator.bit_generator.state


def make_generator(state: events.Position | None) -> np.random.Generator | None:
    """Make the PCG64 generator at a position."""
    if state is None:
        return None
    words = [whole(name, state["state"][name], least=0) for name in ("state", "inc")]
    spare = [whole(name, state[name], least=0) for name in ("has_uint32", "uinteger")]
    if state["bit_generator"] != "PCG64" or max(words) >> 128 or spare[0] > 1 or spare[1] >> 32:
        raise StateError("the generator is not a PCG64")
    generator = np.random.default_rng(0)
    generator.bit_generator.state = dict(state)
    return generator


# ---- what a choice changes


def written_by_choice(state: AgentState) -> dict[str, NDArray[Any]]:
    """Return the arrays of a policy in which a choice leaves something that matters later.

    A policy names them in `choice_writes`; without it, they are all that are kept.
    """
    names = choice_writes_of(state.policy)
    if names is None:
        return kept(state.learned)
    return {name: attrgetter(name)(state.learned) for name in names}


class BeforeChoice:
    """What a choice may change, as it was before: to log what it changed, or to undo it."""

    def __init__(self, state: AgentState) -> None:
        self._arrays = written_by_choice(state)
        self._before = {name: array.copy() for name, array in self._arrays.items()}
        self._generator = state.generator
        self._position = position_of(state.generator)

    def changes(self) -> events.Changes | None:
        """Return what differs from before; None if nothing does."""
        after = {name: array.tobytes() for name, array in self._arrays.items()}
        changed = {
            name: data for name, data in after.items() if data != self._before[name].tobytes()
        }
        if not changed and self._generator is None:
            return None
        return events.Changes(changed, position_of(self._generator))

    def undo(self) -> None:
        """Put everything back."""
        for name, array in self._arrays.items():
            array[...] = self._before[name]
        if self._generator is not None and self._position is not None:
            self._generator.bit_generator.state = self._position


def install(state: AgentState, changes: events.Changes | None) -> AgentState:
    """Return the state after the logged changes of a choice; raise StateError if no choice of this
    policy can have made them."""
    if changes is None:
        return state
    arrays = written_by_choice(state)
    for name, data in changes.arrays.items():
        if name not in arrays or len(data) != arrays[name].nbytes:
            raise StateError(f"a choice of this policy does not change an array {name!r} so")
        array = arrays[name]
        array[...] = np.frombuffer(data, array.dtype).reshape(array.shape)
        check_numbers({name: array})
    if changes.arrays:
        check_indices(state.policy, state.learned)
    if changes.generator is None:
        return state
    return state._replace(generator=make_generator(changes.generator))
