"""The agent: tickets, late rewards, refusals that change nothing, threads, the bits of the loop."""

import copy
import itertools
import math
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from all_policies import POLICIES
from heavybandits.agents.events import Rewarded
from heavybandits.agents.state import flatten
from heavybandits.core.compile import count_kernels
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.world import STILL

DIM = 3
ARMS = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8], [0.5, 0.5, 0.5]])
CRTM: Any = hb.crtm(dim=DIM, horizon=1000, raw_moment=1.0, radius_scale=0.01, truncation=5.0)
CRMM = hb.crmm(dim=DIM, horizon=1000, central_moment=1.0, plays=5)
LENIENT = CRTM._replace(filter=hb.filters.Truncate(1e300))  # cuts nothing
LINUCB = hb.linucb(dim=DIM, radius=1.0)


def learn(agent, rewards, arms=ARMS):
    for reward in rewards:
        agent.update(agent.select(arms), reward)
    return agent


def picture(agent, digest):
    """All that a refusal must leave as it is: counters of refusals are meant to move."""
    return digest(agent.state.learned), agent.pending, agent.counters["applied"], agent.updates


# ---- tickets


def test_a_ticket_says_what_was_decided():
    agent = learn(hb.Agent(CRTM), [0.3, -1.0, 2.0])
    ticket = agent.select(ARMS)
    assert ticket.id == 3
    assert ticket.plays_left == 1
    np.testing.assert_array_equal(ticket.features, ARMS[ticket.arm])
    means, widths = agent.predict(ARMS, return_width=True)
    assert (ticket.expected, ticket.width) == (means[ticket.arm], widths[ticket.arm])
    theta, inverse = agent.theta, agent.inverse
    root = math.sqrt(CRTM.radius.squared)
    expected = [root * math.sqrt(x @ inverse @ x) for x in ARMS]
    np.testing.assert_allclose(widths, expected, rtol=1e-12)
    np.testing.assert_allclose(means, [1 / (1 + math.exp(-(x @ theta))) for x in ARMS], rtol=1e-12)
    assert ticket.arm == np.argmax(ARMS @ theta + widths)
    np.testing.assert_array_equal(agent.predict(ARMS), means)


def test_features_of_a_ticket_are_the_callers_to_spoil():
    agent = hb.Agent(CRTM)
    ticket = agent.select(ARMS)
    ticket.features[:] = 99.0
    agent.update(ticket, 1.0)
    assert agent.design.max() < 2.0


def test_arms_may_come_as_anything_array_like():
    clear = np.array([[0.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.1, 0.6, 0.5]])
    frozen = clear.copy()
    frozen.flags.writeable = False
    shapes = (clear.tolist(), tuple(map(tuple, clear)), np.asfortranarray(clear), frozen)
    for arms in (*shapes, clear.astype("f4"), clear.astype(object), 2 * np.eye(3, dtype=int)[1:2]):
        if np.shape(arms)[0] == 1:
            assert hb.Agent(CRTM).predict(arms).shape == (1,)
        else:
            assert hb.Agent(CRTM).select(arms).arm == 1


def test_arm_sets_are_arms_too():
    agent = hb.Agent(LINUCB)
    ticket = agent.select(hb.arms.UnitBall(DIM))
    assert ticket.arm == -1
    assert np.linalg.norm(ticket.features) == pytest.approx(1.0)
    agent.update(ticket, 1.0)
    assert agent.updates == 1


def test_rewards_late_and_out_of_order_are_applied_in_order_of_arrival():
    agent = hb.Agent(CRTM)
    tickets = [agent.select(ARMS[[k]]) for k in (0, 1, 2)]
    for k in (2, 0, 1):
        agent.update(tickets[k].id, float(k))
    direct = hb.Agent(CRTM)
    for k in (2, 0, 1):
        direct.update(direct.select(ARMS[[k]]), float(k))
    np.testing.assert_array_equal(agent.theta, direct.theta)
    assert agent.counters["pending"] == 0


def test_a_batch_is_its_rewards_one_after_the_other(digest):
    one, many = hb.Agent(CRTM), hb.Agent(CRTM)
    rewards = [1.0, -2.0, 30.0]
    pairs = [[(agent.select(ARMS), y) for y in rewards] for agent in (one, many)]
    for ticket, y in pairs[0]:
        one.update(ticket, y)
    many.update_many(iter(pairs[1]))
    assert digest(one.state.learned) == digest(many.state.learned)
    many.update_many([])
    assert many.counters["applied"] == 3


