"""What a policy would decide, without a record of it."""

from collections.abc import Mapping
from typing import Any

from ..agents import decide
from ..agents.agent import Agent
from ..agents.state import BeforeChoice
from ..agents.tickets import Decision

Context = Mapping[str, Any] | None
Actions = Mapping[str, Mapping[str, Any]]


def peek(agent: Agent, context: Context, actions: Actions) -> Decision:
    """Return the decision that the policy would make; nothing is recorded or changed."""
    request = decide.read_request(
        agent.encoder, agent._policy, arms=None, mask=None, context=context, actions=actions
    )
    with agent._lock:
        state = agent.state
        before = BeforeChoice(state) if agent._policy.leaves_traces(state) else None
        try:
            return decide.choose_one(state, agent._policy, request)
        finally:
            if before is not None:
                before.undo()
