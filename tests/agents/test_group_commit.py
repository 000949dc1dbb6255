"""Calls of many threads: written together, answered after their flush, all of a group or none."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
from heavybandits import LedgerError
from heavybandits.agents.group_commit import MOST_TOGETHER, GroupCommit
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger.sqlite_file import Database

ARMS = [[1.0, 0.0], [0.6, 0.8]]
POLICY = hb.linucb(dim=2, radius=1.0)
SECONDS = 60.0  # a test that waits longer has failed


def bits(agent: hb.Agent) -> bytes:
    return pack(anonymous(agent.state))


class Gate:
    """A batch that waits at its end until it is opened, and counts what it has stored."""

    def __init__(self) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        self.sizes: list[int] = []
        self.error: Exception | None = None
        self.running: list[int] = []

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.running = []
        yield
        self.reached.set()
        assert self.open.wait(SECONDS)
        if self.error is not None:
            raise self.error
        self.sizes.append(len(self.running))


def queued(group: GroupCommit, calls: int) -> None:
    """Wait until so many calls wait for their turn."""
    done = threading.Event()
    while len(group._calls) < calls:
        done.wait(0.001)


def start(pool: ThreadPoolExecutor, group: GroupCommit, call: Callable[[], Any]) -> Future[Any]:
    return pool.submit(group.run, call)


# ---- the queue alone


def test_calls_that_arrive_during_a_flush_are_written_together() -> None:
    gate = Gate()
    group = GroupCommit(gate.batch)
    with ThreadPoolExecutor(9) as pool:
        first = start(pool, group, lambda: gate.running.append(0))
        assert gate.reached.wait(SECONDS)
        later = [start(pool, group, lambda n=n: gate.running.append(n)) for n in range(8)]  # type: ignore[misc]
        queued(group, 8)
        assert not any(future.done() for future in [first, *later])  # no answer before the flush
        gate.open.set()
        for future in [first, *later]:
            assert future.result(SECONDS) is None
    assert gate.sizes == [1, 8]


@pytest.mark.parametrize("kind", [LedgerError, hb.LedgerFencedError])
def test_a_failed_flush_fails_every_call_of_its_group_and_no_other(kind: type[LedgerError]) -> None:
    """A caller that repeats what failed must see that another agent has the ledger now."""
    gate = Gate()
    group = GroupCommit(gate.batch)
    with ThreadPoolExecutor(5) as pool:
        first = start(pool, group, lambda: gate.running.append(0))
        assert gate.reached.wait(SECONDS)
        later = [start(pool, group, lambda n=n: n) for n in range(4)]  # type: ignore[misc]
        queued(group, 4)
        gate.error = kind("no space")
        gate.open.set()
        for future in [first, *later]:
            with pytest.raises(kind, match="no space"):
                future.result(SECONDS)
        gate.error = None
        assert start(pool, group, lambda: 7).result(SECONDS) == 7


def test_a_call_that_raises_leaves_the_others() -> None:
    gate = Gate()
    group = GroupCommit(gate.batch)
    gate.open.set()
    with ThreadPoolExecutor(1) as pool:
        wrong = start(pool, group, lambda: [].pop())
        with pytest.raises(IndexError):
            wrong.result(SECONDS)
        assert start(pool, group, lambda: 7).result(SECONDS) == 7


def test_a_group_has_an_end() -> None:
    gate = Gate()
    group = GroupCommit(gate.batch)
    with ThreadPoolExecutor(MOST_TOGETHER + 3) as pool:
        first = start(pool, group, lambda: gate.running.append(0))
        assert gate.reached.wait(SECONDS)
        later = [
            start(pool, group, lambda: gate.running.append(1)) for _ in range(MOST_TOGETHER + 2)
        ]
        queued(group, MOST_TOGETHER + 2)
        gate.open.set()
        assert [future.result(SECONDS) for future in [first, *later]] == [None] * len([0, *later])
    assert gate.sizes == [1, MOST_TOGETHER, 2]


def test_a_leader_that_is_stopped_hands_over() -> None:
    """An exception that is no error of a call, such as SystemExit, ends the leader alone."""
    gate = Gate()
    group = GroupCommit(gate.batch)
    with ThreadPoolExecutor(3) as pool:

        def stop() -> None:
            gate.reached.set()
            assert gate.open.wait(SECONDS)
            raise SystemExit

        first = start(pool, group, stop)
        assert gate.reached.wait(SECONDS)
        later = start(pool, group, lambda: 7)
        queued(group, 1)
        gate.open.set()
        with pytest.raises(SystemExit):
            first.result(SECONDS)
        assert later.result(SECONDS) == 7


# ---- an agent


def work(agent: hb.Agent, threads: int, rounds: int) -> list[Any]:
    """Let threads decide and reward; return the tickets that were acknowledged."""

    def one(thread: int) -> list[Any]:
        made = []
        for number in range(rounds):
            ticket = agent.select(ARMS, event_id=f"order-{thread}-{number}")
            assert agent.update(ticket, float(number)) == "applied"
            made.append(ticket)
        return made

    with ThreadPoolExecutor(threads) as pool:
        return [ticket for made in pool.map(one, range(threads)) for ticket in made]


@pytest.mark.parametrize("group_commit", [True, False])
def test_threads_lose_nothing_and_a_rebuild_is_equal(tmp_path: Path, group_commit: bool) -> None:
    path = tmp_path / "agent.db"
    agent = hb.Agent(POLICY, ledger=path, snapshot_every=50, group_commit=group_commit)
    tickets = work(agent, 12, 25)
    assert sorted(ticket.id for ticket in tickets) == list(range(300))
    assert agent.counters["applied"] == 300
    wanted, history = bits(agent), agent.history()
    agent.close()
    with hb.Agent(POLICY, ledger=path) as again:
        assert bits(again) == wanted
        assert again.history() == history
    assert bits(hb.Agent.rebuild(path)) == wanted


def test_threads_share_flushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first flush is held, all other threads queue: they share one flush."""
    held, reached = threading.Event(), threading.Event()
    flush, flushes = Database.end_group, []

    def end_group(database: Database) -> None:
        reached.set()
        assert held.wait(SECONDS)
        flushes.append(1)
        flush(database)

    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        monkeypatch.setattr(Database, "end_group", end_group)
        with ThreadPoolExecutor(11) as pool:
            first = pool.submit(agent.select, ARMS)
            assert reached.wait(SECONDS)
            others = [pool.submit(agent.select, ARMS) for _ in range(10)]
            assert agent._group is not None
            queued(agent._group, 10)
            held.set()
            assert sorted(f.result(SECONDS).id for f in [first, *others]) == list(range(11))
        assert len(flushes) == 2


