"""How much CPU time the decision service needs for a request, and how many requests it answers.

Starts a real service and asks it over loopback connections that stay open, each of which sends a
decision and then its reward. Prints a Markdown table: CPU time of the service per request (user and
system time of its process, also of its threads), requests per second, and requests per commit. The
clients take CPU time as well, so requests per second are only those of this machine.

    python benchmarks/serve.py [--requests 20000] [--clients 32]
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


class Measured(NamedTuple):
    """What one run has measured."""

    requests: int
    cpu: float  # seconds of the service
    wall: float
    commits: int


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    asyncio.run(load(service.port, agent, 20, clients))
    pid, commits = service.process.pid, count_commits(service, agent)
    cpu, wall = cpu_seconds(pid), time.perf_counter()
    asyncio.run(load(service.port, agent, rounds, clients))
    cpu, wall = cpu_seconds(pid) - cpu, time.perf_counter() - wall
    return Measured(2 * rounds * clients, cpu, wall, count_commits(service, agent) - commits)


def main() -> None:
    """Measure a durable agent and one in memory, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=32)
    options = parser.parse_args()
    print("| agent | CPU per request | requests per second | requests per commit |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        service = ServiceProcess(Path(folder))
        try:
            for agent, name in (("shop", "durable, SQLite"), ("memory", "in memory")):
                found = measure(service, agent, options.requests, options.clients)
                print(
                    f"| {name} | {1e6 * found.cpu / found.requests:.0f} µs "
                    f"| {found.requests / found.wall:,.0f} "
                    f"| {found.requests / max(found.commits, 1):.1f} |"
                )
        finally:
            service.stop()


if __name__ == "__main__":
    main()
