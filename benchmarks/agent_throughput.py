"""Agents in memory and with a ledger: calls a second, as JSON.

`measure(quick)` returns the rows; run as a script it prints them. A durable call waits for a disk,
so the wall clock counts here, and every figure is the best of several runs.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb

DIM, ARMS, BATCH = 10, 20, 100


def make_policy() -> Any:
    return hb.crtm(dim=DIM, horizon=100_000, raw_moment=3.5, radius_scale=1e-4)


def make_arms() -> Any:
    arms = np.random.default_rng(0).random((ARMS, DIM))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


def seconds(rounds: int, folder: Path | None, batch: int = 1) -> float:
    """Of so many decisions and their rewards, the rewards in batches of this size."""
    arms = make_arms()
    ledger = None if folder is None else Path(tempfile.mkdtemp(dir=folder)) / "agent.db"
    with hb.Agent(make_policy(), ledger=ledger) as agent:
        agent.update(agent.select(arms), 0.5)  # compiles
        started = time.perf_counter()
        for _ in range(rounds // batch):
            tickets = [agent.select(arms) for _ in range(batch)]
            agent.update_many([(ticket, 0.5) for ticket in tickets])
        return time.perf_counter() - started


def reopening(events: int, folder: Path) -> float:
    """Seconds to open a ledger and repeat this many events."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "agent.db"
    arms, policy = make_arms(), make_policy()
    agent = hb.Agent(policy, ledger=path, snapshot_every=10**9)
    for _ in range(events // (2 * BATCH)):
        agent.update_many([(agent.select(arms), 0.5) for _ in range(BATCH)])
    assert agent.ledger is not None
    agent.ledger.drop()  # as a kill would leave it
    started = time.perf_counter()
    again = hb.Agent(policy, ledger=path)
    taken = time.perf_counter() - started
    again.close()
    return taken


def measure(quick: bool = False, folder: Path | None = None) -> list[dict[str, Any]]:
    """Rows of what was measured, how much, and the unit."""
    rounds, repeats = (200, 1) if quick else (1000, 3)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        disk = Path(place)
        memory = min(seconds(rounds, None) for _ in range(repeats))
        durable = min(seconds(rounds, disk) for _ in range(repeats))
        batched = min(seconds(rounds, disk, BATCH) for _ in range(repeats))
        opened = reopening(2 * rounds, disk)
    return [
        _row("rounds a second, in memory", rounds / memory, "1/s"),
        _row("rounds a second, with a ledger", rounds / durable, "1/s"),
        _row(f"the same, rewards in batches of {BATCH}", rounds / batched, "1/s"),
        _row("a round with a ledger over one in memory", durable / memory, "x"),
        _row("opening a ledger, a thousand events to repeat", opened / (2 * rounds) * 1e6, "ms"),
    ]


def _row(what: str, measured: float, unit: str) -> dict[str, Any]:
    return {"what": what, "measured": round(measured, 3), "unit": unit}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a glance, for tests")
    parser.add_argument("--json", action="store_true", help="the rows as JSON (the default)")
    parser.add_argument("--folder", type=Path, help="the disk to measure; the temporary one if not")
    options = parser.parse_args()
    print(json.dumps({"rows": measure(options.quick, options.folder)}, indent=1))


if __name__ == "__main__":
    main()
