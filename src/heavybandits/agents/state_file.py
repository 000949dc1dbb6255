"""State files: an agent in one zip of plain arrays and a JSON header. No pickle, nothing that runs.

Everything is validated before it is used: sizes against the file, names and shapes against those
that the policy itself makes, numbers for being finite, all of it against a SHA-256. Parts are built
from the classes of the library and those that the caller names; a file cannot add to them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._utils import files
from .._utils.errors import StateError
from .._utils.validation import bounded_array, finite_number, fraction, whole
from ..core.part import build, describe, known_parts
from ..core.protocols import Policy
from ..core.state import make_state
from ..features import Encoder, FeatureMap
from ..parts.policies.checks import check_policies
from ..parts.registry import library_parts
from .inputs import check_encoder
from .pending import MOST_EXPIRED, ActionCount, Limits, TicketTable, make_limits
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
from .tickets import Decision, Owner, Owners, check_event_id, check_group

FORMAT = files.Format("state file")
DATABASE = b"SQLite format 3\0"  # first bytes of a ledger
MOST_OWNERS = 1000  # earlier agents whose tickets are still accepted

Description = dict[str, Any]  # of a part or an encoder, as JSON


# ---- to bytes


def pack(state: AgentState) -> bytes:
    """Return the state as the bytes of a state file. Equal states have equal bytes."""
    arrays = kept(state.learned)
    blobs = {f"{name}.bin": array.tobytes() for name, array in arrays.items()}
    body = {
        "policy": describe(state.policy),
        "arrays": shapes_of(arrays),
        "tickets": _describe_tickets(state.tickets),
        "limits": state.limits._asdict(),
        "generator": position_of(state.generator),
        "owners": [list(owner) for owner in state.owners[-MOST_OWNERS:]],
        "encoder": describe_encoder(state.encoder),
        "version": state.version,
    }
    try:
        return files.write_container(FORMAT, body, blobs)
    except files.ContainerError as error:
        raise StateError(f"the state file {error}") from error


def _describe_tickets(tickets: TicketTable) -> dict[str, Any]:
    decisions = dict.fromkeys([*tickets.open, *tickets.decisions()])
    return {
        "issued": tickets.issued,
        "counts": tickets.counts,
        "expired": list(tickets.expired),
        "decisions": [_describe_decision(d, d in tickets.open) for d in decisions],
        "action_counts": {name: list(count) for name, count in tickets.action_counts.items()},
    }


def _describe_decision(decision: Decision, is_open: bool) -> dict[str, Any]:
    return {
        "arm": decision.arm,
        "features": decision.features.tolist(),
        "expected": decision.expected,
        "width": decision.width,
        "rewards": [
            [n, reward, decision.times[n], (decision.event_ids or {}).get(n)]
            for n, reward in decision.rewards.items()
        ],
        "open": is_open,
        "propensity": decision.propensity,
        "action": decision.action,
        "group": decision.group,
        "version": decision.version,
    }


# ---- from bytes


def read_state(path: Path) -> bytes:
    """Read a file, if it can be a state file."""
    size = path.stat().st_size
    if not path.is_file():  # to read a pipe or a device may never end
        raise StateError(f"{path} is not a file")
    if size > files.LARGEST:
        raise StateError(f"{path} has {size} bytes; a state file has at most {files.LARGEST}")
    return path.read_bytes()


def unpack(
    data: bytes,
    parts: Iterable[type] = (),
    policy: Policy | None = None,
    encoder: FeatureMap | None = None,
) -> AgentState:
    """Return the state in the bytes of a state file, or raise a StateError that says what is wrong.

    With a policy, the file must be of that policy, and no part is built; the same for an encoder.
    """
    known = {} if policy is not None else known_parts(library_parts().values(), parts)
    if data.startswith(DATABASE):
        raise StateError("this is a ledger: open it with Agent(policy, ledger=path)")
    try:
        body, blobs = files.read_container(FORMAT, data)
        if policy is None:
            policy = check_policies(build(body["policy"], known))["policy"]
            check_size(policy, sum(map(len, blobs.values())))
        elif files.canonical(body["policy"]) != files.canonical(describe(policy)):
            raise StateError("the state is that of another policy")
        restored = restore_encoder(body["encoder"], encoder)
        if restored is not None:
            check_encoder(restored, policy)
        return _restore(policy, body, blobs)._replace(encoder=restored)
    except StateError:
        raise
    except files.ContainerError as error:
        raise StateError(f"the state file {error}") from error
    except (MemoryError, OverflowError, RecursionError) as error:
        raise StateError("the state file asks for more memory than it contains data for") from error
    except Exception as error:  # any error here is caused by the contents of the file
        raise StateError(f"the state file is not well formed: {error}") from error


class Start(NamedTuple):
    """An agent before its first event, with the descriptions of its policy and its encoder."""

    policy: Description
    encoder: Description | None
    limits: Limits
    generator: np.random.Generator | None
    owners: Owners


def read_start(data: bytes) -> Start:
    """Read how an agent began from the first state in its ledger. No part is built."""
    try:
        body, _ = files.read_container(FORMAT, data)
        limits, generator = make_limits(**body["limits"]), make_generator(body["generator"])
        owners = _restore_owners(body["owners"])
        return Start(body["policy"], body["encoder"], limits, generator, owners)
    except (files.ContainerError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"the first state in the ledger is not well formed: {error}") from error


def _restore(policy: Policy, body: dict[str, Any], blobs: files.Blobs) -> AgentState:
    limits, generator = make_limits(**body["limits"]), make_generator(body["generator"])
    tickets = _restore_tickets(policy, body["tickets"])
    learned = make_state(policy)
    fill(learned, body["arrays"], blobs)
    check_state(policy, learned)
    owners = _restore_owners(body["owners"])
    version = _count("version", body["version"])
    return AgentState(policy, learned, tickets, generator, limits, owners, version=version)


def _restore_owners(entries: Any) -> Owners:
    owners = check_owners(entries)
    if len(owners) > MOST_OWNERS:
        raise StateError(f"the state file has {len(owners)} agents, and at most {MOST_OWNERS} fit")
    return owners


def check_owners(entries: Any) -> Owners:
    """Return the agents that issued tickets; raise StateError unless they can be that."""
    owners = tuple(Owner(_name(agent), _count("first", first)) for agent, first in entries)
    firsts = [owner.first for owner in owners]
    if not owners or firsts != sorted(firsts):
        raise StateError("it does not say which agent issued its tickets")
    return owners


def _restore_tickets(policy: Policy, body: dict[str, Any]) -> TicketTable:
    tickets = TicketTable(_count("issued", body["issued"]))
    tickets.counts = {name: _count(name, body["counts"][name]) for name in tickets.counts}
    tickets.expired = {_count("ticket", number): None for number in body["expired"]}
    if len(tickets.expired) > MOST_EXPIRED or any(n >= tickets.issued for n in tickets.expired):
        raise StateError("the state file contains tickets that cannot have expired")
    for entry in body["decisions"]:
        decision = _restore_decision(policy, entry, tickets.issued)
        waiting = {n: decision for n, reward in decision.rewards.items() if reward is None}
        left = decision.plays_left
        valid = left > 0 if entry["open"] else left == 0 and len(waiting) > 0
        if not valid or not tickets.pending.keys().isdisjoint(waiting):
            raise StateError("the state file contains a decision that cannot be")
        tickets.pending |= waiting
        ids = {name: n for n, name in (decision.event_ids or {}).items() if n in waiting}
        if not tickets.event_ids.keys().isdisjoint(ids):
            raise StateError("the state file contains two tickets with one event_id")
        tickets.event_ids |= ids
        if entry["open"]:
            tickets.open.append(decision)
    tickets.pending = dict(sorted(tickets.pending.items()))
    tickets.action_counts = {
        _name(name): ActionCount(*(_count(name, number) for number in count))
        for name, count in body["action_counts"].items()
    }
    return tickets


def _restore_decision(policy: Policy, entry: dict[str, Any], issued: int) -> Decision:
    decision = make_decision(policy, entry)
    for number, reward, asked, event_id in entry["rewards"]:
        if _count("ticket", number) >= issued or number in decision.rewards:
            raise StateError(f"the state file contains a ticket {number} that cannot be")
        decision.rewards[number] = None if reward is None else finite_number("reward", reward)
        decision.times[number] = finite_number("time", asked)
        if check_event_id(event_id) is not None:
            decision.event_ids = {**(decision.event_ids or {}), number: event_id}
    return decision


def make_decision(policy: Policy, entry: Mapping[str, Any]) -> Decision:
    """Make a decision of values from a file, validated as those from a caller are."""
    propensity, action = entry["propensity"], entry["action"]
    if propensity != 1.0 and propensity is not None:
        propensity = fraction("propensity", propensity)
    arm = whole("arm", entry["arm"], least=-1)
    features = bounded_array("features", entry["features"], (policy.dim,))
    expected = finite_number("expected", entry["expected"])
    width = finite_number("width", entry["width"])
    named = None if action is None else _name(action)
    decision = Decision(arm, features, expected, width, policy.plays, propensity, named)
    decision.group = check_group(entry["group"])
    decision.version = _count("version", entry["version"])
    return decision


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


def describe_encoder(encoder: FeatureMap | None) -> Description | None:
    """Describe an encoder as JSON: one without `to_dict` by its class and features only."""
    if encoder is None:
        return None
    if isinstance(encoder, Encoder):
        return encoder.to_dict()
    kind = type(encoder)
    return {FOREIGN: f"{kind.__module__}.{kind.__qualname__}", "names": list(encoder.names)}


def restore_encoder(stored: Description | None, given: FeatureMap | None) -> FeatureMap | None:
    """Return the stored encoder; raise StateError if another one is given."""
    if given is not None:
        if files.canonical(describe_encoder(given)) != files.canonical(stored):
            raise StateError(
                "it was made with another encoder. Agent.rebuild makes an agent with a new encoder "
                "from a ledger"
            )
        return given
    if stored is None:
        return None
    if FOREIGN in stored:
        raise StateError(
            f"its encoder, a {stored[FOREIGN]}, is not in the file: give it as encoder="
        )
    return Encoder.from_dict(stored)
