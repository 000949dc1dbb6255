"""The mean reward of every action."""

import math

import numpy as np
import pytest

import heavybandits as hb


def test_the_mean_of_an_action_covers_its_truth_and_few_rows_have_no_interval() -> None:
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        paid = 0.7 / 1.7 * (1.0 + rng.pareto(1.7, 1003))
        data = {"action": ["tea"] * 1000 + ["figs"] * 3, "reward": paid}
        tea, figs = hb.action_means(data)
        covered.append(tea.mean.low <= 1.0 <= tea.mean.high)
    assert np.mean(covered) >= 0.93
    assert (tea.name, tea.rows, figs.rows) == ("tea", 1000, 3)
    assert figs.mean.value == pytest.approx(paid[1000:].mean())
    assert figs.mean.high == math.inf


def test_actions_come_by_the_column_that_the_log_names() -> None:
    log = hb.Log({"offer": [1, 2] * 30, "pay": [3.0, 4.0] * 30}, action="offer", reward="pay")
    assert [(one.name, one.mean.value) for one in hb.action_means(log)] == [("1", 3.0), ("2", 4.0)]
