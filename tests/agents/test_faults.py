"""Agents in memory against clocks, signals, forks and odd inputs (D3, D5, D11, D12, D13, D14)."""

import math
import os
import signal
import threading
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits._utils.files import read_container, write_container
from heavybandits.agents import pending, state_file
from heavybandits.agents.state import anonymous
from heavybandits.parts.compiled_policy import MAX_BYTES, RowBuffers
from interruption import ARMS, CALLS, Interrupted, interrupted_after

PLACES = int(os.environ.get("HEAVYBANDITS_PLACES", "25"))  # interrupts per call; 0 for everywhere
LINUCB = hb.linucb(dim=3, radius=1.0)
CRMM = hb.crmm(dim=3, horizon=1000, central_moment=1.0, plays=3)


def packed(agent: hb.Agent) -> bytes:
    return state_file.pack(anonymous(agent.state))


# ---- D3: sizes are known before anything is made


def test_a_bomb_is_refused_before_it_takes_memory() -> None:
    """A file of 1 MB, all of whose numbers it could hold, asked for matrices of 10 GB."""
    agent = hb.Agent(hb.bmm(dim=50, horizon=60, central_moment=1.0, arms=5, plays=3))
    body, blobs = read_container(state_file.FORMAT, packed(agent))
    stages = body["policy"]["fields"]["base"]["fields"]["stages"] = 125_000
    bomb = write_container(state_file.FORMAT, body, blobs | {next(iter(blobs)): bytes(8 * stages)})
    tracemalloc.start()
    with pytest.raises(hb.StateError, match="larger or smaller than the arrays in it"):
        state_file.unpack(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000


# ---- D5, D12: clocks


def test_a_clone_has_the_clock_of_its_agent(tmp_path: Any) -> None:
    agent = hb.Agent(LINUCB, expire_after=60.0, clock=lambda: 100.0)
    ticket = agent.select(ARMS)
    agent.save(tmp_path / "agent")
    loaded = hb.Agent.load(tmp_path / "agent", clock=lambda: 100.0)
    for other in (agent.clone(), agent.clone(clock=lambda: 120.0), loaded):
        other.update(ticket.id, 1.0)
        assert (other.updates, other.counters["late"]) == (1, 0)
    late = agent.clone(clock=lambda: 200.0)
    late.update(ticket.id, 1.0)
    assert (late.updates, late.counters["late"]) == (0, 1)


def test_one_ticket_from_the_future_blocks_nothing() -> None:
    times = iter([1e9, 10.0, 20.0, 100.0, 100.0])
    agent = hb.Agent(LINUCB, expire_after=60.0, clock=lambda: next(times))
    odd, old, new = (agent.select(ARMS).id for _ in range(3))
    agent.expire_due()
    assert agent.pending == [odd]
    assert agent.counters["expired"] == 2
    assert {old, new} == set(agent.state.tickets.expired)


def test_the_age_of_tickets_is_kept_whatever_the_clock_does() -> None:
    rng, agent_now = np.random.default_rng(0), [0.0]
    agent = hb.Agent(LINUCB, expire_after=5.0, clock=lambda: agent_now[0])
    model: dict[int, float] = {}
    for _ in range(2000):
        agent_now[0] = float(rng.uniform(0.0, 20.0))
        model = {n: t for n, t in model.items() if t > agent_now[0] - 5.0}
        if rng.random() < 0.6:
            model[agent.select(ARMS).id] = agent_now[0]
        elif model:
            number = int(rng.choice(list(model)))
            agent.update(number, 1.0)
            del model[number]
        else:
            agent.expire_due()
        assert agent.pending == list(model)


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "now", 1j])
def test_a_clock_that_tells_no_time_is_refused(value: Any) -> None:
    now: list[Any] = [1.0]
    agent = hb.Agent(LINUCB, clock=lambda: now[0])
    ticket = agent.select(ARMS)
    before, now[0] = packed(agent), value
    calls: list[Callable[[], Any]] = [
        lambda: agent.select(ARMS),
        lambda: agent.update(ticket, 1.0),
        lambda: agent.cancel(ticket),
        agent.expire_due,
        agent.cancel_all,
        agent.reset,
    ]
    for call in calls:
        with pytest.raises(hb.InvalidInputError, match=r"clock\(\) must be a finite number"):
            call()
        assert packed(agent) == before


# ---- D11: whole or not at all, at whatever instruction a signal comes


def scene(policy: Any, rng: int | None) -> tuple[hb.Agent, list[tuple[int, float]]]:
    """An agent with two decisions that wait, made together if they can be, and one that expires."""
    now = [0.0]
    agent = hb.Agent(policy, rng, expire_after=10.0, expired_reward=0.5, clock=lambda: now[0])
    for _ in range(policy.plays):  # finds its kernels, under a lock that a trace may leave shut
        agent.update(agent.select(ARMS), 0.0)
    agent.select(ARMS)
    if policy.plays > 1:
        agent.cancel_all()
    now[0] = 8.0
    tickets = two_decisions(agent)
    now[0] = 15.0
    return agent, [(ticket.id, float(ticket.id)) for ticket in tickets]


