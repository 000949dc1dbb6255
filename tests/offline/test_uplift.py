"""The difference of two groups, and the mean of every action."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits.cli.app import cli


def make_groups(seed: int, rows: int = 2000) -> dict[str, np.ndarray]:
    """A tenth of the rows is held out; amounts have tail index 1.7, 2% are refunds."""
    rng = np.random.default_rng(seed)
    held = rng.random(rows) < 0.1
    amounts = (1.0 + rng.pareto(1.7, rows)) * 0.7 / 1.7 * np.where(rng.random(rows) < 0.02, -1, 1)
    return {
        "group": np.where(held, "holdout", "policy"),
        "action": np.where(held, "tea", "figs"),
        "reward": np.where(held, 1.0, 1.5) * amounts,
    }


def test_the_interval_covers_the_difference_of_heavy_tailed_groups() -> None:
    truth = 0.5 * 0.96
    found = [hb.uplift(make_groups(seed), "policy", "holdout") for seed in range(200)]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert covered >= 0.93
    assert all(math.isfinite(one.low) and math.isfinite(one.high) for one in found)


def test_groups_swap_signs_and_their_means_are_those_of_the_rows() -> None:
    data = make_groups(3)
    one, two = hb.uplift(data, "policy", "holdout"), hb.uplift(data, "holdout", "policy")
    assert (one.difference, one.low, one.high) == (-two.difference, -two.high, -two.low)
    held = data["reward"][data["group"] == "holdout"]
    assert one.groups[1].rows == held.size
    assert one.groups[1].mean.value == pytest.approx(held.mean())


def test_few_carriers_are_a_warning_and_many_are_not() -> None:
    data = make_groups(0)
    data["reward"][np.flatnonzero(data["group"] == "holdout")[0]] = 1e6
    assert "'holdout'" in hb.uplift(data, "policy", "holdout").warnings[-1]
    data["reward"] = np.random.default_rng(0).normal(size=2000)
    assert hb.uplift(data, "policy", "holdout").warnings == []


def test_invalid_groups_raise_errors_that_name_them() -> None:
    data = make_groups(0)
    with pytest.raises(hb.InvalidInputError, match="'nobody' must have at least 20 rows"):
        hb.uplift(data, "policy", "nobody")
    with pytest.raises(hb.InvalidInputError, match="must be different groups"):
        hb.uplift(data, "policy", "policy")
    with pytest.raises(hb.InvalidInputError, match="group must be one of the columns"):
        hb.uplift(data, "policy", "holdout", group="arm")


def test_the_command_prints_what_the_function_returns(tmp_path: Path) -> None:
    data = make_groups(1)
    lines = [f"{g},{r!r}" for g, r in zip(data["group"], data["reward"].tolist(), strict=True)]
    path = tmp_path / "log.csv"
    path.write_text("group,reward\n" + "\n".join(lines) + "\n")
    arguments = ["uplift", str(path), "--groups", "policy", "holdout", "--json"]
    shown = CliRunner().invoke(cli, arguments)
    assert shown.exit_code == 0, shown.output
    expected = hb.uplift(data, "policy", "holdout")
    assert json.loads(shown.output) == expected.to_dict()
    page = CliRunner().invoke(cli, ["uplift", str(path)]).output
    assert page.strip() == str(expected)
