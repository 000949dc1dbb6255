"""Tickets by event id or key: the same id returns the same ticket, pending or settled."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb

POLICY = hb.linucb(dim=2, radius=1.0)
ARMS = [[1.0, 0.0], [0.6, 0.8]]
OTHER = [[0.0, 1.0], [0.6, 0.8]]


def without_features(ticket: hb.Ticket) -> tuple[Any, ...]:
    return (ticket.features.tolist(), *ticket._replace(features=None)[:2], *ticket[3:])  # type: ignore[arg-type]


def test_the_same_event_id_returns_the_same_ticket_also_after_a_restart(tmp_path: Path) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        first = agent.select(ARMS, event_id="order-1", group="trial")
        again = agent.select(ARMS, event_id="order-1")
        assert without_features(again) == without_features(first)
        assert agent.update(first, 1.0) == "applied"
        settled = agent.select(ARMS, event_id="order-1")
        assert without_features(settled) == without_features(first)
        assert (first.event_id, first.group, first.version) == ("order-1", "trial", 1)
        assert agent.ledger is not None
        assert agent.ledger.length == 2
        waiting = agent.select(ARMS, event_id="order-2")
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        for made in (first, waiting):
            assert without_features(agent.select(ARMS, event_id=str(made.event_id))) == (
                without_features(made)
            )
            assert without_features(agent.ticket(made.key)) == without_features(made)
            assert agent.ticket(str(made.event_id)).id == made.id
        assert agent.ledger is not None
        assert agent.ledger.length == 3


def test_another_context_under_one_event_id_is_rejected(tmp_path: Path) -> None:
    for ledger in (None, tmp_path / "agent.db"):
        with hb.Agent(POLICY, ledger=ledger) as agent:
            agent.select(ARMS, event_id="order-1")
            before = agent.pending
            for request in ({"arms": OTHER}, {"arms": ARMS, "mask": [False, True]}):
                with pytest.raises(hb.InvalidInputError, match="order-1"):
                    agent.select(**request, event_id="order-1")
            assert agent.pending == before


@pytest.mark.parametrize("wrong", ["", "x" * 201, 7, "a\nb", "0123456789abcdef:7"])
def test_what_is_no_event_id_is_rejected(wrong: Any) -> None:
    agent = hb.Agent(POLICY)
    with pytest.raises(hb.InvalidInputError, match="event_id"):
        agent.select(ARMS, event_id=wrong)
    assert agent.pending == []


def test_an_agent_in_memory_knows_pending_tickets_and_saves_their_ids(tmp_path: Path) -> None:
    agent = hb.Agent(POLICY)
    ticket = agent.select(ARMS, event_id="order-1", group="trial")
    agent.save(tmp_path / "agent.state")
    loaded = hb.Agent.load(tmp_path / "agent.state")
    assert without_features(loaded.select(ARMS, event_id="order-1")) == without_features(ticket)
    agent.update(ticket, 1.0)
    with pytest.raises(hb.InvalidInputError, match="without a ledger"):
        agent.ticket(ticket.key)
    assert agent.select(ARMS, event_id="order-1").id == 1


def test_update_says_what_happened(tmp_path: Path) -> None:
    now = [0.0]
    with hb.Agent(
        POLICY, ledger=tmp_path / "agent.db", expire_after=10.0, clock=lambda: now[0]
    ) as agent:
        one, two = agent.select(ARMS), agent.select(ARMS)
        assert agent.update(one, 1.0) == "applied"
        now[0] = 20.0
        three = agent.select(ARMS)
        given = [(one, 1.0), (two, 1.0), (three, 2.0)]
        assert agent.update_many(given) == ["duplicate", "late", "applied"]


def test_the_version_grows_with_each_reset_and_rebuild(tmp_path: Path) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        assert agent.select(ARMS).version == 1
        agent.reset()
        assert agent.select(ARMS).version == agent.version == 2
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        assert agent.version == 2
    with hb.Agent.rebuild(tmp_path / "agent.db", output=tmp_path / "new.db") as made:
        assert made.version == made.select(ARMS).version == 3
        assert [made.ticket(n).version for n in range(3)] == [1, 2, 3]


def test_a_decision_is_explained_by_its_key_or_event_id_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=path) as agent:
        ticket = agent.select([[1.0, 0.0], [0.6, 0.8]], event_id="order-1")
        agent.update(ticket, 2.0)
        agent.select([[0.0, 1.0]])
    with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=path) as agent:
        expected = agent.explain(ticket)
        for name in (ticket.key, "order-1", ticket.id):
            assert np.array_equal(agent.explain(name).contributions, expected.contributions)
        with pytest.raises(hb.InvalidInputError):
            agent.explain("order-2")


def test_a_ticket_shows_no_width_before_there_is_one():
    agent = hb.Agent(hb.auto(dim=2))
    assert ", width unknown" in repr(agent.select([[1.0, 0.0], [0.0, 1.0]]))
