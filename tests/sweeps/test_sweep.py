"""`hb.sweep`: the numbers of `simulate`, kept under keys that hold the sources of all parts."""

import functools
import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
import sweep_functions
from heavybandits.core import sources
from heavybandits.sweeps import Cell, Runner, run_cells
from heavybandits.sweeps.run import _started
from sweep_functions import OwnNoise, square

ARMS, LINK = hb.arms.Fixed(5, 3), hb.links.Logistic()
PROBLEMS = {name: hb.Problem(ARMS, LINK, hb.noises.StudentT(d)) for name, d in (("a", 3), ("b", 9))}
POLICY = hb.crtm(dim=3, horizon=200, raw_moment=3.5, radius_scale=1e-2)
SIZE: dict[str, Any] = {"horizon": 200, "repetitions": 7, "seed": 3, "checkpoints": 4}


def test_a_sweep_gives_the_rows_of_simulate(tmp_path: Path):
    def wider(problem: Any) -> Any:
        return POLICY._replace(radius=hb.radii.Constant(problem.noise.dof))

    swept = hb.sweep({"narrow": POLICY, "wide": wider}, PROBLEMS, folder=tmp_path, **SIZE)
    assert swept.columns[:3] == ("problem", "policy", "repetition")
    for name, problem in PROBLEMS.items():
        alone = hb.simulate({"narrow": POLICY, "wide": wider(problem)}, problem, **SIZE)
        mine = swept.data["problem"] == name
        for column in set(alone.columns) - {"cpu_seconds"}:
            assert np.array_equal(alone.data[column], swept.data[column][mine]), column
    one = hb.sweep(POLICY, PROBLEMS["a"], **SIZE)
    assert one.columns == alone.columns
    assert np.array_equal(one.final("policy"), swept.final("narrow", "a"))


def test_any_function_can_be_mapped_over_a_grid(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    settings = [{"number": float(n), "size": 2} for n in (3, 4)]
    found = hb.map_cells(square, settings, folder=tmp_path)
    assert found.columns == ("number", "size", "count", "name", "squares", "cpu_seconds")
    assert found.data["number"].tolist() == [3.0, 3.0, 4.0, 4.0]
    assert np.array_equal(found.data["squares"][:2], square(3.0, 2)["squares"])
    hb.map_cells(square, settings, folder=tmp_path, progress=True)
    assert "2 cells, all of them reused" in capsys.readouterr().err


def test_failed_cells_are_named_and_the_others_kept(tmp_path: Path):
    settings = [{"number": 1.0}, {"number": 2.0}]
    words = r"2 of 2 cells failed; the others are kept.*\n.*raises.*: ArithmeticError: no square"
    with pytest.raises(hb.SweepError, match=words):
        hb.map_cells(sweep_functions.raises, settings, folder=tmp_path, retries=1)


# ---- names


def shadowed() -> type:
    class OwnNoise(hb.noises.StudentT):
        __slots__ = ()

    OwnNoise.__qualname__, OwnNoise.__module__ = "OwnNoise", sweep_functions.__name__
    return OwnNoise


@pytest.mark.parametrize(
    ("what", "where", "words"),
    [
        ({1: POLICY, "1": POLICY}, PROBLEMS, "policies must differ in name, got two called '1'"),
        (POLICY, {1: PROBLEMS["a"], "1": PROBLEMS["b"]}, "problems must differ in name"),
        (
            sweep_functions.timed,
            [{"number": 1.0}],
            "a result must differ in name from the",
        ),
        (square, [{"number": 1.0}, {"number": 2.0, "size": 2}], "every call must have the same"),
        (square, [], "grid must have the settings of at least one call"),
        ({}, PROBLEMS, "policies must have at least one"),
        (lambda number: {}, [{"number": 1.0}], "function must stand at the top of a module"),
        (POLICY, hb.Problem(ARMS, LINK, shadowed()(3.0)), "the one its module calls 'OwnNoise'"),
    ],
)
def test_names_that_clash_or_lead_nowhere_are_refused(
    what: Any, where: Any, words: str, tmp_path: Path
):
    run: Any = hb.map_cells if callable(what) else functools.partial(hb.sweep, **SIZE)
    with pytest.raises(hb.InvalidInputError, match=words):
        run(what, where, folder=tmp_path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"backend": "slurm"}, "backend must be one of"),
        ({"jobs": 0}, "jobs must be a whole number >= 1"),
        ({"backend": "threads", "address": "tcp://here"}, "address is for dask and ray"),
    ],
)
def test_a_backend_that_is_not_there_is_rejected(given: dict[str, Any], words: str):
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.map_cells(square, [{"number": 1.0}], **given)
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.sweep(POLICY, PROBLEMS, **SIZE, **given)


