"""auto: equal to its textbook twin, without a unit, and without a reward that ruins it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.agents.events import Revision
from heavybandits.agents.revise import revised_arrays
from heavybandits.agents.state import kept
from heavybandits.arms import PerRound
from heavybandits.core.confidence_region import log_volume
from heavybandits.parts.estimators.auto import is_rare, restart_count
from naive_auto import Auto

DIM, ARMS = 3, 5
THETA = np.array([1.0, -0.5, 0.3])


class Player:
    """A policy in Python, round by round."""

    def __init__(self, policy: Any, arms: Any = None) -> None:
        self.policy, self.state = policy, policy.init()
        self.arms = PerRound(ARMS, policy.dim) if arms is None else arms
        self.buffer = self.arms.make_buffer()

    def choose(self, rows: Any, masked: Any = ()) -> int:
        self.buffer.features[:, : len(rows)] = rows.T
        self.buffer.penalty[: len(rows)] = 0.0
        self.buffer.penalty[list(masked)] = math.inf
        self.buffer.synced[0] = -1
        return int(self.policy.choose(self.state, self.arms, self.buffer))

    def learn(self, x: Any, reward: float) -> None:
        self.policy.learn(self.state, np.array(x), np.array([reward]))

    def index(self, x: Any) -> float:
        return float(sum(self.policy.estimate_arm(self.state, x)))

    def expected(self, rows: Any) -> Any:
        return np.array([self.policy.estimate_arm(self.state, x)[0] for x in rows])

    @property
    def estimate(self) -> Any:
        return self.state.estimate


# ---- worlds: the arms of a round, and the reward of one


def dense(t: int, rng: Any) -> Any:
    return rng.normal(size=(ARMS, DIM)) * rng.uniform(0.5, 2.0, size=(ARMS, 1))


def late(t: int, rng: Any) -> Any:
    """One-hot rows, the last of which comes after sixty rounds."""
    return np.eye(DIM)[rng.integers(0, DIM if t > 60 else DIM - 1, size=ARMS)]


def line(t: int, x: Any, rng: Any) -> float:
    return float(x @ THETA + rng.normal())


def sale(t: int, x: Any, rng: Any) -> float:
    return float((rng.random() < 0.15) * np.exp(1.0 + x[0] + 0.5 * rng.normal()))


def begin_with(count: int) -> Callable[..., float]:
    return lambda t, x, rng: 1e100 if t < count else line(t, x, rng)


def change_to(unit: float, reward: Callable[..., float] = line) -> Callable[..., float]:
    return lambda t, x, rng: reward(t, x, rng) * (unit if t > 150 else 1.0)


def click(t: int, x: Any, rng: Any) -> float:
    return float(rng.random() < 1.0 / (1.0 + np.exp(-x @ THETA)))


WORLDS: dict[str, tuple[Any, Any]] = {
    "heavy tails": (dense, lambda t, x, rng: x @ THETA + 0.5 * rng.standard_t(1.5)),
    "rare sales": (dense, sale),
    "a second peak": (dense, lambda t, x, rng: 0.5 + 0.05 * rng.normal() + 100 * sale(t, x, rng)),
    "a level": (dense, lambda t, x, rng: 1000.0 + line(t, x, rng)),
    "1 extreme": (dense, begin_with(1)),
    "2 extremes": (dense, begin_with(2)),
    "20 extremes": (dense, begin_with(20)),
    "a larger unit": (dense, change_to(100.0)),
    "a smaller unit": (dense, change_to(0.01)),
    "smaller sales": (dense, change_to(0.001, sale)),
    "clicks": (dense, click),
    "late features": (late, line),
    "one value": (dense, lambda t, x, rng: 7.0),
}
RESTARTS = dict.fromkeys(("20 extremes", "a larger unit", "a smaller unit", "smaller sales"), 1)


@pytest.mark.parametrize("name", WORLDS)
def test_the_naive_twin_agrees(name):
    rows_of, reward_of = WORLDS[name]
    link = hb.links.Logistic() if name == "clicks" else hb.links.Identity()
    player, twin = Player(hb.auto(dim=DIM, link=link)), Auto(DIM, type(link).__name__)
    rng = np.random.default_rng(0)
    for t in range(300):
        rows = rows_of(t, rng)
        arm, indices = player.choose(rows), twin.indices(rows)
        assert indices[arm] >= indices.max() - 1e-7 * np.abs(indices).max()
        reward = reward_of(t, rows[arm], rng)
        player.learn(rows[arm], reward)
        twin.learn(rows[arm], reward)
        largest = np.abs(twin.fit.theta).max()
        np.testing.assert_allclose(
            player.estimate.region.centre, twin.fit.theta, rtol=1e-7, atol=1e-9 * largest
        )
        z, width = twin.estimate_arm(rows[0])
        expected, wide = player.policy.estimate_arm(player.state, rows[0])
        assert wide == pytest.approx(width, rel=1e-7)
        assert expected == pytest.approx(twin.mean(z) + twin.level, rel=1e-7, abs=1e-9 * largest)
    assert tuple(player.policy.tally(player.state)) == (300, 0, twin.cuts)
    assert restart_count(player.estimate) == twin.restarts == RESTARTS.get(name, 0)
    assert is_rare(player.estimate) == twin.rare == ("sales" in name or "peak" in name)


@pytest.mark.parametrize("name", ["heavy tails", "rare sales", "a larger unit", "late features"])
def test_compiled_and_uncompiled_give_the_same_bits(name, digest):
    rows_of, reward_of = WORLDS[name]
    player, agent = Player(hb.auto(dim=DIM)), hb.Agent(hb.auto(dim=DIM))
    rng = np.random.default_rng(1)
    for t in range(200):
        rows = rows_of(t, rng)
        ticket = agent.select(rows)
        assert player.choose(rows) == ticket.arm
        reward = float(reward_of(t, rows[ticket.arm], rng))
        agent.update(ticket, reward)
        player.learn(rows[ticket.arm], reward)
    assert digest(agent.state.learned) == digest(player.state)


# ---- no unit

powers = st.integers(-40, 40).map(lambda k: 2.0**k)
seeds = st.integers(0, 10**6)


def rounds(seed: int, count: int) -> Any:
    """Arms, and the reward of each: with heavy tails, or mostly 0."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, ARMS, DIM)) * rng.uniform(0.5, 2.0, size=(count, ARMS, 1))
    rewards = rows @ rng.normal(size=DIM) + 0.5 * rng.standard_t(1.5, size=(count, ARMS))
    rewards[rng.random((count, ARMS)) < (0.8 if seed % 2 else 0.1)] = 0.0
    return rows, rewards


