"""Agents with a ledger: against a plain model, and in every trouble a disk can give."""

import copy
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import heavybandits as hb
import ledger_victim as victim
from heavybandits._utils.errors import LedgerError
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack

ARMS = victim.arms_of(0, 1)
REWARDS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e308, 5e-324, 0.0])
PATIENCE, MOST = 10.0, 12
# Where files need not wait for a disk: no step of a machine cuts the power.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def kept_bytes(agent: hb.Agent) -> bytes:
    """What must survive: all but the counts of refused calls."""
    state = agent.state
    tickets = copy.copy(state.tickets)
    tickets.counts = tickets.counts | dict.fromkeys(("late", "duplicate", "unknown"), 0)
    return pack(anonymous(state._replace(tickets=tickets)))


def crash(agent: hb.Agent) -> None:
    """Leave the file as a kill would: no snapshot, no goodbye."""
    assert agent.ledger is not None
    agent.ledger.drop()


def rows(path: Path, statement: str) -> list[Any]:
    """What another program reads in a ledger."""
    database = sqlite3.connect(path)
    try:
        return database.execute(statement).fetchall()
    finally:
        database.close()


# ---- the model: what a ticket is, in a dictionary


class Machine(RuleBasedStateMachine):
    """Any calls in any order, with the agent reopened in between, against a plain dictionary.

    A twin in memory gets the calls that count and is never reopened: the bits must agree.
    """

    plays = 1
    expired_reward: float | None = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.clock = Clock()
        self.agent = self.open(f"{self.folder.name}/agent.db")
        self.twin = self.open(None)
        self.model: dict[int, Any] = {}  # ticket -> ("pending", time), reward, "gone", "expired"
        self.counts = dict.fromkeys(self.agent.counters, 0)

    def open(self, ledger: str | None) -> hb.Agent:
        return hb.Agent(
            victim.make_policy(self.plays),
            rng=3,
            ledger=ledger,
            snapshot_every=7,
            max_pending=MOST,
            expire_after=PATIENCE,
            expired_reward=self.expired_reward,
            clock=self.clock,
        )

    def teardown(self) -> None:
        self.agent.close()
        self.folder.cleanup()

    def waiting(self) -> list[int]:
        return [t for t, fate in self.model.items() if isinstance(fate, tuple)]

    def expire(self, room: int = 0) -> None:
        """What the model says about time and room."""
        waiting = self.waiting()
        excess = len(waiting) + room - MOST
        for place, ticket in enumerate(waiting):
            if place < excess or self.model[ticket][1] <= self.clock.now - PATIENCE:
                self.model[ticket] = "expired"
                self.counts["expired"] += 1

    @rule()
    def select(self) -> None:
        self.expire(room=1)
        ticket, twin = self.agent.select(ARMS), self.twin.select(ARMS)
        assert (ticket.id, ticket.arm, ticket.plays_left) == (
            len(self.model),
            twin.arm,
            twin.plays_left,
        )
        assert (ticket.expected, ticket.width) == (twin.expected, twin.width)
        self.model[ticket.id] = ("pending", self.clock.now)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), reward=REWARDS)
    def reward(self, data: Any, reward: float) -> None:
        ticket = data.draw(st.sampled_from(self.waiting()))
        self.expire()
        self.agent.update(ticket, reward)
        if self.model[ticket] == "expired":
            self.counts["late"] += 1
        else:
            self.model[ticket] = reward
            self.counts["applied"] += 1
        self.twin.update(ticket, reward)

    @precondition(lambda self: len(self.waiting()) > 1)
    @rule(data=st.data(), reward=REWARDS)
    def reward_many(self, data: Any, reward: float) -> None:
        tickets = data.draw(st.permutations(self.waiting()))
        self.expire()
        batch = [(ticket, reward + place) for place, ticket in enumerate(tickets)]
        self.agent.update_many(batch)
        self.twin.update_many(batch)
        for ticket, number in batch:
            if self.model[ticket] == "expired":
                self.counts["late"] += 1
            else:
                self.model[ticket] = number
                self.counts["applied"] += 1

    @precondition(lambda self: any(isinstance(f, float) for f in self.model.values()))
    @rule(data=st.data(), again=st.booleans())
    def repeat(self, data: Any, again: bool) -> None:
        rewarded = [t for t, fate in self.model.items() if isinstance(fate, float)]
        ticket = data.draw(st.sampled_from(rewarded))
        self.expire()
        self.counts["duplicate"] += 1
        if again:
            self.agent.update(ticket, self.model[ticket])
        else:
            other = self.model[ticket] / 2.0 + 1.0 if self.model[ticket] != 2.0 else 0.0
            with pytest.raises(hb.InvalidInputError, match="must have one reward"):
                self.agent.update(ticket, other)
        self.twin.expire_due()

    @rule(ticket=st.integers(-3, 3), reward=REWARDS)
    def unknown(self, ticket: int, reward: float) -> None:
        number = ticket if ticket < 0 else len(self.model) + ticket
        self.expire()
        self.counts["unknown"] += 1
        with pytest.raises(hb.InvalidInputError, match="that this agent has issued"):
            self.agent.update(number, reward)
        self.twin.expire_due()

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        ticket = data.draw(st.sampled_from(self.waiting()))
        self.expire()
        for agent in (self.agent, self.twin):
            if self.model[ticket] == "expired":
                with pytest.raises(hb.InvalidInputError, match="settled already"):
                    agent.cancel(ticket)
            else:
                agent.cancel(ticket)
        name = "duplicate" if self.model[ticket] == "expired" else "cancelled"
        self.counts[name] += 1
        if name == "cancelled":
            self.model[ticket] = "gone"

    @rule()
    def abandon(self) -> None:
        self.agent.cancel_all()
        self.twin.cancel_all()
        for ticket in self.waiting():
            self.model[ticket] = "gone"
            self.counts["cancelled"] += 1

    @rule(seconds=st.floats(0.0, PATIENCE))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(kindly=st.booleans())
    def reopen(self, kindly: bool) -> None:
        if kindly:
            self.agent.close()
        else:
            crash(self.agent)
            self.counts |= dict.fromkeys(("late", "duplicate", "unknown"), -1)  # may be older
        self.agent = self.open(f"{self.folder.name}/agent.db")

    @invariant()
    def agrees(self) -> None:
        assert self.agent.pending == self.waiting()
        seen = {**self.agent.counters, "pending": 0}
        for name, count in self.counts.items():
            if count < 0:
                self.counts[name] = seen[name]
        assert seen == self.counts
        assert kept_bytes(self.agent) == kept_bytes(self.twin)