def test_a_batch_with_one_bad_reward_is_refused_as_a_whole(digest):
    agent = hb.Agent(CRTM)
    first, second = agent.select(ARMS), agent.select(ARMS)
    before = picture(agent, digest)
    batches: tuple[Any, ...] = (
        [(first, 1.0), (second, math.nan)],
        [(first, 1.0), (99, 1.0)],
        [(first, 1.0), (first, 2.0)],
        [(first, 1.0), (second, "2")],
    )
    for batch in batches:
        with pytest.raises(hb.InvalidInputError):
            agent.update_many(batch)
        assert picture(agent, digest) == before
    agent.update_many([(first, 1.0), (second, 2.0)])


def test_a_reward_counts_once(digest):
    agent = hb.Agent(CRTM)
    ticket = agent.select(ARMS)
    agent.update(ticket, 1.0)
    before = picture(agent, digest)
    with pytest.raises(hb.InvalidInputError, match="ticket 0"):
        agent.update(ticket, 1.0)
    with pytest.raises(hb.InvalidInputError, match="ticket 0"):
        agent.cancel(ticket)
    assert picture(agent, digest) == before
    assert agent.counters["duplicate"] == 2


def test_unknown_tickets_are_refused_and_counted(digest):
    agent = hb.Agent(CRTM)
    agent.select(ARMS)
    before = picture(agent, digest)
    for number in (1, 10**30, -1):
        with pytest.raises(hb.InvalidInputError, match=f"ticket {number} "):
            agent.update(number, 1.0)
    assert agent.counters["unknown"] == 3
    nonsense: Any
    for nonsense in ("0", None, 0.0, True, (0,)):
        with pytest.raises(
            hb.InvalidInputError, match="ticket must be a Ticket, its key or its id"
        ):
            agent.update(nonsense, 1.0)
    assert picture(agent, digest) == before


def test_a_cancelled_ticket_is_gone(digest):
    agent = hb.Agent(CRTM)
    before = digest(agent.state.learned)
    ticket = agent.select(ARMS)
    agent.cancel(ticket)
    with pytest.raises(hb.InvalidInputError):
        agent.update(ticket, 1.0)
    assert digest(agent.state.learned) == before
    counters = agent.counters
    assert (counters["pending"], counters["cancelled"], counters["applied"]) == (0, 1, 0)


def test_a_ticket_of_before_a_reset_does_not_teach_the_new_state(digest):
    agent = learn(hb.Agent(CRTM), [1.0, 2.0])
    old = agent.select(ARMS)
    agent.reset()
    assert agent.updates == 0
    assert agent.pending == []
    assert digest(agent.state.learned) == digest(hb.Agent(CRTM).state.learned)
    new = agent.select(ARMS)
    assert new.id != old.id
    with pytest.raises(hb.InvalidInputError):
        agent.update(old, 1.0)
    agent.update(new, 1.0)


# ---- decisions of several plays


def test_an_epoch_keeps_its_arm_and_counts_down():
    agent = hb.Agent(CRMM)
    tickets = [agent.select(ARMS) for _ in range(5)]
    assert [ticket.plays_left for ticket in tickets] == [5, 4, 3, 2, 1]
    assert len({ticket.arm for ticket in tickets}) == 1
    assert len({ticket.id for ticket in tickets}) == 5
    for ticket in tickets[:4]:
        agent.update(ticket, 1.0)
    assert agent.updates == 0
    agent.update(tickets[4], 1.0)
    assert agent.updates == 1
    assert agent.select(ARMS).plays_left == 5


@given(order=st.permutations(range(5)))
def test_plays_of_an_epoch_may_come_in_any_order(order, digest):
    rewards = [3.0, -1.0, 0.5, 100.0, 0.25]
    sorted_agent, mixed = hb.Agent(CRMM), hb.Agent(CRMM)
    for agent, places in ((sorted_agent, range(5)), (mixed, order)):
        tickets = [agent.select(ARMS) for _ in range(5)]
        for place in places:
            agent.update(tickets[place], rewards[place])
    assert digest(sorted_agent.state.learned) == digest(mixed.state.learned)


