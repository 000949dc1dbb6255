"""Raw inputs: complete, erasable without breaking the chain, never altered unnoticed."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger.repair import examine, repair

POLICY = hb.linucb(dim=2, radius=1.0)
ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
MASK = np.array([True, False, True])


def made(path: Path) -> Path:
    """A ledger of three decisions: all rows, a mask, and a batch of one."""
    with hb.Agent(POLICY, ledger=path) as agent:
        agent.update(agent.select(ARMS, event_id="first"), 1.0)
        agent.update(agent.select(ARMS, MASK), 0.5)
        agent.select_many([ARMS[:2]])
    return path


def test_a_decision_is_stored_with_all_that_was_available(tmp_path: Path) -> None:
    path = made(tmp_path / "agent.db")
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT available, arms FROM plays ORDER BY ticket").fetchall()
    assert [json.loads(available) for available, _ in rows] == [3, [0, 2], 2]
    found = [np.frombuffer(arms).reshape(-1, 2) for _, arms in rows]
    assert [arms.tolist() for arms in found] == [x.tolist() for x in (ARMS, ARMS, ARMS[:2])]


def test_erased_inputs_leave_an_intact_ledger(tmp_path: Path) -> None:
    path = made(tmp_path / "agent.db")
    with hb.Agent(POLICY, ledger=path) as agent:
        assert agent.erase_inputs(["first", 1]) == 2
        assert agent.erase_inputs(["first", 1]) == 0
        after = pack(anonymous(agent.state))
        with pytest.raises(hb.InvalidInputError, match="issued"):
            agent.erase_inputs([2, 9])
    assert examine(path).intact
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM inputs").fetchone() == (1,)
    assert pack(anonymous(hb.Agent.rebuild(path).state)) == after
    with hb.Agent(POLICY, ledger=path) as agent:
        assert agent.select(ARMS, event_id="first").id == 0


def test_erased_inputs_are_in_no_file(tmp_path: Path) -> None:
    path, secret = tmp_path / "agent.db", [[0.123456789, 0.1], [0.687654321, 0.2]]
    with hb.Agent(POLICY, ledger=path) as agent:
        ticket = agent.select(secret)
        other = np.array(secret[1 - ticket.arm]).tobytes()
        assert any(other in file.read_bytes() for file in tmp_path.iterdir())
        agent.erase_inputs([ticket])
        assert not any(other in file.read_bytes() for file in tmp_path.iterdir())


def test_altered_inputs_are_found(tmp_path: Path) -> None:
    path = made(tmp_path / "agent.db")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE inputs SET context = '{}' WHERE event = 3")
    assert examine(path).problems == ["the inputs of event 3 were altered"]
    with pytest.raises(hb.LedgerError, match="inputs of event 3"):
        hb.Agent.rebuild(path)
    assert repair(path, tmp_path / "saved.db").after.intact


def test_without_log_inputs_only_what_was_available_is_stored(tmp_path: Path) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db", log_inputs=False) as agent:
        agent.select(ARMS, MASK)
        assert agent.ledger is not None
        rows = agent.ledger.database.rows("SELECT available, arms FROM plays")
    assert rows == [("[0,2]", None)]


def test_a_reward_from_before_a_restart_is_not_revised(tmp_path: Path) -> None:
    """A revision of it changed theta although `auto` had forgotten that reward."""
    rng, theta = np.random.default_rng(5), np.array([0.6, -0.8, 0.3])
    with hb.Agent(hb.auto(dim=3), ledger=tmp_path / "agent.db") as agent:
        tickets = agent.select_many(rng.normal(size=(500, 1, 3)))
        noise, units = 0.3 * rng.normal(size=500), [1.0] * 200 + [100.0] * 300
        rewards = [
            (t.features @ theta + e) * u for t, e, u in zip(tickets, noise, units, strict=True)
        ]
        agent.update_many(list(zip(tickets, rewards, strict=True)))
        assert agent.restarts == 1
        before = agent.theta
        agent.revise(tickets[5], 9.0)
        assert (agent.theta == before).all()
        agent.revise(tickets[-1], 0.0)
        assert (agent.theta != before).any()
        after = pack(anonymous(agent.state))
    assert pack(anonymous(hb.Agent.rebuild(tmp_path / "agent.db").state)) == after
