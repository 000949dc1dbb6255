"""The policy for rewards that are mostly one value: its models, its invariances, its limits."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.agents.revise import check_revisable
from heavybandits.arms import FromArray, PerRound
from heavybandits.core.confidence_region import penalty_of
from heavybandits.parts.estimators.auto import (
    base_of,
    is_event,
    is_exploration_due,
    least_event,
    share_from,
    typical_event,
    unit_of,
)
from heavybandits.parts.policies.hurdle import chance_of, is_on, learned_logit

DIM, ARMS, WARM = 3, 4, 32
PRICES = np.array([5.0, 12.0, 30.0, 80.0])


class Player:
    """A policy in Python, round by round."""

    def __init__(self) -> None:
        self.policy: Any = hb.hurdle(dim=DIM, monitor_drift=False)
        self.state = self.policy.init()
        self.arms = PerRound(ARMS, DIM)
        self.buffer = self.arms.make_buffer()

    def choose(self, rows: Any) -> int:
        self.buffer.features[:, :ARMS] = rows.T
        self.buffer.synced[0] = -1
        return int(self.policy.choose(self.state, self.arms, self.buffer))

    def learn(self, x: Any, reward: float) -> None:
        self.policy.learn(self.state, np.array(x), np.array([reward]))

    def estimates(self, rows: Any) -> Any:
        return np.array([self.policy.estimate_arm(self.state, x) for x in rows])


class Twin:
    """The docstring of `Hurdle`, with inverses. It reads base, units and events from `auto`."""

    def __init__(self, linear: Any) -> None:
        self.linear, self.noise, self.events, self.gains = linear, 0.5, 0, 0
        self.information = np.zeros((DIM + 2, DIM + 2)), np.zeros((DIM + 1, DIM + 1))
        self.penalties = [0.1 * DIM, 0.03 * DIM]
        self.conversion, self.amounts = np.zeros(DIM + 2), np.zeros(DIM + 1)
        share = share_from(linear, least_event(linear))
        share = (WARM * share + 0.5) / (WARM + 1.0)
        logit = math.log(share / (1.0 - share))
        logit += 0.5 * math.log(self.typical()) if self.typical() else 0.0
        self.conversion[DIM] = logit / 10.0
        self.information[0][DIM, DIM] = 100.0  # a deviation of one logit

    def typical(self) -> float:
        return float(typical_event(self.linear) / unit_of(self.linear))

    def inverse(self, model: int) -> Any:
        information = self.information[model]
        return np.linalg.inv(information + self.penalties[model] * np.eye(len(information)))

    def rows(self, x: Any) -> tuple[Any, Any, float, float]:
        units = self.linear.units
        z = np.divide(x - self.linear.middle, units, out=np.zeros(DIM), where=units > 0.0)
        z = np.r_[z, 10.0]
        amount, logarithm = float(z @ self.amounts), 0.0
        if self.typical():
            size = amount if 2 * self.gains >= self.events else -amount
            size = min(max(size, self.typical() / 32.0), 32.0 * self.typical())
            logarithm = math.log(size)
        long = np.r_[z, math.sqrt(DIM) * logarithm]
        logit = float(long @ self.conversion) - 0.5 * logarithm
        return z, long, amount, 1.0 / (1.0 + math.exp(-logit))

    def learn_first(self, arms: Any, rewards: Any) -> None:
        for x, reward in zip(arms, rewards, strict=True):
            if is_event(self.linear, reward):
                self.learn_amount(x, reward)
        for x, reward in zip(arms, rewards, strict=True):
            self.learn_outcome(x, is_event(self.linear, reward))

    def learn(self, x: Any, reward: float) -> None:
        amount = self.rows(x)[2]
        self.learn_outcome(x, is_event(self.linear, reward))
        if is_event(self.linear, reward):
            self.learn_amount(x, reward, amount)

    def learn_outcome(self, x: Any, event: bool) -> None:
        long, chance = self.rows(x)[1::2]
        image = self.inverse(0) @ long
        square, logit = float(long @ image), math.log(chance / (1.0 - chance))
        low, high = logit - square, logit + square
        for _ in range(100):  # halve until u = logit + square (event - p(u))
            u = 0.5 * (low + high)
            chance = 1.0 / (1.0 + math.exp(-u))
            low, high = (low, u) if u > logit + square * (event - chance) else (u, high)
        self.conversion += image * (event - chance)
        self.information[0][:] += max(chance * (1.0 - chance), 1e-3) * np.outer(long, long)

    def learn_amount(self, x: Any, reward: float, amount: float | None = None) -> None:
        paid = float((reward - base_of(self.linear)) / unit_of(self.linear))
        z, _, now, _ = self.rows(x)
        amount = now if amount is None else amount
        typical = self.typical() or abs(paid)
        if self.events == 0:
            amount = math.copysign(typical, paid)
            self.amounts[DIM] = amount / 10.0
        self.events, self.gains = self.events + 1, self.gains + (paid > 0.0)
        scale = min(max(abs(amount), 0.3 * typical), 16.0 * typical)
        image = self.inverse(1) @ z / scale
        square, error = float(z @ image) / scale, (paid - amount) / scale
        step = 0.35 * math.sqrt(self.noise) * (1.0 + square) / math.sqrt(square)
        limit = max(4.0 * math.sqrt(1.0 + square), step)
        residual = min(error**2 / (1.0 + square), 9.0 * max(self.noise, 0.1))
        self.noise += (residual - self.noise) / (min(self.events, 1000) + 3.0)
        self.amounts += image * float(np.clip(error, -limit, limit)) / (1.0 + square)
        self.information[1][:] += np.outer(z, z) / scale**2

    def weigh(self) -> None:
        limits = [(0.1 * DIM, 2.0 * DIM, 1.0), (1e-4 * DIM, 0.03 * DIM, self.noise)]
        for model, (least, most, noise) in enumerate(limits):
            theta = (self.conversion, self.amounts)[model]
            slopes = theta.size - 1
            if model == 1 and self.events < 6:
                continue
            trace = np.trace(self.inverse(model)[:slopes, :slopes])
            learned = max(slopes - self.penalties[model] * trace, 1.0)
            signal = max(float(theta[:slopes] @ theta[:slopes]), 1e-12)
            pull = self.information[model] @ theta + self.penalties[model] * theta
            self.penalties[model] = min(max(learned * noise / signal, least), most)
            theta[:] = self.inverse(model) @ pull

    def estimate(self, x: Any) -> tuple[float, float]:
        z, long, amount, chance = self.rows(x)
        widths = []
        for model, (row, n) in enumerate([(long, self.linear.counts[0]), (z, self.events)]):
            square = float(row @ self.inverse(model) @ row)
            widths.append(0.8 * math.sqrt(square * (3.0 + math.log1p(n * square / DIM))))
        u = widths[0]
        rise = min(chance * (1.0 - chance) * (u + u * u / 2.0), 1.0 - chance)
        doubt = math.sqrt(self.noise) * widths[1]
        width = math.hypot(amount * rise, chance * doubt, rise * doubt)
        unit = unit_of(self.linear)
        return base_of(self.linear) + unit * chance * amount, unit * width


def shop(seed: int, count: int) -> Any:
    """Arms (price, visitor, their product) and the reward of each: 0 unless the visitor buys."""
    rng = np.random.default_rng(seed)
    visitor = rng.normal(size=(count, 1))
    columns = np.broadcast_to(PRICES, (count, ARMS)), np.broadcast_to(visitor, (count, ARMS))
    rows = np.stack([*columns, PRICES * visitor], axis=2)
    chance = np.minimum(0.4 * (5.0 / PRICES) ** 0.6 * np.exp(0.5 * visitor), 0.5)
    amounts = PRICES * np.exp(0.4 * rng.normal(size=(count, 1)))
    return rows, np.where(rng.random((count, 1)) < chance, amounts, 0.0)


def play(rows: Any, rewards: Any) -> list[int]:
    player, chosen = Player(), []
    for offered, paid in zip(rows, rewards, strict=True):
        arm = player.choose(offered)
        player.learn(offered[arm], float(paid[arm]))
        chosen.append(arm)
    return chosen


def test_the_textbook_agrees():
    rows, rewards = shop(1, 400)
    player, twin, compared = Player(), None, 0
    for t, (offered, paid) in enumerate(zip(rows, rewards, strict=True)):
        linear = player.state.linear.estimate
        on, free = is_on(player.state, linear), not is_exploration_due(linear)
        before = player.estimates(offered).sum(axis=1)
        arm = player.choose(offered)
        if on and free:
            assert before[arm] >= before.max() - 1e-9 * abs(before.max())
            compared += 1
        reward = 1e4 if t == 200 else float(paid[arm])
        player.learn(offered[arm], reward)
        if t + 1 == WARM:
            twin = Twin(linear)
            twin.learn_first(linear.arms, linear.rewards.tolist())
        elif twin is not None:
            twin.learn(offered[arm], reward)
        if twin is not None and (t + 1) & t == 0:
            twin.weigh()
        if twin is not None and is_on(player.state, linear):
            theirs = [twin.estimate(x) for x in offered]
            np.testing.assert_allclose(player.estimates(offered), theirs, rtol=1e-6, atol=1e-8)
    assert compared > 200
    assert penalty_of(player.state.amounts) < 0.03 * DIM


@pytest.mark.parametrize(
    ("factor", "level", "units"),
    [(2.0**40, 0.0, (1.0, 1.0, 1.0)), (1.0, 0.0, (2.0**-9, 2.0**7, 4.0)), (4.0, 1024.0, (1, 1, 1))],
)
def test_units_and_level_change_no_choice(factor, level, units):
    rows, rewards = shop(2, 300)
    rewards = np.round(rewards * 64.0) / 64.0  # so that a level leaves every digit
    assert play(rows * np.array(units), factor * rewards + level) == play(rows, rewards)


def test_an_arm_that_never_sold_has_the_amount_of_arms_like_it():
    rows, rewards = shop(3, 300)
    player = Player()
    for t, (offered, paid) in enumerate(zip(rows, rewards, strict=True)):
        player.learn(offered[t % 3], float(paid[t % 3]))
    expected = player.state.amounts.centre @ np.r_[0.0, 0.0, 0.0, 10.0]
    x, linear = np.array([80.0, 0.0, 0.0]), player.state.linear.estimate
    z = np.r_[(x - linear.middle) / linear.units, 10.0]
    amount = float(z @ player.state.amounts.centre) * unit_of(linear)
    assert 40.0 < amount < 160.0
    assert amount > 2.0 * expected * unit_of(linear)


@pytest.mark.parametrize(("logit", "outcome"), [(-4.0, 1.0), (-4.0, 0.0), (5.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("square", [0.0, 0.3, 25.0, 1e4])
def test_a_logit_learns_from_an_outcome_without_going_too_far(logit, outcome, square):
    found = learned_logit(logit, square, outcome)
    assert found == pytest.approx(logit + square * (outcome - chance_of(found)), abs=1e-8 * square)
    assert (found - logit) * (outcome - 0.5) >= 0.0
    assert abs(found) < abs(logit) + 10.0  # a Newton step from -4 would end at 5 with 1e4


def test_an_item_that_sells_rarely_is_not_given_up_before_it_sold():
    """Ten visitors do not buy the expensive item; it stays possible that 1% of them would."""
    rng = np.random.default_rng(7)
    rows, player = np.eye(DIM)[:2], Player()
    for t in range(300):
        arm = int(t % 30 == 0)
        player.learn(rows[arm], float(rng.random() < 0.3) * 5.0 * (1 - arm))
    linear = player.state.linear.estimate
    assert is_on(player.state, linear)
    cheap, expensive = player.estimates(rows)
    assert cheap[0] == pytest.approx(1.5, rel=0.3)
    assert expensive.sum() > cheap.sum()


def test_one_extreme_reward_does_not_ruin_the_amounts():
    rows, rewards = shop(4, 600)
    means = rewards.mean(axis=0)

    def earned(extreme: float) -> float:
        changed = rewards.copy()
        changed[100] = extreme
        return float(means[play(rows, changed)].mean())

    plain = earned(0.0)
    for extreme in (1e100, -1e4):
        assert earned(extreme) > 0.85 * plain


def test_without_a_usual_value_it_plays_as_auto():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(200, ARMS, DIM))
    rewards = rows @ np.array([1.0, -1.0, 0.5]) + rng.standard_t(3.0, size=(200, 1))
    auto: Any = Player()
    auto.policy = hb.auto(dim=DIM, monitor_drift=False)
    auto.state, chosen = auto.policy.init(), []
    for offered, paid in zip(rows, rewards, strict=True):
        chosen.append(auto.choose(offered))
        auto.learn(offered[chosen[-1]], float(paid[chosen[-1]]))
    assert play(rows, rewards) == chosen


def test_an_agent_with_it_continues_from_a_file(tmp_path):
    rows, rewards = shop(6, 240)
    agent, file, chosen = hb.Agent(hb.hurdle(dim=DIM)), tmp_path / "agent.hb", []
    for t, (offered, paid) in enumerate(zip(rows, rewards, strict=True)):
        if t == 120:
            agent.save(file)
            agent = hb.Agent.load(file)
        ticket = agent.select(offered)
        agent.update(ticket, float(paid[ticket.arm]))
        chosen.append(ticket.arm)
    player = Player()  # not compiled, and never interrupted
    assert chosen == [player_step(player, *each) for each in zip(rows, rewards, strict=True)]
    for name in ("conversion", "amounts"):
        ours, theirs = (getattr(s, name) for s in (agent.state.learned, player.state))
        for one, other in zip(ours[:5], theirs[:5], strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_reward_cannot_be_revised():
    policy = hb.hurdle(dim=DIM)
    with pytest.raises(hb.InvalidInputError, match="Hurdle cannot revise a reward"):
        check_revisable(policy, policy.init())


def player_step(player: Player, offered: Any, paid: Any) -> int:
    arm = player.choose(offered)
    player.learn(offered[arm], float(paid[arm]))
    return arm


def test_the_policy_inside_must_be_auto():
    others: list[Any] = [hb.linucb(dim=2, radius=1.0), hb.auto(dim=2, link=hb.links.Logistic())]
    for inside in others:
        with pytest.raises(hb.InvalidInputError, match=r"Hurdle.linear must be .* ScaleFreeHuber"):
            hb.Agent(hb.policies.Hurdle(inside))
    with pytest.raises(hb.InvalidInputError, match="dim"):
        hb.hurdle(dim=0)


def test_compiled_code_takes_arm_sets_whose_size_is_a_property() -> None:
    """For `auto` as well, which is inside."""
    noise, theta = hb.noises.Gaussian(1.0), np.ones(DIM) / DIM
    arms, link = FromArray(np.eye(DIM)), hb.links.Identity()
    problem = hb.Problem(arms=arms, noise=noise, theta=theta, link=link)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that no compiled code is kept
        assert hb.simulate(hb.hurdle(dim=DIM), problem, horizon=40) is not None