def test_a_new_epoch_may_begin_before_the_old_one_is_paid():
    agent = hb.Agent(CRMM)
    old = [agent.select(ARMS) for _ in range(5)]
    new = [agent.select(ARMS) for _ in range(5)]
    agent.update_many((ticket, 0.0) for ticket in new)
    assert agent.updates == 1
    agent.update_many((ticket, 0.0) for ticket in old)
    assert agent.updates == 2


def test_a_cancelled_play_is_asked_for_again():
    agent = hb.Agent(CRMM)
    tickets = [agent.select(ARMS) for _ in range(5)]
    agent.cancel(tickets[2])
    again = agent.select(ARMS)
    assert (again.arm, again.plays_left) == (tickets[0].arm, 1)
    agent.update_many([(ticket, 1.0) for ticket in (*tickets[:2], *tickets[3:], again)])
    assert agent.updates == 1


def test_an_epoch_rejects_other_arms_until_it_is_cancelled(digest):
    agent = hb.Agent(CRMM)
    ticket = agent.select(ARMS)
    before = picture(agent, digest)
    mask = np.ones(4, bool)
    mask[ticket.arm] = False
    for arms, hidden in ((ARMS + 0.01, None), (ARMS[:0:-1], None), (ARMS, mask)):
        with pytest.raises(hb.InvalidInputError, match=r"plays it 4 more times.*cancel_all\(\)"):
            agent.select(arms, hidden)
    assert picture(agent, digest) == before
    agent.cancel_all()
    assert agent.counters["cancelled"] == 1
    assert agent.select(ARMS[:0:-1]).plays_left == 5


# ---- masks and ties


def test_masked_arms_are_not_chosen():
    agent = hb.Agent(LINUCB)
    for k in range(4):
        mask = np.arange(4) == k
        assert agent.select(ARMS, mask).arm == k
    best = learn(hb.Agent(LINUCB), [5.0, 0.0, 0.0, 0.0, 0.0])
    first = best.select(ARMS).arm
    assert best.select(ARMS, np.arange(4) != first).arm != first
    assert best.select(ARMS).arm == first  # a mask is forgotten


def test_ties_go_to_the_lowest_arm_or_to_chance():
    same = np.ones((6, DIM)) / 2
    assert {hb.Agent(LINUCB).select(same).arm for _ in range(5)} == {0}
    agent = hb.Agent(LINUCB, rng=0)
    assert {agent.select(same).arm for _ in range(100)} == set(range(6))
    mask = np.array([False, True, False, True, False, False])
    assert {agent.select(same, mask).arm for _ in range(50)} == {1, 3}


def test_randomness_is_an_argument():
    same = np.ones((6, DIM)) / 2

    def arms(rng):
        agent = hb.Agent(LINUCB, rng=rng)
        return [agent.select(same).arm for _ in range(20)]

    seeds = (7, np.random.SeedSequence(7), np.random.default_rng(7))
    assert arms(7) == arms(seeds[1]) == arms(seeds[2])
    assert arms(7) != arms(8)
    generator = np.random.Generator(np.random.Philox(3))
    assert len(arms(generator)) == 20
    for nonsense in ("seed", -1, 1.5):
        with pytest.raises(hb.InvalidInputError, match="rng"):
            hb.Agent(LINUCB, rng=nonsense)  # type: ignore[arg-type]


@given(order=st.permutations(range(4)))
def test_permuting_arms_permutes_the_choice(order):
    agent = learn(hb.Agent(LINUCB), [1.0, 0.3, -0.2, 0.1, 0.7])
    order = list(order)
    assert order[agent.select(ARMS[order]).arm] == agent.select(ARMS).arm


