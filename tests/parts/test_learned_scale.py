"""Learned noise scales: the textbook twin, bits, what is known before a reward, units, files."""

import copy
import math
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
import naive_doubling as twins
from heavybandits.agents.state import flatten, kept
from heavybandits.core.capabilities import innermost
from heavybandits.core.compile import compiled
from heavybandits.core.kernels import play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.rng import stream_key
from heavybandits.core.world import STILL
from heavybandits.gpu.supported import check_supported
from heavybandits.parts.compiled_policy import CompiledPolicy
from heavybandits.policies import LearnedScale, Thompson

DIM = 3
CRAL: Any = hb.cral(dim=DIM, radius_scale=0.4, learn_noise_scale=True)
CRHL: Any = hb.crhl(
    dim=DIM,
    noise_scale=1.0,
    link=hb.links.Identity(),
    radius_scale=0.1,
    learn_noise_scale=True,
)
POLICIES = {"cral": CRAL, "crhl": CRHL}


def observations(size: int, seed: int = 0) -> list[tuple[Any, float]]:
    """Rows and rewards whose noise is proportional to the first feature."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1.0, 1.0, (size, DIM)) / math.sqrt(DIM)
    noise = (0.01 + 2.0 * np.abs(rows[:, 0])) * rng.standard_t(3.0, size)
    return list(zip(rows, rows.sum(axis=1) + noise, strict=True))


def estimate_of(policy: Any, state: Any) -> Any:
    return innermost(policy, state)[1].estimate


def design_of(policy: Any, state: Any) -> Any:
    region = estimate_of(policy, state).region
    return region.design + region.recent


def learn(policy: Any, state: Any, x: Any, y: float, scale: float = 0.0) -> float:
    """Learn from one reward; return the 1 / sigma^2 that it was given."""
    before, estimate = design_of(policy, state), estimate_of(policy, state)
    estimate.noise_scale[0] = scale
    policy.learn(state, np.array(x, float), np.array([float(y)]))
    return float(np.trace(design_of(policy, state) - before) / np.dot(x, x))


# ---- the twin


class ScaleTwin:
    """The regression on all residuals, each with its weight, and a fresh solve per epoch."""

    def __init__(self, relative: bool) -> None:
        self.relative = relative
        self.logs: list[float] = []
        self.rows: list[Any] = []
        self.clipped: list[float] = []
        self.weights, self.typical, self.pooled = np.zeros(2 * DIM + 2), 0.0, 0.0

    def columns(self, x: Any, predicted: float) -> Any:
        size = math.log(1.0 + abs(predicted) / math.exp(self.typical))
        return np.array([*x, *np.log(np.abs(x) + 1.0 / 256.0), size, 1.0])

    def scale(self, x: Any, predicted: float) -> float:
        if len(self.logs) < 16:
            return 1.0
        value = float(self.columns(x, predicted) @ self.weights)
        value = self.pooled + max(-math.log(16.0), min(value, math.log(16.0)))
        return math.exp(value - self.typical if self.relative else value + 0.6352)

    def learn(self, x: Any, predicted: float, reward: float) -> None:
        logarithm = math.log(abs(reward - predicted))
        if len(self.logs) >= 16:
            self.rows.append(self.columns(x, predicted))
            self.clipped.append(max(self.pooled - 6.0, min(logarithm, self.pooled + 6.0)))
        self.logs.append(logarithm)
        seen = len(self.logs)
        if seen == 16:
            self.typical = self.pooled = float(np.median(self.logs))
        elif seen > 16 and math.log2(seen).is_integer():
            epochs = np.floor(np.log2(np.arange(16, seen)))
            weights = 0.5 ** (epochs.max() - epochs)
            rows, clipped = np.array(self.rows), np.array(self.clipped)
            self.pooled = float(np.average(clipped, weights=weights))
            moments = rows.T @ (weights[:, None] * rows)
            penalty = np.diag(np.diag(moments)) * 4.0 / weights.sum()
            pull = rows.T @ (weights * (clipped - self.pooled))
            self.weights = np.linalg.solve(moments + penalty, pull)


def test_library_and_twin_agree_for_cral():
    twin, scales, state = twins.Tuned(DIM), ScaleTwin(relative=True), CRAL.init()
    used = []
    for x, y in observations(600):
        predicted = float(x @ twin.theta)
        used.append(scales.scale(x, predicted))
        learn(CRAL, state, x, y)
        twin.learn(x, y, used[-1])
        scales.learn(x, predicted, y)
        centre = estimate_of(CRAL, state).region.centre
        np.testing.assert_allclose(centre, twin.theta, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(design_of(CRAL, state), twin.design, rtol=1e-8)
    assert max(used[64:]) > 8.0 * min(used[64:])


def test_library_and_twin_agree_for_crhl():
    """The third term of sigma hides the scale of some rewards; nothing else does."""
    scales, state, seen = ScaleTwin(relative=False), CRHL.init(), 0
    for x, y in observations(600):
        estimate = estimate_of(CRHL, state)
        predicted = float(x @ estimate.region.centre)
        steady = CRHL.policy.estimator.steady * math.sqrt(x @ estimate.region.inverse @ x)
        wanted = scales.scale(x, predicted)
        assert learn(CRHL, state, x, y) == pytest.approx(max(wanted, steady) ** -2.0, rel=1e-6)
        scales.learn(x, predicted, y)
        seen += wanted > steady
    assert seen > 500


def test_scales_follow_the_noise():
    """Quiet rewards count more than loud ones, about as much as their variances say."""
    state = CRHL.init()
    for x, y in observations(4000):
        learn(CRHL, state, x, y)
    loud, quiet = (
        learn(CRHL, copy.deepcopy(state), x, 0.3) for x in ([0.5, 0.1, 0], [0.05, 0.1, 0])
    )
    assert 15.0 < quiet / loud < 150.0  # (1.01 / 0.11)^2 = 84


# ---- compiled and uncompiled


@pytest.mark.parametrize("name", POLICIES)
def test_compiled_and_uncompiled_agree_in_every_bit(name):
    policy, arms = POLICIES[name], hb.arms.PerRound(6, DIM, -1.0)
    noise = np.random.default_rng(1).standard_t(1.5, size=700)
    runs: list[dict[str, Any]] = []
    for mode in ("uncompiled", "compiled"):
        state, buffer, episode = policy.init(), arms.make_buffer(), make_episode(1)
        trace, key = make_trace(np.array([1, 50, 700])), stream_key(3, 0, 0)
        setting = (policy, state, arms, hb.links.Identity(), np.full(DIM, 0.4), buffer, key)
        arguments: Any = (*setting, noise, episode, trace, Unobserved(), STILL)
        (play if mode == "uncompiled" else compiled(play_kernel, *arguments))(*arguments)
        runs.append({**flatten(state), **flatten(trace)})
    for field, array in runs[0].items():
        assert array.tobytes() == runs[1][field].tobytes(), field
    assert runs[0]["counts"].tolist()[:2] == [700, 1024]


# ---- what is known before a reward


@pytest.mark.parametrize("name", POLICIES)
def test_the_scale_of_a_reward_does_not_depend_on_the_reward(name):
    """Another reward changes theta and later scales, but not its own scale."""
    policy = POLICIES[name]
    state, later = policy.init(), 0
    if name == "cral":  # a clipped reward has less weight in V: so large a threshold clips nothing
        estimate_of(policy, state).numbers[0] = 1e9
    for x, y in observations(140):
        other = copy.deepcopy(state)
        weights = learn(policy, state, x, y), learn(policy, other, x, -1e3 * y - 5.0)
        assert weights[0] == weights[1]
        later += weights[0] != learn(policy, copy.deepcopy(other), x, y)
    assert later > 0


def test_the_scale_that_comes_with_a_reward_is_used():
    compiled_policy, state = CompiledPolicy(CRAL), CRAL.init()
    for t, (x, y) in enumerate(observations(200)):
        before = design_of(CRAL, state)
        given = 3.0 if t % 7 == 0 else None
        compiled_policy.learn(state, x, np.array([y]), noise_scale=given)
        weight = np.trace(design_of(CRAL, state) - before) / (x @ x)
        assert (weight == pytest.approx(1.0 / 9.0, rel=1e-9)) == (given is not None)
        assert estimate_of(CRAL, state).noise_scale[0] == 0.0


# ---- units and odd inputs


@pytest.mark.parametrize("power", [20, -30])
def test_the_unit_of_the_rewards_does_not_matter_to_cral(power):
    states, factor = (CRAL.init(), CRAL.init()), 2.0**power
    for t, (x, y) in enumerate(observations(300)):
        for state, unit in zip(states, (1.0, factor), strict=True):
            learn(CRAL, state, x, 0.0 if t < 3 else y * unit)
        one, other = (estimate_of(CRAL, state).region.centre for state in states)
        assert (one * factor).tobytes() == other.tobytes()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("first", [1e300, 1e-300, 0.0])
def test_extreme_rewards_leave_finite_numbers(name, first):
    policy = POLICIES[name]
    state = policy.init()
    for t, (x, y) in enumerate(observations(300)):
        x[2] = 0.0 if first == 1e-300 else x[2]
        learn(policy, state, x, {0: first, 40: -1e300, 100: 1e-300}.get(t, y))
    arrays = flatten(state)
    assert all(np.isfinite(array).all() for array in arrays.values())


def test_rewards_without_noise_have_one_scale():
    """Residuals of 0 teach nothing."""
    state = CRAL.init()
    for x, _ in observations(100):
        assert learn(CRAL, state, x, 0.0) == pytest.approx(1.0)
    assert state.counts.tolist() == [0, 16]


@pytest.mark.parametrize("inner", [hb.linucb(dim=2, radius=1.0), hb.auto(dim=2)])
def test_a_policy_without_noise_scales_is_rejected(inner):
    with pytest.raises(hb.InvalidInputError, match="must take a noise scale with every reward"):
        hb.Agent(LearnedScale(inner))


@pytest.mark.parametrize("make", [hb.cral, hb.crhl])
def test_other_arguments_are_rejected(make):
    with pytest.raises(hb.InvalidInputError, match="learn_noise_scale must be"):
        make(dim=2, noise_scale=1.0, learn_noise_scale="yes")


def test_a_device_rejects_it():
    with pytest.raises(hb.InvalidInputError, match="LearnedScale has no cooperative form"):
        check_supported({"learned": CRHL}, hb.arms.PerRound(5, DIM))


# ---- agents, files, nesting


def test_an_agent_saves_loads_and_resumes(tmp_path):
    path = tmp_path / "agent.db"
    rng = np.random.default_rng(0)
    rounds = rng.uniform(-0.5, 0.5, (80, 4, DIM))
    with hb.Agent(CRHL, ledger=path) as agent:
        for t, arms in enumerate(rounds[:50]):
            ticket = agent.select(arms)
            agent.update(ticket, float(rng.normal()), noise_scale=2.0 if t % 5 == 0 else None)
        agent.save(tmp_path / "agent.state")
        wanted = kept(agent.state.learned)
    loaded = hb.Agent.load(tmp_path / "agent.state")
    with hb.Agent(CRHL, ledger=path) as resumed:
        for again in (loaded, resumed):
            found = kept(again.state.learned)
            assert {name: array.tobytes() for name, array in found.items()} == {
                name: array.tobytes() for name, array in wanted.items()
            }
        for arms in rounds[50:]:
            tickets = [again.select(arms) for again in (loaded, resumed)]
            assert tickets[0].arm == tickets[1].arm
            for again, ticket in zip((loaded, resumed), tickets, strict=True):
                again.update(ticket, 0.3)


def test_a_state_with_impossible_counts_is_invalid():
    state = CRAL.init()
    assert CRAL.is_valid(state)
    for counts in ([16, 16], [-1, 16], [3, 24], [3, 8]):
        state.counts[:] = counts
        assert not CRAL.is_valid(state)


def test_it_keeps_the_promises_of_a_policy():
    assert hb.check_policy(CRHL)


def test_a_policy_that_draws_holds_it_or_says_why_not():
    mixed = hb.policies.EpsilonGreedy(CRHL, epsilon=0.2, seed=1)
    agent = hb.Agent(mixed)
    for x, y in observations(40):
        agent.update(agent.select([x, -x]), y)
    assert agent.state.learned.inner.counts[0] == 40
    with pytest.raises(hb.InvalidInputError):
        hb.Agent(Thompson(CRHL))
