"""A filter that watches for changes of the world, and forgetting by the clock."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.core.confidence_region import penalty_of
from heavybandits.parts.filters.drift import (
    _ERROR,
    _LEVEL,
    _REWARD,
    _SIZED,
    _WAITING,
    DriftMemory,
)

NOISES = {
    "gauss": lambda rng, n: rng.normal(size=n),
    "t1.5": lambda rng, n: rng.standard_t(1.5, size=n),
    "pareto1.5": lambda rng, n: rng.pareto(1.5, size=n) - 2.0,
}


def watch(errors: Any, predicted: Any, part: Any = None) -> tuple[list[float], DriftMemory]:
    """What a watching filter lets through of rewards with these errors, and its memory."""
    part = hb.filters.DriftMonitor() if part is None else part
    memory = part.init()
    rewards = np.asarray(errors) + predicted
    return [part.apply(memory, rewards[i : i + 1], 0.1, p) for i, p in enumerate(predicted)], memory


def report(errors: Any, predicted: Any) -> hb.DriftReport:
    return hb.filters.DriftMonitor().drift(watch(errors, predicted)[1])


@pytest.mark.parametrize("noise", NOISES)
def test_nothing_is_noticed_where_nothing_changes(noise):
    rng = np.random.default_rng(1)
    assert report(NOISES[noise](rng, 8000), rng.normal(size=8000)) == hb.DriftReport(0, 0, None)


# the errors of Pareto noise are mostly negative, which hides a fall
CHANGES = [(noise, kind) for noise in NOISES for kind in ("level", "unit", "effect")][:-1]


@pytest.mark.parametrize(("noise", "kind"), CHANGES)
def test_a_change_is_noticed_and_named(noise, kind):
    rng = np.random.default_rng(2)
    errors, predicted = NOISES[noise](rng, 1600), rng.normal(size=1600)
    size = np.median(np.abs(errors))
    after = slice(1000, None)
    if kind == "level":
        errors[after] += 4.0 * size
    elif kind == "unit":
        errors[after] = 100.0 * (errors[after] + predicted[after]) - predicted[after]
    else:  # a policy plays what it expects to be good, and meets the opposite
        predicted[after] = 3.0
        errors[after] -= 6.0
    drift = report(errors, predicted)
    assert (drift.unit if kind == "unit" else drift.level) >= 1
    assert drift.noticed
    assert not report(errors[:1000], predicted[:1000]).noticed


def test_a_policy_that_moves_to_noisier_arms_is_no_change():
    """Neither are arms whose noise is skewed in the same way, nor a lasting bias."""
    rng = np.random.default_rng(3)
    scales = np.where(np.arange(6000) % 2000 < 1000, 0.1, 3.0)
    for errors in (rng.standard_t(1.5, 6000), rng.pareto(1.5, 6000) - 2.0, rng.normal(size=6000)):
        assert not report(scales * errors, rng.normal(size=6000)).noticed
    assert not report(rng.normal(size=6000) + 0.5, rng.normal(size=6000)).noticed


@pytest.mark.parametrize("price", [1.0, 40.0])
def test_a_shop_is_quiet_until_nobody_buys(price):
    rng = np.random.default_rng(4)
    paid = np.where(rng.random(9000) < 0.1, price * rng.lognormal(0.0, 0.5, 9000), 0.0)
    predicted = 0.11 * price * rng.lognormal(0.0, 0.2, 9000)
    assert not report(paid - predicted, predicted).noticed
    paid[8000:] = 0.0
    assert report(paid - predicted, predicted).level == 1
    paid[8000:] = 0.01 * paid[7000:8000]
    assert report(paid - predicted, predicted).unit == 1


def test_predictions_around_zero_are_no_change_of_a_shop():
    """A prediction that crosses zero turned the sign of the error of every zero."""
    rng = np.random.default_rng(5)
    paid = np.where(rng.random(8000) < 0.05, 20.0, 0.0)
    predicted = np.where(np.arange(8000) % 1600 < 800, 0.02, -0.02)
    assert not report(paid - predicted, predicted).noticed


def test_zeros_set_no_usual_size():
    rng = np.random.default_rng(6)
    paid = np.where(rng.random(3000) < 0.1, 20.0, 0.0)
    _, memory = watch(paid - 2.0, np.full(3000, 2.0))
    assert memory.usual[_REWARD] == pytest.approx(20.0, rel=0.1)
    assert memory.usual[_ERROR] == pytest.approx(18.0, rel=0.1)
    _, silent = watch(np.full(3000, -2.0), np.full(3000, 2.0))
    assert silent.usual.tolist() == [0.0] * 5
    assert silent.counts[_SIZED] == 0


def test_rewards_without_noise_are_quiet():
    for errors in (np.zeros(3000), np.full(3000, 1e-300), np.tile([1e-17, -1e-17, 0.0], 1000)):
        assert not report(errors, np.full(3000, 5.0)).noticed
    assert not report(np.full(3000, 1e100), np.zeros(3000)).noticed


def test_a_threshold_that_no_bet_has_to_win_raises_an_error():
    with pytest.raises(hb.InvalidInputError, match=r"alarm_threshold must be above 1, got 1\.0"):
        hb.linucb(dim=2, filter=hb.filters.DriftMonitor(alarm_threshold=1.0))


def test_rewards_pass_as_the_filter_inside_leaves_them():
    rng = np.random.default_rng(3)
    errors, predicted = rng.standard_t(1.5, size=300), rng.normal(size=300)
    clip = hb.filters.AdaptiveClip(0.9)
    alone, memory = watch(errors, predicted, clip)
    watched, other = watch(errors, predicted, hb.filters.DriftMonitor(clip))
    assert alone == watched
    assert other.counts[:2].tolist() == memory.counts[:2].tolist()


def test_another_unit_from_the_start_rings_at_the_same_reward():
    rng = np.random.default_rng(4)
    errors = rng.standard_t(1.5, size=600) * np.where(np.arange(600) < 400, 1.0, 200.0)
    predicted = rng.normal(size=600)
    _, memory = watch(errors, predicted)
    _, scaled = watch(errors * 2.0**-20, predicted * 2.0**-20)
    assert memory.counts[_LEVEL:].sum() > 0
    np.testing.assert_array_equal(memory.counts, scaled.counts)


def test_a_memory_that_waits_for_no_such_reward_is_not_sound():
    part = hb.filters.DriftMonitor()
    _, memory = watch(np.ones(20), np.zeros(20))
    assert part.is_valid(memory)
    memory.counts[_WAITING] = memory.waiting.shape[1]
    assert not part.is_valid(memory)


def play(agent: hb.Agent, count: int, scale: float = 1.0, seed: int = 6) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rows = rng.normal(size=(4, 3))
        ticket = agent.select(rows)
        agent.update(ticket, float(scale * (rows[ticket.arm].sum() + rng.standard_t(1.5))))


def test_an_agent_tells_and_its_file_remembers(tmp_path):
    agent = hb.Agent(hb.auto(dim=3))
    play(agent, 400)
    assert not agent.drift.noticed
    play(agent, 100, scale=100.0, seed=7)
    assert agent.drift.unit >= 1
    agent.save(tmp_path / "state")
    assert hb.Agent.load(tmp_path / "state").drift == agent.drift
    mixed = hb.Agent(hb.policies.EpsilonGreedy(hb.auto(dim=3)))
    assert mixed.drift.rewards_since is None


def test_who_does_not_watch_says_how_to():
    with pytest.raises(AttributeError, match=r"wrap its filter in filters\.DriftMonitor"):
        hb.Agent(hb.linucb(dim=2, radius=1.0)).drift  # noqa: B018 - a property
    with pytest.raises(hb.InvalidInputError, match="must not be a DriftMonitor itself"):
        hb.Agent(
            hb.linucb(dim=2, radius=1.0, filter=hb.filters.DriftMonitor(hb.filters.DriftMonitor()))
        )


# ---- forgetting by the clock


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def ridge() -> Any:
    parts = hb.estimators.Ridge(2, 0.5), hb.filters.NoFilter(), hb.radii.Constant(1.0)
    return hb.policies.UCB(*parts)


def test_v_fades_with_the_time_between_decisions():
    clock, design = Clock(), 0.5 * np.eye(2)
    agent = hb.Agent(hb.policies.TimeDiscounted(ridge(), half_life=60.0), clock=clock)
    for pause, x in ((0.0, [1.0, 0.0]), (30.0, [0.0, 1.0]), (120.0, [0.6, 0.8])):
        clock.now += pause
        agent.update(agent.select([x]), 1.0)
        keep = 2.0 ** (-pause / 60.0)
        design = keep * design + (1.0 - keep) * 0.5 * np.eye(2) + np.outer(x, x)
    np.testing.assert_allclose(agent.design, design, rtol=1e-12)


def test_a_late_reward_does_not_turn_the_clock_back():
    clock = Clock()
    agent = hb.Agent(hb.policies.TimeDiscounted(ridge(), half_life=60.0), clock=clock)
    early = agent.select([[1.0, 0.0]])
    clock.now = 600.0
    agent.update(agent.select([[0.0, 1.0]]), 1.0)
    agent.update(early, 1.0)
    np.testing.assert_allclose(agent.design, np.diag([0.5 + 2.0**-10, 1.5]))
    np.testing.assert_allclose(agent.theta, [2.0**-10 / (0.5 + 2.0**-10), 1.0 / 1.5])
    assert agent.state.learned.clock[0] == 600.0


def test_a_late_reward_that_changes_the_penalty_leaves_v_above_it():
    """A state in which V is below its penalty cannot be loaded."""
    clock, rng = Clock(), np.random.default_rng(130)
    agent = hb.Agent(hb.auto(dim=2, half_life_seconds=10.0), clock=clock)
    rows = np.ones((40, 1, 2)) + 0.01 * rng.normal(size=(40, 1, 2))
    early, late = [agent.select(x) for x in rows[:20]], rows[20:]
    clock.now = 500.0
    for i in range(1, 17):
        ticket = early.pop() if i in (4, 8, 16) else agent.select(late[i])
        agent.update(ticket, float(rng.normal()))
        penalty = penalty_of(agent.state.learned.inner.estimate.region)
        assert np.linalg.eigvalsh(agent.design)[0] >= penalty * (1.0 - 1e-9)
    np.testing.assert_array_equal(agent.clone().theta, agent.theta)


def test_a_restart_at_a_late_reward_is_complete():
    clock, rng = Clock(), np.random.default_rng(2)
    agent = hb.Agent(hb.auto(dim=2, half_life_seconds=100.0), clock=clock)
    early = [agent.select([[1.0, 0.5]]) for _ in range(8)]
    clock.now = 50.0
    for _ in range(200):
        agent.update(agent.select([[1.0, 0.5]]), float(1.0 + 0.1 * rng.normal()))
    for ticket in early:
        agent.update(ticket, 1e6)
    assert agent.restarts == 1
    np.testing.assert_allclose(agent.design, np.diag([0.2, 0.2, 100.2]))  # one reward
    np.testing.assert_array_equal(agent.theta, np.zeros(2))


def test_a_ledger_replays_the_times_exactly(tmp_path, digest):
    clock, rng = Clock(), np.random.default_rng(8)
    policy = hb.policies.EpsilonGreedy(hb.auto(dim=3, half_life_seconds=50.0), epsilon=0.2)
    whole = hb.Agent(policy, clock=clock)
    agent = hb.Agent(policy, ledger=tmp_path / "ledger", clock=clock, snapshot_every=7)
    for t in range(60):
        clock.now += float(rng.exponential(5.0))
        rows = rng.dirichlet(np.ones(3), size=4)
        for one in (whole, agent):
            ticket = one.select(rows)
            one.update(ticket, float(rows[ticket.arm, 0]))
        if t % 20 == 19:
            agent.close()
            agent = hb.Agent(policy, ledger=tmp_path / "ledger", clock=clock, snapshot_every=7)
    assert digest(agent.state.learned) == digest(whole.state.learned)
    agent.close()


def test_what_keeps_its_history_cannot_fade():
    with pytest.raises(
        hb.InvalidInputError, match="one confidence region, one theta and no history"
    ):
        hb.Agent(hb.policies.TimeDiscounted(hb.tofu(dim=2, horizon=10, raw_moment=1.0), 60.0))


def test_a_fading_policy_keeps_every_promise():
    assert hb.check_policy(hb.policies.TimeDiscounted(ridge(), half_life=60.0))


def test_what_was_learned_from_the_past_does_not_fade_at_once(tmp_path):
    """Rows are learned at the time they are given, not at the beginning of all time."""
    rows, rewards = np.tile(np.eye(2), (50, 1)), np.tile([1.0, -1.0], 50)
    agent = hb.Agent(hb.policies.TimeDiscounted(ridge(), half_life=60.0), clock=lambda: 1.7e9)
    agent.warm_start(rows, rewards)
    before = agent.predict(np.eye(2))
    agent.update(agent.select(np.eye(2)), float(before[0]))
    assert agent.predict(np.eye(2)) == pytest.approx(before, abs=0.05)


def test_a_reward_that_has_faded_is_not_revised(tmp_path):
    path = tmp_path / "agent.db"
    with hb.Agent(hb.policies.TimeDiscounted(ridge(), half_life=60.0), ledger=path) as agent:
        ticket = agent.select(np.eye(2))
        agent.update(ticket, 1.0)
        with pytest.raises(hb.InvalidInputError, match="TimeDiscounted cannot revise a reward"):
            agent.revise(ticket, 0.0)
