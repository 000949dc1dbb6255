"""A small share of benchmarks/log_coverage.py: the intervals of agents' logs cover the truth."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from paths import ROOT

SHOPS = 8


@pytest.fixture
def coverage(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("log_coverage")


@pytest.mark.slow
def test_the_intervals_of_an_agents_log_cover_the_truth(coverage: ModuleType) -> None:
    shops = [coverage.run_shop(seed, coverage.Setting(1000, 1.7)) for seed in range(SHOPS)]
    for what in ("uplift", "value, by kind, known moment"):
        cells = [shop[what] for shop in shops]
        assert all(np.isfinite(cell["high"] - cell["low"]) for cell in cells)
        assert sum(cell["low"] <= cell["truth"] <= cell["high"] for cell in cells) >= SHOPS - 1
    every = [cell for shop in shops for cell in shop.values()]
    assert np.mean([c["low"] <= c["truth"] <= c["high"] for c in every]) >= 0.93
    rows = coverage.summarise(shops)
    assert {row["quantity"]: row["with an interval"] for row in rows}["uplift"] == "100.0%"


def test_a_run_resumes_with_the_shops_that_are_missing(
    coverage: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setting, store = coverage.Setting(200, 3.0), tmp_path / "shops.jsonl"
    store.write_text('[0, {"uplift": {"truth": 1.0, "low": 0.0, "value": 1.0, "high": 2.0}}]\n')
    found = coverage.measure(setting, 1, 1, store)
    assert found == [{"uplift": {"truth": 1.0, "low": 0.0, "value": 1.0, "high": 2.0}}]
    coverage.print_table(coverage.summarise(found))
    assert "| uplift | 100.0% | 100.0% | 0.0% | 2.00 |" in capsys.readouterr().out


def test_a_true_value_is_the_mean_over_all_kinds_and_spells(coverage: ModuleType) -> None:
    rng = np.random.default_rng(0)
    shop = coverage.make_shop(rng, coverage.KINDS, coverage.ACTIONS)
    spells = list(coverage.draw_spells(shop, 400, rng))
    assert all(coverage.BASELINE in spell.available for spell in spells)
    expected = np.mean([spell.shop.means[:, 0].mean() for spell in spells])
    assert coverage.true_value(lambda _: "a0", spells) == pytest.approx(expected)
    mixed = coverage.true_value(coverage.at_random, spells)
    each = [spell.shop.means[:, spell.available].mean() for spell in spells]
    assert mixed == pytest.approx(np.mean(each))
