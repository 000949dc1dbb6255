"""The agent, one call at a time: select + update."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import agent_throughput
import heavybandits as hb
from measuring import ARMS, DIM, Outcome, Row, best_of, crtm

PART = "Agent"
ROUNDS = 10_000  # of arms made in advance


def rounds(count: int) -> tuple[Any, Any]:
    """Arms (count, K, d), rows of length one, and a reward for every arm."""
    rng = np.random.default_rng(0)
    arms = rng.random((count, ARMS, DIM))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    theta = np.ones(DIM) / np.sqrt(DIM)
    means = 1.0 / (1.0 + np.exp(-arms @ theta))
    return arms, means + rng.standard_t(3.0, (count, ARMS))


def microseconds(policy: Any, arms: Any, rewards: Any) -> float:
    """CPU microseconds of a decision and its update."""
    agent = hb.Agent(policy)
    agent.update(agent.select(arms[0]), 0.5)  # compiles
    offered, paid = list(arms), rewards.tolist()
    started = time.process_time()
    for t in range(len(offered)):
        ticket = agent.select(offered[t])
        agent.update(ticket, paid[t][ticket.arm])
    return (time.process_time() - started) / len(offered) * 1e6


def fastest(quick: bool) -> dict[str, float]:
    """CPU microseconds a round, by policy."""
    arms, rewards = rounds(500 if quick else ROUNDS)
    made = {"CRTM": crtm(ROUNDS), "LinUCB": hb.linucb(dim=DIM, radius=1.0)}
    repeats = 2 if quick else 7
    return best_of(repeats, {n: partial(microseconds, p, arms, rewards) for n, p in made.items()})


def batch_microseconds(policy: Any, arms: Any) -> float:
    """CPU microseconds per decision of `select_many`, its tickets included."""
    agent = hb.Agent(policy)
    agent.select_many(arms[:2])  # compiles
    agent.cancel_all()
    started = time.process_time()
    agent.select_many(arms)
    return (time.process_time() - started) / len(arms) * 1e6


def batches(quick: bool) -> list[Row]:
    """Many decisions in one compiled call."""
    arms, policy = rounds(500 if quick else ROUNDS)[0], hb.linucb(dim=DIM, radius=1.0)
    taken = best_of(2 if quick else 7, {"batch": partial(batch_microseconds, policy, arms)})
    note, what = "K = 20, d = 10; a Python ticket per decision included", "select_many, LinUCB"
    return [Row(PART, f"{what}, per decision", taken["batch"], "us", most=2.0, note=note)]


def measure(folder: Path, quick: bool) -> Outcome:
    limits = {"CRTM": 25.0}
    rows = [
        Row(
            PART,
            f"select + update, {name}",
            taken,
            "us",
            most=limits.get(name),
            note="K = 20, d = 10",
        )
        for name, taken in fastest(quick).items()
    ]
    return Outcome(rows + batches(quick) + durable(quick), [])


def durable(quick: bool) -> list[Row]:
    """Throughput, with and without a ledger: wall time, because a durable call waits for a disk."""
    found = agent_throughput.measure(quick)
    return [Row(PART, r["what"], r["measured"], r["unit"], note="wall time") for r in found]