def test_a_chance_of_ties_does_not_change_clear_choices():
    plain, random = hb.Agent(LINUCB), hb.Agent(LINUCB, rng=5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        arms = rng.normal(size=(5, DIM)) / 8
        tickets = [agent.select(arms) for agent in (plain, random)]
        assert tickets[0].arm == tickets[1].arm
        for agent, ticket in zip((plain, random), tickets, strict=True):
            agent.update(ticket, float(ticket.arm))


# ---- refusals


@pytest.mark.parametrize(
    ("arms", "mask", "words"),
    [
        (np.zeros((0, DIM)), None, r"arms must have shape \(any, 3\), got \(0, 3\)"),
        (np.zeros((2, 4)), None, r"arms must have shape \(any, 3\), got \(2, 4\)"),
        (np.zeros(DIM), None, "arms must have shape"),
        ([[1.0, 2.0, math.nan]], None, r"arms must be finite, got nan at \(0, 2\)"),
        ([[1.0, math.inf, 0.0]], None, "arms must be finite"),
        ([[1.0, 2.0], [3.0]], None, "arms must be an array of numbers"),
        (np.eye(DIM, dtype=complex), None, "arms must be an array of numbers"),
        ("arms", None, "arms must be an array of numbers"),
        (None, None, "arms"),
        (hb.arms.UnitBall(4), None, "arms must have dim 3, got 4"),
        (hb.links.Logistic(), None, "arms must be an arm set"),
        (hb.arms.UnitBall(DIM), [True], "mask must be None for an arm set"),
        (ARMS, [True], "mask must be 4 booleans"),
        (ARMS, [1, 0, 1, 0], "mask must be 4 booleans"),
        (ARMS, [False] * 4, "mask must leave at least one arm"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arms_that_cannot_be_are_refused(arms, mask, words, digest):
    agent = learn(hb.Agent(CRTM), [1.0])
    before = picture(agent, digest)
    with pytest.raises(hb.InvalidInputError, match=words):
        agent.select(arms, mask)
    if mask is None and not isinstance(arms, tuple):
        with pytest.raises(hb.InvalidInputError, match=words):
            agent.predict(arms)
    assert picture(agent, digest) == before


@pytest.mark.parametrize(
    "reward",
    [math.nan, math.inf, -math.inf, "1", None, 1j, [1.0], True, 10**400, np.nan],
    ids=lambda value: type(value).__name__,
)
def test_rewards_that_are_no_finite_numbers_are_refused(reward, digest):
    agent = hb.Agent(CRTM)
    ticket = agent.select(ARMS)
    before = picture(agent, digest)
    with pytest.raises(hb.InvalidInputError, match="reward must be a finite number"):
        agent.update(ticket, reward)
    assert picture(agent, digest) == before
    single: Any = np.float32(1.5)
    agent.update(ticket, single)


NOT_POLICIES = [None, 3, hb.links.Logistic(), hb.filters.NoFilter(), "crtm", object()]


@pytest.mark.parametrize("policy", NOT_POLICIES, ids=lambda value: type(value).__name__)
def test_what_is_no_policy_is_refused(policy):
    with pytest.raises(hb.InvalidInputError, match="must be a policy"):
        hb.Agent(policy)


def test_long_features_are_warned_about_once():
    agent = hb.Agent(CRTM)
    with pytest.warns(UserWarning, match=r"norm 2; the theory assumes at most 1.*Divide") as told:
        agent.select(2.0 * np.eye(DIM))
    assert told[0].filename == __file__  # the line that can be changed
    agent.select(3.0 * np.eye(DIM))  # a second warning would be an error here
    hb.Agent(CRTM).select(np.eye(DIM))


def test_features_that_arithmetic_cannot_bear_are_refused(digest):
    agent = hb.Agent(CRTM)
    before = picture(agent, digest)
    for size in (1.1e6, 1e160, -1.7e308):
        with pytest.raises(hb.InvalidInputError, match=r"arms must be in \[-1e6, 1e6\]"):
            agent.select(size * np.eye(DIM))
    assert picture(agent, digest) == before
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="norm"):
        agent.select(1e6 * np.eye(DIM))
    for scale in (1e6, 0.3, 1e3) * 400:
        agent.update(agent.select(scale * rng.uniform(-1, 1, size=(4, DIM))), rng.normal())
    assert np.linalg.norm(agent.theta) <= 1.0 + 1e-12
    np.testing.assert_allclose(agent.design @ agent.inverse, np.eye(DIM), atol=1e-6)


@pytest.mark.parametrize("policy", [CRTM, LENIENT, CRMM, LINUCB], ids=range(4))
def test_every_finite_reward_is_legal(policy):
    agent, rng = hb.Agent(policy), np.random.default_rng(0)
    wild = itertools.cycle([1e308, -1e308, 5e-324, 1.7e308, -0.0, 1e200, 1.0])
    for _ in range(150):
        arms = rng.normal(size=(4, DIM))
        arms /= 2 * np.linalg.norm(arms, axis=1)[:, None]
        for _ in range(policy.plays):
            ticket = agent.select(arms)
            agent.update(ticket, next(wild))
            assert math.isfinite(ticket.expected)
            assert math.isfinite(ticket.width)
        if policy is not LINUCB:
            assert np.linalg.norm(agent.theta) <= 1.0 + 1e-12
    for name, array in flatten(agent.state.learned).items():
        assert np.isfinite(array).all(), name
    np.testing.assert_allclose(agent.design @ agent.inverse, np.eye(DIM), atol=1e-9)
    assert hb.Agent.clone(agent).updates == 150


# ---- the same as the loop


@pytest.mark.parametrize("policy", [CRTM, CRMM], ids=["crtm", "crmm"])
def test_an_agent_in_a_loop_is_the_loop(policy):
    """Compiled agent, uncompiled loop: every choice, every regret and every array, to the bit."""
    arms, link, theta = hb.arms.FromArray(ARMS), hb.links.Logistic(), np.array([0.5, 0.3, -0.2])
    noise = np.random.default_rng(2).standard_t(2, size=603)
    state, view, episode = policy.init(), arms.make_buffer(), make_episode(policy.plays)
    trace, key = make_trace(np.arange(1, 604)), np.uint64(0)
    play(policy, state, arms, link, theta, view, key, noise, episode, trace, Unobserved(), STILL)
    agent, regret = hb.Agent(policy), 0.0
    means = [link.mean(float(sum(a * b for a, b in zip(x, theta, strict=True)))) for x in ARMS]
    for t, eta in enumerate(noise):
        ticket = agent.select(ARMS)
        agent.update(ticket, means[ticket.arm] + eta)
        regret += max(means) - means[ticket.arm]
        assert regret == trace.regret[t]
        assert agent.updates == trace.updates[t]
    skipped = ("scratch", "direction")  # holds what was last looked at, which differs
    for name, array in flatten(state).items():
        if not name.endswith(skipped):
            np.testing.assert_array_equal(array, flatten(agent.state.learned)[name], err_msg=name)


# ---- order of rewards, where mathematics says it does not matter


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), order=st.permutations(range(12)))
def test_ridge_does_not_see_the_order_of_rewards(seed, order):
    rng = np.random.default_rng(seed)
    arms, rewards = rng.normal(size=(12, 1, DIM)) / 8, rng.standard_t(2, size=12)
    thetas = []
    for places in (range(12), order):
        agent = hb.Agent(LINUCB)
        tickets = [agent.select(arm) for arm in arms]
        for place in places:
            agent.update(tickets[place], rewards[place])
        thetas.append(agent.theta)
    rows = arms[:, 0]
    direct = np.linalg.solve(np.eye(DIM) + rows.T @ rows, rows.T @ rewards)
    scale = 1e-10 * (1 + np.abs(rewards).max())
    np.testing.assert_allclose(thetas[0], thetas[1], atol=scale)
    np.testing.assert_allclose(thetas[0], direct, atol=scale)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.125, 2.0, 1024.0]))
