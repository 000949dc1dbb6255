"""The calls of an agent that the service makes, in one place."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError
from ..agents import decide
from ..agents.agent import Agent
from ..agents.inputs import Inputs
from ..agents.state import BeforeChoice
from ..agents.tickets import Decision, owner_of, ticket_number

MOST_REMEMBERED = 100_000  # event ids

Context = Mapping[str, Any] | None
Actions = Mapping[str, Mapping[str, Any]]


class Noted(NamedTuple):
    """What the service remembers of a decision."""

    ticket: int
    group: str
    action: str
    propensity: float | None
    expected: float
    width: float


class Tagged(Inputs):
    """Named inputs that are logged with the event id and the group of the decision."""

    __slots__ = ("_tags",)

    def __init__(
        self, context: Context, actions: Actions, event_id: str | None, group: str
    ) -> None:
        super().__init__([(context, actions)])
        self._tags = f'"event_id":{json.dumps(event_id)},"group":{json.dumps(group)}'

    def log(self, place: int, action: str) -> str:
        """Return the JSON of what the decision was made from."""
        return f"{super().log(place, action)[:-1]},{self._tags}}}"


class Core:
    """An agent with event ids, groups, and decisions that were made elsewhere.

    Parameters
    ----------
    agent : Agent
        The agent.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._by_event: OrderedDict[str, Noted] = OrderedDict()
        self._groups: dict[int, str] = {}  # of pending tickets
        if agent.ledger is not None:
            self._read_ledger()

    def _read_ledger(self) -> None:
        assert self.agent.ledger is not None
        found = self.agent.ledger.database.rows(
            "SELECT ticket, inputs, action, propensity, expected, width FROM events "
            "WHERE kind = 'select' AND inputs IS NOT NULL ORDER BY event DESC LIMIT ?",
            MOST_REMEMBERED,
        )
        for ticket, inputs, *rest in reversed(found):
            tags = json.loads(inputs)
            noted = Noted(ticket, tags.get("group", "policy"), *rest)
            self._remember(tags.get("event_id"), noted)

    def find(self, event_id: str) -> Noted | None:
        """Return what is known of an event id; None if it is new."""
        return self._by_event.get(event_id)

    def group_of(self, number: int) -> str:
        """Return the group of a pending ticket."""
        return self._groups.get(number, "policy")

    def key_of(self, number: int) -> str:
        """Return the key of a ticket."""
        return f"{owner_of(self.agent._state.owners, number)}:{number}"

    def _remember(self, event_id: str | None, noted: Noted) -> None:
        if noted.ticket in self.agent._state.tickets.pending:
            self._groups[noted.ticket] = noted.group
        if event_id is not None:
            self._by_event[event_id] = noted
            if len(self._by_event) > MOST_REMEMBERED:
                self._by_event.popitem(last=False)

    def _read(self, context: Context, actions: Actions) -> decide.Request:
        return decide.read_request(
            self.agent.encoder,
            self.agent._policy,
            arms=None,
            mask=None,
            context=context,
            actions=actions,
        )

    def select(self, context: Context, actions: Actions, event_id: str | None, group: str) -> Noted:
        """Let the policy decide, and record the decision."""
        agent, request = self.agent, self._read(context, actions)
        with agent._lock:
            now = agent._expire_due(room=1)
            before = agent._before_choice()
            made = decide.choose_one(agent._state, agent._policy, request)
            return self._commit(
                made, now, Tagged(context, actions, event_id, group), before, event_id, group
            )

    def record(
        self,
        context: Context,
        actions: Actions,
        *,
        chosen: str,
        propensity: float | None,
        event_id: str | None,
        group: str,
    ) -> Noted:
        """Record a decision that the policy has not made."""
        agent, request = self.agent, self._read(context, actions)
        arm, rows = list(actions).index(chosen), np.asarray(request.arms)
        mean, width = agent.predict(rows[arm : arm + 1], return_width=True)
        ends = float(mean[0]) + 0.0, float(width[0]) + 0.0
        made = Decision(arm, rows[arm].copy(), *ends, 1, propensity, chosen)
        with agent._lock:
            now = agent._expire_due(room=1)
            return self._commit(
                made, now, Tagged(context, actions, event_id, group), None, event_id, group
            )

    def _commit(
        self,
        made: Decision,
        now: float,
        inputs: Inputs,
        before: BeforeChoice | None,
        event_id: str | None,
        group: str,
    ) -> Noted:
        agent = self.agent
        plan = decide.plan_one(
            agent._state,
            made,
            now,
            before=before,
            durable=agent.ledger is not None,
            inputs=agent._logged(inputs),
        )
        ticket = agent._commit(plan)[0]
        assert ticket.action is not None
        noted = Noted(
            ticket.id, group, ticket.action, ticket.propensity, ticket.expected, ticket.width
        )
        self._remember(event_id, noted)
        return noted

    def decision_of(self, key: str) -> tuple[int, Decision | None]:
        """Return the number of a key, and its decision if it is pending."""
        number = ticket_number(key, self.agent._state.owners)
        return number, self.agent._state.tickets.decision_of(number)

    def update(self, key: str, reward: float, noise_scale: float | None) -> str:
        """Record a reward; return applied, duplicate or late."""
        before = self.agent._state.tickets.counts.copy()
        self.agent.update(key, reward, noise_scale)
        after = self.agent._state.tickets.counts
        for name in ("duplicate", "late"):
            if after[name] > before[name]:
                return name
        self._groups.pop(ticket_number(key, self.agent._state.owners), None)
        return "applied"

    def flush(self) -> None:
        """Do nothing: an agent writes every event to the disk before its call returns."""


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


def warm(agent: Agent) -> None:
    """Compile what traffic needs: one decision and one lesson on a copy."""
    copy = agent.clone()
    if copy.policy.plays != 1:
        raise InvalidInputError("a service needs a policy that makes one play per decision")
    x = np.zeros((1, copy.policy.dim))
    x[0, 0] = 1.0
    copy.update(copy.select(x), 0.0)
    copy.predict(x, return_width=True)
