"""A process to be killed: it forks a child for every ledger named on stdin, and the child works.

The child tells what was acknowledged, a line each, as soon as the call has returned.
"""

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb

PLAYS = 3
LOG_HEADER, LOG_FRAME = 32, 24 + 4096  # bytes, of a write-ahead log and of each page in it


def make_policy(plays: int) -> Any:
    if plays == 1:
        return hb.linucb(dim=3, radius=1.0)
    return hb.crmm(dim=3, horizon=1000, central_moment=1.0, radius_scale=0.1, plays=plays)


def arms_of(ticket: int, plays: int) -> Any:
    """The arms on offer for a ticket: new ones for every decision."""
    rows = np.random.default_rng(ticket // plays).normal(size=(4, 3))
    return rows / np.linalg.norm(rows, axis=1)[:, None]


def reward_of(ticket: int) -> float:
    return float(np.random.default_rng(ticket + 10**6).standard_t(1.5))


def open_agent(path: str, plays: int) -> hb.Agent:
    return hb.Agent(make_policy(plays), rng=7, ledger=path, snapshot_every=5, clock=lambda: 0.0)


def files_of(path: Path) -> dict[str, bytes]:
    """What a killed agent has left, by ending; of the log, what was written and not the reserve."""
    found = {end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal", "-head")}
    frames = math.ceil((len(found["-wal"].rstrip(b"\0")) - LOG_HEADER) / LOG_FRAME)
    found["-wal"] = found["-wal"][: LOG_HEADER + frames * LOG_FRAME]
    return found


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def work(path: str, plays: int) -> None:
    """Decide, and reward in twos and threes and out of order, until killed."""
    agent = open_agent(path, plays)
    issued = agent.state.tickets.issued
    for number in range(max(issued - 9, 0), issued):
        if number not in agent.pending:  # did it arrive? A caller in doubt sends it again
            agent.update(number, reward_of(number))
    while True:
        ticket = agent.select(arms_of(issued, plays))
        issued += 1
        say("select", ticket.id, ticket.arm)
        if ticket.id % 3 == 2:
            for number in reversed(agent.pending):
                agent.update(number, reward_of(number))
                say("reward", number)


def main(work: Callable[[str, int], None] = work) -> None:
    for line in sys.stdin:
        path, plays = line.rsplit(maxsplit=1)
        child = os.fork()
        if child == 0:
            work(path, int(plays))
        say("child", child)
        os.waitpid(child, 0)
        say("gone")


if __name__ == "__main__":
    for plays in (1, PLAYS):  # compile before the first fork
        agent = hb.Agent(make_policy(plays), rng=7)
        for number in range(plays):
            agent.update(agent.select(arms_of(number, plays)), 1.0)
    say("ready")
    main()