def test_ridge_scales_with_the_rewards(seed, scale):
    rng = np.random.default_rng(seed)
    pairs = list(zip(rng.normal(size=(8, 1, DIM)) / 8, rng.standard_t(2, size=8), strict=True))
    plain, scaled = hb.Agent(LINUCB), hb.Agent(LINUCB)
    for arm, reward in pairs:
        plain.update(plain.select(arm), reward)
        scaled.update(scaled.select(arm), scale * reward)
    np.testing.assert_array_equal(scaled.theta, scale * plain.theta)


# ---- copies


def test_what_is_seen_is_a_copy():
    agent = learn(hb.Agent(CRTM), [1.0])
    for name in ("theta", "design", "inverse"):
        getattr(agent, name)[:] = 7.0
        assert not (getattr(agent, name) == 7.0).any()


def test_a_clone_goes_its_own_way(digest):
    agent = learn(hb.Agent(CRTM, rng=1), [1.0, -3.0, 40.0])
    pending = agent.select(ARMS)
    twin = agent.clone()
    assert digest(twin.state.learned) == digest(agent.state.learned)
    assert twin.counters == agent.counters
    twin.update(pending.id, 2.0)
    assert agent.pending == [pending.id]
    agent.update(pending, 2.0)
    for rewards in ([0.5], [1.5, 2.5]):
        learn(agent, rewards)
        learn(twin, rewards)
    assert digest(twin.state.learned) == digest(agent.state.learned)
    assert [agent.select(ARMS).arm for _ in range(9)] == [twin.select(ARMS).arm for _ in range(9)]


