"""Rows in the user's words: encoding alone, and with a decision and its update."""

import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import heavybandits as hb
from heavybandits.features import Category, Column, Date, Number
from measuring import Outcome, Row, best_of

PART = "Encoder"
CONTEXT: list[Column] = [
    *(Number(f"number {i}", centre=1.0, scale=2.0) for i in range(6)),
    Number("age", 40.0, 12.0, allow_missing=True),
    Category("city", [f"city {i}" for i in range(8)]),
    Category("device", ["phone", "tablet", "computer"]),
    Date("when", ["day", "week"]),
]
ACTION: list[Column] = [Number("price", 20.0, 8.0), Category("brand", ["a", "b", "c"])]
NAMES = [f"action {i}" for i in range(6)]


def visitor() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """A context of ten columns, and six actions."""
    context: dict[str, Any] = {f"number {i}": 1.5 + 0.1 * i for i in range(6)}
    context |= {"age": 35, "city": "city 3", "device": "phone"}
    context["when"] = datetime(2026, 3, 1, 9, 30)
    return context, {n: {"price": 9.0 + i, "brand": "b"} for i, n in enumerate(NAMES)}


def make_encoder(interactions: str) -> hb.Encoder:
    per_action = interactions == "per_action"
    named: dict[str, Any] = {"action": "offer", "actions": NAMES} if per_action else {}
    return hb.Encoder(CONTEXT, ACTION, interactions=interactions, **named)


def microseconds(work: Callable[[], object], count: int) -> float:
    """CPU microseconds of one call."""
    work()  # compiles
    started = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - started) / count * 1e6


def decide(agent: hb.Agent, context: Any, offers: Any) -> None:
    """Encode, select and update, in one agent's words."""
    agent.update(agent.select(context=context, actions=offers), 0.5)


def decide_apart(agent: hb.Agent, encoder: hb.Encoder, context: Any, offers: Any) -> None:
    """The same, encoded next to an agent that sees numbers only."""
    agent.update(agent.select(encoder.encode(context, offers)), 0.5)


def measure(folder: Path, quick: bool) -> Outcome:
    count, repeats = (200, 2) if quick else (5000, 7)
    given = visitor()
    works: dict[str, Callable[[], object]] = {
        f"encode, interactions {kind}": partial(make_encoder(kind).encode, *given)
        for kind in ("none", "per_action", "all")
    }
    encoder = make_encoder("none")
    policy = hb.linucb(dim=encoder.dim, radius=1.0)
    both = "select by name + update, interactions none, LinUCB"
    works[both] = partial(decide, hb.Agent(policy, encoder=encoder), *given)
    apart = "encode, then select + update, interactions none, LinUCB"
    works[apart] = partial(decide_apart, hb.Agent(policy), encoder, *given)
    takers: dict[str, Callable[[], float]] = {
        name: partial(microseconds, work, count) for name, work in works.items()
    }
    note = "a context of 10 columns, 6 actions of 2"
    rows = [
        Row(PART, name, taken, "us", most=60.0 if name == both else None, note=note)
        for name, taken in best_of(repeats, takers).items()
    ]
    return Outcome(rows, [])
