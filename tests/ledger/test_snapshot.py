"""Snapshots without the tickets that wait: small, and the same agent comes back."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import heavybandits as hb
import ledger_victim as victim
from heavybandits._utils.errors import StateError
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger import resume
from heavybandits.ledger.snapshot import (
    Places,
    pack_numbers,
    pack_snapshot,
    state_in,
    unpack_numbers,
    unpack_snapshot,
)

ARMS, POLICY = victim.arms_of(0, 1), victim.make_policy(1)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ledger counts as long: it is opened from its newest snapshot."""
    monkeypatch.setattr(resume, "CHECKED_WHOLE", 0)


def opened(path: Path, plays: int = 1, max_pending: int = 100_000) -> hb.Agent:
    return hb.Agent(
        victim.make_policy(plays),
        ledger=path,
        snapshot_every=5,
        clock=lambda: 0.0,
        max_pending=max_pending,
    )


def bits(agent: hb.Agent) -> bytes:
    return pack(anonymous(agent.state))


def altered(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()


@pytest.mark.parametrize("plays", [1, victim.PLAYS])
@pytest.mark.parametrize("seed", range(3))
def test_the_waiting_tickets_come_back_from_the_log(
    tmp_path: Path, plays: int, seed: int, long: None
) -> None:
    """Rewards in any order, cancelled and expired tickets, clears and restarts in between."""
    dice, path = np.random.default_rng(seed), tmp_path / "agent.db"
    agent = opened(path, plays, max_pending=12)
    for step in range(120):
        agent.select(victim.arms_of(0, plays), event_id=f"order-{step}")
        for ticket in dice.permutation(agent.pending)[: dice.integers(3)]:
            if dice.random() < 0.7:
                agent.update(int(ticket), float(dice.normal()))
            else:
                agent.cancel(int(ticket))
        if dice.random() < 0.02:
            agent.cancel_all() if dice.random() < 0.5 else agent.reset()
        if dice.random() < 0.2:
            wanted = bits(agent)
            agent.close()
            agent = opened(path, plays, max_pending=12)
            assert bits(agent) == wanted
            assert all(agent.find(f"order-{n}") is not None for n in range(step + 1))
    agent.close()


def test_the_size_of_a_snapshot_does_not_grow_with_features_that_wait(tmp_path: Path) -> None:
    sizes = []
    for waiting in (10, 2010):
        path = tmp_path / f"{waiting}.db"
        with opened(path) as agent:
            agent.select_many(np.broadcast_to(ARMS, (waiting, *ARMS.shape)))
        with sqlite3.connect(path) as database:
            sizes += database.execute("SELECT max(length(data)) FROM states").fetchone()
        database.close()
    assert sizes[1] - sizes[0] < 2 * 2000 + 100


def test_a_waiting_ticket_whose_row_was_altered_is_noticed(tmp_path: Path, long: None) -> None:
    with opened(tmp_path / "agent.db") as agent:
        agent.select(ARMS)
        for _ in range(20):
            agent.update(agent.select(ARMS), 1.0)
    altered(tmp_path / "agent.db", "UPDATE events SET expected = 0.5 WHERE event = 1")
    with pytest.raises(hb.LedgerError, match="event 1 is missing or altered"):
        opened(tmp_path / "agent.db")


def test_a_long_ledger_is_opened_from_its_snapshot(tmp_path: Path, long: None) -> None:
    """Old rows are checked by `ledger check`, not by an agent that opens a long ledger."""
    path = tmp_path / "agent.db"
    with opened(path) as agent:
        for _ in range(20):
            agent.update(agent.select(ARMS), 1.0)
        wanted = bits(agent)
    altered(path, "UPDATE events SET reward = 9.0 WHERE event = 4")
    with opened(path) as agent:
        assert bits(agent) == wanted
    for reader in (hb.LedgerReader, hb.Agent.rebuild):
        with pytest.raises(hb.LedgerError, match="event 4 is missing or altered"):
            reader(path)


@pytest.mark.parametrize("statement", ["seal = x'00'", "data = x'00'"])
def test_without_its_newest_snapshot_a_long_ledger_is_checked_from_the_one_before(
    tmp_path: Path, long: None, statement: str
) -> None:
    path = tmp_path / "agent.db"
    with opened(path) as agent:
        for _ in range(20):
            agent.update(agent.select(ARMS), 1.0)
        wanted = bits(agent)
    altered(path, f"UPDATE states SET {statement} WHERE event > 0")
    with opened(path) as agent:
        assert bits(agent) == wanted
    altered(path, f"UPDATE states SET {statement} WHERE event > 0")
    altered(path, "UPDATE events SET reward = 9.0 WHERE event = 4")
    with pytest.raises(hb.LedgerError, match="event 4 is missing or altered"):
        opened(path)


@pytest.mark.parametrize("harm", ["DELETE FROM events WHERE event > 38", "DELETE FROM events"])
def test_a_long_ledger_that_lost_its_end_is_not_opened(
    tmp_path: Path, long: None, harm: str
) -> None:
    path = tmp_path / "agent.db"
    with opened(path) as agent:
        for _ in range(20):
            agent.update(agent.select(ARMS), 1.0)
    altered(path, harm)
    with pytest.raises(hb.LedgerError, match="but 40 were written"):
        opened(path)


def test_a_head_older_than_the_snapshot_is_compared_with_its_event(
    tmp_path: Path, long: None
) -> None:
    path, head = tmp_path / "agent.db", tmp_path / "agent.db-head"
    with opened(path) as agent:
        agent.update(agent.select(ARMS), 1.0)
    older = head.read_bytes()
    with opened(path) as agent:
        for _ in range(20):
            agent.update(agent.select(ARMS), 1.0)
    head.write_bytes(older)
    opened(path).close()
    with opened(tmp_path / "other.db") as agent:
        agent.select(ARMS)
    head.write_bytes((tmp_path / "other.db-head").read_bytes())
    with pytest.raises(hb.LedgerError, match="not the ledger that its -head file belongs to"):
        opened(path)


# ---- the bytes


@pytest.mark.parametrize(
    "numbers", [[], [3], [0, 1, 2], [5, 1 << 40, 6], list(range(0, 10**6, 999))]
)
def test_numbers_come_back(numbers: list[int]) -> None:
    assert unpack_numbers(pack_numbers(np.array(numbers, np.int64))).tolist() == numbers


def test_a_snapshot_that_no_agent_wrote_is_rejected(tmp_path: Path) -> None:
    with opened(tmp_path / "agent.db") as agent:
        agent.select(ARMS)
        assert agent.ledger is not None
        data = agent.ledger.database.rows("SELECT data FROM states WHERE event = 0")[0][0]
        state = agent.state
    start = unpack_snapshot(data, state.policy, None)
    assert unpack_snapshot(data, state.policy, None).events.tolist() == []
    assert pack(start.state) == state_in(data)
    many = Places(np.arange(2), np.array([1, 2]), 2)
    for harmed in (
        b"",
        data[:15],
        (1 << 40).to_bytes(8, "little") + data[8:],
        data[:16] + b"\x09" + data[17:],
        pack_snapshot(start.state, many),
        pack_snapshot(state, many._replace(events=np.array([7, 3]))),
    ):
        with pytest.raises(StateError):
            unpack_snapshot(harmed, state.policy, None)
