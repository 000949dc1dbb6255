"""Events per second that a ledger stores, in a SQLite file and on a PostgreSQL server.

python benchmarks/ledger_stores.py [--address postgresql://...?agent=NAME] [--folder /dev/shm]

Without an address it starts a server of its own, which flushes its log at every commit.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.agents.agent_policy import AgentPolicy
from heavybandits.agents.events import Event, Selected
from heavybandits.agents.tickets import Decision
from heavybandits.ledger.postgres_tables import migrate_database
from heavybandits.ledger.store import Ledger
from heavybandits.ledger.stores import open_ledger

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from postgres_process import PostgresProcess, why_not

DIM = 10
SIZES = {1: 300, 64: 30, 1024: 5}  # events of one commit, and commits


def make_events(first: int, count: int) -> list[Event]:
    """Return decisions with ten features among ten actions."""
    x = np.ones(DIM) / DIM**0.5
    return [
        Selected(
            ticket,
            0.0,
            Decision(0, x, 0.5, 1.0, 1, 0.9, "tea"),
            event_id=f"e{ticket}",
            available='["tea","figs"]',
        )
        for ticket in range(first, first + count)
    ]


class Rate(NamedTuple):
    """Events per second, and microseconds of CPU in this process per event."""

    events: float
    cpu: float


def measure(ledger: Ledger) -> dict[int, Rate]:
    """Return the rates by events of one commit."""
    rates, issued = {}, 0
    for size, commits in SIZES.items():
        groups = []
        for _ in range(commits):
            groups.append(make_events(issued, size))
            issued += size
        start, cpu = time.perf_counter(), time.process_time()
        for events in groups:
            ledger.write(events)
        spent, cpu = time.perf_counter() - start, time.process_time() - cpu
        rates[size] = Rate(size * commits / spent, 1e6 * cpu / (size * commits))
    return rates


def run(name: str) -> dict[int, Rate]:
    policy = hb.linucb(dim=DIM, radius=1.0)
    ledger = open_ledger(name, 10**9)
    ledger.resume(hb.Agent(policy).state, AgentPolicy(policy))
    try:
        return measure(ledger)
    finally:
        ledger.drop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--address", help="of a new ledger")
    parser.add_argument("--folder", help="where the SQLite file is made")
    given = parser.parse_args()
    server = None
    if given.address is None:
        if why_not():
            raise SystemExit(why_not())
        server = PostgresProcess(fsync="on")
        migrate_database(server.server)
    try:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            sqlite = run(str(Path(folder) / "agent.db"))
        remote = run(given.address or ("" if server is None else server.ledger("agent")))
    finally:
        if server is not None:
            server.close()
    for store, rates in (("SQLite", sqlite), ("PostgreSQL", remote)):
        for size, rate in rates.items():
            print(
                f"{store:10} {size:5} events per commit: {rate.events:7.0f} events/s, "
                f"{rate.cpu:5.0f} µs of CPU per event"
            )


if __name__ == "__main__":
    main()