def follow(first: Player, second: Player, seed: int, change: Any, count: int = 70) -> None:
    """Show the second player everything changed: its choices are the same bit for bit."""
    for rows, rewards in zip(*rounds(seed, count), strict=True):
        shown, paid = change(rows, rewards)
        arm = first.choose(rows)
        assert second.choose(shown) == arm
        first.learn(rows[arm], rewards[arm])
        second.learn(shown[arm], paid[arm])


def pair() -> tuple[Player, Player]:
    return Player(hb.auto(dim=DIM)), Player(hb.auto(dim=DIM))


@given(seeds, powers)
@settings(max_examples=8)
def test_rewards_times_a_power_of_two_change_no_bit(seed, power):
    first, second = pair()
    follow(first, second, seed, lambda x, y: (x, y * power))
    centre = second.estimate.region.centre
    np.testing.assert_array_equal(centre, first.estimate.region.centre * power)


@given(seeds, st.integers(-(2**30), 2**30))
@settings(max_examples=8)
def test_rewards_plus_a_whole_number_change_no_bit(seed, level):
    first, second = pair()
    change = lambda x, y: (x, np.rint(8.0 * y) / 8.0 + level)  # noqa: E731
    for rows, rewards in zip(*rounds(seed, 70), strict=True):
        plain, paid = change(rows, rewards)[1] - level, change(rows, rewards)[1]
        arm = first.choose(rows)
        assert second.choose(rows) == arm
        first.learn(rows[arm], plain[arm])
        second.learn(rows[arm], paid[arm])
    np.testing.assert_array_equal(second.estimate.region.centre, first.estimate.region.centre)