def two_decisions(agent: hb.Agent) -> list[hb.Ticket]:
    """Made together, unless the policy asks for several plays of an arm."""
    plays = agent.policy.plays
    return (
        agent.select_many([ARMS, ARMS])
        if plays == 1
        else [agent.select(ARMS) for _ in range(2 * plays)]
    )


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("policy", "rng"), [(LINUCB, 1), (CRMM, None), (hb.policies.Uniform(3), None)]
)
def test_an_interrupted_call_is_done_or_not_done(policy: Any, rng: int | None, call: str) -> None:
    if call == "select_many" and policy.plays > 1:
        return  # refused

    def play(after: int) -> tuple[bytes, int]:
        agent, batch = scene(policy, rng)
        with interrupted_after(after) as seen:
            try:
                CALLS[call](agent, batch)
            except Interrupted:
                pass
        return packed(agent), seen[0]

    agent, _ = scene(policy, rng)
    before = packed(agent)
    agent.expire_due()
    expired = packed(agent)
    done, total = play(-1)
    assert len({before, done}) == 2
    places = range(1, total + 1, 1 if PLACES == 0 else max(1, total // PLACES))
    found = [play(after)[0] for after in [*places, total]]
    assert set(found) <= {before, expired, done}
    assert found[0] == before
    assert found[-1] == done


def test_a_real_signal_loses_no_reward() -> None:
    """Ctrl-C by a timer, again and again: every reward is applied once, whenever it came."""

    def ring(number: int, frame: FrameType | None) -> None:
        if awaited:  # a timer stopped at the last moment may ring all the same, on a busy machine
            raise Interrupted

    agent, sent, awaited = hb.Agent(LINUCB), 0, False
    agent.update(agent.select(ARMS), 0.0)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        for place in range(300):
            tickets = [agent.select(ARMS).id for _ in range(5)]
            try:
                awaited = True
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 1e-6 * (place % 100))
                agent.update_many([(n, 1.0) for n in tickets])
                awaited = False
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            except Interrupted:
                awaited = False
            taken = sum(n not in agent.pending for n in tickets)
            assert taken in (0, 5)
            sent += taken
            agent.cancel_all()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert agent.updates == agent.counters["applied"] == sent + 1


# ---- D13


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_threads_work_leaves_the_child_a_working_agent() -> None:
    agent, stop = hb.Agent(hb.linucb(dim=3, radius=1.0)), threading.Event()
    agent.update(agent.select(ARMS), 1.0)

    def work() -> None:
        while not stop.is_set():
            agent.update(agent.select(ARMS), 1.0)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                state = agent.state
                whole = len(state.tickets.pending) <= 3 and np.isfinite(agent.theta).all()
                agent.update(agent.select(ARMS), 1.0)
                os._exit(0 if whole else 3)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_views_of_many_sizes_take_a_bounded_amount_of_memory() -> None:
    buffers = RowBuffers(dim=50)
    for size in range(20_000, 20_064):
        buffers.get(size)
    kept = sum(array.nbytes for made in buffers._buffers.values() for array in made.buffer)
    assert 0 < kept <= buffers.nbytes <= MAX_BYTES


# ---- D14


@pytest.mark.parametrize("batch", [[1, 2], [(0,)], [(0, 1.0, 2.0, 3.0)], [None], "ab", [[]]])
def test_batches_of_another_shape_are_refused(batch: Any) -> None:
    agent = hb.Agent(LINUCB)
    agent.select(ARMS)
    before = packed(agent)
    with pytest.raises(
        hb.InvalidInputError, match=r"rewards must be pairs \(ticket, reward\)|ticket"
    ):
        agent.update_many(batch)
    assert packed(agent) == before


def test_a_batch_with_a_noise_scale_for_a_policy_that_takes_none_is_rejected() -> None:
    agent = hb.Agent(LINUCB)
    agent.select(ARMS)
    before = packed(agent)
    with pytest.raises(hb.InvalidInputError, match="noise_scale"):
        agent.update_many([(0, 1.0, 2.0)])
    assert packed(agent) == before


@pytest.mark.parametrize("seed", [2**70, -1, 1.5])
def test_a_seed_that_compiled_code_cannot_hold_is_refused(seed: Any) -> None:
    with pytest.raises(hb.InvalidInputError, match=r"Uniform\.seed must be"):
        hb.Agent(hb.policies.Uniform(3, seed=seed))


@pytest.mark.parametrize("ticket", [np.timedelta64(0, "s"), np.bool_(False), 10**30, -(10**30)])
def test_odd_tickets_are_refused(ticket: Any) -> None:
    agent = hb.Agent(LINUCB)
    agent.select(ARMS)
    with pytest.raises(hb.InvalidInputError, match="ticket"):
        agent.update(ticket, 1.0)


def test_something_that_is_no_batch_is_refused() -> None:
    with pytest.raises(hb.InvalidInputError, match="rewards must be pairs"):
        hb.Agent(LINUCB).update_many(5)  # type: ignore[arg-type]


def test_only_so_many_expired_tickets_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_EXPIRED", 3)
    agent = hb.Agent(LINUCB, max_pending=1)
    for _ in range(10):
        agent.select(ARMS)
    assert list(agent.state.tickets.expired) == [6, 7, 8]
