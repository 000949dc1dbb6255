"""`Agent.batch`: many calls, one flush, all of them or none."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits import LedgerError

ARMS = [[1.0, 0.0], [0.6, 0.8]]


def make(path: Path, **options: Any) -> hb.Agent:
    return hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=path, **options)


def play(agent: hb.Agent, rounds: int) -> None:
    for number in range(rounds):
        agent.update(agent.select(ARMS), number / 7)


def in_batch(agent: hb.Agent, *steps: Callable[[], object]) -> None:
    with agent.batch():
        for step in steps:
            step()


def database_of(agent: hb.Agent) -> Any:
    assert agent.ledger is not None
    return agent.ledger.database


def count_commits(agent: hb.Agent, work: Callable[[], None]) -> int:
    commits: list[str] = []
    connection = database_of(agent)._connection

    def note(statement: str) -> None:
        if statement == "COMMIT":
            commits.append(statement)

    connection.set_trace_callback(note)
    work()
    connection.set_trace_callback(None)
    return len(commits)


def test_a_batch_stores_what_single_calls_store_in_one_commit(tmp_path: Path) -> None:
    with make(tmp_path / "one.db") as one, make(tmp_path / "many.db", snapshot_every=7) as many:
        play(one, 20)

        def work() -> None:
            with many.batch():
                play(many, 20)

        assert count_commits(many, work) == 2  # the batch, and a snapshot
        assert np.array_equal(one.theta, many.theta)
        rows = [{**row, "time": 0, "settled": 0} for row in many.history()]
        assert rows == [{**row, "time": 0, "settled": 0} for row in one.history()]
    with make(tmp_path / "many.db") as again:
        assert again.updates == 20


def test_inside_a_batch_earlier_calls_are_seen(tmp_path: Path) -> None:
    with make(tmp_path / "agent.db") as agent, agent.batch():
        ticket = agent.select(ARMS, event_id="a")
        assert agent.select(ARMS, event_id="a").id == ticket.id
        assert agent.update(ticket, 1.0) == "applied"
        assert agent.update(ticket, 1.0) == "duplicate"
        assert len(agent.history()) == 1


def test_a_call_that_raises_leaves_the_others(tmp_path: Path) -> None:
    with make(tmp_path / "agent.db") as agent:
        with pytest.raises(hb.InvalidInputError):
            in_batch(agent, lambda: agent.select(ARMS), lambda: agent.select([[np.nan, 0.0]]))
        assert agent.pending == [0]
    with make(tmp_path / "agent.db") as agent:
        assert agent.pending == [0]


class Broken:
    """A connection on which one kind of statement fails."""

    def __init__(self, real: sqlite3.Connection, kind: str) -> None:
        self._real, self._kind = real, kind

    def execute(self, statement: str, values: Any = ()) -> Any:
        if statement.startswith(self._kind):
            raise sqlite3.OperationalError("database or disk is full")
        return self._real.execute(statement, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@contextmanager
def broken(agent: hb.Agent, kind: str) -> Iterator[None]:
    database = database_of(agent)
    real = database._connection
    database._connection = Broken(real, kind)
    try:
        yield
    finally:
        database._connection = real


@pytest.mark.parametrize("kind", ["COMMIT", "INSERT", "BEGIN"])
def test_if_the_disk_is_full_nothing_of_the_batch_has_happened(tmp_path: Path, kind: str) -> None:
    with make(tmp_path / "agent.db") as agent:
        play(agent, 5)
        theta = agent.theta
        with pytest.raises(LedgerError, match="full"), broken(agent, kind):
            in_batch(agent, lambda: play(agent, 3))
        assert agent.updates == 5
        assert agent.pending == []
        assert np.array_equal(agent.theta, theta)
        play(agent, 2)
    with make(tmp_path / "agent.db") as agent:
        assert agent.updates == 7


def test_after_a_failure_later_calls_of_the_batch_fail_too(tmp_path: Path) -> None:
    def fail(agent: hb.Agent) -> None:
        with pytest.raises(LedgerError), broken(agent, "INSERT"):
            agent.select(ARMS)
        with pytest.raises(LedgerError):
            agent.select(ARMS)

    with make(tmp_path / "agent.db") as agent:
        with pytest.raises(LedgerError):
            in_batch(agent, lambda: agent.select(ARMS), lambda: fail(agent))
        assert agent.pending == []
        assert agent.select(ARMS).id == 0


class Interrupted(Broken):
    """A connection that is interrupted after an INSERT."""

    def execute(self, statement: str, values: Any = ()) -> Any:
        done = self._real.execute(statement, values)
        if statement.startswith("INSERT"):
            raise KeyboardInterrupt
        return done


def test_an_interrupt_in_a_batch_keeps_whole_calls(tmp_path: Path) -> None:
    def interrupt(agent: hb.Agent) -> None:
        database = database_of(agent)
        real = database._connection
        database._connection = Interrupted(real, "")
        try:
            agent.select(ARMS)
        finally:
            database._connection = real

    with make(tmp_path / "agent.db") as agent:
        with pytest.raises(KeyboardInterrupt):
            in_batch(agent, lambda: agent.select(ARMS), lambda: interrupt(agent))
        assert agent.pending == [0]
    with make(tmp_path / "agent.db") as agent:
        assert agent.pending == [0]


def test_batches_nest_and_closing_ends_one(tmp_path: Path) -> None:
    agent = make(tmp_path / "agent.db")
    with agent.batch():
        with agent.batch():
            agent.select(ARMS)
        agent.select(ARMS)
        agent.close()
    with make(tmp_path / "agent.db") as again:
        assert again.pending == [0, 1]


def test_an_agent_without_a_ledger_has_batches_too() -> None:
    agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    with agent.batch():
        play(agent, 3)
    assert agent.updates == 3


KILLED = """
import os, sys
import heavybandits as hb
agent = hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=sys.argv[1])
for number in range(10_000):
    with agent.batch():
        tickets = [agent.select([[1.0, 0.0]]) for _ in range(5)]
    print(tickets[-1].id, flush=True)
"""


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "agent.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = [int(process.stdout.readline()) for _ in range(20)][-1]
        os.kill(process.pid, signal.SIGKILL)
        last = max([last, *(int(line) for line in process.stdout if line.endswith("\n"))])
    with make(tmp_path / "agent.db") as agent:
        assert len(agent.pending) > last
        assert len(agent.pending) % 5 == 0
