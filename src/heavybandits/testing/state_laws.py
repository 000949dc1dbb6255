"""Checks of the state of a policy: that it stays finite, can be stored, and is not shared."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.agent import Agent
from ..agents.state import kept, written_by_choice
from ..core.arm_buffer import fill_rows, make_arm_buffer
from ..core.part import classes_of
from ..parts.arms import Rows
from .check_policy import check, require
from .input_laws import (
    ROWS,
    bits,
    decisions,
    make_arms,
    make_rewards,
    packed,
    still_agent,
    train,
    trained,
)

EXTREMES = (1e308, -1e308, 5e-324, -5e-324, 1.7976931348623157e308, 0.0, -0.0, 1e-300, 1e16)


@check
def extreme_rewards(policy: Any) -> None:
    """After the rewards 1e308, -1e308 and 5e-324 everything is still finite."""
    agent, arms = still_agent(policy), make_arms(policy)
    for place in range(policy.plays * decisions(policy, len(EXTREMES))):
        agent.update(agent.select(arms), EXTREMES[place % len(EXTREMES)])
        for name, array in kept(agent.state.learned).items():
            require(bool(np.isfinite(array).all()), f"{name} is not finite")
    means, widths = agent.predict(arms, return_width=True)
    require(bool(np.isfinite(means).all() and np.isfinite(widths).all()), "a prediction is not")


@check
def inside_the_ball(policy: Any) -> None:
    """If it projects on a ball, the centre stays inside it for all rewards."""
    norm = getattr(getattr(getattr(policy, "estimator", None), "projection", None), "norm", None)
    if norm is None:
        return
    agent = still_agent(policy)
    for t in range(decisions(policy)):
        arms = make_arms(policy, t)
        for _ in range(policy.plays):
            agent.update(agent.select(arms), EXTREMES[t % len(EXTREMES)])
        length = float(np.linalg.norm(agent.theta))
        require(length <= norm * (1.0 + 1e-9), f"||theta|| = {length} is above {norm}")


@check
def choice_writes(policy: Any) -> None:
    """A choice writes only to the arrays that `choice_writes` names, if it names any."""
    agent = trained(policy)
    named = written_by_choice(agent.state)
    others = {name: a for name, a in kept(agent.state.learned).items() if name not in named}
    before = {name: array.tobytes() for name, array in others.items()}
    agent.select(make_arms(policy, 99))
    changed = [name for name, array in others.items() if array.tobytes() != before[name]]
    require(not changed, f"it also writes into {', '.join(changed)}")


@check
def pure_predictions(policy: Any) -> None:
    """A prediction changes nothing, and agrees with the ticket."""
    agent, twin, arms = trained(policy), trained(policy), make_arms(policy, 99)
    means, widths = agent.predict(arms, return_width=True)
    ticket = agent.select(arms)
    said = ticket.expected, ticket.width
    require(said == (means[ticket.arm], widths[ticket.arm]), f"the ticket says {said}")
    twin.select(arms)
    for each in (agent, twin):
        each.cancel_all()
        train(each, 2, seed=50)
    require(bits(agent) == bits(twin), "predict changed the state")


@check
def save_and_continue(policy: Any) -> None:
    """Saved and loaded at any moment, it continues bit-for-bit identically."""
    most = decisions(policy) * policy.plays
    for stop in {0, 1, most // 2, most}:
        agent, rounds = still_agent(policy, rng=1), stop // policy.plays
        train(agent, rounds)
        for _ in range(stop % policy.plays):
            agent.select(make_arms(policy, rounds))
        with tempfile.TemporaryDirectory() as folder:
            agent.save(f"{folder}/agent.state")
            again = Agent.load(f"{folder}/agent.state", classes_of(policy), lambda: 0.0)
        require(packed(again) == packed(agent), f"after {stop} plays the file is not complete")
        for each in (agent, again):
            each.cancel_all()
            train(each, 2, seed=50)
        require(packed(again) == packed(agent), f"after {stop} plays it continues differently")


@check
def clone(policy: Any) -> None:
    """A clone is equal and independent."""
    agent = trained(policy, rng=2)
    other = agent.clone()
    require(packed(other) == packed(agent), "the clone is not equal")
    before = packed(agent)
    train(other, 1, seed=70)
    require(packed(agent) == before, "the clone is not independent")


@check
def reset(policy: Any) -> None:
    """After a reset it is like a new one."""
    agent = trained(policy)
    agent.select(make_arms(policy, 99))
    agent.reset()
    require(bits(agent) == bits(still_agent(policy)), "something is left of what it learned")
    require(not any(agent.counters.values()), "something is left of what it counted")


@check
def repeatable(policy: Any) -> None:
    """The same seed and the same calls give bit-for-bit identical results."""
    require(packed(trained(policy, rng=3)) == packed(trained(policy, rng=3)), "two runs differ")


@check
def batches(policy: Any) -> None:
    """Rewards in a batch have the same effect as one by one."""
    loop, batch = still_agent(policy), still_agent(policy)
    for t in range(decisions(policy, 3)):
        pairs = []
        for y in make_rewards(policy.plays, t):
            loop.select(make_arms(policy, t))
            pairs.append((batch.select(make_arms(policy, t)), y))
        for ticket, y in pairs:
            loop.update(ticket.id, y)
        batch.update_many(pairs)
    require(packed(loop) == packed(batch), "a batch is learned differently")


@check
def late_rewards(policy: Any) -> None:
    """Rewards may come late and in any order, and all are learned."""
    agent, wanted = still_agent(policy), decisions(policy, 4)
    tickets = [
        agent.select(make_arms(policy, t)) for t in range(wanted) for _ in range(policy.plays)
    ]
    for place in np.random.default_rng(0).permutation(len(tickets)):
        agent.update(tickets[place], float(place))
    require(agent.updates == wanted, f"{agent.updates} updates after {wanted} decisions")
    require(agent.counters["applied"] == len(tickets), "a reward was not counted")


@check
def cancelled_plays(policy: Any) -> None:
    """A cancelled play has no effect; a decision of several plays asks for it again."""
    agent, twin, arms = still_agent(policy), still_agent(policy), make_arms(policy)
    agent.cancel(agent.select(arms))
    for y in make_rewards(policy.plays):
        agent.update(agent.select(arms), y)
        twin.update(twin.select(arms), y)
    require(agent.updates == 1, f"{agent.updates} updates after one decision")
    require(np.array_equal(agent.predict(arms), twin.predict(arms)) or _moves(policy), "it matters")


def _moves(policy: Any) -> bool:
    """Return True if a choice alone changes the state, as for random policies."""
    agent = still_agent(policy)
    before = bits(agent)
    agent.select(make_arms(policy))
    return bits(agent) != before


@check
def bounded_memory(policy: Any) -> None:
    """Its state does not grow, and settled tickets leave nothing behind."""
    agent = still_agent(policy)
    size = len(bits(agent))
    trained_size = len(bits(train(agent, decisions(policy))))
    require(trained_size == size, f"the state grew from {size} to {trained_size} bytes")
    require(not agent.pending and not agent.state.tickets.open, "it keeps tickets that are settled")


@check
def counts(policy: Any) -> None:
    """It counts its updates, and at most as many filtered rewards as there were."""
    agent = trained(policy)
    require(agent.updates == decisions(policy), f"it counted {agent.updates} updates")
    require(0.0 <= agent.truncated_share <= 1.0, f"it filtered a share of {agent.truncated_share}")


@check
def uncompiled(policy: Any) -> None:
    """It gives bit-for-bit identical results compiled and not compiled."""
    agent, state = still_agent(policy), policy.init()
    offer, buffer = Rows(ROWS, policy.dim), make_arm_buffer(policy.dim, ROWS)
    for t in range(decisions(policy, 3)):
        rewards = np.array(make_rewards(policy.plays, t))
        fill_rows(buffer, make_arms(policy, t))
        with np.errstate(all="ignore"):
            arm = policy.choose(state, offer, buffer)
            policy.estimate_arm(state, buffer.chosen)
            policy.learn(state, buffer.chosen.copy(), rewards.copy())
        for y in rewards:
            ticket = agent.select(make_arms(policy, t))
            agent.update(ticket, y)
        require(arm == ticket.arm, f"compiled it chooses {ticket.arm}, uncompiled {arm}")
        for name, array in kept(state).items():
            same = array.tobytes() == kept(agent.state.learned)[name].tobytes()
            require(same, f"{name} differs after {t + 1} decisions")


@check
def ledger(policy: Any) -> None:
    """With a ledger, a killed agent continues bit-for-bit identically."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        agent = train(Agent(policy, 4, ledger=path, snapshot_every=3, clock=lambda: 0.0), 2)
        agent.select(make_arms(policy, 80))
        before = packed(agent)
        if agent.ledger is not None:
            agent.ledger.drop()
        with Agent(policy, ledger=path, clock=lambda: 0.0) as again:
            require(packed(again) == before, "it comes back as something else")