class EpochMachine(Machine):
    """Decisions of three plays, where an expired play counts as a reward of zero."""

    plays = victim.PLAYS
    expired_reward = 0.0


# Two machines, 60 runs of 100 steps each: 12,000 steps.
TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=100)
TestEpochMachine = EpochMachine.TestCase
TestEpochMachine.settings = settings(max_examples=60, stateful_step_count=100)


# ---- what a decision is worth on a disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def make(path: Path) -> Callable[..., hb.Agent]:
    def make(plays: int = 1, **options: Any) -> hb.Agent:
        return hb.Agent(victim.make_policy(plays), ledger=path, **options)

    return make


def test_opening_again_continues(make: Any) -> None:
    with make(rng=5) as agent:
        first, second = agent.select(ARMS), agent.select(ARMS)
        agent.update(second, 2.0)
    with make() as agent:
        assert agent.pending == [first.id]
        agent.update(first.id, 1.0)
        assert agent.updates == 2
        rows = agent.history()
    assert [row["reward"] for row in rows] == [1.0, 2.0]
    assert [row["arm"] for row in rows] == [first.arm, second.arm]


def test_the_generator_goes_on(make: Any) -> None:
    ties = [[1.0, 0.0, 0.0]] * 8
    twin = hb.Agent(victim.make_policy(1), rng=5)
    wanted = [twin.select(ties).arm for _ in range(20)]
    found = []
    for _ in range(10):
        agent = make(rng=5)
        found += [agent.select(ties).arm for _ in range(2)]
        crash(agent)
    assert found == wanted
    assert len(set(wanted)) > 3


