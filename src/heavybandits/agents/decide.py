"""Decisions: what is given is validated, arms are chosen, and the tickets are planned."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_number, whole
from ..core.arrays import Floats
from ..core.protocols import ArmSet
from ..features import FeatureMap
from ..parts.compiled_policy import Mask
from .agent_policy import AgentPolicy
from .events import Event, Selected, SelectedMany
from .inputs import (
    Actions,
    Context,
    Inputs,
    ManyInputs,
    WrittenInputs,
    available_json,
    encode,
    names_json,
    raw_arms,
    read_arms,
    read_named,
)
from .pending import TicketTable
from .raw_inputs import RawInputs
from .state import AgentState, BeforeChoice, Plan, make_plan
from .tickets import Choices, Decision, Ticket, gather, join_choices, make_ticket, make_tickets

Log = Callable[[int], tuple[str | None, RawInputs | None]]  # of the decision at a place


class Request(NamedTuple):
    """What one decision is made from: validated arms, and their names if they have names."""

    arms: Floats | ArmSet
    allowed: Mask
    names: tuple[str, ...] | None = None
    inputs: Inputs | WrittenInputs | None = None


def read_request(
    encoder: FeatureMap | None,
    policy: AgentPolicy,
    *,
    arms: ArrayLike | ArmSet | Request | None,
    mask: ArrayLike | None = None,
    context: Context | None = None,
    actions: Actions | None = None,
) -> Request:
    """Validate the arguments of `Agent.select`; a `Request` was validated before."""
    if isinstance(arms, Request):
        return arms
    names, inputs = None, None
    if arms is None and actions is None:
        raise InvalidInputError(
            "select needs arms, or for an agent with an encoder actions and their context"
        )
    if actions is not None or context is not None:
        if arms is not None:
            raise InvalidInputError("select takes arms, or context and actions, not both")
        arms, names = encode(encoder, context, actions)
        inputs = Inputs([(context, actions or {})])
    offered, allowed = policy.compiled.check_arms(arms, mask)
    return Request(offered, allowed, names, inputs)


# ---- what a ledger stores of the inputs


def log_request(request: Request, log_inputs: bool) -> Log:
    """Return what a ledger stores of each decision made from a request."""
    arms, allowed, names, inputs = request
    available = available_json(names, arms, allowed)  # now: a list of k changes its mask

    def log(_: int) -> tuple[str | None, RawInputs | None]:
        if not log_inputs:
            return available, None
        return available, raw_arms(arms) if inputs is None else inputs.raw(0)

    return log


def log_many(many: ManyInputs, log_inputs: bool) -> Log:
    """Return what a ledger stores of each of many decisions."""

    def log(place: int) -> tuple[str | None, RawInputs | None]:
        if many.named is not None:
            names = list(many.named.pairs[place][1])
            return names_json(names), many.named.raw(place) if log_inputs else None
        rows, mask, *_ = many.read(place, place + 1)
        return available_json(None, rows[0], mask[0]), raw_arms(rows[0]) if log_inputs else None

    return log


def check_same(ticket: Ticket, request: Request) -> None:
    """Raise InvalidInputError unless a request could have led to this ticket.

    The arm that was chosen must be available, with the same name and the same features.
    """
    arms, allowed, names, _ = request
    if not isinstance(arms, np.ndarray):
        return
    arm = ticket.arm
    if names is not None:
        arm = names.index(ticket.action) if ticket.action in names else -1
    here = 0 <= arm < arms.shape[0] and np.array_equal(arms[arm], ticket.features)
    if not here or (allowed is not None and not allowed[arm]):
        raise InvalidInputError(
            f"event_id {ticket.event_id!r} already has ticket {ticket.id}, which was chosen from "
            "another context or other actions: give a new decision its own event_id"
        )


# ---- before tickets expire to make room: what would be rejected later is rejected now


def excess(state: AgentState, size: int) -> int:
    """Return how many tickets too many would wait with `size` new ones."""
    return len(state.tickets.pending) + size - state.limits.max_pending


def check_request(state: AgentState, policy: AgentPolicy, request: Request) -> None:
    """Raise InvalidInputError if the policy cannot make this decision."""
    if repeated(state.tickets, request) is None:
        check_room(state, policy, request.arms)


def check_room(
    state: AgentState, policy: AgentPolicy, arms: Floats | ArmSet | None, size: int = 1
) -> None:
    """Raise InvalidInputError for more decisions than the policy has room for.

    Decisions that expire without a reward to make room for new ones do not count.
    """
    unlearned = state.limits.expired_reward is None and state.policy.plays == 1
    pushed_out = max(excess(state, size), 0) if unlearned else 0
    policy.check_room(state, arms, size - pushed_out)


def check_together(state: AgentState, size: int) -> None:
    """Raise InvalidInputError if so many decisions cannot be made at once."""
    if state.policy.plays != 1:
        raise InvalidInputError(
            f"this policy plays an arm {state.policy.plays} times before it decides again: "
            "select one decision at a time"
        )
    if size > state.limits.max_pending:
        raise InvalidInputError(
            f"max_pending is {state.limits.max_pending}: {size} decisions cannot wait at once"
        )


# ---- one decision


def repeated(tickets: TicketTable, request: Request) -> Decision | None:
    """Return the decision that still needs plays, if its arm is available.

    Its arm is the row of this request: named actions may come in another order.
    """
    if not tickets.open:
        return None
    decision, (arms, allowed, names, _) = tickets.open[0], request
    if not isinstance(arms, np.ndarray):
        return decision
    arm = decision.arm
    if names is not None:
        arm = names.index(decision.action) if decision.action in names else -1
    here = 0 <= arm < arms.shape[0] and np.array_equal(arms[arm], decision.features)
    if not here or (allowed is not None and not allowed[arm]):
        raise InvalidInputError(
            f"arms must still contain {decision.action or f'arm {arm}'}: this policy plays it "
            f"{decision.plays_left} more times before it decides again. "
            "Keep the arms of a decision unchanged, or call cancel_all()"
        )
    return decision if arm == decision.arm else replace(decision, arm=arm)


def choose_one(state: AgentState, policy: AgentPolicy, request: Request) -> Decision:
    """Let the policy choose one arm."""
    decision = policy.choose(state, request.arms, request.allowed)
    if request.names is not None:
        decision.action = request.names[decision.arm]
    return decision


def plan_one(
    state: AgentState,
    decision: Decision,
    now: float,
    *,
    before: BeforeChoice | None,
    log: Log | None,
    event_id: str | None,
) -> Plan:
    """Plan the next ticket of a decision; `log` says what a ledger stores of its inputs."""
    number = state.tickets.issued
    ticket = make_ticket(decision, number, state.owners[-1].agent, event_id)
    if log is None:
        event = Selected(number, now, decision, None, event_id)
    else:
        changes = None if before is None else before.changes()
        event = Selected(number, now, decision, changes, event_id, *log(0))
    return make_plan(state, [event], None if before is None else before.undo, [ticket])


# ---- a decision that was made elsewhere


def read_recorded(
    state: AgentState, policy: AgentPolicy, request: Request, chosen: Any, propensity: Any
) -> Decision:
    """Validate a decision that the policy has not made, and return it."""
    if state.policy.plays != 1:
        raise InvalidInputError(
            f"record needs a policy of one play per decision, this one has {state.policy.plays}"
        )
    arms, allowed = policy.compiled.check_rows(request.arms, request.allowed)
    arm = _find_chosen(chosen, request.names, len(arms))
    if not allowed[arm]:
        raise InvalidInputError(f"chosen must be available, got {chosen!r:.80}: check the mask")
    means, widths = policy.compiled.predict(state.learned, arms[arm : arm + 1])
    expected, width = float(means[0]) + 0.0, float(widths[0]) + 0.0
    action = None if request.names is None else request.names[arm]
    probability = _check_propensity(propensity)
    return Decision(arm, arms[arm].copy(), expected, width, 1, probability, action)


def _find_chosen(chosen: Any, names: tuple[str, ...] | None, size: int) -> int:
    if names is not None:
        if chosen not in names:
            raise InvalidInputError(
                f"chosen must be the name of one of the actions, got {chosen!r:.80}"
            )
        return names.index(chosen)
    arm = whole("chosen", chosen, 0)
    if arm >= size:
        raise InvalidInputError(f"chosen must be a row of the {size} arms, got {arm}")
    return arm


def _check_propensity(propensity: Any) -> float | None:
    if propensity is None:
        return None
    found = finite_number("propensity", propensity)
    if not 0.0 < found <= 1.0:
        raise InvalidInputError(
            f"propensity must be a probability above 0, or None if it is unknown, got {found}"
        )
    return found


# ---- several decisions together


def check_k(policy: AgentPolicy, request: Request, k: Any) -> tuple[Request, int]:
    """Validate the number of actions to choose; return it and the request with a mask to change."""
    arms, allowed = policy.compiled.check_rows(request.arms, request.allowed)
    size, available = whole("k", k), int(allowed.sum())
    if size > available:
        raise InvalidInputError(f"k must be at most the {available} available, got {size}")
    return request._replace(arms=arms, allowed=allowed), size


def choose_k(state: AgentState, policy: AgentPolicy, request: Request, k: int) -> Choices:
    """Let the policy choose k arms, each as if those before it were not available."""
    allowed, decisions = request.allowed, []
    assert allowed is not None  # check_k makes one
    for _ in range(k):
        decision = choose_one(state, policy, request)
        decision.propensity = None
        allowed[decision.arm] = False
        decisions.append(decision)
    return gather(decisions)


def read_many(
    state: AgentState,
    *,
    arms: ArrayLike | Sequence[ArrayLike] | None,
    mask: ArrayLike | None,
    contexts: Sequence[Context | None] | None,
    actions: Actions | Sequence[Actions] | None,
) -> ManyInputs:
    """Read the arguments of `Agent.select_many`."""
    if contexts is None and actions is None:
        return read_arms(arms, mask, state.policy.dim)
    if arms is not None or mask is not None:
        raise InvalidInputError("select_many takes arms, or contexts and actions, not both")
    return read_named(state.encoder, contexts, actions)


def choose_many(state: AgentState, policy: AgentPolicy, many: ManyInputs) -> Choices:
    """Let the policy choose in each of many decisions, block by block."""
    return join_choices([policy.choose_many(state, block) for block in many.blocks()])


def plan_many(
    state: AgentState,
    choices: Choices,
    now: float,
    *,
    before: BeforeChoice | None,
    log: Log | None,
) -> Plan:
    """Plan the tickets of decisions that were made together; `log` is as for one."""
    issued = choices._replace(first=state.tickets.issued, time=now, version=state.version)
    events: Sequence[Event] = [SelectedMany(issued)]
    if log is not None:
        events = _logged_events(issued, before, log)
    tickets = make_tickets(issued, state.owners[-1].agent)
    return make_plan(state, events, None if before is None else before.undo, tickets)


def _logged_events(issued: Choices, before: BeforeChoice | None, log: Log) -> list[Selected]:
    """Return one event per decision for a ledger; the first has the changes of all of them."""
    changes = None if before is None else before.changes()
    events = []
    for place, number in enumerate(issued.numbers):
        decision, event_id = issued.decision(number), issued.event_id(number)
        made = number, issued.time, decision, None if place else changes, event_id
        events.append(Selected(*made, *log(place)))
    return events
