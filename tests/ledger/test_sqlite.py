"""Ledgers against forks, copies, lost and damaged files, hostile rows (D1, D4, D9 to D11, D13)."""

import errno
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
import ledger_victim as victim
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger.head import End, Head
from heavybandits.ledger.integrity import chain
from heavybandits.ledger.repair import export
from heavybandits.ledger.sqlite_file import LOG_BYTES
from heavybandits.ledger.tables import COLUMNS, SEALED, about
from interruption import CALLS, Interrupted, interrupted_after

ARMS = victim.arms_of(0, 1)
POLICY = victim.make_policy(1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def make(path: Path, policy: Any = POLICY, **options: Any) -> hb.Agent:
    return hb.Agent(policy, ledger=path, **{"clock": lambda: 0.0, **options})


def play(agent: hb.Agent, rounds: int) -> hb.Agent:
    for _ in range(rounds):
        agent.update(agent.select(ARMS), 1.0)
    return agent


def packed(agent: hb.Agent) -> bytes:
    return pack(anonymous(agent.state))


def ledger_of(agent: hb.Agent) -> Any:
    assert agent.ledger is not None
    return agent.ledger


def crash(agent: hb.Agent) -> None:
    ledger_of(agent).drop()


# Programs of their own find the victims here, and the package where it is installed.
HERE = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def run(code: str, *arguments: Any) -> str:
    """A program of its own; what it printed."""
    start = "import os, sys, numpy as np, heavybandits as hb, ledger_victim as victim\n"
    start += "ARMS, POLICY = victim.arms_of(0, 1), victim.make_policy(1)\n"
    command = [sys.executable, "-W", "ignore", "-c", start + code, *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, env=HERE)
    assert found.returncode in (0, -signal.SIGKILL), found.stderr
    return found.stdout


# ---- D1: children

FORK = """
agent = hb.Agent(POLICY, ledger=sys.argv[1])
for _ in range(20):
    agent.update(agent.select(ARMS), 1.0)
for _ in range(3):
    if os.fork() == 0:
        sys.exit(0)  # with finalisation, as a program ends
    os.wait()
    for _ in range(20):
        agent.update(agent.select(ARMS), 1.0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("end", ["agent.close()", "os.kill(os.getpid(), 9)", ""])
def test_a_child_that_merely_exits_takes_nothing_away(path: Path, end: str) -> None:
    run(FORK + end, path)
    with make(path) as agent:
        assert agent.updates == agent.counters["applied"] == 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_is_told_to_open_the_ledger_itself(path: Path) -> None:
    code = """
agent = hb.Agent(POLICY, ledger=sys.argv[1])
ticket = agent.select(ARMS)
if os.fork() == 0:
    agent.predict(ARMS)
    for call in (lambda: agent.update(ticket, 1.0), lambda: agent.select(ARMS), agent.history):
        try:
            call()
        except hb.LedgerError as error:
            print("before a fork" in str(error), flush=True)
    agent.close()
    sys.exit(0)
os.wait()
agent.update(ticket, 1.0)
print(agent.updates)
"""
    assert run(code, path).split() == ["True", "True", "True", "1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_does_not_keep_the_lock(path: Path) -> None:
    code = """
agent = hb.Agent(POLICY, ledger=sys.argv[1])
agent.update(agent.select(ARMS), 1.0)
if os.fork() == 0:
    os.close(1), os.close(2)
    __import__("time").sleep(60)
os.kill(os.getpid(), 9)
"""
    run(code, path)
    with make(path) as agent:
        assert agent.updates == 1


@pytest.mark.parametrize("settled", [False, True])
def test_a_log_that_was_taken_away_is_noticed_before_anything_is_acknowledged(
    path: Path, settled: bool
) -> None:
    agent = play(make(path), 5)
    if settled:  # nothing has happened in the folder for long
        os.utime(path.parent, (0, 0))
    ticket = agent.select(ARMS)
    Path(f"{path}-wal").rename(f"{path}-gone")
    with pytest.raises(hb.LedgerError, match="was moved, removed or replaced while it was open"):
        agent.update(ticket, 1.0)
    with pytest.raises(hb.LedgerError, match="open it again"):
        agent.select(ARMS)
    assert agent.predict(ARMS).shape == (4,)


def test_an_agent_that_is_forgotten_closes_in_good_order(path: Path) -> None:
    run("agent = hb.Agent(POLICY, ledger=sys.argv[1]); agent.select(ARMS)", path)
    assert not Path(f"{path}-wal").exists()
    Path(f"{path}-head").unlink()
    with make(path) as agent:
        assert agent.counters["pending"] == 1


# ---- D9: lost files


def test_the_one_file_of_a_live_ledger_is_not_a_new_ledger(path: Path, tmp_path: Path) -> None:
    agent = play(make(path), 30)
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with pytest.raises(
        hb.LedgerError, match="copied while it was open, and its -head file is missing"
    ):
        make(copy)
    agent.close()
    shutil.copy(path, copy)
    with make(copy) as other:
        assert other.updates == 30


def test_a_ledger_is_whole_at_creation_and_at_each_snapshot(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    for rounds, rows in ((0, 0), (4, 8)):
        agent = play(make(path, snapshot_every=8), rounds)
        shutil.copy(path, copy)
        database = sqlite3.connect(copy)
        assert database.execute("SELECT count(*) FROM events").fetchone() == (rows,)
        database.close()
        agent.close()


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.7, 0.99])
def test_a_tail_that_is_cut_off_at_a_commit_is_noticed(path: Path, cut: float) -> None:
    code = "agent = hb.Agent(POLICY, ledger=sys.argv[1])\n"
    code += "for _ in range(30): agent.update(agent.select(ARMS), 1.0)\nos.kill(os.getpid(), 9)"
    run(code, path)
    wal, data = Path(f"{path}-wal"), victim.files_of(path)["-wal"]
    wal.write_bytes(data[: int(cut * len(data))])
    with pytest.raises(hb.LedgerError, match=r"it ends at event \d+, but 60 were written"):
        make(path)
    wal.write_bytes(data)
    with make(path) as agent:
        assert agent.updates == 30


def test_a_commit_does_not_lengthen_the_log(path: Path) -> None:
    """A file that grows has its length flushed too: that doubles the time of a commit."""
    with make(path) as agent:
        sizes = {Path(f"{path}-wal").stat().st_size for _ in range(400) if play(agent, 1)}
    assert sizes == {LOG_BYTES}


def test_a_log_without_a_commit_is_empty(path: Path) -> None:
    play(make(path), 3).close()
    run("agent = hb.Agent(POLICY, ledger=sys.argv[1])\nos.kill(os.getpid(), 9)", path)
    assert not any(Path(f"{path}-wal").read_bytes())
    with make(path) as agent:
        assert agent.updates == 3


def test_a_log_that_somebody_still_reads_is_not_written_over(path: Path) -> None:
    """A reader keeps the log from being emptied: then it holds events, and no room is reserved."""
    code = "agent = hb.Agent(POLICY, ledger=sys.argv[1])\n"
    code += "for _ in range(5): agent.update(agent.select(ARMS), 1.0)\nos.kill(os.getpid(), 9)"
    run(code, path)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (10,)
    run(code, path)
    copy = {name: Path(f"{path}{name}").read_bytes() for name in ("", "-wal", "-head")}
    reader.close()
    for name, data in copy.items():  # as the kill left it: the last to close tidies up
        Path(f"{path}{name}").write_bytes(data)
    Path(f"{path}-shm").unlink(missing_ok=True)
    with make(path) as agent:
        assert agent.updates == 10


def test_a_log_that_finds_no_room_is_not_reserved(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = os.fsync

    def full(file: int) -> None:
        if os.fstat(file).st_size == LOG_BYTES:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        agent = make(path)
    assert Path(f"{path}-wal").stat().st_size == 0
    assert play(agent, 3).updates == 3
    agent.close()


def test_a_damaged_head_is_no_reason_to_refuse_a_closed_ledger(path: Path) -> None:
    play(make(path), 5).close()
    head = Path(f"{path}-head")
    for data in (b"", bytes(40), head.read_bytes()[:-1] + b"?", head.read_bytes() + b"more"):
        head.write_bytes(data)
        with make(path) as agent:
            assert agent.updates == 5


def test_the_head_of_another_ledger_is_noticed(path: Path, tmp_path: Path) -> None:
    play(make(path), 5).close()
    play(make(tmp_path / "other.db"), 5).close()
    shutil.copy(tmp_path / "other.db", path)
    with pytest.raises(hb.LedgerError, match="not the ledger that its -head file belongs to"):
        make(path)


# ---- D10: the lock


def test_a_copy_made_in_the_agents_own_process_does_not_open_the_door(
    path: Path, tmp_path: Path
) -> None:
    agent = play(make(path), 3)
    shutil.copy(path, tmp_path / "copy.db")
    shutil.copy(f"{path}-head", tmp_path / "head")
    code = """
try:
    hb.Agent(POLICY, ledger=sys.argv[1])
except hb.LedgerError as error:
    print("in use by another agent" in str(error))
"""
    assert run(code, path) == "True\n"
    with pytest.raises(hb.LedgerError, match="in use by another agent"):
        make(path)
    play(agent, 3).close()
    with make(path) as again:
        assert again.updates == 6


def test_a_live_ledger_can_be_read_by_another_program(path: Path) -> None:
    with make(path) as agent:
        play(agent, 3)
        code = "import sqlite3; print(*sqlite3.connect(sys.argv[1]).execute("
        code += "'SELECT count(*), sum(reward) FROM plays').fetchone())"
        assert run(code, path) == "3 3.0\n"
        play(agent, 3)
        assert agent.updates == 6


# ---- D4: nothing is believed


def tamper(path: Path, *statements: str) -> None:
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


ALTERED = {
    "a reward": "UPDATE events SET reward = 7.5 WHERE kind = 'reward' AND ticket = 3",
    "an arm": "UPDATE events SET arm = 2 - arm WHERE event = 5",
    "a time": "UPDATE events SET time = 1.0 WHERE event = 5",
    "a missing event": "DELETE FROM events WHERE event = 6",
    "two events swapped": "UPDATE events SET event = -event WHERE event IN (5, 6)",
    "features": "UPDATE events SET features = zeroblob(24) WHERE event = 5",
    "a link": "UPDATE events SET link = zeroblob(16) WHERE event = 4",
    "a policy": "UPDATE about SET value = replace(value, '1.0', '1.00') WHERE name = 'policy'",
    "its name": "UPDATE about SET value = 'x' WHERE name = 'name'",
    "no name": "DELETE FROM about WHERE name = 'name'",
    "no policy": "DELETE FROM about WHERE name = 'policy'",
    "a cut tail": "DELETE FROM events WHERE event > 8",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
    "a table": "CREATE TABLE more (x)",
    "a column": "ALTER TABLE events ADD COLUMN more",
}


@pytest.mark.parametrize("what", ALTERED)
def test_what_was_altered_is_noticed(path: Path, what: str) -> None:
    play(make(path), 6).close()
    tamper(path, ALTERED[what])
    before = path.read_bytes()
    with pytest.raises(hb.LedgerError, match="is damaged"):
        make(path)
    assert path.read_bytes() == before


def test_a_message_that_quotes_damage_is_a_refusal_too(path: Path) -> None:
    """Python's SQLite raises a UnicodeDecodeError where the message holds bytes of the file."""
    play(make(path), 1).close()
    whole = path.read_bytes()
    for word in (b"CREATE TABLE events", b"CREATE VIEW plays"):
        path.write_bytes(whole.replace(word, word[:8] + b"\xe4" + word[9:]))
        with pytest.raises(hb.LedgerError, match=r"agent\.db"):
            make(path)


def forge(path: Path, change: Callable[[dict[str, Any]], None], row: int = 7) -> None:
    """Alter a row and make the chain, the snapshots and the head right again: a hostile file."""
    database = sqlite3.connect(path)
    about = dict(database.execute("SELECT name, value FROM about"))
    names = [*COLUMNS.split(", "), "link"]
    link = chain(b"", *(about[name] for name in SEALED))
    found = database.execute(f"SELECT {', '.join(names)} FROM events ORDER BY event").fetchall()
    database.execute("DELETE FROM events")
    database.execute("DELETE FROM states WHERE event > 0")
    for values in found:
        event = dict(zip(names, values, strict=True))
        if event["event"] == row:
            change(event)
        contents = [event[name] for name in names[:-1]]
        link = chain(link, *contents)
        marks = ", ".join("?" * len(names))
        database.execute(f"INSERT INTO events VALUES ({marks})", (*contents, link))
    database.commit()
    database.close()
    head = Head(path)
    head.write(End(len(found), link))
    head.close()


UNIFORM = hb.policies.Uniform(dim=3, seed=1)
HOSTILE: dict[str, dict[str, Any]] = {
    "longer features": {"features": bytes(8 * 3000)},
    "shorter features": {"features": b""},
    "features that are text": {"features": "x" * 24},
    "features that are nan": {"features": np.array([np.nan, 0.0, 0.0]).tobytes()},
    "features that are huge": {"features": np.array([1e300, 0.0, 0.0]).tobytes()},
    "an expected reward that is infinite": {"expected": float("inf")},
    "an arm that is text": {"arm": "zero"},
    "an arm below all": {"arm": -7},
    "a ticket out of turn": {"ticket": 1000},
    "a ticket that is huge": {"ticket": 2**62},
    "a time that is text": {"time": "now"},
    "a decision with a reward": {"reward": 1.0},
    "another kind": {"kind": "boast"},
    "arrays that are no JSON": {"arrays": "{"},
    "an array that is none": {"arrays": json.dumps({"x": "00"})},
    "arrays that are no dictionary": {"arrays": "[1]"},
    "an array that is too long": {"arrays": json.dumps({"counts": "00" * 9999})},
    "an array below zero": {"arrays": json.dumps({"counts": "ff" * 16})},
    "arrays that are bytes": {"arrays": b"{}"},
    "a generator that is none": {"generator": json.dumps({"bit_generator": "MT"})},
    "a generator that is no JSON": {"generator": "{"},
    "a propensity above one": {"propensity": 2.0},
    "an action that is a number": {"action": b"tea"},
    "a noise scale of a decision": {"noise_scale": 1.0},
    "rewards of a decision": {"rewards": bytes(8)},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_row_is_refused_though_its_chain_is_right(path: Path, what: str) -> None:
    play(make(path, UNIFORM), 6).close()
    forge(path, lambda row: None)
    with make(path, UNIFORM) as agent:
        assert agent.updates == 6
    forge(path, lambda row: row.update(HOSTILE[what]))
    with pytest.raises(hb.LedgerError, match="event 7 does not fit"):
        make(path, UNIFORM)
    export(path, path.with_name("events.csv"))
    with pytest.raises((hb.LedgerError, hb.InvalidInputError)):
        hb.Agent.rebuild(path)
    with suppress(hb.LedgerError), hb.LedgerReader(path) as reader:
        reader.history(), reader.feedback(), reader.action_counts()


@pytest.mark.parametrize("reward", [float("inf"), "many", None, b"1"])
def test_a_hostile_reward_is_refused(path: Path, reward: Any) -> None:
    play(make(path), 6).close()
    forge(path, lambda row: row.update(reward=reward), row=8)
    with pytest.raises(hb.LedgerError, match="event 8 does not fit"):
        make(path)


def test_a_snapshot_of_another_agent_is_not_taken(path: Path, tmp_path: Path) -> None:
    wanted = play(make(path), 6)
    before = packed(wanted)
    wanted.close()
    other = hb.Agent(POLICY)
    play(other, 9)
    database = sqlite3.connect(path)
    database.execute("UPDATE states SET data = ? WHERE event > 0", (packed(other),))
    database.commit()
    database.close()
    with make(path) as agent:
        assert packed(agent) == before


def test_damage_anywhere_is_noticed_or_harmless(path: Path) -> None:
    """Bits flipped, bytes wiped, tails cut, in the database and in its log: the same or refused."""
    code = """
agent = hb.Agent(POLICY, ledger=sys.argv[1], snapshot_every=7, clock=lambda: 0.0)
for _ in range(12):
    agent.update(agent.select(ARMS), 1.0)
os.kill(os.getpid(), 9)
"""
    run(code, path)
    files = victim.files_of(path)
    with make(path) as agent:
        wanted = packed(agent), agent.history()
    dice, outcomes = random.Random(0), {"refused": 0, "harmless": 0}
    for _ in range(int(os.environ.get("HEAVYBANDITS_DAMAGED", "120"))):
        for name, data in files.items():
            Path(f"{path}{name}").write_bytes(data)
        Path(f"{path}-shm").unlink(missing_ok=True)
        name = dice.choice(["", "-wal"])
        Path(f"{path}{name}").write_bytes(mangle(files[name], dice))
        try:
            agent = make(path)
        except hb.LedgerError:
            outcomes["refused"] += 1
            continue
        assert (packed(agent), agent.history()) == wanted
        agent.close()
        outcomes["harmless"] += 1
    assert min(outcomes.values()) > 0


def test_a_broken_list_of_free_pages_is_noticed_on_opening(path: Path) -> None:
    for _ in range(3):  # the snapshots that are given up leave pages free
        play(make(path), 20).close()
    data = bytearray(path.read_bytes())
    size, trunk = (int.from_bytes(data[a:b]) for a, b in ((16, 18), (32, 36)))
    assert trunk > 0
    data[(trunk - 1) * size : (trunk - 1) * size + 8] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(hb.LedgerError, match="malformed"):
        make(path)


def mangle(data: bytes, dice: random.Random) -> bytes:
    place, kind = dice.randrange(len(data)), dice.randrange(4)
    if kind == 0:
        return data[:place]
    damaged = bytearray(data)
    if kind == 1:
        damaged[place] ^= 1 << dice.randrange(8)
    else:
        size = dice.choice([8, 64, 512, 4096])
        blank = dice.randbytes(size) if kind == 2 else bytes(size)
        damaged[place : place + size] = blank
    return bytes(damaged[: len(data)])


# ---- D11: signals


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupted_agent_is_where_its_ledger_is(call: str, tmp_path: Path) -> None:
    names = itertools.count()

    def play_until(after: int) -> tuple[bytes, int]:
        path = tmp_path / f"{next(names)}.db"
        agent = play(make(path, rng=1), 2)
        batch = [(agent.select(ARMS).id, 1.0) for _ in range(2)]
        with interrupted_after(after) as seen:
            try:
                CALLS[call](agent, batch)
            except Interrupted:
                pass
        live = packed(agent)
        play(agent, 1)  # it goes on
        later = packed(agent)
        crash(agent)
        with make(path) as again:
            assert packed(again) == later
        return live, seen[0]

    done, total = play_until(-1)
    before, _ = play_until(1)
    places = int(os.environ.get("HEAVYBANDITS_PLACES", "20")) or total
    found = {play_until(after)[0] for after in range(1, total + 1, max(1, total // places))}
    assert found == {before, done}


class InterruptedOnce:
    """A connection in which a signal comes between two statements of a snapshot."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection, self.left = connection, 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, statement: str, values: Any = ()) -> Any:
        if statement.startswith("DELETE FROM states") and self.left:
            self.left -= 1
            raise Interrupted
        return self.connection.execute(statement, values)


def test_a_signal_within_a_snapshot_costs_no_event(path: Path) -> None:
    """Its transaction is left open: the next event was written into it, and rolled back with it."""
    agent = play(make(path, snapshot_every=6), 2)
    ticket, database = agent.select(ARMS), ledger_of(agent).database
    database._connection = InterruptedOnce(database._connection)
    with pytest.raises(Interrupted):
        agent.update(ticket, 1.0)  # the sixth event: a snapshot is due
    play(agent, 2)
    crash(agent)
    with make(path) as again:
        assert again.updates == 5


# ---- D13: what a failed call leaves on the disk, and what a choice costs


class Failing:
    """A connection that cannot write an event, as when only the last flush fails."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection, self.failures = connection, 0

    def execute(self, statement: str, values: Any = ()) -> Any:
        alone = not self.connection.in_transaction and statement.startswith("INSERT INTO events")
        if (alone or statement == "COMMIT") and self.failures:
            self.failures -= 1
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error
        return self.connection.execute(statement, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


def test_a_commit_that_failed_is_written_over(path: Path) -> None:
    agent = play(make(path), 2)
    before = packed(agent)
    assert agent.ledger is not None
    database: Any = agent.ledger.database
    database._connection = failing = Failing(database._connection)
    failing.failures = 1
    with pytest.raises(hb.LedgerError, match="disk I/O error"):
        agent.select(ARMS)
    assert packed(agent) == before
    assert about(database, "failures") == "1"
    play(agent, 1)
    agent.close()
    with make(path) as again:
        assert again.updates == 3


def test_a_durable_choice_copies_no_history(path: Path) -> None:
    import tracemalloc

    policy = hb.tofu(dim=5, horizon=100_000, raw_moment=1.0)
    arms = np.random.default_rng(0).uniform(-0.4, 0.4, (4, 5))
    with make(path, policy) as agent:
        agent.update(agent.select(arms), 1.0)
        tracemalloc.start()
        agent.select(arms)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 100_000


def test_minus_zero_survives(path: Path) -> None:
    agent = make(path)
    agent.update(agent.select(ARMS), -0.0)
    before = packed(agent)
    crash(agent)
    with make(path) as again:
        assert packed(again) == before


def test_two_processes_that_hurry_do_not_share_a_ledger(path: Path) -> None:
    code = """
for _ in range(40):
    try:
        agent = hb.Agent(POLICY, ledger=sys.argv[1])
    except hb.LedgerError as error:
        assert "in use by another agent" in str(error), error
        continue
    agent.update(agent.select(ARMS), 1.0)
    print("taken", flush=True)
    agent.close()
"""
    start = "import sys, heavybandits as hb, ledger_victim as victim\n"
    start += "ARMS, POLICY = victim.arms_of(0, 1), victim.make_policy(1)\n"
    command = [sys.executable, "-W", "ignore", "-c", start + code, str(path)]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, stdout=pipe, text=True, env=HERE) for _ in range(2)]
    taken = sum(process.communicate()[0].count("taken") for process in both)
    assert [process.returncode for process in both] == [0, 0]
    with make(path) as agent:
        assert agent.updates == taken > 0


# ---- what is written over a ledger, and what is left of one


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_ledger_whose_main_file_is_gone_is_not_begun_anew(path: Path, how: str) -> None:
    code = "agent = hb.Agent(POLICY, ledger=sys.argv[1])\n"
    code += "for _ in range(5): agent.update(agent.select(ARMS), 1.0)\nos.kill(os.getpid(), 9)"
    run(code, path)
    path.unlink() if how == "removed" else path.write_bytes(b"")
    kept = {end: Path(f"{path}{end}").read_bytes() for end in ("-wal", "-head")}
    with pytest.raises(hb.LedgerError, match="it is empty, but 10 events were written"):
        make(path)
    assert {end: Path(f"{path}{end}").read_bytes() for end in ("-wal", "-head")} == kept


def test_nothing_is_written_over_a_ledger(path: Path, tmp_path: Path) -> None:
    with play(make(path), 2) as agent:
        with pytest.raises(hb.InvalidInputError, match="must not be a file of a ledger"):
            agent.save(path)
        play(agent, 1)
    with pytest.raises(hb.InvalidInputError, match="must not be a file of a ledger"):
        export(path, path)
    with make(path) as again:
        assert again.updates == 3


def test_an_agent_that_is_not_compiled_writes_what_it_reads(tmp_path: Path) -> None:
    """Uncompiled code hands on numbers of NumPy, whose bytes the chain would hash."""
    code = (
        "with hb.Agent(POLICY, ledger=sys.argv[1]) as agent: agent.update(agent.select(ARMS), 1.0)"
    )
    code += "\nwith hb.Agent(POLICY, ledger=sys.argv[1]) as agent: print(agent.updates)"
    start = "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
    start += "import sys, heavybandits as hb, ledger_victim as victim\n"
    start += "ARMS, POLICY = victim.arms_of(0, 1), victim.make_policy(1)\n"
    told = [sys.executable, "-W", "ignore", "-c", start + code, str(tmp_path / "agent.db")]
    found = subprocess.run(told, capture_output=True, text=True, timeout=300, env=HERE)
    assert found.stdout == "1\n", found.stderr


def test_two_threads_may_fork_at_once() -> None:
    """Another hook that takes a while lets the second thread wait while the first one lets go."""
    code = """
import threading, time
os.register_at_fork(before=lambda: time.sleep(0.2))
agent = hb.Agent(POLICY)
def fork():
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitpid(child, 0)
    time.sleep(5)
for _ in range(2): threading.Thread(target=fork, daemon=True).start(); time.sleep(0.05)
time.sleep(1.5)
print(agent._lock.acquire(timeout=3), flush=True)
os._exit(0)
"""
    start = "from concurrent.futures import ThreadPoolExecutor\nimport logging, os, time\n"
    start += (
        "import sys, heavybandits as hb, ledger_victim as victim\nPOLICY = victim.make_policy(1)\n"
    )
    told = [sys.executable, "-W", "ignore", "-c", start + code]
    found = subprocess.run(told, capture_output=True, text=True, timeout=300, env=HERE)
    assert found.stdout == "True\n", found.stderr
