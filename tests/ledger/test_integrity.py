"""One check for every reader of a ledger: a ledger that has lost something is read by none."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
import ledger_victim as victim
from heavybandits.ledger.repair import examine, export, repair

ARMS, POLICY = victim.arms_of(0, 1), victim.make_policy(1)


def opened(path: Path) -> hb.Agent:
    return hb.Agent(POLICY, ledger=path, snapshot_every=8, clock=lambda: 0.0)


def read(path: Path) -> None:
    with hb.LedgerReader(path) as reader:
        reader.history()


def check(path: Path) -> None:
    found = examine(path)
    assert export(path, path.with_name("events.csv")).problems == found.problems
    for why in found.problems:
        raise hb.LedgerError(why)


READERS: dict[str, Callable[[Path], Any]] = {
    "Agent": lambda path: opened(path).close(),
    "rebuild": hb.Agent.rebuild,
    "LedgerReader": read,
    "check": check,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The files of an agent that was killed: part of its ledger is in the log."""
    path = tmp_path / "agent.db"
    with opened(path) as agent:
        agent.update(agent.select(ARMS), 1.0)
    agent = opened(path)
    for number in range(10):
        agent.update(agent.select(ARMS), float(number))
    files = victim.files_of(path)
    agent.close()
    for ending, data in files.items():
        Path(f"{path}{ending}").write_bytes(data)
    return path


def lose_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def cut_log(path: Path) -> None:
    log = Path(f"{path}-wal")
    log.write_bytes(log.read_bytes()[: victim.LOG_HEADER + 4 * victim.LOG_FRAME])


def lose_head(path: Path) -> None:
    Path(f"{path}-head").unlink()


def lose_log_and_head(path: Path) -> None:
    lose_log(path)
    lose_head(path)


def damage_head(path: Path) -> None:
    head = Path(f"{path}-head")
    head.write_bytes(head.read_bytes()[:-1] + b"?")


def swap_head(path: Path) -> None:
    other = path.with_name("other.db")
    opened(other).close()
    shutil.copy(f"{other}-head", f"{path}-head")


def lose_database(path: Path) -> None:
    path.unlink()


def empty_database(path: Path) -> None:
    path.write_bytes(b"")


def cut_tail(path: Path) -> None:
    """Events are deleted in a closed ledger, and its head is lost: its last state tells."""
    opened(path).close()
    alter(path, "DELETE FROM events WHERE event > 8")
    lose_head(path)


def alter_event(path: Path) -> None:
    alter(path, "UPDATE events SET reward = 99.0 WHERE event = 12")


def alter(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


DAMAGE: dict[Callable[[Path], None], str] = {
    lose_log: r"it ends at event 18, but 22 were written",
    cut_log: r"it ends at event \d+, but 22 were written",
    lose_head: "was not closed, or copied while it was open, and its -head file is missing",
    lose_log_and_head: "its -head file is missing: it has 18 events, and later ones may be missing",
    damage_head: "its -head file is damaged: it has 22 events",
    swap_head: "not the ledger that its -head file belongs to",
    lose_database: "it is empty, but 22 events were written",
    empty_database: "it is empty, but 22 events were written",
    cut_tail: "it ends at event 8, but has the state after 22",
    alter_event: "event 12 is missing or altered",
}


@pytest.mark.parametrize("who", READERS)
@pytest.mark.parametrize("harm", DAMAGE, ids=lambda harm: harm.__name__)
def test_no_reader_takes_a_ledger_that_has_lost_something(
    path: Path, who: str, harm: Callable[[Path], None]
) -> None:
    """F3: `rebuild` and the reader ignored the head, and read what was left without an error."""
    files = victim.files_of(path)
    READERS[who](path)
    for ending, data in files.items():
        Path(f"{path}{ending}").write_bytes(data)
    harm(path)
    left = set(os.listdir(path.parent))
    with pytest.raises(hb.LedgerError, match=DAMAGE[harm]):
        READERS[who](path)
    assert set(os.listdir(path.parent)) - left <= {"agent.db-shm", "agent.db-wal", "events.csv"}


def test_a_reader_does_not_make_a_copy_look_complete(path: Path, tmp_path: Path) -> None:
    """A reader leaves an empty log next to what it reads."""
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    for _ in range(2):
        for who in READERS.values():
            with pytest.raises(hb.LedgerError, match="copied while it was open"):
                who(copy)


def test_a_damaged_first_state_cannot_be_rebuilt_from(path: Path) -> None:
    alter(path, "UPDATE states SET data = x'00' WHERE event = 0")
    with pytest.raises(hb.LedgerError, match="its first state is not intact"):
        hb.Agent.rebuild(path)
    opened(path).close()


def test_a_damaged_index_is_noticed(path: Path) -> None:
    """The history is read by way of an index, whose contents no chain of hashes covers."""
    opened(path).close()
    database = sqlite3.connect(path)
    root = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'settled'").fetchone()
    size = database.execute("PRAGMA page_size").fetchone()[0]
    database.close()
    data = bytearray(path.read_bytes())
    data[root[0] * size - 2] ^= 4  # another ticket
    path.write_bytes(data)
    for who in READERS.values():
        with pytest.raises(hb.LedgerError):
            who(path)


def test_the_message_says_what_to_do(path: Path, tmp_path: Path) -> None:
    cut_log(path)
    with pytest.raises(hb.LedgerError, match=r"run `heavybandits ledger repair .*agent\.db new"):
        hb.Agent.rebuild(path)
    before, after = repair(path, tmp_path / "new.db")
    assert after.intact
    assert before.problems == [f"it ends at event {after.events}, but 22 were written"]
    for who in READERS.values():
        who(tmp_path / "new.db")


def test_an_online_backup_can_be_repaired(path: Path, tmp_path: Path) -> None:
    with opened(path) as agent:
        source, copy = sqlite3.connect(path), sqlite3.connect(tmp_path / "copy.db")
        source.backup(copy)
        source.close()
        copy.close()
        wanted = agent.history()
    with pytest.raises(hb.LedgerError, match="it has 22 events, and later ones may be missing"):
        opened(tmp_path / "copy.db")
    repair(tmp_path / "copy.db", tmp_path / "good.db")
    with opened(tmp_path / "good.db") as agent:
        assert agent.history() == wanted


def test_a_reader_checks_what_came_since(path: Path) -> None:
    with opened(path) as agent, hb.LedgerReader(path) as reader:
        assert reader.events == 22
        agent.update(agent.select(ARMS), 1.0)
        assert reader.events == 24
        assert reader.history() == agent.history()
        Path(f"{path}-head").write_bytes(b"")
        with pytest.raises(hb.LedgerError, match="its -head file is damaged"):
            reader.history()


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for who in ("rebuild", "LedgerReader", "check"):
        with pytest.raises(hb.InvalidInputError, match="is not a file"):
            READERS[who](tmp_path / "none.db")
    assert os.listdir(tmp_path) == []
