"""Files of every format there ever was load for ever; newer ones say which version made them."""

import hashlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
import make_fixtures
from heavybandits._utils import files
from heavybandits._utils.files import Format, read_container, write_container
from heavybandits.agents import state_file
from heavybandits.sweeps import store
from paths import FIXTURES

# The bytes of a released format never change: a new format adds a line, and edits none.
FROZEN = {"format_1": "a8b863318cfa5d109e88a05f24e4433d55bb4d935ba102a3cda5ec6759689c6f"}


def digest_of(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        total.update(f"{name}:{path.stat().st_size}:".encode() + path.read_bytes())
    return total.hexdigest()


def test_the_files_of_a_format_are_never_written_again() -> None:
    assert {folder.name: digest_of(folder) for folder in FIXTURES.iterdir()} == FROZEN


def test_an_old_ledger_goes_on(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "format_1" / "agent.db", tmp_path / "agent.db")
    with hb.Agent(make_fixtures.LEDGER_POLICY, ledger=tmp_path / "agent.db") as agent:
        assert agent.updates == 6
        assert len(agent.history()) == 7
        agent.update(agent.pending[0], 1.0)


def test_an_old_cell_is_read() -> None:
    cell = make_fixtures.CELL
    found = store.load_cell(FIXTURES / "format_1", cell)
    assert found is not None
    assert found["roots"].tolist() == [0.0, 1.0]


# ---- an older format: one that never was


def test_an_older_state_file_says_which_version_made_it() -> None:
    agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    agent.update(agent.select(np.eye(2)), 1.0)
    body, blobs = read_container(state_file.FORMAT, state_file.pack(agent.state))
    with pytest.raises(hb.StateError, match="has format 0, written by"):
        state_file.unpack(write_container(Format("state file", 0), body, blobs))


def test_a_ledger_of_another_format_is_rejected(tmp_path: Path) -> None:
    path, policy = tmp_path / "agent.db", hb.linucb(dim=2, radius=1.0)
    with hb.Agent(policy, ledger=path) as agent:
        agent.update(agent.select(np.eye(2)), 1.0)
    database = sqlite3.connect(path)
    database.executescript("PRAGMA user_version = 0")
    database.close()
    with pytest.raises(hb.LedgerError, match="has format 0, written by heavybandits"):
        hb.Agent(policy, ledger=path)


def test_an_older_cell_says_which_version_made_it() -> None:
    cell = make_fixtures.CELL
    body, blobs = read_container(store.FORMAT, store.pack(cell, {"roots": np.ones(2)}, []))
    with pytest.raises(hb.CellError, match="has format 0, written by"):
        store.unpack(write_container(Format("cell", 0), body, blobs), cell)


# ---- what is no state file


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    hb.Agent(hb.linucb(dim=2, radius=1.0)).save(tmp_path / "agent.state")
    return tmp_path / "agent.state"


@pytest.mark.parametrize("change", [lambda d: b"x" + d, lambda d: d + b"x", lambda d: d + d])
def test_bytes_before_or_after_are_refused(saved: Path, change: Any) -> None:
    saved.write_bytes(change(saved.read_bytes()))
    with pytest.raises(hb.StateError, match="is damaged"):
        hb.Agent.load(saved)


def test_a_ledger_is_not_an_agent_nor_the_reverse(tmp_path: Path, saved: Path) -> None:
    policy = hb.linucb(dim=2, radius=1.0)
    hb.Agent(policy, ledger=tmp_path / "agent.db").close()
    with pytest.raises(hb.StateError, match=r"this is a ledger: .*Agent\(policy, ledger=path\)"):
        hb.Agent.load(tmp_path / "agent.db")
    with pytest.raises(hb.LedgerError, match=r"agent.state is a state file: Agent\.load\("):
        hb.Agent(policy, ledger=saved)
    assert sorted(path.name for path in tmp_path.glob("agent.state*")) == ["agent.state"]


def test_a_cell_is_not_an_agent() -> None:
    data = store.pack(make_fixtures.CELL, {"roots": np.ones(2)}, [])
    with pytest.raises(hb.StateError, match="is a cell, not a state file"):
        state_file.unpack(data)


def test_every_file_says_which_version_wrote_it(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, blobs = read_container(state_file.FORMAT, saved.read_bytes())
    assert body["heavybandits"] == hb.__version__
    monkeypatch.setattr(files, "__version__", "9.8.7")
    later = write_container(Format("state file", 2), body, blobs)
    monkeypatch.undo()
    with pytest.raises(hb.StateError, match=r"written by heavybandits 9\.8\.7"):
        state_file.unpack(later)