def test_shares_and_counts():
    agent = learn(hb.Agent(CRTM), [1.0, 1e6, 0.1, -1e6])
    assert agent.updates == 4
    assert agent.truncated_share == 0.5
    assert hb.Agent(CRTM).truncated_share == 0.0
    np.testing.assert_allclose(agent.design @ agent.inverse, np.eye(DIM), atol=1e-12)


# ---- threads


@pytest.mark.parametrize("policy", [CRTM, CRMM], ids=["crtm", "crmm"])
def test_many_threads_lose_nothing(policy):
    agent, barrier = hb.Agent(policy), threading.Barrier(8)
    seen: list[list[int]] = [[] for _ in range(8)]

    def work(place):
        rng = np.random.default_rng(place)
        barrier.wait()
        for _ in range(150):
            ticket = agent.select(ARMS)
            seen[place].append(ticket.id)
            agent.update(ticket.id, float(rng.normal()))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(itertools.chain(*seen)) == list(range(1200))
    assert agent.counters["applied"] == 1200
    assert agent.counters["pending"] == 0
    assert agent.updates == 1200 // policy.plays
    np.testing.assert_allclose(agent.design @ agent.inverse, np.eye(DIM), atol=1e-9)
    # every update adds curvature ||x||^2 to the trace
    assert 3.0 < np.trace(agent.design) <= 3.0 + 1200 // policy.plays * 0.1


def test_a_reader_never_sees_half_an_update():
    """Between the Newton step and the projection theta is outside the ball for a moment."""
    dim = 40
    policy = hb.crtm(dim=dim, horizon=1000, raw_moment=1.0, radius_scale=0.01, truncation=1e9)
    agent, stop, seen = hb.Agent(policy), threading.Event(), []

    def read():
        while not stop.is_set():
            seen.append(float(np.linalg.norm(agent.theta)))

    reader = threading.Thread(target=read)
    reader.start()
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(2, dim)) / 10
    for n in range(20_000):
        agent.update(agent.select(arms), rng.choice([-1e4, 1e4]))
        if n > 1500 and len(seen) > 100:  # however the threads are scheduled
            break
        if n % 50 == 0:
            time.sleep(1e-4)
    stop.set()
    reader.join()
    assert len(seen) > 100
    assert max(seen) <= 1.0 + 1e-9


# ---- a noise scale of its own for every reward

CRHL = hb.crhl(dim=3, noise_scale=0.5, radius_scale=0.1)


def test_a_reward_may_bring_its_own_noise_scale(tmp_path):
    told, usual, policy = (hb.Agent(CRHL) for _ in range(3))
    durable = hb.Agent(CRHL, ledger=tmp_path / "agent.db", snapshot_every=7)
    for noise_scale in [None, 0.1, 4.0] * 4:
        for agent in (told, durable):
            agent.update(agent.select(ARMS), 2.0, noise_scale=noise_scale)
        policy.update_many([(policy.select(ARMS), 2.0, noise_scale)])
        usual.update(usual.select(ARMS), 2.0)
        assert told.state.learned.estimate.noise_scale.tolist() == [noise_scale or 0.5]
    assert told.design.tobytes() == policy.design.tobytes() == durable.design.tobytes()
    assert told.design.tobytes() != usual.design.tobytes()
    assert durable.ledger is not None
    durable.ledger.drop()  # as a kill would leave it
    with hb.Agent(CRHL, ledger=tmp_path / "agent.db") as again:
        assert again.design.tobytes() == told.design.tobytes()
        assert again.state.learned.estimate.noise_scale.tolist() == [4.0]
        again.update(11, 2.0, noise_scale=4.0)
        assert again.counters["duplicate"] == 1
        with pytest.raises(hb.InvalidInputError, match=r"got 2\.0 with noise_scale 4\.0 and 2\.0"):
            again.update(11, 2.0)


