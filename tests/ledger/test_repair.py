"""`ledger check`, `repair` and `export`: over whole, cut, altered and foreign files."""

import csv
import errno
import json
import os
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import heavybandits as hb
import ledger_victim as victim
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.cli.app import cli
from heavybandits.ledger.repair import examine, repair

POLICY, ARMS = victim.make_policy(1), victim.arms_of(0, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of ten decisions with their rewards, and one that waits."""
    path = tmp_path / "agent.db"
    with opened(path) as agent:
        for number in range(10):
            agent.update(agent.select(ARMS), float(number))
        agent.select(ARMS)
    return path


def opened(path: Path) -> hb.Agent:
    return hb.Agent(POLICY, rng=3, ledger=path, clock=lambda: 5.0, snapshot_every=8)


def run(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(cli, ["ledger", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def altered(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


def files(path: Path) -> dict[str, bytes]:
    return {name: (path.parent / name).read_bytes() for name in sorted(os.listdir(path.parent))}


ALTER = "UPDATE events SET reward = 99.0 WHERE event = 12"


# ---- check


def test_an_intact_ledger_is_called_intact(path: Path) -> None:
    before = files(path)
    found = json.loads(run("check", path, "--json").stdout)
    assert found["intact"] is True
    assert (found["events"], found["kinds"]) == (21, {"select": 11, "reward": 10})
    assert (found["head_events"], found["last_time"], found["snapshots"]) == (21, 5.0, [0, 21])
    assert "agent.db: intact" in run("check", path).stdout
    assert files(path) == before


def test_an_altered_event_ends_what_is_true(path: Path) -> None:
    altered(path, ALTER)
    before = files(path)
    result = run("check", path, code=1)
    assert "DAMAGED" in result.stdout
    assert "event 12 is missing or altered" in result.stdout
    assert examine(path).events == 11
    assert files(path) == before


def test_a_log_that_was_cut_off_is_noticed(path: Path) -> None:
    altered(path, "DELETE FROM events WHERE event > 15")
    found = examine(path)
    assert found.events == 15
    assert "it ends at event 15, but 21 were written" in found.problems


def test_what_is_called_whole_opens_and_nothing_ends_in_a_traceback(path: Path) -> None:
    whole = files(path)
    data = whole["agent.db"]
    with opened(path) as agent:
        wanted = pack(anonymous(agent.state))
    codes = set()
    for start in range(0, len(data), 1500):
        for harmed in (data[:start] + bytes(600) + data[start + 600 :], data[:start]):
            for name, content in (whole | {"agent.db": harmed}).items():
                (path.parent / name).write_bytes(content)
            result = CliRunner().invoke(cli, ["ledger", "check", str(path)])
            assert result.exception is None or isinstance(result.exception, SystemExit)
            codes.add(result.exit_code)
            if result.exit_code == 0:
                with opened(path) as agent:
                    assert pack(anonymous(agent.state)) == wanted
    assert codes >= {0, 1}


def test_what_is_no_ledger_is_refused_in_a_sentence(path: Path, tmp_path: Path) -> None:
    foreign, other = tmp_path / "text.db", tmp_path / "other.db"
    foreign.write_text("not a database, and long enough to have been one\n" * 9)
    altered(other, "CREATE TABLE mine (x)")
    hb.Agent(POLICY).save(tmp_path / "agent.state")
    for name, words in [
        ("text.db", "file is not a database"),
        ("other.db", "but not a ledger"),
        ("agent.state", "is a state file"),
        ("nowhere.db", "is not a file"),
    ]:
        for command in (["check"], ["repair", tmp_path / "new"], ["export", tmp_path / "new"]):
            verb, *output = command
            code = 2 if name == "nowhere.db" else 1
            assert words in run(verb, tmp_path / name, *output, code=code).output
    assert not (tmp_path / "new").exists()


def test_a_ledger_in_use_is_left_alone(path: Path) -> None:
    with opened(path):
        assert "in use by another agent" in run("check", path, code=1).output


# ---- repair


@pytest.mark.parametrize("harm", [ALTER, "DELETE FROM events WHERE event > 11"])
def test_a_repaired_ledger_goes_on_from_the_last_true_event(
    path: Path, tmp_path: Path, harm: str
) -> None:
    altered(path, harm)
    before = files(path)
    result = run("repair", path, tmp_path / "saved.db")
    assert "saved.db: intact" in result.stdout
    assert f"{path} is damaged: " in result.stderr
    with pytest.raises(hb.LedgerError):
        opened(path)
    assert {name: files(path)[name] for name in before} == before
    twin = hb.Agent(POLICY, rng=3, clock=lambda: 5.0)
    for number in range(5):
        twin.update(twin.select(ARMS), float(number))
    twin.select(ARMS)
    with opened(tmp_path / "saved.db") as agent:
        assert pack(anonymous(agent.state)) == pack(anonymous(twin.state))
        agent.update(agent.pending[0], 1.0)
    assert examine(tmp_path / "saved.db").events == 12


def test_a_whole_ledger_is_repaired_into_the_same(path: Path, tmp_path: Path) -> None:
    repair(path, tmp_path / "copy.db")
    with opened(path) as one, opened(tmp_path / "copy.db") as two:
        assert pack(anonymous(one.state)) == pack(anonymous(two.state))
        assert one.history() == two.history()


def test_repair_writes_over_nothing(path: Path, tmp_path: Path) -> None:
    for name in ("there.db", "half.db-head"):
        (tmp_path / name).write_text("mine")
    before = files(path)
    for name in ("there.db", "half.db", "agent.db"):
        assert "must be a new file" in run("repair", path, tmp_path / name, code=2).output
    assert files(path) == before


def test_without_room_for_a_copy_the_error_says_where(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = files(path)
    monkeypatch.setattr(shutil, "copyfile", full)
    for call in (examine, hb.Agent.rebuild, lambda path: repair(path, tmp_path / "new.db")):
        with pytest.raises(hb.LedgerError, match=r"No space left .* TMPDIR names another folder"):
            call(path)
    assert files(path) == before
    assert sorted(os.listdir(tmp_path)) == ["agent.db", "agent.db-head"]


def test_without_a_state_there_is_nothing_to_repair(path: Path, tmp_path: Path) -> None:
    altered(path, "UPDATE states SET data = x'00'")
    assert "contains no intact state" in run("check", path, code=1).stdout
    words = "its events can be exported, not repaired"
    assert words in run("repair", path, tmp_path / "saved.db", code=1).output
    run("export", path, tmp_path / "events.csv", code=1)


# ---- export


def test_the_events_become_a_table(path: Path, tmp_path: Path) -> None:
    run("export", path, tmp_path / "events.csv")
    rows = list(csv.DictReader((tmp_path / "events.csv").read_text().splitlines()))
    assert [row["kind"] for row in rows[:3]] == ["select", "reward", "select"]
    assert [float(row["reward"]) for row in rows if row["kind"] == "reward"] == [*range(10)]
    pandas = pytest.importorskip("pandas", reason="Parquet needs the extra `lab`")
    run("export", path, tmp_path / "events.parquet")
    frame = pandas.read_parquet(tmp_path / "events.parquet")
    assert frame["event"].tolist() == [int(row["event"]) for row in rows]
    chosen = frame[frame["kind"] == "select"].iloc[0]
    assert chosen["propensity"] == 1.0
    assert chosen[["x0", "x1", "x2"]].tolist() == ARMS[int(chosen["arm"])].tolist()


HOSTILE = ("=1+1", "-10% off", "tea\rcup", "'=x", 'a "b", c', "@sum", "plain")


def test_names_that_a_spreadsheet_would_run_come_back(tmp_path: Path) -> None:
    """F20: a carriage return broke the line, and formulas were left as they are."""
    from heavybandits.features import Encoder, Number

    encoder = Encoder(action_columns=[Number("p")])
    policy = hb.linucb(dim=encoder.dim, radius=1.0)
    with hb.Agent(policy, encoder=encoder, ledger=tmp_path / "shop.db") as agent:
        for name in HOSTILE:
            agent.update(agent.select(actions={name: {"p": 1.0}}), -1.5)
    run("export", tmp_path / "shop.db", tmp_path / "events.csv")
    with open(tmp_path / "events.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert {len(row) for row in rows} == {len(header)}
    names = [row[header.index("action")] for row in rows if row[1] == "select"]
    assert names == ["'=1+1", "'-10% off", "tea\rcup", "''=x", 'a "b", c', "'@sum", "plain"]
    assert {row[header.index("reward")] for row in rows if row[1] == "reward"} == {"-1.5"}
    pytest.importorskip("pyarrow", reason="reading tables needs the extra `lab`")
    from heavybandits.features.tables import read_file

    frame: Any = read_file(tmp_path / "events.csv")
    assert [name for name in frame.frame["action"].to_list() if name] == list(HOSTILE)


def test_an_empty_ledger_is_exported_as_a_header(tmp_path: Path) -> None:
    opened(tmp_path / "new.db").close()
    run("export", tmp_path / "new.db", tmp_path / "events.csv")
    assert (tmp_path / "events.csv").read_text().startswith("event,kind,ticket,time,event_id,")


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_what_is_made_of_a_private_ledger_is_private(path: Path, mode: int) -> None:
    """A ledger of mode 0600 was repaired into one that everybody could read."""
    path.chmod(mode)
    Path(f"{path}-head").unlink()
    opened(path).close()
    repair(path, path.with_name("saved.db"))
    hb.Agent.rebuild(path, output=path.with_name("new.db")).close()
    run("export", path, path.with_name("events.csv"))
    names = ["agent.db-head", "saved.db", "saved.db-head", "new.db", "new.db-head", "events.csv"]
    modes = {name: stat.S_IMODE(path.with_name(name).stat().st_mode) for name in names}
    assert modes == dict.fromkeys(names, mode)


def test_no_escape_in_a_file_reaches_the_terminal(path: Path, tmp_path: Path) -> None:
    altered(path, "UPDATE about SET value = '\x1b[31m9' WHERE name = 'heavybandits'")
    assert "created by heavybandits \\x1b[31m9" in run("check", path).stdout
    altered(path, "PRAGMA user_version = 7")
    for verb, *output in (["check"], ["repair", tmp_path / "new"], ["export", tmp_path / "new"]):
        assert "\x1b" not in run(verb, path, *output, code=1).output
    with pytest.raises(hb.LedgerError) as caught:
        opened(path)
    assert "written by heavybandits \\x1b[31m9" in str(caught.value)
    hostile = tmp_path / "a\x1b]0;x.db"
    assert "\x1b" not in run("check", hostile, code=2).output


def test_of_a_damaged_ledger_the_true_part_is_exported(path: Path, tmp_path: Path) -> None:
    altered(path, ALTER)
    result = run("export", path, tmp_path / "events.csv", code=1)
    assert "event 12 is missing or altered" in result.stderr
    assert len((tmp_path / "events.csv").read_text().splitlines()) == 1 + 11


def test_parquet_without_pyarrow_is_a_sentence(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    result = run("export", path, tmp_path / "events.parquet", code=1)
    assert 'this needs pyarrow: pip install "heavybandits[lab]"' in result.output
    assert not (tmp_path / "events.parquet").exists()


def test_a_copy_without_its_log_is_noticed(path: Path, tmp_path: Path) -> None:
    agent = opened(path)
    agent.select(ARMS)
    shutil.copy(path, tmp_path / "copy.db")
    agent.close()
    assert examine(tmp_path / "copy.db").problems == [
        "it was not closed, or copied while it was open, and its -head file is missing: it has 21 "
        "events, and later ones may be missing"
    ]
