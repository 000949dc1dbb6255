"""The suite in benchmarks/: its two smallest parts run for real, and its report is right."""

import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from paths import ROOT

SUITE = ROOT / "benchmarks"


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SUITE))
    return importlib.import_module("report")


def outcome(report: ModuleType) -> Any:
    rows = [
        report.Row("Agent", "select + update", 20.0, "us", most=25.0),
        report.Row("Agent", "peer over agent", 4.0, "x", least=5.0, note="slow"),
        report.Row("Peers", "some peer", math.nan, "us", least=1.0, note="not installed"),
        report.Row("Peers", "plain", 1234567.0, "us"),
    ]
    curves = [report.Curve("round t", "CRTM", [1e4, 1e7], [1.0, 1.01], 0.0)]
    return report.Outcome(rows, curves)


# ---- a run


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run at tiny sizes, as a user starts it but uncompiled: compiling the six
    algorithms takes longer than all the rest."""
    folder = tmp_path_factory.mktemp("bench")
    parts = ["--only", "agent", "--only", "whole_job"]
    command = [sys.executable, str(SUITE / "run.py"), "--quick", *parts, "--out", str(folder)]
    plain = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_run_measures_finite_times_and_rates(measured):
    found = json.loads((measured / "bench.json").read_text())
    assert {row["part"] for row in found["rows"]} == {"Agent", "Whole job"}
    for row in found["rows"]:
        assert row["measured"] is not None, row
        assert 0.0 < row["measured"] < math.inf, row
        assert row["unit"] in {"us", "ms", "s", "1/s", "million/s", "x", "MB"}, row


def test_a_run_agrees_with_itself(measured):
    """The same job in plays per second, in seconds and in plays; the same rounds by two clocks."""
    rows = json.loads((measured / "bench.json").read_text())["rows"]
    by_name = {row["what"]: row["measured"] for row in rows}
    plays = by_name["plays a second, all cores"] * 1e6 * by_name["the whole job"]
    assert plays == pytest.approx(6 * 2 * 500)  # algorithms, repetitions, horizon
    ratio = by_name["rounds a second, in memory"] / by_name["rounds a second, with a ledger"]
    assert ratio == pytest.approx(by_name["a round with a ledger over one in memory"], rel=0.01)


def test_the_page_has_a_line_for_every_row(measured):
    text = (measured / "bench.md").read_text()
    for row in json.loads((measured / "bench.json").read_text())["rows"]:
        assert f"| {row['what']} | {row['measured']:.4g} {row['unit']} |" in text
    assert "tiny (--quick): the targets mean nothing here" in text


def test_a_part_that_fails_is_a_row_and_the_others_go_on(report, monkeypatch, tmp_path):
    run = importlib.import_module("run")

    def fail(folder: Path, quick: bool) -> Any:
        raise OSError("no disk")

    monkeypatch.setitem(run.PARTS, "agent", SimpleNamespace(measure=fail))
    monkeypatch.setitem(run.PARTS, "growth", SimpleNamespace(measure=lambda *_: outcome(report)))
    rows = run.measure(["agent", "growth"], tmp_path, True).rows
    assert (rows[0].part, rows[0].what, rows[0].note) == ("agent", run.FAILED, "OSError('no disk')")
    assert math.isnan(rows[0].measured)
    assert rows[1:] == outcome(report).rows


# ---- peers


def test_every_peer_has_its_script(report):
    scripts = importlib.import_module("peers").SCRIPTS
    assert all((SUITE / "peers" / name).is_file() for name in scripts.values())


def test_a_peer_gets_numpy_even_if_it_does_not_ask_for_it(report, monkeypatch):
    """The scripts need it; coba, the first of them, does not depend on it."""
    peers = importlib.import_module("peers")
    installed: list[str] = []

    def install(python: Path, package: str) -> str:
        installed.append(package)
        return ""

    monkeypatch.setattr(peers, "install", install)
    monkeypatch.setattr(peers, "child", lambda command: {"microseconds": 1.0})
    assert peers.run_peer(Path("python"), "coba", 0.1) == {"microseconds": 1.0}
    assert installed == ["numpy", "coba"]


# ---- the report


def test_targets_are_judged(report):
    assert [row.met for row in outcome(report).rows] == [True, False, None, None]


def test_table(report):
    text = report.markdown({"cpu": "abacus"}, outcome(report).rows)
    assert "- cpu: abacus" in text
    assert "2 targets, 1 not met." in text
    assert "| select + update | 20 us | at most 25 | met |  |" in text
    missed = "| peer over agent | 4 x | at least 5 | **not met** | slow"
    assert f"{missed}; set on two cores of an AMD EPYC |" in text
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


def test_a_peer_sees_the_logs_of_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    from heavybandits.experiments.evaluation import settings
    from heavybandits.experiments.evaluation.logs import evaluation_cell

    monkeypatch.syspath_prepend(str(SUITE))
    log = importlib.import_module("obp_estimators").columns_of("t1.5", 200, seed=5, run=3)
    assert log["context"].shape == (200, settings.FEATURES)
    weights = log["shares"][range(200), log["action"]] / log["pscore"]
    found = evaluation_cell("t1.5", 200, 3, 4, seed=5)["value"][0]
    plain = found[settings.METHODS.index(settings.PLAIN)]
    assert (weights * log["reward"]).mean() == pytest.approx(plain, rel=1e-12)
