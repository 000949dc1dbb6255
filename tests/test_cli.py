"""The command line: what it prints, where, and how it leaves."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import heavybandits
from heavybandits.cli.app import cli
from heavybandits.cli.shared import make_noise
from heavybandits.paper import tails
from heavybandits.paper.profiles import PROFILES

COMMANDS = ("reproduce", "report", "simulate", "tune", "bounds", "completion")


def invoke(*arguments, code=0):
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def tiny(monkeypatch):
    """The quick profile made as small as can be."""
    smallest = tails.settings.PROFILES["smallest"]
    monkeypatch.setitem(tails.settings.PROFILES, "quick", smallest)


# ---- help, version, completion


def test_help_names_every_command_and_shows_examples():
    text = invoke("--help").stdout
    assert all(name in text for name in COMMANDS)
    for name in COMMANDS:
        assert f"heavybandits {name}" in invoke(name, "--help").stdout


def test_version():
    assert invoke("--version").stdout == f"heavybandits {heavybandits.__version__}\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_scripts_name_the_command(shell):
    assert "_HEAVYBANDITS_COMPLETE" in invoke("completion", shell).stdout


# ---- bounds


def test_bounds_prints_the_papers_numbers():
    found = json.loads(invoke("bounds", "--json").stdout)
    assert found["CRTM: truncation level Gamma"] == pytest.approx(18.2690, abs=1e-4)
    assert found["CRMM: plays a decision r"] == 317
    assert "CRTM: truncation level Gamma" in invoke("bounds").stdout


def test_bounds_in_a_real_process():
    made = subprocess.run(
        [sys.executable, "-c", "from heavybandits.cli import main; main()", "bounds", "--dim", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 2
    assert made.stdout == ""
    assert "dim must be a whole number >= 1, got 0" in made.stderr


def test_without_the_extra_it_says_what_to_install():
    script = (
        "import sys; sys.modules['click'] = None\n"
        "from heavybandits.cli import main\n"
        "try:\n    main()\nexcept ModuleNotFoundError as error:\n    sys.exit(f'raised {error}')"
    )
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert made.returncode == 1
    assert made.stderr == 'the command line needs click: pip install "heavybandits[lab]"\n'


# ---- simulate, tune


def test_simulate_prints_a_table_and_writes_files(tmp_path):
    options = ("--horizon", 300, "--repetitions", 2, "--constant", 0.01, "--quiet")
    rows, plot = tmp_path / "rows.parquet", tmp_path / "regret.png"
    text = invoke("simulate", "CRTM", *options, "--out", rows, "--plot", plot).stdout
    assert text.splitlines()[0].split()[:2] == ["policy", "mean"]
    assert text.splitlines()[1].startswith("CRTM")
    assert rows.stat().st_size > 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    found = json.loads(invoke("simulate", "CRTM", *options, "--json").stdout)
    assert found[0]["policy"] == "CRTM"


def test_tune_publishes_the_whole_grid():
    options = ("--horizon", 300, "--repetitions", 2, "--constants", 3, "--quiet", "--json")
    (row,) = json.loads(invoke("tune", "CRTM", *options).stdout)
    constants = {name: row[name] for name in row if name.startswith("c = ")}
    assert set(constants) == {"c = 0.0001", "c = 0.01", "c = 1"}
    assert constants[f"c = {row['best c']:g}"] == min(constants.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "CRTM", "--noise", "cauchy"), "noise must be one of t, pareto"),
        (("simulate", "CRTM", "--noise", "t:x"), "noise t takes numbers after colons"),
        (("simulate", "CRTM", "--noise", "stable:0.9"), "noise must have a mean"),
        (("simulate", "CRMM", "--changes", "fresh"), "changes at every play"),
        (("simulate", "CRTM", "--horizon", "0"), "horizon must be a whole number"),
        (("simulate", "NOBODY"), "'NOBODY' is not one of"),
        (("reproduce", "figure2"), "'figure2' is not one of"),
        (("reproduce", "--repetitions", "1"), "--repetitions"),
    ],
)
def test_what_is_not_understood_leaves_with_2(arguments, message):
    assert message in invoke(*arguments, code=2).stderr


def test_noises_by_name():
    assert make_noise("t:1.5") == heavybandits.noises.StudentT(1.5)
    assert make_noise("pareto-raw:3:0.01") == heavybandits.noises.Pareto(3.0, 0.01, centred=False)


# ---- reproduce, report


def test_reproduce_ends_with_the_path_and_report_builds_the_same(tiny, tmp_path):
    options = ("tails", "--quick", "--out", tmp_path)
    alone = ("--jobs", 1, "--backend", "sequential")
    made = invoke("reproduce", *options, *alone)
    page = tmp_path / "quick" / "report.html"
    assert made.stdout.rstrip().endswith(str(page))
    assert made.stdout.startswith("outcome")
    assert "cells" in made.stderr
    assert "cells" not in made.stdout
    before = page.read_bytes()
    assert b"which was not asked for" in before
    page.unlink()
    again = invoke("report", *options, "--quiet", "--json")
    found = json.loads(again.stdout)
    assert found["report"] == str(page)
    assert found["experiments"][0]["verdicts"][0]["outcome"] in (
        "holds",
        "does not hold",
        "undecided",
    )
    assert again.stderr == ""
    assert page.read_bytes() == before


def test_nothing_stored_is_a_failure(tiny, tmp_path):
    made = invoke("report", "tails", "--quick", "--out", tmp_path, code=1)
    assert "failed: tails" in made.stderr
    assert "not stored" in made.stderr


def test_failed_cells_are_named_and_leave_with_1(tiny, tmp_path, monkeypatch):
    wrong = heavybandits.linucb(dim=3, radius=1.0)
    monkeypatch.setattr(tails, "make_policy", lambda *arguments: wrong)
    options = ("--quick", "--out", tmp_path, "--jobs", 1, "--backend", "sequential", "--quiet")
    made = invoke("reproduce", "tails", *options, code=1)
    assert "failed: tails: tails, logistic, t1.5, radius 1, level 0" in made.stderr
    page = (tmp_path / "quick" / "report.html").read_text(encoding="utf-8")
    assert "cells failed" in page


def test_profiles_say_what_they_leave_out():
    assert PROFILES["quick"].leaves_out
    assert PROFILES["default"].leaves_out
    assert not PROFILES["full"].leaves_out
