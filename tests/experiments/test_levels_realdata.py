"""The analyses of the experiments `levels` and `realdata`, on rows made by hand."""

from typing import Any

import numpy as np
import pytest

from heavybandits.experiments import levels, realdata
from heavybandits.experiments.levels import best_fixed, ratio
from heavybandits.experiments.realdata.analysis import fractions, tuned_rows
from heavybandits.sweeps import Runner


def level_rows(regrets: dict[str, float], noise: str = "t1.5") -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    wobble = rng.normal(0.0, 1.0, 20)
    return [
        {
            "problem": "linear",
            "noise": noise,
            "filter": name,
            "repetition": r,
            "play": 100,
            "regret": mean + wobble[r],
            "truncated": 5,
        }
        for name, mean in regrets.items()
        for r in range(20)
    ]


def test_the_best_fixed_level_is_chosen_in_hindsight() -> None:
    rows = level_rows({"none": 90.0, "clip 1": 50.0, "clip 10": 70.0, "adaptive clip": 55.0})
    assert best_fixed(rows) == "clip 1"
    assert ratio(rows, "adaptive clip").value == pytest.approx(1.1, abs=0.01)


@pytest.mark.parametrize(("regret", "outcome"), [(55.0, "holds"), (80.0, "does not hold")])
def test_the_verdict_on_the_level_that_sets_itself(regret: float, outcome: str) -> None:
    rows = level_rows({"none": 90.0, "clip 1": 50.0, "adaptive clip": regret})
    found = levels.analyse(rows)
    assert [verdict.outcome for verdict in found.verdicts] == [outcome]
    assert found.tables[0].rows[0]["best fixed threshold"] == "clip 1"


def test_every_filter_of_the_settings_makes_a_policy() -> None:
    for problem in levels.PROBLEMS:
        for name in [*levels.FIXED, *levels.ADAPTIVE]:
            assert levels.make_policy(problem, 100, name).dim == levels.DIM


def data_rows(values: dict[tuple[str, float], float]) -> list[dict[str, Any]]:
    """Random play makes 1, the oracle 3."""
    return [
        {
            "phase": phase,
            "set": "rand",
            "policy": policy,
            "constant": constant,
            "order": order,
            "value": value + 0.01 * order,
            "random": 1.0,
            "oracle": 3.0,
            "holdout": 1.0,
            "holdout_error": 0.1,
            "rounds": 100,
            "truncated": 7,
            "updates": 100,
        }
        for (policy, constant), value in values.items()
        for phase in ("tuning", "report")
        for order in range(6)
    ]


def test_widths_are_chosen_on_tuning_orders_and_judged_on_others() -> None:
    rows = data_rows({("LinUCB", 1.0): 1.5, ("LinUCB", 3.0): 2.0, ("LinUCB, clip", 1.0): 2.2})
    for row in rows:  # what is reported must not choose the constant
        if row["phase"] == "report" and row["constant"] == 1.0:
            row["value"] += 10.0
    kept = tuned_rows(rows)
    assert {row["constant"] for row in kept if row["policy"] == "LinUCB"} == {3.0}
    assert {row["phase"] for row in kept} == {"report"}


def test_fractions_and_differences_by_hand() -> None:
    rows = data_rows({("LinUCB", 1.0): 2.0, ("LinUCB, clip", 1.0): 2.5})
    kept = tuned_rows(rows)
    assert fractions(kept[:1])[0] == pytest.approx(0.5)
    found = realdata.analyse(rows)
    (verdict,) = [v for v in found.verdicts if "fixed threshold" in v.claim]
    assert verdict.outcome == "holds"
    assert verdict.measured == pytest.approx(0.25)
    twins = found.tables[2].rows
    assert twins[0]["difference"] == pytest.approx(0.25)


def test_a_set_with_nothing_to_learn_is_said_to_have_nothing() -> None:
    rows = data_rows({("LinUCB", 1.0): 2.0})
    assert realdata.analyse(rows).tables[0].rows[0]["to learn"] == "something"
    for row in rows:
        row["holdout"] = 0.15
    assert realdata.analyse(rows).tables[0].rows[0]["to learn"] == "nothing found"


def test_without_packages_the_analysis_says_so() -> None:
    assert "heavybandits[data]" in realdata.analyse([]).notes[0]


def test_order_zero_is_never_tuned_on_and_seeds_differ() -> None:
    if not realdata.is_there("cdnow"):
        pytest.skip("the package lifetimes is not installed")
    given = realdata.settings.PROFILES["smallest"]
    tuning, report = (
        realdata.make_group(given, phase, "cdnow", "LinUCB")[1][0].settings
        for phase in ("tuning", "report")
    )
    assert tuning["orders_from"] == 1
    assert report["orders_from"] == 0
    assert tuning["seed"] != report["seed"]


def test_every_policy_of_the_settings_can_be_made_for_real_data() -> None:
    if not realdata.is_there("cdnow"):
        pytest.skip("the package lifetimes is not installed")
    given = realdata.settings.PROFILES["smallest"]
    for policy, (family, _) in realdata.settings.POLICIES.items():
        constant = realdata.settings.CONSTANTS[family][0]
        assert realdata.make_policy(given, "cdnow", policy, constant).dim == 9


def test_levels_runs_at_a_tiny_setting(tmp_path) -> None:
    given = levels.PROFILES["smallest"] | {"filters": ["none", "adaptive clip"]}
    rows = levels.collect(given, Runner(tmp_path, jobs=1, backend="sequential", progress=False))
    assert len(rows) == 2 * given["repetitions"]
    cut = {row["filter"]: row["truncated"] for row in rows}
    assert cut["none"] == 0 < cut["adaptive clip"]
    assert len(levels.analyse(rows).verdicts) == 1


def test_realdata_runs_at_its_smallest_setting(tmp_path) -> None:
    if not realdata.is_there("cdnow"):
        pytest.skip("the package lifetimes is not installed")
    given = realdata.settings.PROFILES["smallest"]
    rows = realdata.collect(given, Runner(tmp_path, jobs=1, backend="sequential", progress=False))
    assert len(rows) == 2 * 6 * (given["tuning_orders"] + given["repetitions"])
    found = realdata.analyse(rows)
    assert found.tables[0].rows[0]["to learn"] == "something"
    assert {row["fraction"] > 0.8 for row in found.tables[1].rows} == {True}