@given(seeds, st.tuples(powers, powers, powers))
@settings(max_examples=8)
def test_each_feature_times_its_own_power_of_two_changes_no_bit(seed, units):
    first, second = pair()
    follow(first, second, seed, lambda x, y: (x * np.array(units), y))
    np.testing.assert_array_equal(second.estimate.region.centre, first.estimate.region.centre)


@pytest.mark.parametrize("rewards_by", [2.0**-30, 2.0**30])
def test_powers_of_two_change_no_bit_of_a_compiled_run(rewards_by):
    arms, link, theta = hb.arms.Fixed(20, 4), hb.links.Identity(), np.array([0.5, 1.0, -1.0, 0.2])
    given: dict[str, Any] = {"horizon": 2500, "repetitions": 2, "checkpoints": 7}
    plain = hb.Problem(arms, link, hb.noises.StudentT(1.5), theta)
    other = hb.Problem(arms, link, hb.noises.StudentT(1.5, rewards_by), theta * rewards_by)
    first, second = (hb.simulate(hb.auto(dim=4), p, **given).data for p in (plain, other))
    np.testing.assert_array_equal(second["regret"], first["regret"] * rewards_by)
    np.testing.assert_array_equal(second["truncated"], first["truncated"])


def follow_permuted(seed: int, arms: Any, features: Any, count: int = 70) -> None:
    """The second player sees arms and features in another order: equal choices, or a tie."""
    first, second = pair()
    for rows, rewards in zip(*rounds(seed, count), strict=True):
        shown = rows[arms][:, features]
        arm, other = first.choose(rows), arms[second.choose(shown)]
        if other != arm:
            assert first.index(rows[other]) == pytest.approx(first.index(rows[arm]), rel=1e-6)
            return
        first.learn(rows[arm], rewards[arm])
        second.learn(rows[arm][features], rewards[arm])


@given(seeds, st.permutations(range(ARMS)), st.permutations(range(DIM)))
@settings(max_examples=8)
def test_the_order_of_arms_and_features_changes_an_arm_only_in_a_tie(seed, arms, features):
    follow_permuted(seed, list(arms), list(features))


def test_a_constant_feature_is_none_whatever_its_rounding():
    player = Player(hb.auto(dim=2))
    for t in range(40):
        player.learn(np.array([float(t % 3), 0.1]), float(t % 3))
        assert player.estimate.units[1] == 0.0
    assert player.estimate.middle[1] == 0.1


def test_a_duplicate_of_a_feature_changes_little():
    first, second = Player(hb.auto(dim=DIM)), Player(hb.auto(dim=DIM + 1))
    twice = lambda x: np.append(x, x[0])  # noqa: E731
    rng = np.random.default_rng(2)
    for t in range(200):
        x = dense(t, rng)[0]
        reward = line(t, x, rng)
        first.learn(x, reward)
        second.learn(twice(x), reward)
    rows = rng.normal(size=(20, DIM))
    before, after = first.expected(rows), second.expected([twice(x) for x in rows])
    assert np.abs(after - before).max() < 0.1  # the noise is 1


# ---- no reward, and no arm, that ruins it


@given(seeds, st.sets(st.integers(0, ARMS - 1), min_size=1, max_size=ARMS - 1))
@settings(max_examples=5)
def test_masked_arms_are_never_chosen(seed, masked):
    player = Player(hb.auto(dim=DIM))
    for rows, rewards in zip(*rounds(seed, 50), strict=True):
        arm = player.choose(rows, masked)
        assert arm not in masked
        player.learn(rows[arm], rewards[arm])