def test_a_damaged_snapshot_is_made_again_from_the_events(make: Any, path: Path) -> None:
    with make(snapshot_every=3) as agent:
        for ticket in range(8):
            agent.update(agent.select(ARMS), float(ticket))
        wanted = pack(anonymous(agent.state))
    database = sqlite3.connect(path)
    database.execute("UPDATE states SET data = x'00' WHERE event > 0")
    database.commit()
    database.close()
    with make() as agent:
        assert pack(anonymous(agent.state)) == wanted


def test_only_two_snapshots_are_kept(make: Any, path: Path) -> None:
    with make(snapshot_every=3) as agent:
        for ticket in range(20):
            agent.update(agent.select(ARMS), float(ticket))
        assert rows(path, "SELECT count(*) FROM states") == [(2,)]


def test_reset_never_gives_a_number_twice(make: Any) -> None:
    with make() as agent:
        old = agent.select(ARMS)
        agent.reset()
        assert agent.select(ARMS).id == old.id + 1
        with pytest.raises(hb.InvalidInputError, match="settled already"):
            agent.update(old, 1.0)
    with make() as agent:
        assert agent.updates == 0
        assert agent.pending == [old.id + 1]


def test_batches_are_taken_whole_or_not_at_all(make: Any) -> None:
    with make() as agent:
        one, two = agent.select(ARMS), agent.select(ARMS)
        before = kept_bytes(agent)
        with pytest.raises(hb.InvalidInputError, match=r"must have one reward, got 1\.0 and 2\.0"):
            agent.update_many([(one, 1.0), (two, 5.0), (one, 2.0)])
        with pytest.raises(hb.InvalidInputError, match="reward must be a finite number, got nan"):
            agent.update_many([(one, 1.0), (two, float("nan"))])
        assert kept_bytes(agent) == before
        agent.update_many([(one, 1.0), (two, 5.0), (one, 1.0)])
        assert agent.counters["applied"] == 2
        assert agent.counters["duplicate"] == 2


# ---- rewards that never come


@pytest.mark.parametrize("durable", [True, False])
def test_expiry_counts_and_drops_what_comes_late(path: Path, durable: bool) -> None:
    clock = Clock()
    agent = hb.Agent(
        victim.make_policy(1), ledger=path if durable else None, expire_after=60.0, clock=clock
    )
    ticket = agent.select(ARMS)
    clock.now = 59.0
    agent.expire_due()
    assert agent.pending == [ticket.id]
    clock.now = 60.0
    agent.update(ticket, 1e6)
    assert agent.updates == 0
    assert agent.counters == {
        "pending": 0,
        "applied": 0,
        "late": 1,
        "duplicate": 0,
        "unknown": 0,
        "expired": 1,
        "cancelled": 0,
        "revised": 0,
        "warm_started": 0,
    }
    agent.close()


def test_a_missing_reward_can_be_assumed(make: Any) -> None:
    clock = Clock()
    twin = hb.Agent(victim.make_policy(1))
    twin.update(twin.select(ARMS), 0.5)
    with make(expire_after=1.0, expired_reward=0.5, clock=clock) as agent:
        agent.select(ARMS)
        clock.now = 2.0
        agent.expire_due()
        assert agent.updates == 1
        assert agent.theta.tobytes() == twin.theta.tobytes()


def test_an_expired_play_of_several_is_asked_for_anew(make: Any) -> None:
    clock = Clock()
    with make(victim.PLAYS, expire_after=1.0, clock=clock) as agent:
        lost, *others = [agent.select(ARMS) for _ in range(victim.PLAYS)]
        for ticket in others:
            agent.update(ticket, 1.0)
        clock.now = 2.0
        again = agent.select(ARMS)
        assert (again.arm, again.plays_left) == (lost.arm, 1)
        assert agent.updates == 0
        agent.update(again, 1.0)
        assert agent.updates == 1


def test_memory_is_bounded(make: Any) -> None:
    with make(max_pending=4) as agent:
        tickets = [agent.select(ARMS).id for _ in range(10)]
        assert agent.pending == tickets[-4:]
        assert agent.counters["expired"] == 6
        agent.update(tickets[0], 1.0)
        assert agent.counters["late"] == 1


# ---- trouble


def test_another_policy_is_refused_with_the_difference(make: Any, path: Path) -> None:
    make().close()
    with pytest.raises(LedgerError, match=r"radius\.squared is 1\.0 in the ledger, 4\.0 here"):
        hb.Agent(hb.linucb(dim=3, radius=2.0), ledger=path)
    words = "estimator is a heavybandits.estimators:Ridge in the ledger, a .*:OnlineNewton here"
    with pytest.raises(LedgerError, match=words):
        make(victim.PLAYS)
    make().close()


