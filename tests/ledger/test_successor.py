"""Successors: they learn a ledger, follow it while its agent works, and take over."""

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.agents.state import kept
from heavybandits.ledger.successor import Successor

FIRST = hb.linucb(dim=2, radius=1.0)
SECOND = hb.linucb(dim=2, radius=3.0)
ARMS = np.array([[1.0, 0.0], [0.6, 0.8]])


def work(agent: hb.Agent, rounds: int) -> list[str]:
    """Let an agent decide, reward every other decision, and return the keys of the others."""
    waiting = []
    for number in range(rounds):
        ticket = agent.select(ARMS)
        if number % 2:
            agent.update(ticket, float(number % 5))
        else:
            waiting.append(ticket.key)
    return waiting


@pytest.fixture
def taken(tmp_path):
    """Return the agent that took over, and tickets from before, meanwhile and just before it."""
    agent = hb.Agent(FIRST, ledger=tmp_path / "one.db")
    keys = work(agent, 30)
    successor = Successor(tmp_path / "one.db", SECOND, tmp_path / "two.db")
    keys += work(agent, 1500)
    successor.follow()
    keys += work(agent, 10)
    made = successor.take_over(agent)
    agent.close()
    yield made, keys
    made.close()


def test_it_accepts_every_ticket_of_the_agent_before_it(taken):
    agent, keys = taken
    assert [agent.update(key, 1.0) for key in keys] == ["applied"] * len(keys)
    assert agent.update(agent.select(ARMS).key, 2.0) == "applied"


def test_it_has_learned_what_a_rebuilt_agent_learns(taken, tmp_path):
    agent, _ = taken
    rebuilt = hb.Agent.rebuild(tmp_path / "one.db", SECOND)
    assert agent.policy == SECOND
    assert agent.updates == rebuilt.updates == 770
    for name, array in kept(agent.state.learned).items():
        assert array.tobytes() == kept(rebuilt.state.learned)[name].tobytes()


def test_its_ledger_continues_after_a_restart(taken, tmp_path):
    agent, keys = taken
    issued = agent.state.tickets.issued
    agent.close()
    with hb.Agent(SECOND, ledger=tmp_path / "two.db") as again:
        assert again.state.tickets.issued == issued
        assert again.update(keys[0], 1.0) == again.update(keys[-1], 1.0) == "applied"
        with pytest.raises(hb.ForeignTicketError):
            again.update(f"{'0' * 16}:{issued - 1}", 1.0)


def test_one_that_gives_up_leaves_the_agent_alone(tmp_path):
    with hb.Agent(FIRST, ledger=tmp_path / "one.db") as agent:
        work(agent, 10)
        Successor(tmp_path / "one.db", SECOND, tmp_path / "two.db").close()
        assert agent.update(agent.select(ARMS), 1.0) == "applied"