@pytest.mark.parametrize("noise_scale", [0.0, -1.0, float("nan"), "1", 1e300])
def test_a_noise_scale_that_is_none_is_rejected(noise_scale):
    agent = hb.Agent(CRHL)
    ticket = agent.select(ARMS)
    with pytest.raises(hb.InvalidInputError, match="noise_scale must"):
        agent.update(ticket, 1.0, noise_scale=noise_scale)
    assert agent.pending == [ticket.id]


@pytest.mark.parametrize("name", ["linucb", "crmm", "heavy_oful", "bmm"])
def test_policies_without_a_noise_scale_reject_one_by_name(name):
    agent = hb.Agent(POLICIES[name])
    ticket = agent.select(ARMS)
    with pytest.raises(hb.InvalidInputError, match="noise_scale must be left out"):
        agent.update(ticket, 1.0, noise_scale=2.0)
    agent.update(ticket, 1.0, noise_scale=None)


def test_an_agent_counts_what_rounding_spoils():
    agent = hb.Agent(hb.linucb(dim=3, radius=1.0, penalty=1e-12))
    assert agent.fallbacks == hb.Agent(hb.policies.Uniform(3)).fallbacks == 0
    rows = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-8]]) / 2
    for _ in range(1100):
        agent.update(agent.select(rows), 1.0)
    assert agent.fallbacks > 0
    assert np.isfinite(agent.theta).all()


def test_what_has_no_features_is_not_explained_and_nothing_is_not_selected():
    agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    ticket = agent.select(np.eye(2))
    names = ticket.id, ticket.key
    assert all(agent.explain(name).features.tolist() == [[1.0, 0.0]] for name in names)
    agent.update(ticket, 1.0)
    for name in names:
        with pytest.raises(hb.InvalidInputError, match="remembers pending tickets only"):
            agent.explain(name)
    with pytest.raises(hb.InvalidInputError, match="select needs arms"):
        agent.select()


# ---- events


def test_an_event_is_a_frozen_value():
    event = Rewarded(1, 2.0, 3.0)
    assert event == Rewarded(ticket=1, time=2.0, reward=3.0, noise_scale=None)
    assert hash(event) == hash(Rewarded(1, 2.0, 3.0))
    with pytest.raises(FrozenInstanceError):
        event.reward = 4.0  # type: ignore[misc]


# ---- the ends of the documented range: what an agent reaches, it keeps


def crash(agent):
    """Leave the ledger as a kill would: opening it applies all events again."""
    agent.ledger.drop()


def wide(rng, t):
    return rng.uniform(-1e6, 1e6, (5, 8))


def one_direction(rng, t):
    return 1e6 * np.outer(rng.uniform(-1, 1, 4), np.sin(np.arange(8.0)))


def collinear(rng, t):
    return 1e5 * np.outer(rng.uniform(-1, 1, 4), np.ones(8)) + 1e-3 * rng.normal(size=(4, 8))


def small_first(rng, t):
    return rng.uniform(-1, 1, (6, 8)) * (1e-80 if t == 0 else 1.0)


def growing(rng, t):
    return rng.uniform(-1, 1, (3, 8)) * min(10.0 ** (t - 12), 1e6)


EDGES = {
    "features of a million": (hb.linucb(dim=8, radius=1.0), wide, 1.0),
    "one direction": (hb.linucb(dim=8, radius=1.0, penalty=1e-6), one_direction, 1.0),
    "collinear": (hb.linucb(dim=8, radius=1.0, penalty=1e-8), collinear, 1e300),
    "a tiny first arm": (hb.auto(dim=8), small_first, 1.0),
    "growing arms": (hb.auto(dim=8), growing, 1e300),
}


@pytest.mark.parametrize("case", EDGES)
@pytest.mark.filterwarnings("ignore:an arm has norm")
def test_what_an_agent_can_reach_can_be_kept(case, tmp_path, digest):
    """V and V^-1 were compared more tightly than rounding allows; nan made a ledger unreadable."""
    policy, arms, size = EDGES[case]
    rng, path = np.random.default_rng(0), tmp_path / "agent.db"
    agent = hb.Agent(policy, ledger=path)
    for t in range(120):
        ticket = agent.select(arms(rng, t))
        assert math.isfinite(ticket.expected)
        assert math.isfinite(ticket.width)
        agent.update(ticket, size * math.tanh(rng.normal()))
    wanted = digest(agent.state.learned)
    assert all(np.isfinite(array).all() for array in flatten(agent.state.learned).values())
    agent.save(tmp_path / "agent.state")
    others = [hb.Agent.load(tmp_path / "agent.state"), agent.clone()]
    crash(agent)
    with hb.Agent(policy, ledger=path) as again:
        others.append(again)
    others += [hb.Agent.rebuild(path), hb.Agent(policy, ledger=path)]
    assert [digest(other.state.learned) for other in others] == [wanted] * 5
    others[-1].close()


@pytest.mark.parametrize("number", ["expected", "width", "propensity"])
def test_a_choice_that_a_ledger_cannot_store_is_not_recorded(tmp_path, monkeypatch, number):
    agent = hb.Agent(LINUCB, ledger=tmp_path / "agent.db")
    compiled: Any = agent._policy.compiled
    wrong = compiled.choose(agent.state.learned, ARMS)._replace(**{number: math.nan})
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "choose", lambda *_, **__: wrong)
        with pytest.raises(hb.PartError, match="nothing was recorded"):
            agent.select(ARMS)
    columns = {"expected": "expected", "width": "widths", "propensity": "propensities"}
    many = compiled.choose_many(agent.state.learned, ARMS[None], np.ones((1, 4), bool))
    many = many._replace(**{columns[number]: np.array([math.nan])})
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "choose_many", lambda *_, **__: many)
        with pytest.raises(hb.PartError, match="nothing was recorded"):
            agent.select_many([ARMS])
    assert agent.pending == []
    assert agent.select(ARMS).id == 0
    agent.close()


@pytest.mark.parametrize("rng", [None, 1])
def test_a_ledger_has_the_draws_of_many_decisions_also_where_the_last_was_certain(tmp_path, rng):
    policy = hb.policies.EpsilonGreedy(LINUCB, epsilon=0.5)
    agents = [hb.Agent(policy, rng, ledger=tmp_path / "agent.db"), hb.Agent(policy, rng)]
    for agent in agents:
        tickets = agent.select_many([ARMS, ARMS, ARMS[:1]])
        assert tickets[-1].propensity == 1.0
    crash(agents[0])
    agents[0] = hb.Agent(policy, rng, ledger=tmp_path / "agent.db")
    later = [[t[1:2] + t[3:7] for t in agent.select_many([ARMS] * 8)] for agent in agents]
    assert later[0] == later[1]
    agents[0].close()


def test_an_agent_is_saved_or_cloned_not_pickled():
    agent = hb.Agent(LINUCB)
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(hb.InvalidInputError, match=r"Use `save` and `Agent\.load`"):
            duplicate(agent)


def test_a_ticket_from_before_a_reset_is_not_called_settled():
    agent = hb.Agent(LINUCB)
    ticket = agent.select(ARMS)
    agent.reset()
    with pytest.raises(hb.InvalidInputError, match="forgotten by cancel_all or reset"):
        agent.update(ticket, 1.0)


@pytest.mark.parametrize("context", [3, "Oslo", [("city", "Oslo")]])
def test_a_context_must_have_names(context):
    encoder = hb.Encoder([], [hb.features.Number("price")])
    agent = hb.Agent(hb.linucb(dim=encoder.dim, radius=1.0), encoder=encoder)
    with pytest.raises(hb.InvalidInputError, match="context must be features by name"):
        agent.select(context=context, actions={"tea": {"price": 1.0}})
    with pytest.raises(hb.InvalidInputError, match="context must be features by name"):
        agent.select_many(contexts=[None, context], actions={"tea": {"price": 1.0}})


def test_a_warm_agent_compiles_nothing_for_its_first_decision_and_reward():
    policy = hb.policies.EpsilonGreedy(hb.linucb(dim=2, radius=1.0), epsilon=0.3)
    agent = hb.Agent(policy)
    waiting = agent.select(np.eye(2))
    agent.warm()
    assert (agent.pending, agent.updates) == ([waiting.id], 0)
    before = count_kernels()
    agent.update(agent.select(np.eye(2)), 1.0)
    assert count_kernels() == before
