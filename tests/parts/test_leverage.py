"""Filters that open as more is learned: twins, bits, every finite reward, skewed noise."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
import naive_beyond as twins
from heavybandits.core.compile import compiled
from heavybandits.core.kernels import learn_kernel
from heavybandits.filters import LeverageClip, TailClip

PAIRS: dict[str, tuple[Any, Any]] = {
    "leverage": (LeverageClip(), twins.LeverageClip()),
    "leverage, tight": (LeverageClip(0.1, 0.2, 0.25), twins.LeverageClip(0.1, 0.2, 0.25)),
    "tail": (TailClip(), twins.TailClip()),
    "tail, strong": (TailClip(10.0), twins.TailClip(10.0)),
}
FILTERS = [part for part, _ in PAIRS.values()]


@pytest.mark.parametrize("name", PAIRS)
def test_the_naive_twin_agrees(name):
    part, twin = PAIRS[name]
    rng, memory = np.random.default_rng(0), part.init()
    for t, reward in enumerate(rng.standard_t(1.5, 3000)):
        norm, predicted = float(rng.uniform(0.0, 1.0)), float(rng.normal())
        norm, reward = (0.0 if t % 50 == 7 else norm), (predicted if t % 90 == 3 else reward)
        ours = part.apply(memory, np.array([reward]), norm, predicted)
        assert ours == pytest.approx(twin.apply(reward, norm, predicted), rel=1e-9, abs=1e-9)
    assert memory.counts[1] == twin.cuts > 0


@pytest.mark.parametrize("part", FILTERS)
def test_compiled_and_uncompiled_give_the_same_bits(part, digest):
    policy = hb.linucb(dim=3, radius=1.0, filter=part._replace(plays=2))
    states = policy.init(), policy.init()
    x, y, lessons = np.zeros(3), np.zeros(2), np.zeros(1, np.int64)
    fast = compiled(learn_kernel, policy, states[0], x, y, lessons)
    slow = learn_kernel("")
    rng = np.random.default_rng(1)
    for rewards in rng.standard_t(1.5, (300, 2)):
        x[:] = rng.uniform(-0.5, 0.5, 3)
        for learn, state in zip((fast, slow), states, strict=True):
            y[:] = rewards
            learn(policy, state, x, y, lessons)
    assert digest(states[0]) == digest(states[1])


any_rewards = st.lists(
    st.floats(-1e100, 1e100) | st.sampled_from([0.0, 5e-324, -1e100, 1.0]), max_size=80
)


@given(any_rewards, st.sampled_from(FILTERS))
@settings(max_examples=60, deadline=None)
def test_every_finite_reward_gives_a_finite_one(rewards, part):
    memory = part.init()
    for reward in rewards:
        assert math.isfinite(part.apply(memory, np.array([reward]), 0.5, 0.25))


@pytest.mark.parametrize("part", FILTERS)
def test_one_monster_moves_the_scale_by_a_bounded_factor(part):
    calm, wild = part.init(), part.init()
    for t, reward in enumerate(np.random.default_rng(2).normal(size=500)):
        part.apply(calm, np.array([reward]), 0.5, 0.0)
        part.apply(wild, np.array([1e90 if t == 100 else reward]), 0.5, 0.0)
    assert wild.log_size[0] == pytest.approx(calm.log_size[0], abs=0.2)


@pytest.mark.parametrize(
    ("part", "vanishes"),
    [(LeverageClip(), True), (TailClip(), True), (hb.filters.AdaptiveClip(0.95), False)],
)
def test_the_bias_of_skewed_noise_vanishes_where_it_should(part, vanishes):
    """The mean of filtered centred log-normal noise, early and late; ||x|| falls like sqrt(d/n)."""
    rng, memory, filtered = np.random.default_rng(3), part.init(), []
    for t, y in enumerate(rng.lognormal(0.0, 1.0, 60_000) - math.exp(0.5)):
        filtered.append(part.apply(memory, np.array([y]), min(1.0, math.sqrt(5 / (t + 1))), 0.0))
    late = abs(np.mean(filtered[-30_000:]))
    assert (late < 0.06) == vanishes


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LeverageClip(threshold=0.0), "LeverageClip.threshold must be positive"),
        (lambda: LeverageClip(curvature=-1.0), "LeverageClip.curvature must be positive"),
        (lambda: TailClip(strength=0.0), "TailClip.strength must be in"),
        (lambda: TailClip(plays=0), "TailClip.plays must be a whole number"),
    ],
)
def test_bad_fields_are_refused(make, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.linucb(dim=2, filter=make())
