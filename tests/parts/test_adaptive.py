"""Filters that set their own threshold: a naive twin, both worlds, all finite rewards, agents."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.core.compile import compiled
from heavybandits.core.kernels import learn_kernel
from heavybandits.core.part import cast
from heavybandits.filters import AdaptiveClip, MeanScaledClip
from heavybandits.parts.filters.adaptive import current_threshold

FILTERS = [
    AdaptiveClip(),
    AdaptiveClip(quantile=0.8, residual=False),
    AdaptiveClip(weighted=True),
    AdaptiveClip(truncate=True),
    AdaptiveClip(quantile=0.5, residual=False, weighted=True, truncate=True),
]


class Twin:
    """The text of the docstring, with lists and no cleverness."""

    def __init__(self, part) -> None:
        self.part, self.threshold, self.cut = part, 0.0, 0
        self.sizes: list[float] = []

    def apply(self, reward: float, norm: float, predicted: float) -> float:
        centre = predicted if self.part.residual else 0.0
        weight = norm if self.part.weighted else 1.0
        size = weight * abs(reward - centre)
        if size == 0.0 or reward == 0.0:
            return reward
        threshold = self.judge(size)
        if size <= threshold:
            return reward
        self.cut += 1
        limit = 0.0 if self.part.truncate else threshold / weight
        return centre + math.copysign(limit, reward - centre)

    def judge(self, size: float) -> float:
        self.sizes.append(size)
        count = len(self.sizes)
        if count <= 32:
            beyond = max(count // 4, 1)
            ordered = sorted(self.sizes)
            self.threshold = math.log(ordered[count - 1 - beyond] if count > beyond else ordered[0])
            return math.exp(self.threshold) if count > 1 else 0.0
        share = max(1.0 - self.part.quantile, min(5.0 / count, 0.25))
        threshold = self.threshold
        step = 1.0 / share if math.log(size) > threshold else 0.0
        self.threshold += (step - 1.0) / count
        return math.exp(threshold)


@pytest.mark.parametrize("part", FILTERS)
def test_the_naive_twin_agrees(part) -> None:
    rng = np.random.default_rng(0)
    memory, twin = part.init(), Twin(part)
    for reward in rng.standard_t(1.5, 500):
        norm, predicted = float(rng.uniform(0.1, 1.0)), float(rng.normal())
        ours = part.apply(memory, np.array([reward]), norm, predicted)
        assert ours == pytest.approx(twin.apply(reward, norm, predicted), rel=1e-12)
    assert memory.counts[1] == twin.cut > 0


@pytest.mark.parametrize("part", FILTERS)
def test_compiled_and_uncompiled_give_the_same_bits(part, digest) -> None:
    policy = cast(hb.linucb(dim=3, radius=1.0, filter=part))
    states = policy.init(), policy.init()
    x, y, lessons = np.zeros(3), np.zeros(1), np.zeros(1, np.int64)
    fast = compiled(learn_kernel, policy, states[0], x, y, lessons)
    slow = learn_kernel("")
    rng = np.random.default_rng(1)
    for reward in rng.standard_t(1.5, 300):
        x[:] = rng.uniform(-0.5, 0.5, 3)
        for learn, state in zip((fast, slow), states, strict=True):
            y[0] = reward
            learn(policy, state, x, y, lessons)
    assert digest(states[0]) == digest(states[1])
    assert lessons[0] == 600


rewards_of_any_size = st.lists(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, 1e308, -1e308, 5e-324, 1e100, 1.0]),
    max_size=80,
)


@given(rewards=rewards_of_any_size, which=st.sampled_from(FILTERS))
@settings(max_examples=60)
def test_every_finite_reward_leaves_a_finite_memory_and_a_value_in_between(rewards, which) -> None:
    memory = which.init()
    for reward in rewards:
        kept = min(max(reward, -1e100), 1e100)  # what a policy lets through
        value = which.apply(memory, np.array([kept]), 0.5, 0.25)
        assert math.isfinite(value)
        centre = 0.25 if which.residual else 0.0
        low, high = sorted((kept, centre))
        slack = 1e-9 * max(abs(low), abs(high))
        assert low - slack <= value <= high + slack
        assert math.isfinite(current_threshold(memory))
    assert memory.counts[0] == len(rewards)


def test_a_monster_first_is_not_believed_and_soon_forgotten() -> None:
    part = AdaptiveClip()
    memory = part.init()
    assert part.apply(memory, np.array([1e100]), 1.0, 0.3) == 0.3
    rng = np.random.default_rng(2)
    for reward in rng.normal(size=200):
        part.apply(memory, np.array([reward]), 1.0, 0.0)
    assert current_threshold(memory) < 5.0


def test_short_data_is_learned_from_after_the_first_reward() -> None:
    part, alike = AdaptiveClip(), AdaptiveClip().init()
    assert [part.apply(alike, np.ones(1), 1.0, 0.0) for _ in range(4)] == [0.0, 1.0, 1.0, 1.0]
    for place in range(1, 7):
        memory, rewards = part.init(), np.ones(8)
        rewards[place] = 1e100
        filtered = [part.apply(memory, rewards[i : i + 1], 1.0, 0.0) for i in range(8)]
        assert filtered == pytest.approx([0.0] + [1.0] * 7)


def test_no_reward_moves_the_threshold_by_more_than_a_fifth() -> None:
    part = AdaptiveClip(quantile=0.999)
    memory = part.init()
    rng = np.random.default_rng(3)
    for reward in rng.normal(size=60):
        part.apply(memory, np.array([reward]), 1.0, 0.0)
    before = current_threshold(memory)
    part.apply(memory, np.array([1e100]), 1.0, 0.0)
    assert before < current_threshold(memory) <= before * math.exp(0.2)


def test_zeros_teach_no_scale_and_are_never_cut() -> None:
    part = AdaptiveClip(residual=False)
    memory = part.init()
    for _ in range(100):
        assert part.apply(memory, np.zeros(1), 1.0, 0.0) == 0.0
    assert memory.counts.tolist() == [100, 0, 0]
    assert current_threshold(memory) == 0.0


@pytest.mark.parametrize("residual", [True, False])
def test_rare_sales_are_judged_by_sales_alone(residual: bool) -> None:
    part, rng = AdaptiveClip(residual=residual), np.random.default_rng(7)
    memory, kept = part.init(), 0
    for _ in range(20_000):
        sale = float(rng.uniform(5.0, 15.0)) if rng.random() < 0.004 else 0.0
        kept += sale > 0.0 and part.apply(memory, np.array([sale]), 1.0, 0.04) == sale
    assert kept > 0.7 * memory.counts[2]
    assert current_threshold(memory) > 10.0


def test_a_clip_at_the_mean_finds_the_mean_whatever_comes_first() -> None:
    part, rng = MeanScaledClip(3.0), np.random.default_rng(8)
    memory = part.init()
    sizes = np.r_[1e100, 1e100, rng.exponential(2.0, 5000) * (rng.random(5000) < 0.5)]
    filtered = [
        part.apply(memory, np.array([y]), 0.1, 7.0) for y in sizes * (-1.0) ** np.arange(5002)
    ]
    assert memory.mean[0] == pytest.approx(1.0, rel=0.1)
    assert max(map(abs, filtered[1000:])) == pytest.approx(3.0, rel=0.2)
    assert filtered[0] == 0.0


@pytest.mark.parametrize("quantile", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("law", ["t", "pareto", "normal"])
def test_the_threshold_finds_the_quantile(quantile: float, law: str) -> None:
    rng = np.random.default_rng(4)
    draws = {"t": rng.standard_t(1.5, 40_000), "pareto": rng.pareto(1.5, 40_000)}
    sample = draws.get(law, rng.normal(size=40_000))
    part = AdaptiveClip(quantile=quantile)
    memory = part.init()
    for reward in sample[:20_000]:
        part.apply(memory, np.array([reward]), 1.0, 0.0)
    beyond = np.mean(np.abs(sample[20_000:]) > current_threshold(memory))
    assert beyond == pytest.approx(1.0 - quantile, rel=0.35)


def test_the_unit_of_the_rewards_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    sample = rng.standard_t(2, 300)
    part = AdaptiveClip(residual=False)
    cents, dollars = part.init(), part.init()
    for reward in sample:
        small = part.apply(cents, np.array([reward]), 1.0, 0.0)
        large = part.apply(dollars, np.array([1024.0 * reward]), 1.0, 0.0)
        assert large == pytest.approx(1024.0 * small, rel=1e-9)


def test_several_plays_are_cleaned_one_by_one() -> None:
    part = AdaptiveClip(plays=3)
    together, apart = part.init(), part.init()
    rng = np.random.default_rng(6)
    for _ in range(40):
        plays = rng.standard_t(2, 3)
        each = [part.apply(apart, np.array([y]), 1.0, 0.0) for y in plays]
        assert part.apply(together, plays, 1.0, 0.0) == pytest.approx(np.mean(each))
    assert together.counts.tolist() == apart.counts.tolist()


# ---- in policies and agents


def test_crtm_takes_a_filter_instead_of_a_threshold() -> None:
    told: dict[str, Any] = {"dim": 2, "horizon": 100, "raw_moment": 1.0, "radius_scale": 0.1}
    assert hb.crtm(**told, truncation=AdaptiveClip(0.99)).filter == AdaptiveClip(0.99)
    assert isinstance(hb.crtm(**told, truncation=2.0).filter, hb.filters.Truncate)
    assert isinstance(hb.crtm(**told, truncation=math.inf).filter, hb.filters.NoFilter)
    with pytest.raises(hb.InvalidInputError, match="truncation must be a filter"):
        hb.crtm(**{**told, "truncation": hb.links.Logistic()})


@pytest.mark.parametrize("quantile", [0.0, 1.0, 1.5, float("nan")])
def test_a_quantile_outside_its_range_is_refused(quantile: float) -> None:
    with pytest.raises(hb.InvalidInputError, match="quantile"):
        hb.linucb(dim=2, filter=AdaptiveClip(quantile=quantile))


def test_an_agent_shows_the_share_live_and_survives_a_monster(tmp_path, digest) -> None:
    agent = hb.Agent(hb.linucb(dim=3, radius=1.0, filter=AdaptiveClip()))
    rng = np.random.default_rng(7)
    for step in range(200):
        ticket = agent.select(rng.uniform(-0.5, 0.5, (4, 3)))
        agent.update(ticket, 1e308 if step in (0, 100) else float(rng.normal()))
    assert 0.03 < agent.truncated_share < 0.3
    assert np.linalg.norm(agent.theta) < 5.0
    agent.save(tmp_path / "agent.zip")
    again = hb.Agent.load(tmp_path / "agent.zip")
    for one in (agent, again):
        one.update(one.select(np.eye(3)), 2.5)
    assert digest(agent.state.learned) == digest(again.state.learned)
