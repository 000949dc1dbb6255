"""The suite in benchmarks/ is not run here: only that it loads, and that its report is right."""

import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import pytest

SUITE = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SUITE))
    return importlib.import_module("report")


def outcome(report: ModuleType):
    rows = [
        report.Row("Agent", "select + update", 20.0, "us", most=25.0),
        report.Row("Agent", "peer over agent", 4.0, "x", least=5.0, note="slow"),
        report.Row("Peers", "some peer", math.nan, "us", least=1.0, note="not installed"),
        report.Row("Peers", "plain", 1234567.0, "us"),
    ]
    curves = [report.Curve("round t", "CRTM", [1e4, 1e7], [1.0, 1.01], 0.0)]
    return report.Outcome(rows, curves)


def test_every_part_is_there(report):
    parts = importlib.import_module("run").PARTS
    assert set(parts) >= {"yardsticks", "growth", "peers", "table2", "whole_job", "cold_start"}
    assert all(callable(part.measure) for part in parts.values())


def test_every_peer_has_its_script(report):
    scripts = importlib.import_module("peers").SCRIPTS
    assert all((SUITE / "peers" / name).is_file() for name in scripts.values())


def test_targets_are_judged(report):
    assert [row.met for row in outcome(report).rows] == [True, False, None, None]


def test_table(report):
    text = report.markdown({"cpu": "abacus"}, outcome(report).rows)
    assert "- cpu: abacus" in text
    assert "2 targets, 1 not met." in text
    assert "| select + update | 20 us | at most 25 | met |  |" in text
    assert "| peer over agent | 4 x | at least 5 | **not met** | slow |" in text
    assert "| some peer | - us | at least 1 |  | not installed |" in text


def test_files(report, tmp_path):
    paths = report.write(tmp_path / "bench", outcome(report))
    assert [path.suffix for path in paths] == [".md", ".json", ".png", ".svg"]
    assert all(path.stat().st_size > 0 for path in paths)
    found = json.loads(paths[1].read_text())
    assert [row["met"] for row in found["rows"]] == [True, False, None, None]
    assert found["rows"][2]["measured"] is None
    assert {"cpu", "numba", "load average"} <= set(found["machine"])


def test_slope(report):
    slope = importlib.import_module("measuring").slope
    assert slope([50, 100, 400], [3.0 * d**2.5 for d in (50, 100, 400)]) == pytest.approx(2.5)
