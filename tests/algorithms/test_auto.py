"""The policy without constants: it has no unit, no order of arms or features, and no weak spot."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.arms import PerRound
from heavybandits.core.confidence_region import log_volume, update_count
from heavybandits.parts.estimators.auto import restart_count

DIM, ARMS = 3, 5


class Twin:
    """The docstring of `ScaleFreeHuber` and `ScaleFreeRadius`, with inverses and lists."""

    def __init__(self, dim: int) -> None:
        self.design, self.penalty = np.eye(dim), 0.0
        self.theta: Any = np.zeros(dim)
        self.restarts, self.cuts = 0, 0
        self.forget()

    def forget(self) -> None:
        self.sizes: list[float] = []
        self.rewards: list[float] = []
        self.squares, self.updates, self.known, self.streak = 0.0, 0, 0, 0
        self.most = 0.0

    def learned(self) -> float:
        taken = self.penalty * np.trace(np.linalg.inv(self.design))
        return max(self.theta.size - float(taken), 1.0)

    def radius(self) -> float:
        if self.known == 0:
            return 1e100
        volume, k = np.linalg.slogdet(self.design / self.penalty)[1], self.learned()
        noise = math.sqrt(self.squares)
        spread = 0.3 * noise + max(self.prior() / math.sqrt(k), noise)
        return float(spread * math.sqrt(2.0 + volume / k))

    def prior(self) -> float:
        return float(math.sqrt(self.penalty) * np.linalg.norm(self.theta))

    def begin(self, x: Any) -> None:
        self.penalty = self.least = 0.1 * float(x @ x)
        self.theta, self.design = np.zeros(x.size), self.penalty * np.eye(x.size)

    def learn(self, x: Any, reward: float) -> None:
        if self.updates == 0 and x.any():
            self.begin(x)
        image = np.linalg.inv(self.design) @ x
        square = float(x @ image)
        spread = math.sqrt(1.0 + square)
        told = reward not in (0.0, float(x @ self.theta))
        if told and self.known == 1:
            believed = min(1.0, 4.5 * abs(reward) / spread / self.sizes[0])
            self.theta, self.sizes = self.theta * believed, [self.sizes[0] * believed]
        error = reward - float(x @ self.theta)
        self.known += told
        w = math.sqrt(square)
        limit = 0.35 * math.sqrt(self.squares) * spread**2 / w + self.prior() * w if w else math.inf
        if told and self.known <= 32:
            self.sizes.append(abs(error) / spread)
        if 0 < self.known <= 32:
            self.most = 4.5 * sorted(self.sizes)[(self.known - 1) // 2]
            limit = max(limit, self.most * spread)
        kept, trust = error, 1.0
        if abs(error) > limit:
            self.cuts += 1
            kept, move = math.copysign(limit, error), limit * square / (1.0 + square)
            trust = max(move / (square * (abs(error) - move)), 1e-9)
        self.design = self.design + trust * np.outer(x, x)
        self.theta = self.theta + image * kept / (1.0 + square)
        self.updates += 1 if self.penalty else 0
        self.rescale(kept / spread)
        self.streak = self.streak + 1 if abs(error) > 2.0 * limit else 0
        self.rewards += [abs(reward)] if told else []
        if self.streak == 8 or (told and self.began_badly()):
            self.restarts += 1
            self.forget()
            self.begin(x)
        elif self.updates in (4, 8, 16, 32, 64, 128, 256):
            self.weigh()

    def began_badly(self) -> bool:
        if self.known != 32 or self.restarts:
            return False
        return sum(30.0 * size < min(self.rewards[:2]) for size in self.rewards[2:]) > 16

    def rescale(self, size: float) -> None:
        if self.known > 32:
            counted = min(size**2, 9.0 * self.squares)
            self.squares += (counted - self.squares) / min(self.updates, 1000)
        elif self.known > 0:
            clipped = np.minimum(self.sizes, self.most)
            self.squares = float(clipped @ clipped) / max(self.updates, 1)

    def weigh(self) -> None:
        """lambda = k s^2 / ||theta||^2 within its bounds, and the theta of ridge regression."""
        wanted = self.learned() * self.squares / float(self.theta @ self.theta)
        most = max(float(np.trace(self.design)) / self.theta.size, self.least)
        pull, before = self.design @ self.theta, self.penalty
        self.penalty = min(max(wanted, self.least), most)
        self.design = self.design + (self.penalty - before) * np.eye(self.theta.size)
        self.theta = np.linalg.solve(self.design, pull)


class Player:
    """A policy in Python, round by round."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.state = policy, policy.init()
        self.arms = PerRound(ARMS, policy.dim)
        self.buffer = self.arms.make_buffer()

    def choose(self, rows: Any) -> int:
        self.buffer.features[:, : len(rows)] = rows.T
        self.buffer.synced[0] = -1
        return int(self.policy.choose(self.state, self.arms, self.buffer))

    def learn(self, x: Any, reward: float) -> None:
        self.policy.learn(self.state, np.array(x), np.array([reward]))

    def indices(self, rows: Any) -> Any:
        return np.array([sum(self.policy.estimate_arm(self.state, x)) for x in rows])


