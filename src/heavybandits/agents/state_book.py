"""Tickets and the generator of an agent, to JSON and back."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.errors import InvalidInput, StateError
from ..support.validation import finite_array, finite_number, whole
from .state_arrays import LARGEST_NUMBER
from .tickets import Decision

if TYPE_CHECKING:
    from .agent import Agent


def describe_decision(decision: Decision, is_open: bool) -> dict[str, Any]:
    return {
        "arm": decision.arm,
        "features": decision.features.tolist(),
        "estimate": decision.estimate,
        "width": decision.width,
        "rewards": [[n, reward, decision.times[n]] for n, reward in decision.rewards.items()],
        "open": is_open,
    }


def restore(agent: "Agent", body: dict[str, Any]) -> None:
    book = agent._book
    book.issued = _count("issued", body["issued"])
    book.counts = {name: _count(name, body["counts"][name]) for name in book.counts}
    for entry in body["decisions"]:
        _restore_decision(agent, entry)
    book.pending = dict(sorted(book.pending.items()))
    agent._ledger.expired |= {_count("ticket", number): None for number in body["expired"]}
    if body["generator"] is not None:
        agent._rng = make_generator(body["generator"])


def _restore_decision(agent: "Agent", entry: dict[str, Any]) -> None:
    book, is_open = agent._book, entry["open"] is True
    decision = Decision(
        whole("arm", entry["arm"], least=-1),
        finite_array("features", entry["features"], (agent.policy.dim,)),
        finite_number("estimate", entry["estimate"]),
        finite_number("width", entry["width"]),
        agent.policy.plays,
    )
    for number, reward, asked in entry["rewards"]:
        if _count("ticket", number) >= book.issued or number in decision.rewards:
            raise StateError(f"the state file holds a ticket {number} that cannot be")
        decision.rewards[number] = None if reward is None else finite_number("reward", reward)
        decision.times[number] = finite_number("time", asked)
    waiting = {n: decision for n, reward in decision.rewards.items() if reward is None}
    asks = decision.left > 0 if is_open else decision.left == 0 and len(waiting) > 0
    if not asks or not book.pending.keys().isdisjoint(waiting):
        raise StateError("the state file holds a decision that cannot be")
    book.pending |= waiting
    if is_open:
        book.open.append(decision)


def _count(name: str, value: Any) -> int:
    number = whole(name, value, least=0)
    if number >= LARGEST_NUMBER:
        raise StateError(f"{name} in the state file is {number}, which is too many")
    return number


def own_generator(rng: Any) -> np.random.Generator:
    """A PCG64 generator from an int, a SeedSequence or a Generator (of another kind: its seed)."""
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"rng must be None, an int, a SeedSequence or a Generator, got {rng!r}"
        ) from error
    if type(generator.bit_generator) is np.random.PCG64:
        return generator
    return np.random.default_rng(generator.integers(1 << 63))


def make_generator(state: dict[str, Any]) -> np.random.Generator:
    """The PCG64 generator that stands where `state` says."""
    words = [whole(name, state["state"][name], least=0) for name in ("state", "inc")]
    spare = [whole(name, state[name], least=0) for name in ("has_uint32", "uinteger")]
    if state["bit_generator"] != "PCG64" or max(words) >> 128 or spare[0] > 1 or spare[1] >> 32:
        raise StateError("the generator in the state file is not a PCG64")
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator
