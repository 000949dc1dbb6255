"""Worlds: compiled runs are those of a naive loop, and each part does what it promises."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
import naive_shop
from heavybandits.authoring import stream_key
from heavybandits.core.loop import Unobserved, draw_noise, make_episode, make_trace, play
from heavybandits.core.rng import ARMS, NOISE, uniform
from heavybandits.core.world import make_world
from heavybandits.gpu.layout import make_layout
from heavybandits.noises import Gaussian, Pareto, StudentT, reward_moment
from heavybandits.parts.worlds.drifts import normal_pair
from heavybandits.simulation.problem import check_problem
from heavybandits.worlds import (
    ConstantDelay,
    Cycle,
    Flip,
    FlipMeans,
    GeometricDelay,
    Heteroskedastic,
    HideBest,
    Jumps,
    LostRewards,
    Multiplicative,
    ParetoDelay,
    Purchases,
    RandomWalk,
    Spikes,
    ZeroInflated,
)
from naive_loop import Seen, play_naively

DIM, HORIZON, SEED = 3, 240, 4
THETA = np.array([0.6, -0.5, 0.3])
STILL = hb.Problem(hb.arms.Fixed(5, DIM, -1.0), hb.links.Identity(), StudentT(3.0), THETA)
DRIFTS: list[Any] = [Flip(at=100), Jumps(every=40), RandomWalk(step=0.05), Cycle(period=77)]
DELAYS: list[Any] = [
    ConstantDelay(0),
    ConstantDelay(17),
    GeometricDelay(25.0),
    ParetoDelay(0.8, scale=5.0),
    LostRewards(0.4),
    LostRewards(0.2, GeometricDelay(10.0)),
]
ADVERSARIES: list[Any] = [FlipMeans(20.0), HideBest(9.0, within=0.1), Spikes(130.0, -50.0, 0.05)]
NOISES: list[Any] = [
    Heteroskedastic(StudentT(3.0), 0.1, 2.0),
    Multiplicative(Gaussian(0.5)),
    ZeroInflated(Gaussian(0.5), 0.2),
    Purchases(Gaussian(0.5), 6.0, 0.3),
]
PROBLEMS = [
    STILL,
    *(STILL._replace(drift=drift) for drift in DRIFTS),
    *(STILL._replace(delay=delay) for delay in DELAYS),
    *(STILL._replace(adversary=adversary) for adversary in ADVERSARIES),
    *(STILL._replace(noise=noise) for noise in NOISES),
    STILL._replace(drift=DRIFTS[3], delay=DELAYS[5], adversary=ADVERSARIES[0], noise=NOISES[2]),
]
POLICIES = {
    "one play": hb.linucb(dim=DIM, radius=0.5, filter=hb.filters.Clip(2.0)),
    "many plays": hb.crmm(dim=DIM, horizon=HORIZON, central_moment=3.0, plays=5),
}


def name_of(problem: Any) -> str:
    return "-".join(type(part).__name__ for part in problem[2:] if hasattr(part, "_fields"))


def twin(policy: Any, problem: Any, repetition: int = 0) -> Seen:
    return play_naively(policy, check_problem(problem), HORIZON, SEED, repetition)


def simulate(policy: Any, problem: Any, **changes: Any) -> hb.Result:
    sizes = {"horizon": HORIZON, "repetitions": 2, "seed": SEED, "checkpoints": HORIZON}
    return hb.simulate(policy, problem, **(sizes | changes))


def play_uncompiled(policy: Any, problem: Any) -> Any:
    arms, link, law, theta, drift, delay, adversary = check_problem(problem)
    world = make_world(law, theta, drift, delay, adversary, policy.plays)
    keys = [stream_key(SEED, 0, stream) for stream in (ARMS, NOISE)]
    noise, trace = np.empty(HORIZON), make_trace(np.arange(1, HORIZON + 1))
    draw_noise(law, keys[1], 0, noise)
    state, buffer, episode = policy.init(), arms.make_buffer(), make_episode(policy.plays)
    setting = (policy, state, arms, link, theta.copy(), buffer, keys[0])
    play(*setting, noise, episode, trace, Unobserved(), world)
    return trace


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS, ids=name_of)
def test_a_compiled_run_is_that_of_a_naive_loop(problem):
    policy = POLICIES["one play"]
    result = simulate(policy, problem)
    for repetition in range(2):
        seen = twin(policy, problem, repetition)
        found = result.curves("policy")[1][repetition]
        np.testing.assert_allclose(found, seen.regret, rtol=1e-9, atol=1e-9)
        rows = result.data["repetition"] == repetition
        assert result.data["updates"][rows][-1] == len(seen.learned)
        assert result.data["truncated"][rows][-1] == seen.truncated


@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("problem", PROBLEMS, ids=name_of)
def test_the_uncompiled_loop_is_the_naive_loop(problem, kind):
    seen, trace = twin(POLICIES[kind], problem), play_uncompiled(POLICIES[kind], problem)
    np.testing.assert_allclose(trace.regret, seen.regret, rtol=1e-9, atol=1e-9)
    assert trace.updates[-1] == len(seen.learned)


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS[-1:] + PROBLEMS[:1], ids=name_of)
def test_compiled_and_uncompiled_runs_are_bit_for_bit_identical(problem):
    for policy in POLICIES.values():
        compiled = simulate(policy, problem).curves("policy")[1][0]
        assert compiled.tobytes() == play_uncompiled(policy, problem).regret.tobytes()


@pytest.mark.slow
def test_runs_do_not_depend_on_the_repetitions_played_before_in_the_same_memory():
    problem, policy = PROBLEMS[-1], POLICIES["one play"]
    one, many = (simulate(policy, problem, jobs=jobs, repetitions=6) for jobs in (1, 3))
    assert one.data["regret"].tobytes() == many.data["regret"].tobytes()


# ---- drifts


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: type(drift).__name__)
def test_a_drift_keeps_the_norm_of_theta(drift):
    thetas = np.array(twin(POLICIES["one play"], STILL._replace(drift=drift)).thetas)
    np.testing.assert_allclose(np.linalg.norm(thetas, axis=1), np.linalg.norm(THETA), rtol=1e-9)
    assert (thetas[0] == THETA).all()
    assert len({theta.tobytes() for theta in thetas}) > 1


def test_theta_jumps_when_it_should_and_never_in_between():
    thetas = np.array(twin(POLICIES["one play"], STILL._replace(drift=Jumps(every=40))).thetas)
    changes = np.flatnonzero((np.diff(thetas, axis=0) != 0.0).any(axis=1)) + 1
    assert changes.tolist() == [40, 80, 120, 160, 200]


def test_a_cycle_returns_to_its_start():
    drift, theta = Cycle(period=8), THETA.copy()
    for play_number in range(9):
        assert drift.move(theta, THETA, np.uint64(0), play_number)
    np.testing.assert_allclose(theta, THETA, rtol=1e-12)


def test_steps_of_a_random_walk_have_the_given_size():
    start, theta, steps = np.full(50, 10.0), np.full(50, 10.0), []
    for play_number in range(1, 200):
        before = theta.copy()
        RandomWalk(0.1).move(theta, start, np.uint64(5), play_number)
        steps.append(theta - before)
    assert np.std(steps) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_steps_of_a_random_walk_are_those_of_box_and_muller(dim):
    start, theta, key = np.full(dim, 10.0), np.full(dim, 10.0), np.uint64(5)
    pairs = (dim + 1) // 2
    for play_number in range(1, 100):
        numbers = [uniform(key, 2 * pairs * play_number + i) for i in range(2 * pairs)]
        walked = theta.copy()
        for i in range(dim):
            one, angle = numbers[i - i % 2], 2.0 * np.pi * numbers[i - i % 2 + 1]
            turn = np.sin(angle) if i % 2 else np.cos(angle)
            walked[i] += 0.1 * np.sqrt(-2.0 * np.log(one)) * turn
        RandomWalk(0.1).move(theta, start, key, play_number)
        walked *= np.linalg.norm(start) / np.linalg.norm(walked)
        np.testing.assert_allclose(theta, walked, rtol=1e-9)
        theta[:] = walked


def test_both_numbers_of_a_pair_are_normal_and_independent():
    pairs = np.array([normal_pair(np.uint64(9), i) for i in range(20_000)])
    limit = 5.0 / np.sqrt(len(pairs))
    assert np.abs(pairs.mean(axis=0)).max() < limit
    assert np.abs(np.corrcoef(pairs.T)[0, 1]) < limit
    assert np.abs(np.corrcoef(pairs.T**2)[0, 1]) < limit
    for number in pairs.T:
        below = np.array([np.mean(number < bound) for bound in (-1.959964, -0.67449, 0.67449)])
        np.testing.assert_allclose(below, [0.025, 0.25, 0.75], atol=0.5 * limit)


# ---- delays


@pytest.mark.parametrize("delay", DELAYS, ids=repr)
@pytest.mark.parametrize("kind", POLICIES)
def test_every_reward_arrives_once_in_its_order_or_never(delay, kind):
    policy = POLICIES[kind]
    seen = twin(policy, STILL._replace(delay=delay))
    assert len(set(seen.learned)) == len(seen.learned)
    ends = policy.plays * (np.arange(len(seen.due)) + 1) - 1
    due = np.array(seen.due)
    # A reward that is due during a decision is learned from at its end.
    last = policy.plays * len(seen.due) - 1
    assert sorted(seen.learned) == np.flatnonzero((due >= ends) & (due <= last)).tolist()


def test_delays_have_the_moments_that_they_state():
    keys = np.uint64(3)
    waits = np.array([GeometricDelay(25.0).wait(keys, n) for n in range(20_000)])
    assert waits.mean() == pytest.approx(25.0, rel=0.05)
    assert waits.var() == pytest.approx(25.0 * 26.0, rel=0.1)
    heavy = np.array([ParetoDelay(0.8, scale=5.0).wait(keys, n) for n in range(20_000)])
    for plays in (1, 10, 100):
        assert (heavy >= plays).mean() == pytest.approx((1.0 + plays / 5.0) ** -0.8, rel=0.05)
    lost = np.array([LostRewards(0.4).wait(keys, n) for n in range(20_000)])
    assert (lost < 0).mean() == pytest.approx(0.4, abs=0.02)


@pytest.mark.slow
def test_more_waiting_decisions_than_there_is_room_for_are_an_error():
    policy = POLICIES["one play"]
    problem = STILL._replace(delay=GeometricDelay(1e6, room=50))
    with pytest.raises(hb.InvalidInputError, match=r"at most 50 decisions.*pass a larger `room`"):
        simulate(policy, problem)


# ---- adversaries


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=repr)
def test_the_budget_is_spent_and_never_exceeded(adversary):
    seen = twin(POLICIES["one play"], STILL._replace(adversary=adversary))
    spent = np.abs(np.array(seen.rewards) - np.array(seen.honest)).cumsum()
    assert 0.0 < spent[-1] <= adversary.budget * (1.0 + 1e-12)
    seen = twin(POLICIES["one play"], STILL._replace(adversary=adversary._replace(budget=0.0)))
    assert seen.rewards == seen.honest


# ---- noises that see the arm


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize("mean", [-2.0, 0.5])
def test_the_mean_reward_is_that_of_the_arm(noise, mean):
    key, plays = stream_key(1, 0, NOISE), 40_000
    other = stream_key(1, 0, 9)
    drawn = (noise.draw(key, play_number) for play_number in range(plays))
    rewards = np.array([noise.reward(mean, THETA, eta, other, n) for n, eta in enumerate(drawn)])
    assert rewards.mean() == pytest.approx(mean, abs=5.0 * rewards.std() / np.sqrt(plays))


def test_zero_inflated_rewards_are_zero_as_often_as_stated():
    noise, key = ZeroInflated(Gaussian(), 0.2), stream_key(1, 0, 9)
    zeros = [noise.reward(1.0, THETA, 0.5, key, n) == 0.0 for n in range(10_000)]
    assert np.mean(zeros) == pytest.approx(0.8, abs=0.02)


# ---- the shop

SHOP: dict[str, Any] = {
    "actions": 7,
    "conversion": 0.4,
    "prices": (0.2, 3.0),
    "basket": Pareto(2.5, 0.6),
    "refunds": 0.3,
    "availability": 0.4,
    "period": 30,
}


def test_the_shop_is_that_of_a_naive_visitor():
    problem = hb.worlds.shop(**SHOP)
    law: Any = problem.noise
    arms, buffer = problem.arms, problem.arms.make_buffer()
    key, noise_key = (stream_key(SEED, 1, stream) for stream in (ARMS, NOISE))
    for n in range(200):
        arms.refresh(buffer, key, n)
        noise = law.draw(noise_key, n)
        for k, seen in enumerate(naive_shop.visit(SHOP, SEED, 1, n)):
            x = buffer.features[:, k]
            np.testing.assert_allclose(x, seen.features, rtol=1e-12)
            assert (buffer.penalty[k] == 0.0) == seen.available
            assert x @ problem.theta == pytest.approx(seen.mean, rel=1e-12)
            response = np.uint64(int(key) ^ naive_shop.RESPONSE)
            reward = law.reward(x @ problem.theta, x, noise, response, n)
            assert reward == pytest.approx(seen.reward, rel=1e-12)


def test_conversion_rates_are_in_the_stated_range_and_arms_are_no_longer_than_one():
    problem = hb.worlds.shop(17, conversion=0.6)
    law: Any = problem.noise
    buffer, rates = problem.arms.make_buffer(), []
    for n in range(0, 9000, 30):
        problem.arms.refresh(buffer, np.uint64(3), n)
        x = buffer.features[:, :17]
        price = x[0] * law.unit * law.kept
        rates.append(problem.theta @ x / price / 0.6)
        assert np.linalg.norm(x, axis=0).max() <= 1.0 + 1e-12
        assert (buffer.penalty == 0.0).any()
    assert np.min(rates) == pytest.approx(0.05, abs=0.01)
    assert 1.5 < np.max(rates) <= 1.6


@pytest.mark.slow
def test_runs_of_the_shop_are_those_of_a_naive_loop():
    policy, problem = hb.linucb(dim=10, radius=0.5), hb.worlds.shop(**SHOP)
    found = simulate(policy, problem, repetitions=1).curves("policy")[1][0]
    np.testing.assert_allclose(found, twin(policy, problem).regret, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"conversion": 0.7}, r"conversion must be in \(0, 0.625\]"),
        ({"prices": (2.0, 1.0)}, "Storefront.lowest must be at most highest = 1, got 2"),
        ({"refunds": 0.9}, "Purchases.refunds must be"),
        ({"actions": 0}, "Storefront.size must be"),
    ],
    ids=repr,
)
def test_a_shop_that_cannot_be_is_rejected(change, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.worlds.shop(**change)


# ---- what is rejected


class Sideways(NamedTuple):
    """A drift of one's own."""

    step: float = 0.1

    def move(self, theta, start, key, play):
        theta[0] += self.step
        return True


@pytest.mark.slow
def test_a_drift_of_ones_own_is_played():
    policy, problem = POLICIES["one play"], STILL._replace(drift=Sideways())
    found = simulate(policy, problem, repetitions=1).curves("policy")[1][0]
    np.testing.assert_allclose(found, twin(policy, problem).regret, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drift": 3}, "drift must be a drift"),
        ({"delay": Jumps(5)}, "delay must be a delay"),
        ({"adversary": ConstantDelay(3)}, "adversary must be an adversary"),
        ({"delay": ConstantDelay(-1)}, "ConstantDelay.plays must be"),
        ({"adversary": FlipMeans(-1.0)}, "FlipMeans.budget must not be negative"),
        ({"noise": ZeroInflated(Gaussian(), 0.0)}, "ZeroInflated.probability must be"),
    ],
    ids=repr,
)
def test_what_is_no_world_is_rejected(change, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        check_problem(STILL._replace(**change))


def test_a_noise_that_sees_the_arm_has_no_moments_without_one():
    with pytest.raises(hb.InvalidInputError, match="whose rewards depend on the arm"):
        reward_moment(NOISES[0], 0.0, 1.0)


@pytest.mark.parametrize("problem", PROBLEMS, ids=name_of)
def test_on_a_gpu_one_lane_plays_a_world_that_changes(problem):
    layout = make_layout(hb.linucb(dim=problem.arms.dim), problem.arms, problem=problem)
    assert (layout.lanes == 1) == (problem is not STILL)
