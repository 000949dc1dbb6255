"""Write the files of this format: `python tests/support/make_fixtures.py`, once for every format.

The files of a released format are never written again: they must load for ever.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
from all_policies import POLICIES
from heavybandits.agents.state_file import FORMAT
from heavybandits.sweeps import Cell
from heavybandits.sweeps.store import write_cell
from paths import FIXTURES

FOLDER = FIXTURES / f"format_{FORMAT.number}"
LEDGER_POLICY = POLICIES["linucb"]
CELL = Cell("math:sqrt", {"x": 2.0})


def arms_of(decision: int) -> Any:
    arms = np.random.default_rng(decision).normal(size=(4, 3))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


def play(agent: hb.Agent, start: int, stop: int) -> list[int]:
    """Decisions start, ..., stop - 1 with their rewards; the arms chosen."""
    chosen = []
    for decision in range(start, stop):
        rewards = np.random.default_rng([decision, 1]).standard_t(2.0, agent.policy.plays)
        for reward in rewards:
            ticket = agent.select(arms_of(decision))
            agent.update(ticket, float(reward))
        chosen.append(ticket.arm)
    return chosen


def make_agent(name: str) -> hb.Agent:
    """An agent that has learned, and waits for a reward of an old decision and of a new one."""
    agent = hb.Agent(POLICIES[name], rng=1, expire_after=1e6, clock=lambda: 0.0)
    late = [agent.select(arms_of(100)) for _ in range(agent.policy.plays)]
    agent.update_many([(ticket, 0.25) for ticket in late[1:]])
    play(agent, 0, 6)
    agent.select(arms_of(101))
    return agent


def go_on(agent: hb.Agent) -> dict[str, Any]:
    """What an agent of these files does next."""
    waiting = agent.pending
    agent.update(waiting[0], -3.0)
    first = agent.predict(arms_of(7)).tolist()
    agent.cancel(waiting[-1])
    agent.cancel_all()
    return {
        "waiting": waiting,
        "before": first,
        "arms": play(agent, 6, 9),
        "after": agent.predict(arms_of(7)).tolist(),
        "updates": agent.updates,
        "counters": agent.counters,
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for name in POLICIES:
        agent = make_agent(name)
        agent.save(FOLDER / f"{name}.state")
        wanted[name] = go_on(agent)
        print(name, file=sys.stderr)
    (FOLDER / "wanted.json").write_text(json.dumps(wanted, indent=1) + "\n")
    make_ledger(FOLDER / "agent.db")
    for name in ("cells", "timings"):
        (FOLDER / name).mkdir(exist_ok=True)
    write_cell(FOLDER, CELL, {"roots": np.arange(2.0)}, cpu_seconds=0.5)


def make_ledger(path: Path) -> None:
    """A ledger of six decisions and one that waits."""
    with tempfile.TemporaryDirectory() as folder:
        with hb.Agent(LEDGER_POLICY, ledger=f"{folder}/agent.db", clock=lambda: 0.0) as agent:
            play(agent, 0, 6)
            agent.select(arms_of(6))
        shutil.copy(f"{folder}/agent.db", path)


if __name__ == "__main__":
    main()
