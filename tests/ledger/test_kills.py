"""Real processes, really killed: nothing acknowledged is lost or doubled; every bit comes back."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
import ledger_victim as victim
from heavybandits._utils.errors import LedgerError
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack

KILLS = int(os.environ.get("HEAVYBANDITS_KILLS", "30"))  # for each of the two policies


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    script = Path(victim.__file__)
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    yield child
    child.communicate()


def kill_once(process: Any, path: Path, plays: int, dice: random.Random) -> list[str]:
    """Kill a child that works on the ledger, or still opens it; what it had acknowledged."""
    process.stdin.write(f"{path} {plays}\n")
    process.stdin.flush()
    lines: list[str] = []
    while not lines or not lines[-1].startswith("child"):
        lines.append(process.stdout.readline())
    child = int(lines.pop().split()[1])
    opening = dice.random() < 0.2
    wanted = 0 if opening else dice.randrange(1, 20)
    while len(lines) < wanted:
        lines.append(process.stdout.readline())
        assert lines[-1] != "gone\n", "the child died by itself"
    time.sleep(dice.uniform(0.0, 0.03 if opening else 0.002))
    os.kill(child, signal.SIGKILL)
    while not lines or lines[-1] != "gone\n":
        lines.append(process.stdout.readline())
    return lines[:-1]


def replay(agent: hb.Agent, plays: int) -> hb.Agent:
    """An agent in memory that meets the same calls and was never disturbed."""
    twin = hb.Agent(agent.policy, rng=7, clock=lambda: 0.0)
    assert agent.ledger is not None
    arms = {row["ticket"]: row["arm"] for row in agent.history()}
    events = agent.ledger.database.rows("SELECT kind, ticket, reward FROM events ORDER BY event")
    for kind, ticket, reward in events:
        if kind == "select":
            assert twin.select(victim.arms_of(ticket, plays)).arm == arms[ticket]
        else:
            assert kind == "reward"
            assert reward == victim.reward_of(ticket)
            twin.update(ticket, reward)
    return twin


def settled(agent: hb.Agent) -> bytes:
    """Refused calls are counted with each snapshot only: not part of the comparison."""
    state = agent.clone().state
    state.tickets.counts["duplicate"] = 0
    return pack(anonymous(state))


@pytest.mark.parametrize("plays", [1, victim.PLAYS])
def test_killed_agents_lose_nothing(process: Any, tmp_path: Path, plays: int) -> None:
    path, dice = tmp_path / "agent.db", random.Random(plays)
    decided: dict[int, int] = {}
    rewarded: list[int] = []
    for _ in range(KILLS):
        for kind, ticket, *arm in map(str.split, kill_once(process, path, plays, dice)):
            if kind == "select":
                decided[int(ticket)] = int(arm[0])
            else:
                rewarded.append(int(ticket))
    assert len(rewarded) > KILLS
    assert len(set(rewarded)) == len(rewarded)
    with victim.open_agent(str(path), plays) as agent:
        rows = {row["ticket"]: row for row in agent.history()}
        assert {t: rows[t]["arm"] for t in decided} == decided
        assert all(rows[t]["reward"] == victim.reward_of(t) for t in rewarded)
        assert agent.counters["applied"] == sum(r["outcome"] == "reward" for r in rows.values())
        twin = replay(agent, plays)
        assert settled(agent) == settled(twin)


def test_a_second_process_is_refused(process: Any, tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    process.stdin.write(f"{path} 1\n")
    process.stdin.flush()
    lines = sorted(process.stdout.readline() for _ in range(2))  # in any order
    child = int(lines[0].split()[1])
    assert lines[0].startswith("child")
    try:
        with pytest.raises(LedgerError, match=r"agent\.db is in use by another agent"):
            victim.open_agent(str(path), 1)
    finally:
        os.kill(child, signal.SIGKILL)
        while process.stdout.readline() != "gone\n":
            pass
    victim.open_agent(str(path), 1).close()
