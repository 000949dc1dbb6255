"""Backups of a ledger that is in use, and keys that were issued after the backup."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import heavybandits as hb
import ledger_victim as victim
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.cli.app import cli
from heavybandits.ledger.backup import backup
from heavybandits.ledger.repair import examine, repair

POLICY = hb.linucb(dim=2, radius=1.0)
A, B = [[1.0, 0.0]], [[0.0, 1.0]]


def opened(path: Path) -> hb.Agent:
    return hb.Agent(POLICY, ledger=path, snapshot_every=7, clock=lambda: 0.0)


def bits(agent: hb.Agent) -> bytes:
    return pack(anonymous(agent.state))


# ---- a backup while an agent works


def test_a_backup_of_a_ledger_in_use_is_the_agent_of_that_moment(tmp_path: Path) -> None:
    with opened(tmp_path / "live.db") as agent:
        for number in range(50):
            agent.update(agent.select([A[0], B[0]]), float(number))
        ticket, wanted = agent.select(A), bits(agent)
        assert agent.backup(tmp_path / "copy.db") == tmp_path / "copy.db"
        agent.update(ticket, 1.0)
    found = examine(tmp_path / "copy.db")
    assert (found.problems, found.events) == ([], 101)
    assert sorted(os.listdir(tmp_path)) == sorted(
        f"{name}.db{ending}" for name in ("live", "copy") for ending in ("", "-head")
    )
    with opened(tmp_path / "copy.db") as copy:
        assert bits(copy) == wanted
        assert copy.update(ticket.key, 2.0) == "applied"
    rebuilt = hb.Agent.rebuild(tmp_path / "copy.db")
    assert rebuilt.updates == 51


def test_the_command_makes_a_backup(tmp_path: Path) -> None:
    with opened(tmp_path / "live.db") as agent:
        agent.update(agent.select(A), 1.0)
        arguments = ["ledger", "backup", str(tmp_path / "live.db"), str(tmp_path / "copy.db")]
        result = CliRunner().invoke(cli, arguments)
        assert "copied 2 events" in result.output
        assert CliRunner().invoke(cli, arguments).exit_code != 0
    assert examine(tmp_path / "copy.db").intact


def test_a_damaged_ledger_has_no_backup(tmp_path: Path) -> None:
    with opened(tmp_path / "live.db") as agent:
        agent.update(agent.select(A), 1.0)
    with sqlite3.connect(tmp_path / "live.db") as database:
        database.execute("UPDATE events SET reward = 9.0 WHERE event = 2")
    database.close()
    with pytest.raises(hb.LedgerError, match=r"live\.db is damaged: event 2 is missing or altered"):
        backup(tmp_path / "live.db", tmp_path / "copy.db")
    assert "copy.db" not in os.listdir(tmp_path)


def test_a_backup_needs_a_ledger_and_a_new_file(tmp_path: Path) -> None:
    with pytest.raises(hb.InvalidInputError, match="needs an agent with a ledger"):
        hb.Agent(POLICY).backup(tmp_path / "copy.db")
    with pytest.raises(hb.InvalidInputError, match="is not a file"):
        backup(tmp_path / "none.db", tmp_path / "copy.db")
    with opened(tmp_path / "live.db") as agent:
        with pytest.raises(hb.InvalidInputError, match="must be a new file"):
            agent.backup(tmp_path / "live.db")
        with pytest.raises(hb.InvalidInputError, match="folder that exists"):
            agent.backup(tmp_path / "nowhere" / "copy.db")


# ---- restored copies


def copied_closed(agent: hb.Agent, copy: Path) -> None:
    """Copy the files, as `cp` does, after the agent has closed its ledger."""
    path = _path(agent)
    agent.close()
    for ending in ("", "-head"):
        shutil.copy2(f"{path}{ending}", f"{copy}{ending}")


def copied_open(agent: hb.Agent, copy: Path) -> None:
    """Copy the files of one moment while the ledger is open, as a snapshot of the disk does."""
    for ending, data in victim.files_of(_path(agent)).items():
        Path(f"{copy}{ending}").write_bytes(data)
    agent.close()


def backed_up(agent: hb.Agent, copy: Path) -> None:
    agent.backup(copy)
    agent.close()


def online(agent: hb.Agent, copy: Path) -> None:
    """SQLite's own backup has no head: `repair` makes a ledger of what it has."""
    source, target = sqlite3.connect(_path(agent)), sqlite3.connect(f"{copy}.raw")
    source.backup(target)
    source.close()
    target.close()
    agent.close()
    repair(f"{copy}.raw", copy)


def _path(agent: hb.Agent) -> Path:
    assert agent.ledger is not None
    return Path(agent.ledger.path)


@pytest.mark.parametrize("copy", [copied_closed, copied_open, backed_up, online])
def test_a_key_issued_after_the_backup_is_never_credited_to_another_decision(
    tmp_path: Path, copy: Callable[[hb.Agent, Path], None]
) -> None:
    """F4: the restored ledger issued the same key again, for another customer."""
    path, monday = tmp_path / "shop.db", tmp_path / "monday.db"
    agent = opened(path)
    for _ in range(5):
        agent.update(agent.select(A), 1.0)
    early = agent.select(A).key
    copy(agent, monday)
    with opened(path) as agent:
        tuesday = agent.select(A).key
    with opened(monday) as restored:  # Wednesday: roll back
        theta, wednesday = restored.theta, restored.select(B)
        assert wednesday.key != tuesday
        with pytest.raises(hb.ForeignTicketError):
            restored.update(tuesday, 100.0)
        assert restored.theta.tolist() == theta.tolist()
        assert restored.update(early, 1.0) == "applied"
        assert restored.update(wednesday, 1.0) == "applied"


def test_keys_of_the_session_that_was_copied_are_rejected_too(tmp_path: Path) -> None:
    """The agent that was copied while it worked goes on issuing keys of the same session."""
    with opened(tmp_path / "live.db") as agent:
        early = agent.select(A).key
        agent.backup(tmp_path / "copy.db")
        late = agent.select(A).key
    with opened(tmp_path / "copy.db") as restored:
        other = restored.select(B)
        assert other.id == int(late.split(":")[1])
        with pytest.raises(hb.ForeignTicketError):
            restored.update(late, 100.0)
        assert restored.update(early, 1.0) == "applied"


def test_all_keys_of_many_openings_are_accepted(tmp_path: Path) -> None:
    keys = []
    for _ in range(40):
        with opened(tmp_path / "agent.db") as agent:
            keys.append(agent.select(A).key)
    with opened(tmp_path / "agent.db") as agent:
        assert [agent.update(key, 1.0) for key in keys] == ["applied"] * 40
        late = agent.select(A).key
    rebuilt = hb.Agent.rebuild(tmp_path / "agent.db")
    assert rebuilt.update(late, 1.0) == "applied"