def test_sweep_and_map_cells_do_not_take_the_place_of_each_other():
    with pytest.raises(hb.InvalidInputError, match="problems must be a problem, or a dict by name"):
        hb.sweep(square, [{"number": 1.0}], horizon=10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="horizon"):
        hb.map_cells(square, [{"number": 1.0}], horizon=10)  # type: ignore[call-arg]


def test_a_part_typed_at_a_prompt_is_refused(monkeypatch: pytest.MonkeyPatch):
    """Its text is nowhere, so that no key could tell two versions of it apart."""
    monkeypatch.delattr(sweep_functions, "__file__")
    with pytest.raises(
        hb.InvalidInputError, match=r"must be written in a .py file.*OwnNoise is not"
    ):
        hb.sweep(POLICY, hb.Problem(ARMS, LINK, OwnNoise(3.0)), **SIZE)


def test_what_stands_in_the_script_itself_is_refused_to_other_processes():
    cell = Cell("math:sqrt", {"x": 2.0, "parts": ["__main__:Mine"]})
    with pytest.raises(
        hb.InvalidInputError, match=r"Mine is defined in the script itself.*'threads'"
    ):
        Runner(None, backend="loky")([cell])


# ---- stale keys, in processes of their own

MINE = """
from typing import NamedTuple
from heavybandits.filters import NoFilter
from heavybandits.authoring import make_memory
from helper import FACTOR

class Mine(NamedTuple):
    plays: int = 1

    def init(self):
        return make_memory(self.plays)

    def apply(self, memory, rewards, norm, predicted):
        return FACTOR * rewards[0]
"""
SCRIPT = """
import sys
import time
import heavybandits as hb
from mine import Mine

policies = {
    "plain": hb.linucb(dim=2, radius=1.0),
    "mine": hb.linucb(dim=2, radius=1.0, filter=Mine()),
}
problem = hb.Problem(hb.arms.Fixed(3, 2, -1.0), hb.links.Identity(), hb.noises.Gaussian(1.0))
where = {"folder": "out", "backend": sys.argv[1], "jobs": 1, "progress": True}
result = hb.sweep(policies, problem, horizon=30, repetitions=2, checkpoints=1, **where)
print(result.final("plain").tolist(), result.final("mine").tolist())
"""