def test_a_second_agent_is_refused(make: Any) -> None:
    with make(), pytest.raises(LedgerError, match="in use by another agent"):
        make()
    make().close()


def test_a_closed_agent_predicts_and_does_nothing_else(make: Any) -> None:
    agent = make()
    agent.close()
    agent.close()
    assert agent.predict(ARMS).shape == (4,)
    with pytest.raises(LedgerError, match="has been closed by this agent"):
        agent.select(ARMS)


def test_a_fork_is_refused(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError, match="opened before a fork"):
        agent.select(ARMS)
    monkeypatch.undo()
    agent.close()


def test_other_files_are_refused_and_left_alone(make: Any, path: Path) -> None:
    path.write_bytes(b"anything but a database, and long enough to have been one " * 100)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"agent\.db: file is not a database"):
        make()
    assert path.read_bytes() == before
    path.unlink()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE mine (x)")
    database.commit()
    database.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="a database, but not a ledger"):
        make()
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(make: Any, path: Path) -> None:
    make().close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 2")
    database.close()
    words = (
        r"has format 2, written by heavybandits [\d.]+; heavybandits [\d.]+ reads up to format 1"
    )
    with pytest.raises(LedgerError, match=words):
        make()


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "agent.db", tmp_path):
        with pytest.raises(LedgerError, match=str(path)):
            hb.Agent(victim.make_policy(1), ledger=path)


def test_a_full_disk_changes_nothing_and_passes(make: Any) -> None:
    with make(rng=1, snapshot_every=10**6) as agent:
        database = agent.ledger.database
        ticket = agent.select(ARMS)
        ((pages,),) = database.rows("PRAGMA page_count")
        database.rows(f"PRAGMA max_page_count = {pages}")
        accepted = fill_up(agent)
        before = kept_bytes(agent)
        with pytest.raises(LedgerError, match=r"agent\.db: database or disk is full \(\d+ bytes"):
            agent.select(ARMS)
        with pytest.raises(LedgerError, match="full"):
            agent.update_many([(ticket, 1.0)] + [(n, 1.0) for n in accepted])
        assert kept_bytes(agent) == before
        database.rows(f"PRAGMA max_page_count = {pages + 1000}")
        agent.update(ticket, 1.0)
        wanted = kept_bytes(agent)
        crash(agent)
    with make() as agent:
        assert kept_bytes(agent) == wanted


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 400 kilobytes."""
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(tmp_path)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)  # also if a file is still open


def remount(disk: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(disk)], check=True)


def test_a_disk_that_is_really_full_and_then_read_only(small_disk: Path, make: Any) -> None:
    agent = make(snapshot_every=50)
    fill_up(agent)
    before = kept_bytes(agent)
    with pytest.raises(LedgerError, match=r"agent\.db: database or disk is full \(\d+ bytes"):
        agent.select(ARMS)
    crash(agent)
    remount(small_disk, "size=4m")
    with make() as agent:
        assert kept_bytes(agent) == before
        agent.update(agent.select(ARMS), 1.0)
    remount(small_disk, "ro")
    with pytest.raises(LedgerError, match=r"agent\.db: .* \(the folder is read-only\)"):
        make()


def fill_up(agent: hb.Agent) -> list[int]:
    """Select until the disk is full; the tickets that were acknowledged."""
    accepted = []
    for _ in range(10_000):
        try:
            accepted.append(agent.select(ARMS).id)
        except LedgerError:
            return accepted
    raise AssertionError("the disk was never full")


def test_the_options_are_checked(make: Any) -> None:
    for options in ({"max_pending": 0}, {"expire_after": -1.0}, {"expired_reward": float("inf")}):
        (name,) = options
        with pytest.raises(hb.InvalidInputError, match=name):
            make(**options)
    with pytest.raises(hb.InvalidInputError, match="rng must be None, an int"):
        make(rng="seed")
    with pytest.raises(hb.InvalidInputError, match="history needs an agent with a ledger"):
        hb.Agent(victim.make_policy(1)).history()
