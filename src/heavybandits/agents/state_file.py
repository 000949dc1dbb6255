"""State files: an agent in one zip of plain arrays and a JSON header. No pickle, nothing that runs.

Everything is checked before it is believed: sizes against the file, names and shapes against what
the policy itself makes, numbers for being finite, all of it against a SHA-256. Parts are built from
the classes of the library and those that the caller names; a file cannot add to them.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import StateError
from .._utils.files import (
    LARGEST,
    ContainerError,
    Format,
    canonical,
    read_container,
    write_container,
)
from .._utils.validation import bounded_array, finite_number, fraction, whole
from ..core.part import build, describe, known_parts
from ..features import Encoder
from ..parts.policies.checks import check_policies
from ..parts.registry import library_parts
from .encoders import check_encoder
from .events import MOST_EXPIRED, Book, Limits, Tally, make_limits
from .state import (
    LARGEST_NUMBER,
    AgentState,
    check_size,
    check_state,
    fill,
    kept,
    make_generator,
    position_of,
    shapes_of,
)
from .tickets import Decision, Owner, Owners

FORMAT = Format("state file")
DATABASE = b"SQLite format 3\0"  # how a ledger begins


# ---- to bytes


def pack(state: AgentState) -> bytes:
    """The state as the bytes of a state file. Equal states have equal bytes."""
    arrays = kept(state.learned)
    blobs = {f"{name}.bin": array.tobytes() for name, array in arrays.items()}
    body = {
        "policy": describe(state.policy),
        "arrays": shapes_of(arrays),
        "book": _describe_book(state.book),
        "limits": state.limits._asdict(),
        "generator": position_of(state.generator),
        "owners": [list(owner) for owner in state.owners],
        "encoder": describe_encoder(state.encoder),
    }
    try:
        return write_container(FORMAT, body, blobs)
    except ContainerError as error:
        raise StateError(f"the state file {error}") from error


def _describe_book(book: Book) -> dict[str, Any]:
    decisions = dict.fromkeys([*book.open, *book.decisions()])
    return {
        "issued": book.issued,
        "counts": book.counts,
        "expired": list(book.expired),
        "decisions": [_describe_decision(d, d in book.open) for d in decisions],
        "offers": {name: list(tally) for name, tally in book.tallies.items()},
    }


def _describe_decision(decision: Decision, is_open: bool) -> dict[str, Any]:
    return {
        "arm": decision.arm,
        "features": decision.features.tolist(),
        "estimate": decision.estimate,
        "width": decision.width,
        "rewards": [[n, reward, decision.times[n]] for n, reward in decision.rewards.items()],
        "open": is_open,
        **({} if decision.propensity == 1.0 else {"propensity": decision.propensity}),
        **({} if decision.offer is None else {"offer": decision.offer}),
    }


# ---- and back


def read_state(path: Path) -> bytes:
    """The bytes of a file, if it can be a state file."""
    size = path.stat().st_size
    if not path.is_file():  # to read a pipe or a device may never end
        raise StateError(f"{path} is not a file")
    if size > LARGEST:
        raise StateError(f"{path} has {size} bytes; a state file has at most {LARGEST}")
    return path.read_bytes()


def unpack(
    data: bytes, parts: Iterable[type] = (), policy: Any = None, encoder: Any = None
) -> AgentState:
    """The state in the bytes of a state file, or a StateError that says what is wrong.

    With a policy, the file must be of that policy, and no part is built; the same for an encoder.
    """
    known = {} if policy is not None else known_parts(library_parts().values(), parts)
    if data.startswith(DATABASE):
        raise StateError("this is a ledger: open it with Agent(policy, ledger=path)")
    try:
        body, blobs = read_container(FORMAT, data)
        if policy is None:
            policy = check_policies(build(body["policy"], known))["policy"]
            check_size(policy, sum(map(len, blobs.values())))
        elif canonical(body["policy"]) != canonical(describe(policy)):
            raise StateError("the state is that of another policy")
        restored = restore_encoder(body["encoder"], encoder)
        if restored is not None:
            check_encoder(restored, policy)
        return _restore(policy, body, blobs)._replace(encoder=restored)
    except StateError:
        raise
    except ContainerError as error:
        raise StateError(f"the state file {error}") from error
    except (MemoryError, OverflowError, RecursionError) as error:
        raise StateError("the state file asks for more memory than it holds data for") from error
    except Exception as error:  # whatever a hostile file provokes, it is the file's fault
        raise StateError(f"the state file is not well formed: {error}") from error


class Start(NamedTuple):
    """How an agent began: all but what its policy learned. Policy and encoder are described."""

    policy: Any
    encoder: Any
    limits: Limits
    generator: Any
    owners: Owners


def read_start(data: bytes) -> Start:
    """How an agent began, from the first state in its ledger. Nothing is built."""
    try:
        body, _ = read_container(FORMAT, data)
        limits, generator = make_limits(**body["limits"]), make_generator(body["generator"])
        owners = _restore_owners(body["owners"])
        return Start(body["policy"], body["encoder"], limits, generator, owners)
    except (ContainerError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"the first state in the ledger is not well formed: {error}") from error


def _restore(policy: Any, body: dict[str, Any], blobs: dict[str, Any]) -> AgentState:
    limits, generator = make_limits(**body["limits"]), make_generator(body["generator"])
    book = _restore_book(policy, body["book"])
    learned = policy.init()
    fill(learned, body["arrays"], blobs)
    check_state(policy, learned)
    owners = _restore_owners(body["owners"])
    return AgentState(policy, learned, book, generator, limits, owners)


def _restore_owners(entries: Any) -> Owners:
    owners = tuple(Owner(_name(agent), _count("first", first)) for agent, first in entries)
    firsts = [owner.first for owner in owners]
    if not owners or len(owners) > 1000 or firsts != sorted(firsts):
        raise StateError("the state file does not say which agent issued its tickets")
    return owners


def _restore_book(policy: Any, body: dict[str, Any]) -> Book:
    book = Book(_count("issued", body["issued"]))
    book.counts = {name: _count(name, body["counts"][name]) for name in book.counts}
    book.expired = {_count("ticket", number): None for number in body["expired"]}
    if len(book.expired) > MOST_EXPIRED or any(n >= book.issued for n in book.expired):
        raise StateError("the state file holds tickets that cannot have expired")
    for entry in body["decisions"]:
        decision = _restore_decision(policy, entry, book.issued)
        waiting = {n: decision for n, reward in decision.rewards.items() if reward is None}
        asks = decision.left > 0 if entry["open"] else decision.left == 0 and len(waiting) > 0
        if not asks or not book.pending.keys().isdisjoint(waiting):
            raise StateError("the state file holds a decision that cannot be")
        book.pending |= waiting
        if entry["open"]:
            book.open.append(decision)
    book.pending = dict(sorted(book.pending.items()))
    book.tallies = {
        _name(name): Tally(*(_count(name, number) for number in tally))
        for name, tally in body["offers"].items()
    }
    return book


def _restore_decision(policy: Any, entry: dict[str, Any], issued: int) -> Decision:
    arm, x, estimate, width = (entry[name] for name in ("arm", "features", "estimate", "width"))
    likely, offer = entry.get("propensity", 1.0), entry.get("offer")
    decision = make_decision(policy, arm, x, estimate, width, likely, offer)
    for number, reward, asked in entry["rewards"]:
        if _count("ticket", number) >= issued or number in decision.rewards:
            raise StateError(f"the state file holds a ticket {number} that cannot be")
        decision.rewards[number] = None if reward is None else finite_number("reward", reward)
        decision.times[number] = finite_number("time", asked)
    return decision


def make_decision(
    policy: Any,
    arm: Any,
    features: Any,
    estimate: Any,
    width: Any,
    propensity: Any = 1.0,
    offer: Any = None,
) -> Decision:
    """A decision read from somewhere: what compiled code will meet is checked as at the door."""
    if propensity != 1.0 and propensity is not None:
        propensity = fraction("propensity", propensity)
    return Decision(
        whole("arm", arm, least=-1),
        bounded_array("features", features, (policy.dim,)),
        finite_number("estimate", estimate),
        finite_number("width", width),
        policy.plays,
        propensity,
        None if offer is None else _name(offer),
    )


def _name(text: Any) -> str:
    if not isinstance(text, str):
        raise StateError(f"a name in the state file is {text!r}")
    return text


def _count(name: str, value: Any) -> int:
    number = whole(name, value, least=0)
    if number >= LARGEST_NUMBER:
        raise StateError(f"{name} in the state file is {number}, which is too many")
    return number


# ---- its encoder

FOREIGN = "foreign"


def describe_encoder(encoder: Any) -> Any:
    """An encoder as JSON. Of one that cannot be written down there is only its name and its
    features: to keep it is the user's."""
    if encoder is None:
        return None
    if hasattr(encoder, "to_dict"):
        return encoder.to_dict()
    kind = type(encoder)
    return {FOREIGN: f"{kind.__module__}.{kind.__qualname__}", "names": list(encoder.names)}


def restore_encoder(stored: Any, given: Any) -> Any:
    """The encoder that is written down, which must be the one that is given, if one is."""
    if given is not None:
        if canonical(describe_encoder(given)) != canonical(stored):
            raise StateError(
                "it was made with another encoder. rebuild makes an agent with a new encoder from "
                "a ledger's past"
            )
        return given
    if stored is None:
        return None
    if FOREIGN in stored:
        raise StateError(
            f"its encoder, a {stored[FOREIGN]}, is not in the file: give it as encoder="
        )
    return Encoder.from_dict(stored)
