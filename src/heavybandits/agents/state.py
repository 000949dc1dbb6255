"""The state of an agent as a value: what each event makes of it, its arrays, its generator.

The agent holds it, the ledger brings it to where its events end, the state file writes it down.
Arrays that come from elsewhere are checked before they are believed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError, StateError
from .._utils.validation import whole
from ..core.allocation import state_bytes
from ..core.capabilities import choice_writes_of, is_valid_state
from ..core.confidence_region import Region, has_valid_volume
from ..core.part import regions_of
from .events import COUNTED, SELECT, Book, Event, Kind, Lesson, Limits, Revision, Tally
from .tickets import Decision, Owner, Owners

LARGEST_NUMBER = 1 << 62  # of counts: what a 64-bit integer holds with room to spare
MOST_SCRATCH = 1 << 30  # bytes that a state may take beyond what is in its file


class AgentState(NamedTuple):
    """All that makes an agent what it is.

    `learned` is the state of the policy: its arrays are changed in place, and so is the book.
    `owners` says which agent issued which tickets, the last one being this; `encoder` makes the
    features of what has names.
    """

    policy: Any
    learned: Any
    book: Book
    generator: np.random.Generator | None
    limits: Limits
    owners: Owners
    encoder: Any = None


ANYONE: Owners = (Owner("", 0),)


def anonymous(state: AgentState) -> AgentState:
    """The state without the names of its agents: all in which two agents can be equal."""
    return state._replace(owners=ANYONE)


class Step(NamedTuple):
    """Events that are to happen together, and the counts and tallies after them."""

    events: Sequence[Event]
    counts: dict[str, int]
    tallies: Mapping[str, Tally] | None


class Teacher(Protocol):
    """What lets a policy learn: once, however often it is told."""

    def learn(self, learned: Any, decision: Decision) -> None:
        """From a decision whose rewards are all in."""

    def teach(self, learned: Any, lesson: Lesson, time: float) -> None:
        """From rows without a decision."""

    def revise(self, learned: Any, revision: Revision, reward: float) -> None:
        """That a reward has turned out otherwise."""


def plan(state: AgentState, events: Sequence[Event]) -> Step:
    tallies = None if state.encoder is None else state.book.tallied(events)
    return Step(events, state.book.counted(events), tallies)


def carry_out(state: AgentState, step: Step, teacher: Teacher) -> AgentState:
    """The state after a step. Done twice it is done once: an interrupted one is just repeated."""
    for event in step.events:
        state = _apply(state, event, teacher)
    state.book.counts = step.counts
    if step.tallies is not None:
        state.book.tallies.update(step.tallies)
    return state


def _apply(state: AgentState, event: Event, teacher: Teacher) -> AgentState:
    book, kind = state.book, event.kind
    if kind is SELECT:
        if event.many is not None:
            book.issue_many(event.many)
        else:
            book.issue(event)
    elif kind in COUNTED:
        book.settle(event, state.learned, teacher.learn)
    elif isinstance(event.lesson, Lesson):
        teacher.teach(state.learned, event.lesson, event.time)
    elif isinstance(event.lesson, Revision):
        teacher.revise(state.learned, event.lesson, event.reward or 0.0)
    elif kind is Kind.ABANDON:
        book.abandon()
    elif kind is Kind.RESET:
        book = Book(event.ticket, book.expired)
        return state._replace(learned=state.policy.init(), book=book)
    return state


# ---- its arrays


def flatten(state: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of a nested state by dotted name."""
    if isinstance(state, np.ndarray):
        return {prefix: state}
    found: dict[str, NDArray[Any]] = {}
    for name, field in zip(state._fields, state, strict=True):
        found |= flatten(field, f"{prefix}.{name}" if prefix else name)
    return found


def kept(state: Any) -> dict[str, NDArray[Any]]:
    """The arrays that make the state what it is: all but those called `scratch`, or inside it."""
    return {name: a for name, a in flatten(state).items() if "scratch" not in name.split(".")}


def check_size(policy: Any, size: int) -> None:
    """Refuse a policy whose arrays are not those in the file, before any of them is made."""
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
    """Type and shape of each array, as JSON."""
    return {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}