def test_a_flush_that_fails_leaves_memory_and_disk_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "agent.db", threading.Lock()
    acknowledged: list[int] = []
    failed: list[LedgerError] = []
    count = iter(range(10**6))

    def sometimes(database: Database) -> None:
        if next(count) % 3 == 1:
            database._group.failed = "no space left"
        flush(database)

    flush = Database.end_group
    monkeypatch.setattr(Database, "end_group", sometimes)
    agent = hb.Agent(POLICY, ledger=path, snapshot_every=20)

    def one(_: int) -> None:
        for number in range(20):
            try:
                ticket = agent.select(ARMS)
                agent.update(ticket, float(number))
            except LedgerError as error:
                failed.append(error)
            else:
                with lock:
                    acknowledged.append(ticket.id)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    monkeypatch.undo()
    assert failed
    assert len(set(acknowledged)) == len(acknowledged)
    rows = {row["ticket"]: row for row in agent.history()}
    assert all(rows[number]["outcome"] == "reward" for number in acknowledged)
    wanted = bits(agent)
    agent.close()
    assert bits(hb.Agent.rebuild(path)) == wanted


def test_a_thread_in_its_own_batch_performs_its_calls_itself(tmp_path: Path) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:

        def batch() -> list[str]:
            with agent.batch():
                tickets = [agent.select(ARMS) for _ in range(5)]
                return agent.update_many([(ticket, 1.0) for ticket in tickets])  # type: ignore[return-value]

        with ThreadPoolExecutor(4) as pool:
            found = [pool.submit(batch).result(SECONDS) for _ in range(8)]
        assert found == [["applied"] * 5] * 8


def test_every_call_answers_from_a_thread_as_it_does_from_the_main_one(tmp_path: Path) -> None:
    with (
        hb.Agent(POLICY, ledger=tmp_path / "one.db", clock=lambda: 0.0) as one,
        hb.Agent(POLICY, ledger=tmp_path / "two.db", clock=lambda: 0.0) as two,
        ThreadPoolExecutor(1) as pool,
    ):
        for agent, call in (
            (one, lambda f, *a, **k: f(*a, **k)),
            (two, lambda f, *a, **k: pool.submit(f, *a, **k).result(SECONDS)),
        ):
            ticket = call(agent.select, ARMS, event_id="a")
            assert call(agent.select, ARMS, event_id="a").id == ticket.id
            assert len(call(agent.select, ARMS, k=2)) == 2
            made = call(agent.record, arms=ARMS, chosen=1, group="holdout")
            call(agent.select_many, [ARMS, ARMS])
            assert call(agent.update, ticket, 1.0) == "applied"
            assert call(agent.update, ticket, 1.0) == "duplicate"
            assert call(agent.update_many, [(made, 0.5)]) == ["applied"]
            call(agent.revise, ticket, 2.0)
            call(agent.cancel, 1)
            with pytest.raises(hb.InvalidInputError):
                call(agent.update, ticket, 3.0)
        assert bits(one) == bits(two)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_thread_of_a_forked_child_is_told_that_the_ledger_is_not_its_own(tmp_path: Path) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        assert agent._group is not None
        agent._group._led = True  # as if a thread led a group at the fork
        child = os.fork()
        if child == 0:  # pragma: no cover - in the child
            seen: list[str] = []

            def call() -> None:
                try:
                    agent.select(ARMS)
                except LedgerError as error:
                    seen.append(str(error))

            thread = threading.Thread(target=call, daemon=True)
            thread.start()
            thread.join(SECONDS)
            os._exit(0 if seen and "before a fork" in seen[0] else 1)
        agent._group._led = False
        assert os.waitpid(child, 0)[1] == 0
