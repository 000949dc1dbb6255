"""What a ledger costs: snapshots with many waiting tickets, opening a long one, group commit.

python benchmarks/ledger.py snapshots | opening | groups | single [--folder /dev/shm]
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import heavybandits as hb
from heavybandits.agents.agent_policy import AgentPolicy
from heavybandits.agents.events import Event, Rewarded, Selected
from heavybandits.agents.tickets import Decision
from heavybandits.ledger.sqlite import SqliteLedger
from heavybandits.ledger.sqlite_file import Database

DIM = 10


def make_arms(count: int = 10, dim: int = DIM) -> Any:
    arms = np.random.default_rng(0).normal(size=(count, dim))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


# ---- snapshots


def measure_snapshots(folder: Path, waiting: int) -> None:
    """Print the longest calls of an agent on which many tickets wait, and the time to open it."""
    policy, arms = hb.linucb(dim=DIM, radius=1.0), make_arms()
    path, limit = folder / f"snapshots{waiting}.db", 2 * waiting + 10
    agent = hb.Agent(policy, ledger=path, max_pending=limit)
    for _ in range(0, waiting, 1000):
        agent.select_many(np.broadcast_to(arms, (1000, *arms.shape)))
    plain: list[float] = []
    times: list[float] = []
    assert agent.ledger is not None
    for _ in range(3500):
        before = agent.ledger.database.rows("SELECT max(event) FROM states")
        spent = milliseconds(lambda: agent.update(agent.select(arms), 1.0)) / 2
        after = agent.ledger.database.rows("SELECT max(event) FROM states")
        (plain if before == after else times).append(spent)
    size = agent.ledger.database.rows("SELECT max(length(data)) FROM states")[0][0]
    agent.close()
    cpu, start = time.process_time(), time.perf_counter()
    hb.Agent(policy, ledger=path, max_pending=limit).close()
    opened, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(
        f"{waiting:8,} waiting: median call {np.median(plain):.2f} ms, longest with a snapshot "
        f"{2 * max(times):.0f} ms, snapshot {size / 1e3:.0f} kB, opening {opened:.2f} s "
        f"({cpu:.2f} s of CPU)"
    )


# ---- opening


def write_long(path: Path, count: int) -> Any:
    """Write a ledger of so many events, as an agent would have; return its policy."""
    policy, x = hb.linucb(dim=DIM, radius=1.0), make_arms(1)[0]
    agent = hb.Agent(policy)
    state = agent.state
    ledger = SqliteLedger(path, count + 1)
    state = ledger.resume(state, AgentPolicy(policy))
    events: list[Event] = []
    for ticket in range(count // 2):
        events.append(Selected(ticket, 0.0, Decision(0, x, 0.0, 1.0, 1), available="10"))
        events.append(Rewarded(ticket, 0.0, 1.0, None, ticket))
        if len(events) >= 20_000:
            ledger.write(events)
            events.clear()
    ledger.write(events)
    state.tickets.issued = count // 2
    state.tickets.counts["applied"] = state.tickets.counts["learned"] = count // 2
    ledger.close(state)
    return policy


def measure_opening(folder: Path, count: int) -> None:
    """Print how long a ledger of so many events takes to open, with 1,000 after its snapshot."""
    path = folder / f"opening{count}.db"
    policy = write_long(path, count)
    agent = hb.Agent(policy, ledger=path, snapshot_every=10_000)
    arms = make_arms()
    agent.update_many([(ticket, 1.0) for ticket in agent.select_many(np.stack([arms] * 500))])
    assert agent.ledger is not None
    agent.ledger.drop()  # as a killed process leaves it
    cpu, start = time.process_time(), time.perf_counter()
    agent = hb.Agent(policy, ledger=path)
    spent, cpu = time.perf_counter() - start, time.process_time() - cpu
    agent.close()
    size = path.stat().st_size
    print(
        f"{count:12,} events: {size / 1e9:.2f} GB, {size / count:.0f} bytes per event, opened in "
        f"{spent:.2f} s ({cpu:.2f} s of CPU) with 1,000 events after the snapshot"
    )


# ---- group commit


@contextmanager
def slow_flushes(seconds: float) -> Iterator[None]:
    """Let every commit take so much longer, as a disk would."""
    flush = Database._check_files

    def slow(database: Database) -> None:
        time.sleep(seconds)
        flush(database)

    with mock.patch.object(Database, "_check_files", slow):
        yield


def calls_per_second(agent: hb.Agent, callers: int, calls: int) -> float:
    """Return the rate at which so many threads decide and reward."""
    arms, start = make_arms(), threading.Barrier(callers + 1)

    def work() -> None:
        start.wait()
        for _ in range(calls):
            agent.update(agent.select(arms), 1.0)

    threads = [threading.Thread(target=work) for _ in range(callers)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return 2 * callers * calls / (time.perf_counter() - began)


def measure_groups(folder: Path, flush: float) -> None:
    """Print the rate of calls one by one and in groups, where a flush takes so many seconds."""
    policy, rates = hb.linucb(dim=DIM, radius=1.0), {}
    plan = [(1, False), (1, True), (16, False), (16, True), (64, False), (64, True)]
    with slow_flushes(flush):
        for callers, group in plan:
            name = f"groups{flush}{callers}{group}.db"
            with hb.Agent(policy, ledger=folder / name, group_commit=group) as agent:
                agent.warm()
                calls = max(2000 // callers, 20) if group else max(400 // callers, 5)
                rates[callers, group] = calls_per_second(agent, callers, calls)
    for callers in (1, 16, 64):
        alone, together = rates[callers, False], rates[callers, True]
        print(
            f"flush {1e3 * flush:.1f} ms, {callers:2} callers: {alone:6.0f} calls/s one by one, "
            f"{together:6.0f} in groups, {together / alone:.1f} times"
        )


# ---- a single caller


def measure_single(folder: Path, calls: int = 100, blocks: int = 40) -> None:
    """Print what a decision and its reward take in one thread, with group commit and without."""
    policy, arms = hb.linucb(dim=DIM, radius=1.0), make_arms(20)
    agents = {g: hb.Agent(policy, ledger=folder / f"{g}.db", group_commit=g) for g in (True, False)}
    times: dict[bool, list[float]] = {True: [], False: []}

    def call(agent: hb.Agent) -> None:
        for _ in range(calls):
            agent.update(agent.select(arms), 1.0)

    def work() -> None:
        for agent in agents.values():
            call(agent)
        for block in range(blocks):
            for group in (True, False) if block % 2 else (False, True):
                times[group].append(1e3 * milliseconds(partial(call, agents[group])) / calls)

    thread = threading.Thread(target=work)  # the main thread takes no part in groups
    thread.start()
    thread.join()
    for agent in agents.values():
        agent.close()
    together, alone = np.median(times[True]), np.median(times[False])
    print(
        f"a decision and its reward: {together:.0f} µs with group commit, {alone:.0f} µs without, "
        f"{100 * (together / alone - 1):+.1f}%"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["snapshots", "opening", "groups", "single"])
    parser.add_argument("--folder", default=None, help="where the ledgers are made")
    parser.add_argument("--events", type=int, default=10_000_000, help="of the longest ledger")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        match options.what:
            case "snapshots":
                for waiting in (1000, 10_000, 100_000):
                    measure_snapshots(folder, waiting)
            case "opening":
                for count in (options.events // 100, options.events // 10, options.events):
                    measure_opening(folder, count)
            case "single":
                measure_single(folder)
            case "groups":
                for flush in (0.0, 0.0003, 0.002, 0.005):
                    measure_groups(folder, flush)


if __name__ == "__main__":
    main()
