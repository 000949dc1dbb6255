"""The agent, one call at a time: select + update."""

import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import agent_throughput
import heavybandits as hb
from heavybandits.features import Category, Number
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


def make_shop(categories: int, users: int) -> tuple[hb.Encoder, Any, Any]:
    """An encoder, the contexts of users, and thirty actions."""
    rng = np.random.default_rng(0)
    values = [str(value) for value in range(categories)]
    numbers, names = [f"n{i}" for i in range(9)], [f"c{i}" for i in range(5)]
    encoder = hb.Encoder(
        [*map(Number, numbers), *(Category(name, values) for name in names)],
        [*(Number(f"p{i}") for i in range(3)), Category("kind", list("abc"))],
    )
    contexts = [
        {n: float(rng.normal()) for n in numbers} | {n: str(rng.choice(values)) for n in names}
        for _ in range(users)
    ]
    actions = {
        f"a{i}": {f"p{j}": float(rng.normal()) for j in range(3)} | {"kind": "abc"[i % 3]}
        for i in range(30)
    }
    return encoder, contexts, actions


def by_name(quick: bool) -> list[Row]:
    """Many decisions by name, in one call and one by one: CPU time, and memory."""
    encoder, contexts, actions = make_shop(*((2, 2) if quick else (15, 3000)))
    agent = hb.Agent(hb.auto(dim=encoder.dim), encoder=encoder)

    def loop() -> None:
        for context in contexts:
            agent.select(context=context, actions=actions)

    def many() -> None:
        agent.select_many(contexts=contexts, actions=actions)

    def seconds(decide: Any) -> float:
        agent.cancel_all()
        started = time.process_time()
        decide()
        return time.process_time() - started

    taken = best_of(2, {"loop": partial(seconds, loop), "many": partial(seconds, many)})
    tracemalloc.start()
    seconds(many)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    note = f"{len(contexts)} users, K = 30, d = {encoder.dim}"
    ratio, what = taken["many"] / taken["loop"], "select_many by name"
    return [
        Row(PART, f"{what} over a loop of select", ratio, "x", most=1.0, note=note),
        Row(PART, f"{what}, peak memory", peak, "MB", most=150.0, note=note),
    ]


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
    return Outcome(rows + batches(quick) + by_name(quick) + durable(quick), [])


def durable(quick: bool) -> list[Row]:
    """Throughput, with and without a ledger: wall time, because a durable call waits for a disk."""
    found = agent_throughput.measure(quick)
    return [Row(PART, r["what"], r["measured"], r["unit"], note="wall time") for r in found]
