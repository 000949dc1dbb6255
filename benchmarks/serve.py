"""How much CPU time the decision service needs for a request, and how many requests it answers.

Starts a real service and asks it over loopback connections that stay open, each of which sends a
decision and then its reward. The clients run in this process, whose CPU time is not counted. Prints
a Markdown table: CPU time per request (user and system time of all processes of the service, and
that of the core alone where there are front ends), requests per second, and requests per commit.
CPU time per request grows when the machine is busy: the last line says how long a fixed piece of
Python takes at the same moment.

    python benchmarks/serve.py [--requests 20000] [--clients 32] [--front-ends 0 2]
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from service_process import ACTIONS, ServiceProcess  # noqa: E402
from service_visitors import children_of  # noqa: E402

LOOP = 20_000  # rounds of the fixed piece of Python


class Measured(NamedTuple):
    """What one run has measured."""

    requests: int
    cpu: float  # seconds of the service
    busiest: float  # seconds of the process that worked most
    wall: float
    commits: int


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_clocks(service: ServiceProcess) -> dict[int, float]:
    """Return the CPU time of every process of a service."""
    pids = [service.process.pid, *children_of(service.process.pid)]
    return {pid: cpu_seconds(pid) for pid in pids}


def calibrate() -> float:
    """Return the CPU time of a fixed piece of Python, in milliseconds."""
    start, total = time.process_time(), 0
    for number in range(LOOP):
        total += len(json.dumps({"a": number}))
    return 1e3 * (time.process_time() - start)


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: object
) -> dict[str, object]:
    """Send one request on an open connection and return the JSON of the response."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    start = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(start.partition("content-length:")[2].split()[0])
    answer: dict[str, object] = json.loads(await reader.readexactly(length))
    if " 200 " not in start.splitlines()[0]:
        raise RuntimeError(f"{start.splitlines()[0]}: {answer}")
    return answer


async def visit(port: int, agent: str, rounds: int) -> None:
    """Send decisions and their rewards, one after another."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path = f"/v1/agents/{agent}"
    context = {"city": "Oslo"} if agent == "shop" else None
    for _ in range(rounds):
        made = await post(
            reader, writer, f"{path}/decide", {"context": context, "actions": ACTIONS}
        )
        await post(reader, writer, f"{path}/reward", {"ticket": made["ticket"], "reward": 1.0})
    writer.close()


async def load(port: int, agent: str, rounds: int, clients: int) -> None:
    """Let clients visit side by side."""
    await asyncio.gather(*(visit(port, agent, rounds) for _ in range(clients)))


def count_commits(service: ServiceProcess, agent: str) -> int:
    """Return the number of commits of an agent so far."""
    counts = service.get(f"/v1/agents/{agent}").body["counts"]
    return int(counts["commits"])


def measure(service: ServiceProcess, agent: str, requests: int, clients: int) -> Measured:
    """Measure so many requests, after some that are not counted."""
    rounds = max(requests // (2 * clients), 1)
    asyncio.run(load(service.port, agent, 50, clients))
    before, commits, wall = read_clocks(service), count_commits(service, agent), time.perf_counter()
    asyncio.run(load(service.port, agent, rounds, clients))
    wall, after = time.perf_counter() - wall, read_clocks(service)
    spent = [after[pid] - before[pid] for pid in before]
    commits = count_commits(service, agent) - commits
    return Measured(2 * rounds * clients, sum(spent), max(spent), wall, commits)


def write_row(name: str, found: Measured) -> str:
    """Return a row of the table."""
    return (
        f"| {name} | {1e6 * found.cpu / found.requests:.0f} µs "
        f"| {1e6 * found.busiest / found.requests:.0f} µs "
        f"| {found.requests / found.wall:,.0f} "
        f"| {found.requests / max(found.commits, 1):.1f} |"
    )


def main() -> None:
    """Measure a durable agent and one in memory, with and without front ends; print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--front-ends", type=int, nargs="+", default=[0, 2])
    options = parser.parse_args()
    print("| agent | CPU per request | of the busiest process | requests/s | requests per commit |")
    print("|---|---|---|---|---|")
    for count in options.front_ends:
        with tempfile.TemporaryDirectory() as folder:
            service = ServiceProcess(Path(folder), front_ends=count)
            try:
                for agent, name in (("shop", "durable, SQLite"), ("memory", "in memory")):
                    found = measure(service, agent, options.requests, options.clients)
                    label = f"{name}, {count} front ends" if count else name
                    print(write_row(label, found), flush=True)
            finally:
                service.stop()
    print(f"\n{LOOP:,} short `json.dumps` take {calibrate():.0f} ms of CPU time at this moment.")


if __name__ == "__main__":
    main()
