"""Several agents, their tickets in any order and in the wrong hands, against a plain model.

The model of an agent is a list of what it was told, in order. What the agent has learned must be,
in every bit, what a fresh agent learns from that list; what it waits for, what the list leaves.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.agents.state import kept

POLICIES = (
    hb.linucb(dim=2, radius=1.0),
    hb.policies.EpsilonGreedy(hb.linucb(dim=2, radius=0.5), epsilon=0.4, seed=3),
)
SETS = np.random.default_rng(0).normal(size=(16, 3, 2)) / 4.0
ACTIONS = (
    *("select",) * 6,
    *("update",) * 6,
    *("foreign",) * 3,
    *("cancel", "many", "list", "learn", "revise", "revise", "clone", "reopen", "rebuild"),
)


class Model:
    """What one agent has been told: lessons and revisions in order, and the tickets that wait."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.waiting: dict[int, Any] = {}
        self.settled: dict[int, tuple[Any, float]] = {}
        self.known: set[str] = set()

    def issue(self, ticket: Any) -> None:
        self.waiting[ticket.id] = ticket
        self.known.add(ticket.key)

    def copy(self) -> "Model":
        other = Model()
        other.told, other.waiting = list(self.told), dict(self.waiting)
        other.settled, other.known = dict(self.settled), set(self.known)
        return other

    def centre(self, policy: Any) -> Any:
        """theta and V by the textbook, from all that was told."""
        design, total = np.eye(policy.dim), np.zeros(policy.dim)
        for x, reward, is_new in self.told:
            design += np.outer(x, x) * is_new
            total += x * reward
        return np.linalg.solve(design, total), design


class Player:
    """Some agents and their models; `act` does one thing at random and checks what it must."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice, self.folder = random.Random(seed), folder
        self.counts: Counter[str] = Counter()
        self.files = 0
        self.agents: list[tuple[Any, hb.Agent, Model]] = []
        for policy in POLICIES:
            self.agents.append((policy, self.opened(policy), Model()))

    def opened(self, policy: Any) -> hb.Agent:
        self.files += 1
        path = self.folder / f"{self.files}.db"
        return hb.Agent(policy, ledger=path, clock=lambda: 0.0, snapshot_every=50)

    def arms(self) -> Any:
        return SETS[self.dice.randrange(len(SETS))]

    def act(self) -> None:
        place = self.dice.randrange(len(self.agents))
        name = self.dice.choice(ACTIONS)
        self.counts[name] += 1
        getattr(self, name)(place, *self.agents[place])

    # ---- what can happen

    def select(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        ticket = agent.select(self.arms())
        model.issue(ticket)

    def many(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        for ticket in agent.select_many(SETS[: self.dice.randrange(1, 4)]):
            model.issue(ticket)

    def list(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        for ticket in agent.select(self.arms(), k=2):
            model.issue(ticket)

    def update(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        if model.waiting:
            number = self.dice.choice(list(model.waiting))
            ticket, reward = model.waiting.pop(number), self.dice.gauss(0.0, 1.0)
            agent.update(self.dice.choice((ticket, ticket.key, ticket.id)), reward)
            model.told.append((ticket.features, reward, True))
            model.settled[number] = ticket, reward

    def cancel(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        if model.waiting:
            number = self.dice.choice(list(model.waiting))
            agent.cancel(model.waiting.pop(number))

    def learn(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        rows, rewards = SETS[:2, 0], [self.dice.gauss(0.0, 1.0) for _ in range(2)]
        agent.warm_start(rows, rewards)
        model.told += [(x, y, True) for x, y in zip(rows, rewards, strict=True)]

    def revise(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        if model.settled and agent.ledger is not None:
            number = self.dice.choice(list(model.settled))
            ticket, before = model.settled[number]
            after = self.dice.gauss(0.0, 1.0)
            agent.revise(ticket, after)
            model.told.append((ticket.features, after - before, False))
            model.settled[number] = ticket, after

    def foreign(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        """A ticket in the wrong hands: refused, and nothing has changed."""
        others = [m for n, (_, _, m) in enumerate(self.agents) if n != place and m.waiting]
        if others:
            ticket = self.dice.choice(list(self.dice.choice(others).waiting.values()))
            if ticket.key in model.known:
                return  # issued before the two went apart: it belongs to both
            before = digest(agent)
            try:
                agent.update(self.dice.choice((ticket, ticket.key)), 1e6)
            except hb.ForeignTicketError:
                assert digest(agent) == before, "a refused ticket has changed something"
            else:
                raise AssertionError(f"{agent.id} took a ticket of {ticket.agent}")

    def clone(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        if len(self.agents) >= 5:
            gone = self.agents.pop(self.dice.randrange(len(self.agents)))
            self.check(*gone)
            gone[1].close()
        self.agents.append((policy, agent.clone(), model.copy()))

    def reopen(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        if agent.ledger is not None:
            before, path = digest(agent), agent.ledger.path
            agent.close()
            again = hb.Agent(policy, ledger=path, clock=lambda: 0.0, snapshot_every=50)
            assert digest(again) == before, "it comes back as something else"
            self.agents[place] = policy, again, model

    def rebuild(self, place: int, policy: Any, agent: hb.Agent, model: Model) -> None:
        """The past with the same policy is the same agent; then it goes on in its place."""
        if agent.ledger is not None:
            before, path = digest(agent), agent.ledger.path
            agent.close()
            self.files += 1
            made = hb.Agent.rebuild(
                path, output=self.folder / f"{self.files}.db", clock=lambda: 0.0
            )
            assert digest(made) == before, "the rebuilt agent is another"
            self.agents[place] = policy, made, model

    # ---- what must hold

    def check(self, policy: Any, agent: hb.Agent, model: Model) -> None:
        assert agent.pending == sorted(model.waiting), "a ticket was lost or doubled"
        theta, design = model.centre(policy)
        assert np.allclose(agent.design, design, rtol=1e-9, atol=1e-9)
        assert np.allclose(agent.theta, theta, rtol=1e-7, atol=1e-7), "learned something else"
        assert agent.updates == sum(is_new for _, _, is_new in model.told)

    def finish(self) -> Counter[str]:
        for policy, agent, model in self.agents:
            self.check(policy, agent, model)
            agent.close()
        return self.counts


def digest(agent: hb.Agent) -> tuple[Any, ...]:
    """What an agent has learned and waits for, in every bit."""
    arrays = kept(agent.state.learned)
    learned = tuple((name, array.tobytes()) for name, array in arrays.items())
    return (*learned, tuple(agent.pending), agent.state.tickets.issued)
