"""What the page and the metrics show: moments, intervals, latencies, series."""

import math
import runpy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")

import heavybandits as hb
from heavybandits.serving.moments import Moments
from heavybandits.serving.monitor import MOST_ACTIONS, OTHER, Latencies, Monitor
from paths import ROOT


def make_rewards(size: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (1.0 + rng.pareto(1.7, size)) * np.where(rng.random(size) < 0.02, -1.0, 1.0)


def test_the_interval_of_running_moments_is_that_of_uplift():
    first, second = make_rewards(900), make_rewards(100, 1)
    monitor = Monitor()
    for group, rewards in (("policy", first), ("holdout", second)):
        for reward in rewards.tolist():
            monitor.include_reward(reward, "tea", group, "0:0")
    found = monitor.uplift()
    table = {
        "group": np.repeat(["policy", "holdout"], [900, 100]),
        "reward": np.concatenate([first, second]),
    }
    expected = hb.uplift(table, "policy", "holdout")
    assert found[:3] == pytest.approx((expected.difference, expected.low, expected.high))


def test_few_large_rewards_make_an_interval_uncertain():
    moments = Moments()
    for reward in np.random.default_rng(0).normal(size=500).tolist():
        moments.add(reward)
    assert moments.interval().certain
    moments.add(1e6)
    assert not moments.interval().certain


@pytest.mark.parametrize("rewards", [[], [1.0] * 19, [1e308, -1e308] * 50, [5.0] * 100])
def test_rewards_that_tell_nothing_have_no_reliable_interval(rewards):
    moments = Moments()
    for reward in rewards:
        moments.add(reward)
    found = moments.interval()
    assert not found.certain
    assert all(end is None or math.isfinite(end) for end in (found.mean, found.low, found.high))


def test_the_interval_of_the_page_covers_the_truth_of_simulated_shops(monkeypatch):
    """Fifty shops with tail index 1.7 and refunds; the benchmark has 500 of each kind."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    bench: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "holdout_coverage.py"))
    setting = bench["SETTINGS"]["visitors come back, some spend more"]
    found = [bench["run_shop"](seed, setting, "rule") for seed in range(50)]
    assert sum(one.covers for one in found) >= 45
    assert np.median([one.high - one.low for one in found]) < 10.0  # not by being endless


def test_actions_beyond_the_limit_are_one_row():
    monitor = Monitor()
    for number in range(MOST_ACTIONS + 50):
        monitor.decided(f"action {number}", 0.5, "policy")
    rows = {row["action"]: row["plays"] for row in monitor.table()}
    assert len(rows) == MOST_ACTIONS + 1
    assert rows[OTHER] == 50


def test_only_decisions_of_the_policy_count_for_other_policies():
    monitor = Monitor()
    for _ in range(10):
        monitor.decided("tea", 0.5, "policy")
        monitor.decided("tea", 1.0, "holdout")
    assert sum(monitor.propensities) == 10
    assert monitor.effective_sample_size == pytest.approx(10.0)


def test_the_ten_largest_rewards_are_kept():
    monitor = Monitor()
    for place, reward in enumerate(make_rewards(1000).tolist()):
        monitor.include_reward(reward, "tea", "policy", f"a:{place}")
    sizes = sorted((size for size, *_ in monitor.largest), reverse=True)
    assert sizes == sorted(np.abs(make_rewards(1000)).tolist(), reverse=True)[:10]


def test_quantiles_of_latencies_are_in_the_right_class():
    rng, made = np.random.default_rng(0), Latencies()
    times = rng.lognormal(-6.0, 1.0, 5000)
    for seconds in times.tolist():
        made.add(seconds)
    for share in (0.5, 0.9, 0.99):
        found, exact = made.quantile(share), float(np.quantile(times, share))
        assert found is not None
        assert exact / 2.0 <= found <= exact * 2.0
