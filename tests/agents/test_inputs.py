"""Many decisions at once: the tickets of a loop, in blocks of bounded memory."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.agents import inputs
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.core.compile import count_kernels
from heavybandits.features import Category, Number

CITIES = ["Oslo", "Rome", "Lima"]
ACTIONS = {name: {"price": float(n), "kind": "ab"[n % 2]} for n, name in enumerate("wxyz")}
SIDES: Any = (
    [Category("city", CITIES), Number("age", 40.0, 10.0)],
    [
        Category("kind", ["a", "b"]),
        Number("price", 1.0, 2.0),
    ],
)


def make_agent(interactions: str = "all", ledger: Path | None = None) -> hb.Agent:
    """An agent whose policy draws and whose generator breaks ties."""
    named: Any = (
        {"action": "name", "actions": list(ACTIONS)} if interactions == "per_action" else {}
    )
    encoder: Any = hb.Encoder(*SIDES, interactions=interactions, **named)
    inside = hb.linucb(dim=encoder.dim, radius=1.0)
    policy = hb.policies.EpsilonGreedy(inside, epsilon=0.4, seed=1)
    return hb.Agent(policy, rng=5, encoder=encoder, ledger=ledger)


def people(count: int) -> list[dict[str, Any]]:
    return [{"city": CITIES[n % 3], "age": float(20 + n)} for n in range(count)]


def told(ticket: hb.Ticket) -> Any:
    return ticket._asdict() | {"agent": "", "features": ticket.features.tobytes()}


@pytest.mark.parametrize("interactions", ["none", "all", "per_action"])
@pytest.mark.parametrize("shared", [True, False])
def test_many_decisions_by_name_are_those_of_a_loop(
    interactions: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "BLOCK", 4096)
    loop, many, contexts = make_agent(interactions), make_agent(interactions), people(50)
    each = [dict(list(ACTIONS.items())[: 2 + n % 3]) for n in range(50)]
    shown: Any = ACTIONS if shared else each
    one = [
        loop.select(context=context, actions=ACTIONS if shared else each[n])
        for n, context in enumerate(contexts)
    ]
    made = many.select_many(contexts=contexts, actions=shown)
    assert [told(ticket) for ticket in made] == [told(ticket) for ticket in one]
    follow = [agent.select(context=contexts[0], actions=ACTIONS) for agent in (loop, many)]
    assert told(follow[0]) == told(follow[1])


def test_a_ledger_stores_many_decisions_as_it_stores_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "BLOCK", 4096)
    logs = []
    for name in ("loop", "many"):
        with make_agent(ledger=tmp_path / f"{name}.db") as agent:
            if name == "loop":
                made = [agent.select(context=context, actions=ACTIONS) for context in people(30)]
            else:
                made = agent.select_many(contexts=people(30), actions=ACTIONS)
            agent.update_many([(ticket, float(ticket.id)) for ticket in made])
            logs.append(agent.feedback())
    for name in ("city", "age", "action", "propensity", "available", "actions", "reward"):
        one, many = (log.column(name).tolist() for log in logs)
        assert one == many, name


@pytest.mark.parametrize("wrong", [{"city": "Oslo"}, "Oslo", {"city": "Oslo", "age": "old"}])
def test_an_invalid_context_in_a_late_block_changes_nothing(
    wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "BLOCK", 1024)
    agent = make_agent()
    before = pack(anonymous(agent.state))
    with pytest.raises((hb.InvalidInputError, hb.EncodingError)):
        agent.select_many(contexts=[*people(40), wrong], actions=ACTIONS)
    assert pack(anonymous(agent.state)) == before


def test_an_invalid_context_expires_no_ticket_to_make_room() -> None:
    encoder = hb.Encoder(*SIDES)
    policy = hb.linucb(dim=encoder.dim, radius=1.0)
    agent = hb.Agent(policy, encoder=encoder, max_pending=10)
    waiting = [t.id for t in agent.select_many(contexts=people(8), actions=ACTIONS)]
    with pytest.raises(hb.EncodingError):
        agent.select_many(contexts=[*people(8), {"city": "Oslo"}], actions=ACTIONS)
    assert agent.pending == waiting


def test_memory_does_not_grow_with_the_features_of_all_arms() -> None:
    wide: Any = [Category("city", [str(n) for n in range(150)])], [Number("price"), Number("size")]
    encoder = hb.Encoder(*wide)
    actions = {str(n): {"price": 0.1 * n, "size": 1.0} for n in range(30)}
    agent = hb.Agent(hb.linucb(dim=encoder.dim, radius=1.0), encoder=encoder)
    contexts = [{"city": str(n % 150)} for n in range(300)]
    agent.select_many(contexts=contexts[:2], actions=actions)
    tracemalloc.start()
    agent.select_many(contexts=contexts, actions=actions)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * 300 * 30 * encoder.dim * 8


def test_there_is_nothing_left_to_compile_after_one_decision() -> None:
    agent = make_agent()
    agent.select(context=people(1)[0], actions=ACTIONS)
    before = count_kernels()
    agent.select_many(contexts=people(9), actions=ACTIONS)
    agent.select_many(contexts=people(2), actions=[ACTIONS, {"w": ACTIONS["w"]}])
    assert count_kernels() == before


def test_the_features_of_many_contexts_are_those_of_each() -> None:
    encoder = hb.Encoder(*SIDES)
    each = [encoder.encode(context, ACTIONS) for context in people(5)]
    assert encoder.encode_many(people(5), ACTIONS).tobytes() == np.array(each).tobytes()
