"""The command line: what it prints, where, and how it leaves."""

import gzip
import json
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import heavybandits
from heavybandits.cli.app import cli
from heavybandits.cli.evaluate import read_probabilities
from heavybandits.cli.options import Folder, NewFile
from heavybandits.cli.reproduce import verdict_text
from heavybandits.cli.simulate import remark
from heavybandits.experiments import tails
from heavybandits.experiments.outputs import Verdict
from heavybandits.experiments.run import PROFILES

COMMANDS = (
    *("reproduce", "report", "simulate", "tune", "bounds"),
    *("encode", "diagnose", "replay", "ledger"),
)


def invoke(*arguments, code=0):
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def tiny(monkeypatch):
    """The quick profile made as small as can be."""
    smallest = tails.PROFILES["smallest"]
    monkeypatch.setitem(tails.PROFILES, "quick", smallest)


# ---- help, version, completion


def test_help_names_every_command_and_shows_examples():
    text = invoke("--help").stdout
    assert all(name in text for name in COMMANDS)
    for name in COMMANDS:
        assert f"heavybandits {name}" in invoke(name, "--help").stdout


def walk(command, path=()):
    """Yield every command with the words that call it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, (*path, name))


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (words, option)
        for words, command in walk(cli)
        for option in command.params
        if isinstance(option, click.Option)
    ],
    ids=str,
)
def test_every_option_has_a_sentence_of_help(words, option):
    text = option.help or ""
    assert re.fullmatch(r"[A-Z]\w*(?: |, |')?.*\.|[A-Zuv], .*\.|Show .*", text), (words, text)


@pytest.mark.parametrize("words", [words for words, command in walk(cli) if words], ids=str)
def test_every_command_begins_its_help_with_an_imperative(words):
    first = (find(words).help or "").split()[0]
    assert first not in ("The", "A", "An", "What", "Which", "How"), words
    assert not first.endswith("s"), words


def find(words):
    return next(command for path, command in walk(cli) if path == words)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("simulat CRTM", "Did you mean 'simulate'?"),
        ("simulate CRTN", "Did you mean CRTM?"),
        ("simulate CRTM --raduis-scale 1", "Did you mean '--radius-scale'?"),
        ("simulate CRTM --link logstic", "did you mean 'logistic'?"),
        ("simulate CRTM --noise parto:3", "did you mean 'pareto'?"),
        ("simulate CRTM --device gpu", "is not one of cpu, cuda."),
        ("tune CRTM --argument delat", "CRTM has no argument 'delat': did you mean delta?"),
        ("replay rnd", "must be a file or one of the data sets rand, cdnow"),
        ("replay rand --protocol row", "Did you mean rows?"),
        ("evaluate a.csv --estimator snip", "Did you mean snips?"),
        ("reproduce figur1", "Did you mean figure1?"),
    ],
)
def test_a_misspelt_name_leads_to_the_right_one(words, hint):
    assert hint in " ".join(invoke(*words.split(), code=2).stderr.split())


def test_version():
    assert invoke("--version").stdout == f"heavybandits {heavybandits.__version__}\n"


@pytest.mark.parametrize(("shell", "words"), [("zsh", "simulate lin"), ("fish", "tune LIN")])
def test_the_shell_completes_names(shell, words, monkeypatch):
    monkeypatch.setenv("_HEAVYBANDITS_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", f"heavybandits {words}")
    monkeypatch.setenv("COMP_CWORD", words.split()[-1] if shell == "fish" else "2")
    assert "LinUCB" in CliRunner().invoke(cli, prog_name="heavybandits").stdout


# ---- bounds


def test_bounds_prints_the_papers_numbers():
    found = json.loads(invoke("bounds", "--json").stdout)
    assert found["CRTM: truncation threshold Gamma"] == pytest.approx(18.2690, abs=1e-4)
    assert found["CRMM: plays per decision r"] == 317
    assert "CRTM: truncation threshold Gamma" in invoke("bounds").stdout
    widths = [found[f"{name}: width of an arm times sqrt(plays)"] for name in ("CRTM", "CRHL")]
    assert widths[0] / widths[1] == pytest.approx(5.91, abs=0.005)  # and both are vacuous
    assert (found["CRCM: plays per decision k"], found["CRCM: decisions"]) == (75, 13_333)


def test_bounds_in_a_real_process():
    made = subprocess.run(
        [sys.executable, "-c", "from heavybandits.cli import main; main()", "bounds", "--dim", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 2
    assert made.stdout == ""
    assert "Invalid value for '--dim': 0 is not between 1 and 1e+12." in made.stderr


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
    options = ("--horizon", 300, "--repetitions", 2, "--radius-scale", 0.01, "--quiet")
    rows, plot = tmp_path / "rows.parquet", tmp_path / "regret.png"
    text = invoke("simulate", "CRTM", *options, "--out", rows, "--plot", plot).stdout
    assert text.splitlines()[0].split()[:2] == ["policy", "mean"]
    assert text.splitlines()[1].startswith("CRTM")
    assert rows.stat().st_size > 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    found = json.loads(invoke("simulate", "CRTM", *options, "--json").stdout)
    assert [row["policy"] for row in found] == ["CRTM", "random play"]


def test_the_example_of_another_argument_runs():
    """A number of constants begins in [1e-4, 1], of which the range may leave a part."""
    example = ("tune", "CRTM", "--argument", "delta", "--bounds", "1e-6", "0.5", "--grid", 3)
    assert " ".join(map(str, example)) in invoke("tune", "--help").stdout
    small = ("--horizon", 100, "--repetitions", 2, "--tuning-repetitions", 2, "--quiet")
    assert "CRTM" in invoke(*example, *small).stdout


def test_simulate_says_which_policies_are_no_better_than_random_play(capsys):
    options = ("--horizon", 3000, "--repetitions", 5, "--arm-low", -1, "--quiet")
    lost = invoke("simulate", "CRTM", *options)
    assert (
        "not clearly better than random play with the radius of its theorem: CRTM. " in lost.stderr
    )
    good = invoke("simulate", "LinUCB", *options, "--link", "identity", "--radius-scale", 0.3)
    assert good.stderr == ""
    equal = {"policy": ["Auto", "random play"], "play": [1, 1], "regret": [2.0, 2.0]}
    remark(heavybandits.Result(equal), None)
    assert capsys.readouterr().err == "not clearly better than random play in so many plays: Auto\n"
    means = {line.split("  ")[0]: line.split()[-5] for line in good.stdout.splitlines()}
    assert float(means["LinUCB"]) < 0.5 * float(means["random play"].replace(",", ""))


TINY = ("--horizon", 300, "--repetitions", 2, "--tuning-repetitions", 2, "--quiet")


def test_tune_publishes_the_whole_grid_and_says_where_the_best_lies(tmp_path):
    options = (*TINY, "--grid", 3, "--bounds", 1e-6, 1)
    row, random = json.loads(invoke("tune", "CRTM", *options, "--json").stdout)
    constants = {name: row[name] for name in row if name.startswith("c = ")}
    assert {"c = 0.0001", "c = 0.01", "c = 1"} <= set(constants) <= {"c = 1e-06", *constants}
    assert constants[f"c = {row['constant']:g}"] == min(constants.values()) == row["tuning"]
    assert row["at"] != ""
    assert (random["policy"], random["at"], random["constant"]) == (
        "random play",
        "not tuned",
        None,
    )
    plot = tmp_path / "curves.pdf"
    found, grid = invoke("tune", "CRTM", *options, "--plot", plot).stdout.split("\n\n")
    assert found.splitlines()[1].split()[0] == "CRTM"
    assert [line.split()[0] for line in grid.splitlines()][1] == "c"
    assert plot.read_bytes().startswith(b"%PDF")


def test_tune_takes_any_argument_of_the_constructor():
    options = (*TINY, "--grid", 2, "--bounds", 1e-4, 1, "--argument")
    assert (
        "CRTM has no argument 'x'; it has dim, horizon"
        in invoke("tune", "CRTM", *options, "x", code=2).stderr
    )
    (row, _) = json.loads(invoke("tune", "CRTM", *options, "norm", "--json").stdout)
    assert row["c = 1"] > 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "CRTM", "--noise", "cauchy"), "noise must be one of t, pareto"),
        (("simulate", "CRTM", "--noise", "t:x"), "noise t takes numbers after colons"),
        (("simulate", "CRTM", "--noise", "stable:0.9"), "noise must have a mean"),
        (("simulate", "CRMM", "--redraw", "round"), "changes with every play"),
        (("simulate", "CRTM", "--horizon", "0"), "'--horizon': 0 is not between 1 and 1e+12"),
        (("simulate", "NOBODY"), "'NOBODY' is not one of"),
        (("reproduce", "figure2"), "'figure2' is not one of"),
        (("reproduce", "--repetitions", "1"), "--repetitions"),
    ],
)
def test_what_is_not_understood_leaves_with_2(arguments, message):
    assert message in invoke(*arguments, code=2).stderr


# ---- reproduce, report


def test_reproduce_ends_with_the_path_and_report_builds_the_same(tiny, tmp_path):
    options = ("tails", "--quick", "--out", tmp_path)
    alone = ("--jobs", 1, "--backend", "sequential")
    made = invoke("reproduce", *options, *alone)
    page = tmp_path / "quick" / "report.html"
    assert made.stdout.rstrip().endswith(f"report: {page}")
    assert made.stdout.startswith("experiment")
    assert len(made.stdout.splitlines()) == 4
    claims = invoke("report", *options, "--claims").stdout
    assert claims.startswith("outcome")
    assert claims.endswith(made.stdout)
    assert "cells" in made.stderr
    assert "cells" not in made.stdout
    before = page.read_bytes()
    assert b"which was not asked for" in before
    page.unlink()
    again = invoke("report", *options, "--json")
    found = json.loads(again.stdout)
    assert found["report"] == str(page)
    assert found["experiments"][0]["verdicts"][0]["outcome"] in (
        "holds",
        "does not hold",
        "undecided",
    )
    assert again.stderr == ""
    assert page.read_bytes() == before


def test_nothing_stored_is_one_sentence(tiny, tmp_path):
    made = invoke("report", "tails", "--quick", "--out", tmp_path, code=1)
    words = (
        f"Error: {tmp_path} does not contain all of these results: heavybandits reproduce computes "
        "what is missing or damaged\n"
    )
    assert (made.stdout, made.stderr) == ("", words)
    assert not any(tmp_path.iterdir())


def test_failed_cells_are_named_and_leave_with_1(tiny, tmp_path, monkeypatch):
    wrong = heavybandits.linucb(dim=3, radius=1.0)
    monkeypatch.setattr(tails, "make_policy", lambda *arguments: wrong)
    options = ("--quick", "--out", tmp_path, "--jobs", 1, "--backend", "sequential", "--quiet")
    made = invoke("reproduce", "tails", *options, code=1)
    assert "failed: tails: tails, problem logistic, noise t1.5, radius 1, level 0" in made.stderr
    page = (tmp_path / "quick" / "report.html").read_text(encoding="utf-8")
    assert "cells failed" in page


def test_profiles_say_what_they_leave_out():
    assert PROFILES["quick"].leaves_out
    assert PROFILES["default"].leaves_out
    assert not PROFILES["full"].leaves_out


def test_the_table_of_verdicts_fits_a_terminal():
    claim, reading, quantity = "crtm is best " * 9, "fixed arms, " * 8, "margin of regret " * 7
    verdict = Verdict(claim, reading, quantity, -21800.0, (-24551.0, -19192.0), "does not hold")
    lines = verdict_text([verdict, verdict]).splitlines()
    assert max(map(len, lines)) <= 100
    shown = " ".join(line[45:].strip() for line in lines[1 : 1 + len(lines) // 2])
    assert shown == " ".join(f"{claim} {reading} {quantity}".split())


# ---- what a user may type

PLACES = {
    "nowhere/x.png": "cannot be written: No such file",
    "/dev/null/x.png": "cannot be written: Not a directory",
    "x.xyz": "must end in one of .png, .svg, .pdf",
    ".": "must end in",
    "folder.png": "is a folder, and only a file can be written",
    "x" * 300 + ".png": "cannot be written: File name too long",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", ["simulate", "diagnose", "replay"])
def test_places_are_checked_before_the_work(command, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    for module in ("cli.simulate.run_simulation", "cli.diagnose.diagnose", "cli.replay.replay"):
        monkeypatch.setattr(f"heavybandits.{module}", None)  # to call it would be a TypeError
    subject = "CRTM" if command == "simulate" else "orders.csv"
    assert PLACES[place] in invoke(command, subject, "--plot", place, code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


@pytest.mark.parametrize("place", ["nowhere/x.parquet", "x.csv"])
def test_the_place_of_the_rows_is_checked_before_the_work(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("heavybandits.cli.simulate.run_simulation", None)
    assert "'--out'" in invoke("simulate", "CRTM", "--out", place, code=2).stderr


@pytest.mark.parametrize("command", ["reproduce", "report"])
def test_the_folder_of_the_results_is_checked_before_the_work(command, tmp_path, monkeypatch):
    monkeypatch.setattr("heavybandits.cli.reproduce.run_experiments", None)
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        assert "cannot be written" in invoke(command, "--out", place, code=2).stderr


NASTY = [
    *("", " ", "x", "-1", "0", "-0", "1", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320"),
    *("1e400", "9" * 40, "0x10", "1_0", "\u0663", "\u00e9", ":", "t:", "t:1e308:1e308", "a,b", ","),
    *("x" * 300, "--json", "lognormal:18:1e300", str(2**63 - 1)),
]
# In the folder of the test, or below a file, where not even root can make one.
NASTY_PLACES = ["", " ", "x", ".", "\u00e9.png", "x" * 300]
NASTY_PLACES += ["/dev/null", "/dev/null/x.png", "--json"]
BASES = {
    "simulate": ("CRTM", "--horizon", 40, "--repetitions", 2, "--jobs", 1, "--dim", 2, "--quiet"),
    "tune": (
        *("CRTM", "--grid", 2, "--horizon", 40, "--repetitions", 2, "--jobs", 1, "--quiet"),
        *("--tuning-repetitions", 2, "--bounds", 1e-4, 1),
    ),
    "bounds": ("--horizon", 2000),
    "diagnose": ("{folder}/orders.csv", "--reward", "y"),
    "replay": ("{folder}/orders.csv", "--reward", "y", "--features", "a", "--passes", 1),
    "evaluate": (
        *("{folder}/orders.csv", "--reward", "y", "--action", "a", "--propensity", "uniform"),
        *("--probabilities", "1=1"),
    ),
    "uplift": ("{folder}/orders.csv", "--reward", "y", "--group", "a", "--groups", 1, 2),
    "compile": ("random play",),
    "reproduce": ("tails", "--quick", "--backend", "sequential", "--out", "{folder}/out"),
    "report": ("tails", "--quick", "--out", "{folder}/out"),
    "serve": ("{folder}/missing.toml",),  # no value may start a service
}
OPTIONS = [
    (name, option.opts[0], NASTY_PLACES if isinstance(option.type, NewFile | Folder) else NASTY)
    for name, command in cli.commands.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]


def test_an_action_named_twice_is_refused():
    with pytest.raises(heavybandits.InvalidInputError, match="got 'a' twice"):
        read_probabilities("a=1,b=0, a=1")
    assert read_probabilities("a=0.7,b=0.3") == {"a": 0.7, "b": 0.3}


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """A folder with a file of orders."""
    folder = tmp_path_factory.mktemp("orders")
    rows = (f"{i % 7},{(i * i) % 11},{(i * 37) % 101 - 50}" for i in range(60))
    (folder / "orders.csv").write_text("\n".join(["a,b,y", *rows]))
    return folder


def leaves_well(words):
    """Nothing but a table or a sentence, whatever was typed."""
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, SystemExit | None), (words, result.exc_info)
    assert result.exit_code in (0, 1, 2), words
    if result.exit_code:
        assert result.stdout == "", words
        assert result.stderr.splitlines()[-1].startswith("Error: "), (words, result.stderr)
    return result


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("command", "option", "values"), OPTIONS)
def test_no_value_of_an_option_ends_in_a_traceback(command, option, values, orders, monkeypatch):
    monkeypatch.chdir(orders)
    base = [str(word).format(folder=orders) for word in BASES[command]]
    for value in values:
        leaves_well([command, *base, option, value])


TOO_MUCH = [
    ("simulate CRTM --dim 1000000", 2),
    ("simulate CRTM --arms 100000000000", 2),
    ("simulate CRTM --noise stable:1.0000001:1", 1),
    ("simulate CRTM --noise pareto:1.0000000000000002:1e308", 2),
    ("simulate CRTM --radius-scale 1e308", 2),
    ("simulate LinUCB --radius-scale 1e308", 2),
    ("tune CRTM --grid 0", 2),
    ("bounds --delta 1e-320", 2),
    ("bounds --delta 1e-100 --horizon 1000000000000", 0),
    ("bounds --norm 800 --link exponential", 2),
    ("bounds --norm 720 --link exponential", 2),
    ("bounds --norm 1e308", 2),
    ("bounds --raw-moment 1e308 --central-moment 1e308", 2),
    ("bounds --epsilon 1e-320", 0),
    ("diagnose cut.csv.gz --reward y", 2),
    ("diagnose noise.csv.gz --reward y", 2),
    ("diagnose binary.parquet --reward y", 2),
    ("replay orders.csv --reward y --features a --radius 1e308", 2),
    ("replay orders.csv --reward y --features a --clip 0", 2),
    ("replay orders.csv --reward y --features y,y --arms 1000000", 2),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("words", "code"), TOO_MUCH)
def test_what_is_too_much_is_said_in_a_sentence(words, code, orders, monkeypatch):
    monkeypatch.chdir(orders)
    whole = gzip.compress((orders / "orders.csv").read_bytes())
    (orders / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    (orders / "noise.csv.gz").write_bytes(whole[:20] + bytes(range(200)))
    (orders / "binary.parquet").write_bytes(bytes(range(200)))
    command, *rest = words.split()
    small = BASES[command][1:] if command in ("simulate", "tune") else ()
    options = [str(word) for word in (command, rest[0], *small, *rest[1:])]
    assert leaves_well(options).exit_code == code


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "not enough memory"),
        (OverflowError(34, "out of range"), "too small to compute with (out of range)"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (NotImplementedError("not that one"), "not that one"),
    ],
)
def test_what_fails_in_the_work_leaves_with_1(error, words, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("heavybandits.cli.simulate.run_simulation", fail)
    assert words in invoke("simulate", "CRTM", code=1).stderr


def test_simulate_passes_the_device_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    command = ("simulate", "CRTM", "--horizon", 20, "--repetitions", 2, "--device", "cuda")
    said = invoke(*command, code=1).output
    assert 'pip install "heavybandits[gpu]"' in said


def test_a_constant_for_nobody_is_refused():
    told = invoke("simulate", "Auto", "--radius-scale", 5, code=2)
    assert "--radius-scale needs an algorithm with a radius" in told.output


def test_the_package_runs_as_a_module():
    told = subprocess.run(
        [sys.executable, "-m", "heavybandits", "--version"], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr


def test_two_profiles_at_once_are_refused(tmp_path):
    made = invoke("reproduce", "outlier", "--quick", "--full", "--out", tmp_path, code=2)
    assert "--quick and --full exclude each other" in made.stderr
    assert not any(tmp_path.iterdir())


def test_one_arm_leaves_nothing_to_remark():
    made = invoke("simulate", "CRTM", "--arms", "1", "--horizon", "50", "--repetitions", "2")
    assert "random play" not in made.stderr
