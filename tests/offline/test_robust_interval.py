"""A time-uniform interval for a mean: its formula, its coverage, what it rejects."""

import math
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
import naive_doubling as twins

BOUND = 10.0


@pytest.mark.parametrize("horizon", [None, 600])
def test_the_interval_is_that_of_theorem_a(horizon):
    rewards = 3.0 + 1e6 * np.random.default_rng(0).standard_t(1.5, size=600)
    given: Any = {"asymmetry": 0.5, "delta": 0.1, "noise_scale": 2.0}
    found = hb.robust_interval(rewards, bound=BOUND, horizon=horizon, **given)
    twin = twins.Cral(1, r=1.0, C=0.5, delta=0.1, lam=1.0 / BOUND**2, T=horizon)
    low, high = -BOUND, BOUND
    for t, reward in enumerate(rewards):
        beta = twin.beta
        twin.learn(np.ones(1), reward, 2.0)
        width = beta / math.sqrt(twin.design[0, 0])
        low, high = max(low, twin.theta[0] - width), min(high, twin.theta[0] + width)
        assert found.value[t] == pytest.approx(twin.theta[0], rel=1e-9)
        assert (found.low[t], found.high[t]) == pytest.approx((low, high), rel=1e-9)
    assert twin.k > 0
    assert twin.cuts > 0


def test_it_narrows_and_contains_the_mean():
    """The unit of the rewards is free: bound and noise scale have it too."""
    noise = np.random.default_rng(1).normal(size=10**6)
    for unit in (1.0, 2.0**20):
        given: Any = {"bound": unit * BOUND, "noise_scale": unit}
        found = hb.robust_interval(unit * (3.0 + noise), asymmetry=0.0, **given)
        assert found.low.max() <= 3.0 * unit <= found.high.min()
        assert (np.diff(found.low) >= 0.0).all()
        assert (np.diff(found.high) <= 0.0).all()
        assert found.high[-1] - found.low[-1] < 0.2 * unit
        assert found.high[10**5] - found.low[10**5] == 2.0 * BOUND * unit  # as the docs admit


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bound": 0.0}, "bound must be positive, got 0.0"),
        ({"bound": 1.0, "delta": 0.5}, "delta must be at most 0.1"),
        ({"bound": 1.0, "asymmetry": -1.0}, "asymmetry must be in"),
        ({"bound": 1.0, "horizon": 2}, "rewards must have at most horizon = 2 numbers, got 3"),
        ({"bound": 1.0, "noise_scale": 0.0}, "noise_scale must be positive"),
        ({"bound": 1e30}, "bound must be in"),
    ],
)
def test_invalid_arguments_raise(given, message):
    with pytest.raises(hb.InvalidInputError, match=message):
        hb.robust_interval([1.0, 2.0, 3.0], **given)


def test_rewards_that_are_not_numbers_raise():
    with pytest.raises(hb.InvalidInputError, match="rewards must be finite"):
        hb.robust_interval([1.0, math.nan], bound=1.0)