@pytest.mark.parametrize("extreme", [-10_000.0, 1e100])
@pytest.mark.parametrize("when", [0, 1, 3, 8, 20, 33, 60, 119])
def test_one_extreme_reward_moves_no_prediction_far(extreme, when):
    first, second = pair()
    rng = np.random.default_rng(3)
    for t in range(120):
        x = dense(t, rng)[0]
        reward = line(t, x, rng)
        first.learn(x, reward)
        second.learn(x, extreme if t == when else reward)
    rows = rng.normal(size=(20, DIM))
    assert np.abs(second.expected(rows) - first.expected(rows)).max() < 0.5  # the noise is 1
    assert restart_count(second.estimate) == 0


odd_features = st.sampled_from([0.0, 1.0, -1.0, 1e-150, 1e-9, 3.5, 1e9, 1e150, -1e150])
odd_rewards = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, 1.0, 5e-324, 1e-300, 1e100, -1e300, 1e300]
)


def assert_finite(state: Any) -> None:
    for name, array in kept(state).items():
        assert np.isfinite(array).all(), name


@given(st.data(), st.sampled_from([1, 2, 3]), st.sampled_from([1, 4]))
@settings(max_examples=25)
def test_odd_features_and_rewards_leave_a_finite_state(data, dim, arms):
    player = Player(hb.auto(dim=dim, monitor_drift=False), PerRound(arms, dim))
    table = data.draw(st.lists(st.tuples(*[odd_features] * dim), min_size=1, max_size=6))
    paid = data.draw(st.lists(odd_rewards, min_size=1, max_size=6))
    for t in range(80):
        rows = np.array([table[(t * (k + 1) + k) % len(table)] for k in range(arms)])
        with np.errstate(all="ignore"):
            arm = player.choose(rows)
            player.learn(rows[arm], paid[(t * t + t // 7) % len(paid)])
        assert 0 <= arm < arms
    assert_finite(player.state)


def test_the_best_point_of_a_continuous_set_is_found():
    low, high = np.array([-1.0, -2.0, 0.0]), np.array([1.0, 2.0, 1.0])
    sets: Any = (hb.arms.UnitBall(DIM), hb.arms.UnitSphere(DIM), hb.arms.Box(low, high))
    longest = float(np.linalg.norm(THETA))
    for arms, most in zip(sets, (longest, longest, 2.3), strict=True):
        player, rng = Player(hb.auto(dim=DIM), arms), np.random.default_rng(4)
        for _ in range(200):
            player.policy.choose(player.state, arms, player.buffer)
            x = player.buffer.chosen.copy()
            player.learn(x, 5.0 + x @ THETA + 0.1 * rng.normal())
        assert x @ THETA > 0.9 * most


def test_what_reads_theta_without_the_rows_is_rejected():
    with pytest.raises(hb.InvalidInputError, match="auto standardises"):
        hb.Agent(hb.policies.Thompson(hb.auto(dim=2)))
    with pytest.raises(hb.InvalidInputError, match="auto standardises"):
        hb.Agent(hb.policies.Thompson(hb.auto(dim=2, half_life=50.0)))


# ---- restarts


@pytest.mark.parametrize("unit", [100.0, 0.001])
def test_a_new_unit_restarts_it_and_theta_follows(unit):
    player, rng = Player(hb.auto(dim=DIM)), np.random.default_rng(5)
    for t in range(500):
        x = rng.normal(size=DIM)
        player.learn(x, (x @ THETA + 0.3 * rng.normal()) * (unit if t >= 200 else 1.0))
    assert restart_count(player.estimate) == 1
    slopes = player.estimate.region.centre[:-1] / player.estimate.units
    np.testing.assert_allclose(slopes, unit * THETA, atol=0.1 * unit)


def test_twenty_extreme_first_rewards_are_forgotten_soon():
    player, rng = Player(hb.auto(dim=DIM)), np.random.default_rng(12)
    for t in range(52):
        x = dense(t, rng)[0]
        player.learn(x, begin_with(20)(t, x, rng))
    assert restart_count(player.estimate) == 1
    assert player.estimate.numbers[0] < 10.0  # the base


@pytest.mark.parametrize("name", ["heavy tails", "rare sales", "a second peak", "a level"])
def test_a_stationary_shop_never_restarts_it(name):
    agent, rng, (rows_of, reward_of) = (
        hb.Agent(hb.auto(dim=DIM)),
        np.random.default_rng(6),
        WORLDS[name],
    )
    rows = np.concatenate([rows_of(t, rng) for t in range(4000)])
    agent.warm_start(rows, [reward_of(0, x, rng) for x in rows])
    assert agent.updates == 20_000
    assert agent.restarts == 0


def test_a_revision_of_a_reward_from_before_a_restart_changes_nothing():
    player, rng = Player(hb.auto(dim=DIM)), np.random.default_rng(7)
    rows, unit = rng.normal(size=(300, DIM)), np.where(np.arange(300) < 200, 1.0, 100.0)
    rewards = unit * (rows @ THETA + 0.3 * rng.normal(size=300))
    for x, y in zip(rows, rewards, strict=True):
        player.learn(x, y)
    since = player.policy.estimator.learned_count(player.estimate)
    assert restart_count(player.estimate) == 1
    assert since <= 100 - 7  # at least eight rewards in a row; the last is the first of the start
    for later, same in ((since, True), (299, True), (since - 1, False), (0, False)):
        revision = Revision(rows[299 - later], rewards[299 - later], later)
        after = revised_arrays(player.policy, player.state, revision, rewards[299 - later] + 9.0)
        centre = after["estimate.region.centre"]
        assert np.array_equal(centre, player.estimate.region.centre) == same


@pytest.mark.parametrize("count", [3, 8, 12, 32])
def test_a_revision_of_one_of_the_first_rewards_is_exact(count):
    policy = hb.auto(dim=DIM, monitor_drift=False)
    wrong, right, rng = Player(policy), Player(policy), np.random.default_rng(8)
    rows, rewards = rng.normal(size=(60, DIM)), rng.normal(size=60)
    for t in range(60):
        wrong.learn(rows[t], rewards[t] + (3.0 if t == 1 else 0.0))
        right.learn(rows[t], rewards[t])
        if t == count - 1:
            wrong.policy.estimator.revise(wrong.estimate, rows[1], rewards[1] + 3.0, rewards[1])
    np.testing.assert_array_equal(wrong.estimate.region.centre, right.estimate.region.centre)


# ---- whatever the rewards are like


def regret(rewards: Any, seed: int = 3, count: int = 800, policy: Any = None) -> tuple[float, Any]:
    """Regret over that of random play, of an agent whose reward is rewards(t, mean, rng)."""
    agent, rng = hb.Agent(hb.auto(dim=4) if policy is None else policy), np.random.default_rng(seed)
    theta, lost, random = np.array([3.0, 0.9, 0.3, -0.5]), 0.0, 0.0
    for t in range(count):
        rows = np.column_stack([np.ones(6), rng.normal(size=(6, 3))])
        ticket = agent.select(rows)
        means = rows @ theta
        lost += means.max() - means[ticket.arm]
        random += means.max() - means.mean()
        agent.update(ticket, float(rewards(t, means[ticket.arm], rng)))
    return lost / random, agent


SPOTS = {
    "an extreme reward first": lambda t, mean, rng: 1e100 if t == 0 else mean + rng.normal(),
    "two extremes first": lambda t, mean, rng: 1e6 * (-1) ** t if t < 2 else mean + rng.normal(),
    "two extremes later": lambda t, mean, rng: -1e100 if t in (2, 9) else mean + rng.normal(),
    "whole numbers": lambda t, mean, rng: round(mean + rng.normal()),
    "no noise": lambda t, mean, rng: mean,
    "no variance": lambda t, mean, rng: mean + rng.standard_t(1.5),
    "tiny units": lambda t, mean, rng: 1e-9 * (mean + rng.normal()),
    "a level": lambda t, mean, rng: 1e6 + mean + rng.normal(),
    "a change of unit": lambda t, mean, rng: (mean + rng.normal()) * (100.0 if t > 400 else 1.0),
    "and back": lambda t, mean, rng: (mean + rng.normal()) * (0.01 if t > 400 else 1.0),
}


@pytest.mark.parametrize("name", SPOTS)
def test_it_learns_whatever_the_rewards_are_like(name):
    lost, agent = regret(SPOTS[name])
    assert lost < 0.15
    assert np.isfinite(agent.theta).all()
    assert agent.restarts == (1 if name in ("a change of unit", "and back") else 0)


def test_rare_sales_are_learned_from():
    lost, _ = regret(lambda t, mean, rng: 30.0 * (rng.random() < 0.02 * mean), count=6000)
    assert lost < 0.5


@pytest.mark.parametrize("reward", [0.0, 7.0, -1e100])
def test_constant_rewards_do_no_harm(reward):
    _, agent = regret(lambda t, mean, rng: reward, count=50)
    assert_finite(agent.state.learned)


def test_one_arm_and_ten_thousand():
    rng = np.random.default_rng(4)
    for count in (1, 10_000):
        agent, rows = hb.Agent(hb.auto(dim=3)), rng.normal(size=(count, 3))
        for _ in range(20):
            ticket = agent.select(rows)
            agent.update(ticket, float(rows[ticket.arm, 0]))
        assert agent.updates == 20
    assert rows[agent.select(rows).arm, 0] > 2.0


def test_delayed_rewards_are_learned_from_when_they_come():
    agent, rng = hb.Agent(hb.auto(dim=3)), np.random.default_rng(5)
    waiting = []
    for _ in range(300):
        rows = rng.normal(size=(5, 3))
        ticket = agent.select(rows)
        waiting.append((ticket, float(rows[ticket.arm, 0] + 0.1 * rng.normal())))
        if len(waiting) == 30:
            rng.shuffle(waiting)
            agent.update_many(waiting)
            waiting = []
    assert agent.theta == pytest.approx([1.0, 0.0, 0.0], abs=0.1)


def test_a_link_can_be_named():
    arms, link = hb.arms.Fixed(10, 3, -1.0), hb.links.Logistic()
    problem = hb.Problem(arms, link, hb.noises.StudentT(2.0, 0.3), np.array([2.0, -1.0, 1.0]))
    policies: dict[str, Any] = {"auto": hb.auto(dim=3, link=link)}
    policies["random"] = hb.policies.Uniform(dim=3)
    result = hb.simulate(policies, problem, horizon=3000, repetitions=3, checkpoints=1)
    assert result.final("auto").mean() < 0.2 * result.final("random").mean()


def test_state_files_and_ledgers_go_on_bit_for_bit(tmp_path, digest):
    rows, rewards = rounds(6, 40)
    with hb.Agent(hb.auto(dim=DIM), ledger=tmp_path / "ledger") as agent:
        for offered, paid in zip(rows[:20], rewards[:20], strict=True):
            ticket = agent.select(offered)
            agent.update(ticket, float(paid[ticket.arm]))
        agent.save(tmp_path / "state")
    others = (
        hb.Agent.load(tmp_path / "state"),
        hb.Agent(hb.auto(dim=DIM), ledger=tmp_path / "ledger"),
    )
    for offered, paid in zip(rows[20:], rewards[20:], strict=True):
        tickets = [other.select(offered) for other in others]
        assert tickets[0].arm == tickets[1].arm
        for other, ticket in zip(others, tickets, strict=True):
            other.update(ticket, float(paid[ticket.arm]))
    assert len({digest(other.state.learned) for other in others}) == 1
    assert others[0].updates == 40


@pytest.mark.parametrize("given", [{"dim": 0}, {"dim": 2, "half_life": 0.0}, {"dim": 2, "link": 3}])
def test_what_cannot_be_is_refused(given):
    with pytest.raises(hb.InvalidInputError):
        hb.auto(**given)


# ---- forgetting


def test_forgetting_is_the_formula_of_stabilised_forgetting():
    part = hb.estimators.Discounted(hb.estimators.Ridge(DIM, 0.5), half_life=10.0, every=4)
    policy = hb.policies.UCB(
        part, hb.filters.NoFilter(), hb.radii.SelfNormalised(1.0, 1.0, 0.5, 0.1)
    )
    state, rng, design = policy.init(), np.random.default_rng(7), 0.5 * np.eye(DIM)
    for t in range(1, 41):
        x = rng.normal(size=DIM)
        policy.learn(state, x, np.array([x.sum()]))
        design += np.outer(x, x)
        if t % 4 == 0:
            design = 2.0**-0.4 * design + (1.0 - 2.0**-0.4) * 0.5 * np.eye(DIM)
    region = state.estimate.region
    np.testing.assert_allclose(region.design + region.recent, design, rtol=1e-9)
    np.testing.assert_allclose(region.inverse @ design, np.eye(DIM), atol=1e-9)
    assert log_volume(region) == pytest.approx(np.linalg.slogdet(design / 0.5)[1])
    np.testing.assert_allclose(region.centre, np.ones(DIM), atol=0.05)


def test_what_is_forgotten_never_winds_up():
    agent = hb.Agent(hb.auto(dim=2, half_life=5.0))
    for _ in range(2000):
        agent.update(agent.select([[1.0, 0.0]]), 1.0)
    assert np.linalg.cond(agent.design) < 1e4


def test_forgetting_follows_effects_that_change_places():
    def lost_after(half_life: float | None) -> float:
        agent, rng = hb.Agent(hb.auto(dim=3, half_life=half_life)), np.random.default_rng(8)
        theta, total = np.array([1.0, -1.0, 0.5]), 0.0
        for t in range(1600):
            rows = rng.normal(size=(5, 3))
            means = rows @ (theta if t < 800 else theta[::-1])
            ticket = agent.select(rows)
            total += (means.max() - means[ticket.arm]) * (t > 1000)
            agent.update(ticket, float(means[ticket.arm] + rng.normal()))
        return total

    assert lost_after(100.0) < 0.5 * lost_after(None)


def test_an_estimator_that_keeps_its_history_cannot_forget():
    history = hb.tofu(dim=2, horizon=10, raw_moment=1.0).estimator
    parts = hb.estimators.Discounted(history, 5.0), hb.filters.NoFilter(), hb.radii.Constant(1.0)
    with pytest.raises(hb.InvalidInputError, match="must see each reward once"):
        hb.Agent(hb.policies.UCB(*parts))


def test_an_estimator_with_a_theta_per_play_cannot_forget():
    """V would fade, and the distances between its thetas would not; and it reads five rewards."""
    parts = (
        hb.estimators.Discounted(hb.estimators.RidgeEnsemble(3, 5, 1.0), 5.0),
        hb.filters.NoFilter(),
    )
    with pytest.raises(hb.InvalidInputError, match="RidgeEnsemble has one per play"):
        hb.Agent(hb.policies.UCB(*parts, hb.radii.Constant(1.0)))
    menu = hb.crcm(dim=3, horizon=1000, central_moment=1.0, plays=5)
    with pytest.raises(
        hb.InvalidInputError, match="one confidence region, one theta and no history"
    ):
        hb.Agent(hb.policies.TimeDiscounted(menu, 60.0))