def rounds(seed: int, count: int) -> Any:
    """Arms, and the reward of each."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, ARMS, DIM)) * rng.uniform(0.5, 2.0, size=(count, ARMS, 1))
    means = rows @ rng.normal(size=DIM)
    rewards = means + 0.5 * rng.standard_t(1.5, size=(count, ARMS))
    rewards[rng.random((count, ARMS)) < 0.1] = 0.0
    return rows, rewards


@pytest.mark.parametrize("monsters", [1, 2, 3])
def test_the_naive_twin_agrees(monsters):
    """At the start, and one now and then."""
    player, twin = Player(hb.auto(dim=DIM)), Twin(DIM)
    for t, (rows, rewards) in enumerate(zip(*rounds(0, 300), strict=True)):
        arm = player.choose(rows)
        wild = t < monsters or t % 41 == 0
        x, reward = rows[arm], 1e9 if wild else rewards[arm] * (1e3 if t > 200 else 1.0)
        x = np.zeros(DIM) if t % 57 == 3 else x
        player.learn(x, reward)
        twin.learn(x, reward)
        region = player.state.estimate.region
        np.testing.assert_allclose(region.centre, twin.theta, rtol=1e-7, atol=1e-9)
        width = player.policy.radius.radius(player.state.estimate, t)
        assert width == pytest.approx(twin.radius(), rel=1e-7)
    assert player.policy.tally(player.state).truncated == twin.cuts > 10
    assert restart_count(player.state.estimate) == twin.restarts == (1 if monsters == 1 else 2)


# ---- no unit

powers = st.integers(-40, 40).map(lambda k: 2.0**k)


def play(seed: int, rewards_by: float, features_by: float, count: int = 60) -> list[int]:
    player, chosen = Player(hb.auto(dim=DIM)), []
    for rows, rewards in zip(*rounds(seed, count), strict=True):
        chosen.append(player.choose(rows * features_by))
        player.learn(rows[chosen[-1]] * features_by, rewards[chosen[-1]] * rewards_by)
    return chosen


@given(st.integers(0, 10**6), powers, powers)
@settings(max_examples=15)
def test_powers_of_two_change_no_arm(seed, rewards_by, features_by):
    assert play(seed, rewards_by, features_by) == play(seed, 1.0, 1.0)


@pytest.mark.parametrize("rewards_by", [2.0**-30, 2.0**30])
@pytest.mark.parametrize("features_by", [2.0**-15, 2.0**12])
@pytest.mark.parametrize("arms", [hb.arms.PerRound(20, 4, -1.0), hb.arms.Fixed(20, 4)])
def test_powers_of_two_change_no_bit_of_a_compiled_run(rewards_by, features_by, arms):
    rng = np.random.default_rng(1)
    given_arms = hb.arms.FromArray(rng.normal(size=(8, 4)))
    fresh = arms.redraw == "round"
    scaled = arms if fresh else hb.arms.FromArray(given_arms.features * features_by)
    theta = rng.normal(size=4)
    told: dict[str, Any] = {"horizon": 2500, "repetitions": 2, "checkpoints": 7}
    link = hb.links.Identity()
    plain = hb.Problem(arms if fresh else given_arms, link, hb.noises.StudentT(1.5), theta)
    there = theta * rewards_by if fresh else theta * rewards_by / features_by
    other = hb.Problem(scaled, link, hb.noises.StudentT(1.5, rewards_by), there)
    first, second = (hb.simulate(hb.auto(dim=4), p, **told).data for p in (plain, other))
    np.testing.assert_array_equal(second["regret"], first["regret"] * rewards_by)
    np.testing.assert_array_equal(second["truncated"], first["truncated"])


def follow(seed: int, change: Any, count: int = 60) -> None:
    """Two players, the second shown everything changed: equal arms, or a tie of rounding."""
    first, second = Player(hb.auto(dim=DIM)), Player(hb.auto(dim=DIM))
    for rows, rewards in zip(*rounds(seed, count), strict=True):
        shown, paid, name = change(rows, rewards)
        arm, other = first.choose(rows), second.choose(shown)
        if name(other) != arm:
            indices = first.indices(rows)
            assert indices[name(other)] == pytest.approx(indices.max(), rel=1e-6)
            return
        first.learn(rows[arm], rewards[arm])
        second.learn(shown[other], paid[other])


factors = st.floats(1e-6, 1e6)


@given(st.integers(0, 10**6), factors, factors)
@settings(max_examples=15)
def test_any_other_factor_changes_an_arm_only_in_a_tie(seed, rewards_by, features_by):
    follow(seed, lambda x, y: (x * features_by, y * rewards_by, lambda arm: arm))


@given(st.integers(0, 10**6), st.permutations(range(ARMS)))
@settings(max_examples=10)
def test_permuted_arms_give_permuted_choices(seed, order):
    places = list(order)
    follow(seed, lambda x, y: (x[places], y[places], lambda arm: places[arm]))


@given(st.integers(0, 10**6), st.permutations(range(DIM)))
@settings(max_examples=10)
def test_permuted_features_give_the_same_choices(seed, order):
    places = list(order)
    follow(seed, lambda x, y: (x[:, places], y, lambda arm: arm))


# ---- no weak spot


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
    "a monster first": lambda t, mean, rng: 1e100 if t == 0 else mean + rng.normal(),
    "two monsters first": lambda t, mean, rng: 1e6 * (-1) ** t if t < 2 else mean + rng.normal(),
    "two monsters later": lambda t, mean, rng: -1e100 if t in (2, 9) else mean + rng.normal(),
    "whole numbers": lambda t, mean, rng: round(mean + rng.normal()),
    "no noise": lambda t, mean, rng: mean,
    "no variance": lambda t, mean, rng: mean + rng.standard_t(1.5),
    "tiny units": lambda t, mean, rng: 1e-9 * (mean + rng.normal()),
    "a change of unit": lambda t, mean, rng: (mean + rng.normal()) * (100.0 if t > 400 else 1.0),
    "and back": lambda t, mean, rng: (mean + rng.normal()) * (0.01 if t > 400 else 1.0),
}


@pytest.mark.parametrize("name", SPOTS)
def test_it_learns_whatever_the_rewards_are_like(name):
    lost, agent = regret(SPOTS[name])
    assert lost < 0.15
    assert np.isfinite(agent.theta).all()
    assert agent.restarts == (1 if name in ("a change of unit", "two monsters first") else 0)


def test_rare_sales_are_learned_from():
    sale = lambda t, mean, rng: 30.0 * (rng.random() < 0.02 * mean)  # noqa: E731
    lost, _ = regret(sale, count=6000)
    assert lost < 0.5


@pytest.mark.parametrize("reward", [0.0, 7.0, -1e100])
def test_constant_rewards_do_no_harm(reward):
    _, agent = regret(lambda t, mean, rng: reward, count=50)
    assert np.isfinite(agent.theta).all()
    assert np.isfinite(agent.inverse).all()


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
    assert update_count(others[0].state.learned.estimate.region) == 40


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