def check_state(policy: Any, state: Any) -> None:
    """Whether the arrays hold what a policy can have made of them.

    A part that uses a number of its state as an index has a method `is_valid(state)` that says
    whether it is one.
    """
    check_numbers(kept(state))
    check_sound(policy, state)
    for region in regions_of(state):
        _check_region(region)
    if hasattr(policy, "radius"):
        with np.errstate(all="ignore"):
            width = policy.radius.radius(state.estimate, policy.tally(state)[0])
        if not width >= 0.0:  # an infinite one is cut where it is used
            raise StateError(f"the radius in the file is {width}")


def check_numbers(arrays: dict[str, NDArray[Any]]) -> None:
    """Whether the numbers are finite and the counts are counts."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StateError(f"the array {name} holds values that are not finite")
        if array.dtype.kind in "iu" and not ((array >= 0) & (array < LARGEST_NUMBER)).all():
            raise StateError(f"the array {name} holds counts that cannot be")


def check_sound(policy: Any, state: Any) -> None:
    """Whether what the parts use as indices can be used so, as far as they can say."""
    if not is_valid_state(policy, state):
        raise StateError("the arrays in the file do not fit together")


def _check_region(region: Region) -> None:
    """Whether V and V^-1 are symmetric, positive definite and, nearly, each other's inverse."""
    design, inverse = region.design + region.recent, region.inverse
    scale, other = float(np.abs(design).max()), float(np.abs(inverse).max())
    if not (scale > 0.0 and other > 0.0):
        raise StateError("a matrix in the file is zero")
    if not has_valid_volume(region):
        raise StateError("the design matrix in the file has shrunk, and a policy only widens it")
    design, inverse = design / scale, inverse / other
    symmetric = np.abs(design - design.T).max() <= 1e-9
    error = np.abs(design @ inverse - np.eye(len(design)) / scale / other).max()
    close = error <= max(1e-3 / scale / other, 1e-10)
    if not (symmetric and close and np.linalg.eigvalsh(design)[0] > -1e-9):
        raise StateError("the design matrix in the file is not one a policy can have made")


# ---- its generator, which breaks ties


def own_generator(rng: Any) -> np.random.Generator | None:
    """A PCG64 generator from an int, a SeedSequence or a Generator (of another kind: its seed)."""
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


def position_of(generator: np.random.Generator | None) -> Any:
    """Where a generator stands, as JSON."""
    return None if generator is None else generator.bit_generator.state


def make_generator(state: dict[str, Any] | None) -> np.random.Generator | None:
    """The PCG64 generator that stands where `state` says."""
    if state is None:
        return None
    words = [whole(name, state["state"][name], least=0) for name in ("state", "inc")]
    spare = [whole(name, state[name], least=0) for name in ("has_uint32", "uinteger")]
    if state["bit_generator"] != "PCG64" or max(words) >> 128 or spare[0] > 1 or spare[1] >> 32:
        raise StateError("the generator is not a PCG64")
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator


# ---- what a choice leaves in it


def written_by_choice(state: AgentState) -> dict[str, NDArray[Any]]:
    """The arrays of a policy in which a choice leaves something that matters later.

    A policy names them in `choice_writes`; for one that does not, they are all that is kept.
    """
    names = choice_writes_of(state.policy)
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

    def changes(self, propensity: float | None = 1.0) -> str | None:
        """What differs from before, as JSON; None if nothing does. With how likely the choice was,
        if it was drawn."""
        arrays = {
            name: array.tobytes().hex()
            for name, array in self._arrays.items()
            if array.tobytes() != self._before[name].tobytes()
        }
        if not arrays and self._generator is None and propensity == 1.0:
            return None
        told = {} if propensity == 1.0 else {"propensity": propensity}
        return json.dumps({"arrays": arrays, "generator": position_of(self._generator), **told})

    def changes_of_many(self, propensities: Sequence[float | None]) -> list[str | None]:
        """The same for choices that are written together: the first one tells what all changed."""
        after = {"arrays": {}, "generator": position_of(self._generator)}
        certain = self._generator is None
        rest = [
            None if certain and chance == 1.0 else json.dumps(after | {"propensity": chance})
            for chance in propensities[1:]
        ]
        return [self.changes(propensities[0]), *rest]

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