def run_script(folder: Path, backend: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """What the script says of its numbers and of its cells, uncompiled."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    made = subprocess.run(
        [sys.executable, "script.py", backend], cwd=folder, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return made.stdout, made.stderr.strip().splitlines()[-1]


def test_an_edited_part_is_computed_anew_and_an_untouched_one_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "helper.py").write_text("FACTOR = 1.0\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    first, said = run_script(tmp_path, "threads", monkeypatch)
    assert said == "2/2 cells"
    (tmp_path / "script.py").write_text(f"{SCRIPT}\n# edited\n")
    again, said = run_script(tmp_path, "threads", monkeypatch)
    assert (again, said) == (first, "2 cells, all of them reused")
    (tmp_path / "helper.py").write_text("FACTOR = -1.0\n")  # what it takes from elsewhere counts
    other, said = run_script(tmp_path, "loky", monkeypatch)
    assert said == "2/2 cells, 1 reused"
    assert other.split("] ")[0] == first.split("] ")[0]
    assert other.split("] ")[1] != first.split("] ")[1]


NOTEBOOK = """
import warnings
import heavybandits as hb

def run(**more):
    found = hb.map_cells(f, [{"n": 1.0}], folder="out", backend="sequential")
    return found.data["y"][0]

exec("C = 1\\ndef g(): return C\\ndef f(n): return {'y': n * g()}")
assert run() == 1.0
first = len(list(__import__("pathlib").Path("out/cells").iterdir()))
exec("def f(n): return {'y': n * g()}")  # the same again
assert run() == 1.0
assert len(list(__import__("pathlib").Path("out/cells").iterdir())) == first
exec("def g(): return 2 * C")
assert run() == 2.0
C = 5
assert run() == 10.0
exec("def f(n): return {'y': n * eval('g' + '()')}")
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    assert run() == 10.0
    exec("def g(): return 3")
    assert run() == 3.0
assert [one.category for one in heard] == [hb.ReuseWarning]
print("done")
"""


def test_a_function_typed_into_a_notebook_is_computed_again_once_it_changes(tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.stdout == "done\n", ended.stderr


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write and load a module that is older than this process."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would be taken for the next version
    monkeypatch.setattr(sources, "_STARTED", 1 << 62)

    def write(name: str, text: str) -> Any:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    for name in ("reached_work", "reached_helper"):
        sys.modules.pop(name, None)


def test_a_module_of_a_computed_name_counts_once_it_was_imported(tmp_path: Path, own_module: Any):
    name = "''.join(['reached_', 'helper'])"
    text = f"from importlib import import_module\ndef f(n): return {{'y': import_module({name}).C}}"
    work = own_module("reached_work", text)
    for constant in (1.0, 2.0):
        own_module("reached_helper", f"C = {constant}\n")
        for _ in range(2):
            found = hb.map_cells(work.f, [{"n": 1.0}], folder=tmp_path / "out", progress=False)
            assert found.data["y"].tolist() == [constant]
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 1


def test_a_process_that_runs_older_sources_than_the_key_says_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "edited_later", raising=False)
    (tmp_path / "edited_later.py").write_text("def one():\n    return {'number': 1}\n")
    __import__("edited_later")
    cell = Cell("edited_later:one", {})
    with pytest.raises(hb.SweepError, match=r"edited_later.py was written after this process"):
        run_cells([cell], tmp_path / "out", backend="sequential", progress=False)
    object.__setattr__(cell, "sources", "of another machine")
    with pytest.raises(hb.SweepError, match="this worker has other sources than the process that"):
        run_cells([cell], tmp_path / "out", backend="sequential", progress=False)


@pytest.mark.parametrize(("kept", "words"), [(True, "to resume from here"), (False, "Nothing is")])
def test_an_interrupt_promises_what_is_kept(kept: bool, words: str, capsys: Any) -> None:
    with pytest.raises(KeyboardInterrupt), _started("threads", 1, None, kept):
        raise KeyboardInterrupt
    assert words in capsys.readouterr().err


# ---- what users met


def test_a_part_that_was_edited_and_loaded_again_is_refused(tmp_path, monkeypatch):
    """Not played by the old text, though the sweep before has seen it."""
    text = (
        "from typing import Any, NamedTuple\n\n"
        "from heavybandits.authoring import uniform\n\n\n"
        "class Own(NamedTuple):\n"
        "    width: float = 1.0\n\n"
        "    def draw(self, key: Any, play: int) -> float:\n"
        "        return self.width * (uniform(key, 4 * play) - 0.5)\n"
    )
    source = tmp_path / "an_edited_part.py"
    source.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("an_edited_part")
    monkeypatch.setattr(sources, "_STARTED", time.time_ns())

    def swept() -> Any:  # with a noise of one's own, which is compiled in no time
        problem = hb.Problem(hb.arms.Fixed(4, 3), hb.links.Identity(), module.Own())
        policy, folder = hb.policies.Uniform(3), tmp_path / "kept"
        return hb.sweep(policy, problem, horizon=50, repetitions=1, folder=folder)

    try:
        before = swept().final("policy").mean()
        source.write_text(text.replace("0.5)", "0.25)"))
        importlib.invalidate_caches()
        importlib.reload(module)
        with pytest.raises(hb.SweepError, match="was written after this process had started"):
            swept()
        assert before > 0.0
    finally:
        del sys.modules["an_edited_part"]


def test_one_function_may_make_the_policy_for_every_problem():
    problem = hb.Problem(hb.arms.Fixed(4, 3), hb.links.Identity(), hb.noises.Gaussian(0.1))

    def narrow(problem: hb.Problem) -> Any:
        return hb.linucb(dim=problem.arms.dim, radius=0.1)

    for where in (problem, {"one": problem}):
        result = hb.sweep(narrow, where, horizon=50, repetitions=1)
        assert result.policies == ["narrow"]
