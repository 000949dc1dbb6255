"""The files next to a ledger: nothing is written through a link, nor over what is not ours."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
import ledger_victim as victim
from heavybandits.ledger.head import End, Head, Record, read_head
from heavybandits.ledger.repair import examine, export, repair

ARMS, POLICY = victim.arms_of(0, 1), victim.make_policy(1)
ENDINGS = ("", "-head", "-wal", "-shm", "-journal")
PRECIOUS = b"precious " * 20


def opened(path: Path) -> hb.Agent:
    return hb.Agent(POLICY, ledger=path)


def reader(path: Path) -> None:
    hb.LedgerReader(path).close()


READERS: dict[str, Callable[[Path], Any]] = {
    "Agent": opened,
    "rebuild": hb.Agent.rebuild,
    "LedgerReader": reader,
    "check": examine,
    "repair": lambda path: repair(path, path.with_name("new.db")),
    "export": lambda path: export(path, path.with_name("new.csv")),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with opened(path) as agent:
        agent.update(agent.select(ARMS), 1.0)
    return path


def contents(folder: Path) -> dict[str, bytes | str]:
    return {
        str(place.relative_to(folder)): os.readlink(place)
        if place.is_symlink()
        else (place.read_bytes() if place.is_file() else "no file")
        for place in sorted(folder.rglob("*"))
    }


# ---- links and what is no file


@pytest.mark.parametrize("who", READERS)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "pipe"])
def test_what_is_no_file_is_named_and_left_alone(
    path: Path, who: str, ending: str, kind: str
) -> None:
    """F17: agent.db-head was written through a link, over the file to which it led."""
    place, decoy = Path(f"{path}{ending}"), path.with_name("decoy")
    decoy.write_bytes(PRECIOUS)
    place.unlink(missing_ok=True)
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(decoy if kind == "link" else path.with_name("nowhere"))
    before = contents(path.parent)
    words = f"{place.name} is a {kind.split()[-1]}"
    with pytest.raises(hb.LedgerError, match=words):
        READERS[who](path)
    assert contents(path.parent) == before


@pytest.mark.parametrize("ending", ["", "-head", "-wal"])
def test_a_file_with_a_second_name_is_not_written(path: Path, ending: str) -> None:
    agent = opened(path)
    agent.select(ARMS)
    assert agent.ledger is not None
    agent.ledger.drop()
    if not Path(f"{path}{ending}").exists():
        Path(f"{path}{ending}").touch()
    os.link(f"{path}{ending}", path.with_name("second"))
    for who in ("Agent", "LedgerReader"):
        with pytest.raises(hb.LedgerError, match="has 2 names"):
            READERS[who](path)
    assert examine(path).intact


# ---- files that are not ours


@pytest.mark.parametrize("ending", ENDINGS[1:])
@pytest.mark.parametrize("there", [True, False])
def test_a_foreign_file_is_neither_overwritten_nor_removed(
    path: Path, ending: str, there: bool
) -> None:
    """F17: a file that was no head was deleted; SQLite empties and removes the others."""
    if not there:
        path.unlink()
        Path(f"{path}-head").unlink()
    Path(f"{path}{ending}").write_bytes(PRECIOUS)
    before = contents(path.parent)
    for who in ("Agent", "LedgerReader"):
        with pytest.raises(hb.LedgerError, match=f"{path.name}{ending} is damaged, or not a file"):
            READERS[who](path)
    assert contents(path.parent) == before


@pytest.mark.parametrize("size", [0, 3, 4096, 20480])
def test_what_a_full_disk_left_of_the_shared_file_is_ours(path: Path, size: int) -> None:
    """SQLite lengthens it page by page; a ledger was not opened again when there was room."""
    Path(f"{path}-shm").write_bytes(bytes(size))
    with opened(path) as agent:
        assert agent.updates == 1


def test_a_foreign_head_survives_a_ledger_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_bytes(b"no database " * 500)
    for data in (b"my own file", b""):
        (tmp_path / "notes.db-head").write_bytes(data)
        with pytest.raises(hb.LedgerError):
            opened(tmp_path / "notes.db")
        assert (tmp_path / "notes.db-head").read_bytes() == data
    (tmp_path / "notes.db-head").unlink()
    with pytest.raises(hb.LedgerError, match="not a database"):
        opened(tmp_path / "notes.db")
    assert os.listdir(tmp_path) == ["notes.db"]


def test_a_foreign_head_is_no_intact_ledger(path: Path) -> None:
    Path(f"{path}-head").write_bytes(PRECIOUS)
    assert examine(path).problems == ["its -head file is not the head of a ledger"]
    with pytest.raises(hb.LedgerError, match="not the head of a ledger"):
        hb.Agent.rebuild(path)


def test_a_log_without_its_ledger_is_not_deleted(path: Path) -> None:
    """SQLite removes a log that it finds next to a new database."""
    agent = opened(path)
    agent.select(ARMS)
    log = Path(f"{path}-wal").read_bytes()
    agent.close()
    for left in (path, Path(f"{path}-head")):
        left.unlink()
    Path(f"{path}-wal").write_bytes(log)
    with pytest.raises(hb.LedgerError, match="it is empty, but its log is not"):
        opened(path)
    assert contents(path.parent) == {"agent.db-wal": log}


def test_a_journal_that_was_not_flushed_is_ours(path: Path) -> None:
    """SQLite writes zeros in place of its mark until the flush: an agent may be killed before."""
    new = path.with_name("new.db")
    header = bytes(12) + b"\x9f\x1c\x04\x77" + bytes(4) + b"\0\0\x02\0\0\0\x10\0"
    Path(f"{new}-journal").write_bytes(header + bytes(484))
    with opened(new) as agent:
        agent.update(agent.select(ARMS), 1.0)
    assert examine(new).intact
    assert not Path(f"{new}-journal").exists()


# ---- the end


def test_a_head_says_where_the_ledger_ended(path: Path) -> None:
    end = read_head(path).end
    assert end is not None
    assert end.events == 2
    head = Head(path)
    head.write(End(7, bytes(16)))
    head.close()
    assert read_head(path) == Record(End(7, bytes(16)))
    assert read_head(path.with_name("none")) == Record(None, "missing")
    for data, flaw in ((b"", "damaged"), (b"HBHEAD1\nx", "damaged"), (b"x", "not the head")):
        Path(f"{path}-head").write_bytes(data)
        assert read_head(path).flaw.startswith(flaw)


def test_a_head_that_was_discarded_meanwhile_is_no_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock of a file without a name keeps no other agent out."""
    new, lock, left = path.with_name("new.db"), hb.ledger.head._lock, [1]

    def discarded(file: int, ledger: Path, exclusive: bool) -> None:
        lock(file, ledger, exclusive)
        if left:
            left.pop()
            os.unlink(f"{new}-head")

    monkeypatch.setattr("heavybandits.ledger.head._lock", discarded)
    head = Head(new)
    assert os.fstat(head._file).st_ino == os.stat(f"{new}-head").st_ino
    head.close()
