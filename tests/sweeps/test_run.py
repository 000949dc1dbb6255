"""Cells, their store and the run, on every backend."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
import sweep_functions
from heavybandits import InvalidInputError
from heavybandits._utils import files as support_files
from heavybandits._utils.files import Format
from heavybandits._utils.progress import Progress
from heavybandits.core import sources
from heavybandits.core.part import describe
from heavybandits.sweeps import Cell, SweepError, backends, digest, read_cell, store
from heavybandits.sweeps.cell import check_json, kind, schedule
from heavybandits.sweeps.simulation_cell import build_parts, simulate_cell
from heavybandits.sweeps.store import cell_path, load_cell, timing_path
from paths import SUPPORT
from sweep_functions import OwnNoise
from sweep_helpers import HERE, cell, files, run, simulations, squares, start

OLD = store.versions() | {"numpy": "1.0"}


# ---- cells


def test_the_key_is_the_content_and_nothing_else() -> None:
    one = Cell("math:sqrt", {"a": 1, "b": [1.5, None, True]}, "code", label="x", weight=2.0)
    same = Cell("math:sqrt", {"b": (1.5, None, True), "a": 1}, "code", label="y", weight=3.0)
    assert one.key == same.key
    assert one == same
    others = [
        Cell("math:exp", one.settings, "code"),
        Cell("math:sqrt", {**one.settings, "a": 1.0}, "code"),
        Cell("math:sqrt", one.settings, "other"),
    ]
    assert len({one.key, *(other.key for other in others)}) == 4


def test_a_later_change_of_the_settings_does_not_reach_the_cell() -> None:
    settings = {"numbers": [1, 2]}
    made = Cell("math:sqrt", settings)
    key = made.key
    settings["numbers"].append(3)
    assert made.settings == {"numbers": [1, 2]}
    assert Cell("math:sqrt", made.settings).key == key


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": {1: 2}}, "strings as keys"),
        ({"a": [1, np.int64(2)]}, r"a'\]\[1\] must be plain JSON"),
        ({"a": float("nan")}, "must be finite"),
        ({"a": np.zeros(2)}, "plain JSON"),
        ({"a": hb.noises.StudentT(3.0)}, "plain JSON"),
    ],
)
def test_settings_that_json_cannot_hold_are_refused(value: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        check_json("settings", value)
    with pytest.raises(InvalidInputError, match=words):
        Cell("math:sqrt", value)


@pytest.mark.parametrize("name", ["nowhere:f", "math", "math:nothing", "math:pi", ":sqrt", ""])
def test_a_function_that_is_not_there_is_refused_before_the_sweep(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match="function must"):
        run([Cell(name, {})], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_cell_of_each_kind_comes_first_then_the_heavy_ones() -> None:
    parts = [describe(part) for part in (hb.filters.NoFilter(), hb.filters.Median(3))]
    cells = [
        Cell("math:sqrt", {"part": part, "n": n}, weight=n) for part in parts for n in (1, 5, 3)
    ]
    assert len({kind(one) for one in cells}) == 2
    order = schedule(cells)
    assert {kind(one) for one in order[:2]} == {kind(one) for one in cells}
    assert [one.weight for one in order] == [5, 5, 3, 3, 1, 1]
    light = Cell("math:exp", {}, weight=0.1)
    assert light in schedule([*cells, light])[:3]


# ---- the store


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "matrix": np.arange(6.0).reshape(2, 3).T,
        "flags": np.array([True, False]),
        "numbers": np.array([1, -2], np.int64),
        "words": np.array(["a", "bcd"]),
        "empty": np.zeros((0, 4)),
        "number": -0.0,
        "nothing": float("nan"),
        "count": 7,
        "yes": True,
        "name": "déjà vu",
        "scalar": np.float64(0.1),
    }
    one = cell("square")
    (tmp_path / "cells").mkdir()
    (tmp_path / "timings").mkdir()
    store.write_cell(tmp_path, one, given, cpu_seconds=0.5)
    found = read_cell(tmp_path, one)
    assert found is not None
    assert found.pop("cpu_seconds") == 0.5
    assert set(found) == set(given)
    for name, value in given.items():
        assert np.array_equal(found[name], value, equal_nan=name == "nothing"), name
        assert np.asarray(found[name]).dtype == np.asarray(value).dtype
    assert str(found["number"]) == "-0.0"
    assert type(found["count"]) is int
    assert type(found["yes"]) is bool


def test_a_file_is_a_plain_npz_without_pickle(tmp_path: Path) -> None:
    run([cell("square", 2.0)], tmp_path)
    with np.load(cell_path(tmp_path, cell("square", 2.0)), allow_pickle=False) as file:
        header = json.loads(file["header.json"])
        assert file["squares"].shape == (3,)
    body = json.loads(header["body"])
    assert body["versions"]["numpy"] == np.__version__
    assert body["heavybandits"] == hb.__version__
    assert body["cell"] == [f"{HERE}:square", {"number": 2.0}, cell("square", 2.0).sources]


def test_timings_are_kept_apart_and_given_back(tmp_path: Path) -> None:
    result = run([cell("timed")], tmp_path).results[cell("timed").key]
    assert result["number"] == 1.0
    assert result["seconds"] == 4.0
    assert result["cpu_seconds"].tolist() == [1.5, 2.5]
    assert b"seconds" not in store.pack(cell("square"), {"a": 1}, [])
    assert "cpu_seconds" in json.loads(timing_path(tmp_path, cell("timed")).read_bytes())
    plain = run([cell("square")], tmp_path).results[cell("square").key]
    assert 0.0 <= plain["cpu_seconds"] < 10.0


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    one = cell("square", 3.0)
    truth = run([one], tmp_path).results[one.key]
    path = cell_path(tmp_path, one)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.integers(len(data), size=400):
        mangled = bytearray(data)
        mangled[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(mangled)
        found = read_cell(tmp_path, one)
        noticed += found is None
        if found is not None:
            assert np.array_equal(found["squares"], truth["squares"])
    assert noticed > 200


@pytest.mark.parametrize("damage", ["cut", "empty", "foreign", "format", "timings", "versions"])
def test_what_cannot_be_trusted_is_reported_and_computed_again(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = squares(3)
    run(cells, tmp_path)
    whole = files(tmp_path)
    path = cell_path(tmp_path, cells[0])
    reason = {"foreign": "another cell", "format": "format 2", "timings": "lost its timings"}
    if damage in ("cut", "empty"):
        path.write_bytes(path.read_bytes()[: 100 if damage == "cut" else 0])
    elif damage == "foreign":
        path.write_bytes(cell_path(tmp_path, cells[1]).read_bytes())
    elif damage == "timings":
        timing_path(tmp_path, cells[0]).unlink()
    else:
        change = ("FORMAT", Format("cell", 2)) if damage == "format" else ("versions", lambda: OLD)
        with monkeypatch.context() as patch:
            patch.setattr(store, *change)
            path.write_bytes(store.pack(cells[0], {"squares": np.zeros(3)}, []))
    outcome = run(cells, tmp_path)
    assert (outcome.computed, outcome.reused) == (1, 2)
    assert [one for one, _ in outcome.damaged] == [cells[0]]
    words = reason.get(damage, "numpy 1.0" if damage == "versions" else "is damaged")
    assert words in capsys.readouterr().err
    assert files(tmp_path) == whole


def test_what_somebody_has_put_into_the_library_is_not_among_its_sources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another process has it not, and would give the same cell another key."""
    monkeypatch.setattr(hb.links, "planted", squares, raising=False)
    sources._neighbours.cache_clear()
    found = sources.closure(frozenset({"heavybandits.parts.links", HERE}))
    assert {"heavybandits.parts.links", HERE} <= {*found}
    assert __name__ not in found


def test_a_key_does_not_depend_on_what_else_was_imported() -> None:
    """Workers import what they need, and this process may have imported all there is."""
    package = Path(hb.__file__).parent
    every = [
        ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
        for path in sorted(package.rglob("*.py"))
        if not {"gpu", "integrations"} & {*path.parts} and path.stem != "__main__"
    ]
    asks = f"""
import importlib, sys
sys.path.insert(0, {str(SUPPORT)!r})
for name in sys.argv[1:]:
    importlib.import_module(name.removesuffix(".__init__"))
from heavybandits.sweeps import Cell
print(Cell("{HERE}:square", {{"number": 2.0}}).key)
"""
    python = [sys.executable, "-c", asks]
    alone, beside = (subprocess.check_output([*python, *names], text=True) for names in ([], every))
    assert alone == beside


def test_another_version_of_ours_is_no_reason_to_compute_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(squares(2), tmp_path)
    monkeypatch.setattr(support_files, "__version__", "99")
    assert run(squares(2), tmp_path).reused == 2


def test_the_digest_sees_results_and_neither_order_nor_time(tmp_path: Path) -> None:
    cells = squares(3)
    run(cells, tmp_path / "a")
    run(cells[::-1], tmp_path / "b")
    one = digest(tmp_path / "a", cells)
    assert one == digest(tmp_path / "b", [*cells[::-1], cells[0]])
    assert one != digest(tmp_path / "a", cells[:2])
    (changed,) = run([cell("square", 0.0, size=4)], tmp_path / "a").results.values()
    assert changed["count"] == 4
    with pytest.raises(SweepError, match="square of 9"):
        digest(tmp_path / "a", [cell("square", 9.0)])


# ---- the run


def test_only_what_is_missing_is_computed(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    cells = [cell("calls", float(number), log=log) for number in range(4)]
    first = run(cells[:3], tmp_path)
    again = run([*cells[::-1], cells[0]], tmp_path)
    assert (first.computed, first.reused) == (3, 0)
    assert (again.computed, again.reused) == (1, 3)
    assert sorted(Path(log).read_text().split()) == ["0.0", "1.0", "2.0", "3.0"]
    changed = Cell(cells[0].function, cells[0].settings, code="new")
    assert run([*cells, changed], tmp_path).computed == 1


def test_a_cell_cannot_change_its_settings(tmp_path: Path) -> None:
    one = Cell(f"{HERE}:settings_as_given", {"list": [1]})
    assert run([one], tmp_path).results[one.key]["length"] == 2
    assert one.settings == {"list": [1]}


def test_no_cells_is_a_sweep_too(tmp_path: Path) -> None:
    outcome = run([], tmp_path, backend="loky")
    assert (outcome.results, outcome.failed, outcome.computed) == ({}, [], 0)


@pytest.mark.parametrize("backend", ["sequential", "threads"])
def test_a_cell_that_raises_is_named_and_the_rest_finish(
    backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker = str(tmp_path / "marker")
    bad = [cell("raises", 5.0), cell("leaves"), cell("bad_result")]
    good = [*squares(4), cell("raises_once", 2.0, marker=marker)]
    outcome = run([*bad, *good], tmp_path, backend=backend)
    assert {one for one, _ in outcome.failed} == set(bad)
    assert set(outcome.results) == {one.key for one in good}
    errors = dict(outcome.failed)
    assert "no square of 5.0" in errors[bad[0]]
    assert "'thing' must be an array" in errors[bad[2]]
    assert "raises of 5.0 failed 3 times: ArithmeticError" in capsys.readouterr().err
    note = json.loads((tmp_path / "failed" / f"{bad[0].key}.json").read_bytes())
    assert note["settings"] == {"number": 5.0}
    assert note["label"] == "raises of 5.0"


def test_a_failure_is_forgotten_once_the_cell_succeeds(tmp_path: Path) -> None:
    one = cell("raises_once", 1.0, marker=str(tmp_path / "marker"))
    assert len(run([one], tmp_path, retries=1).failed) == 1
    assert list((tmp_path / "failed").iterdir())
    assert run([one], tmp_path, retries=1).computed == 1
    assert not list((tmp_path / "failed").iterdir())


def test_progress_is_told_and_quiet_is_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[int, int]] = []
    run(squares(2), tmp_path)
    run(squares(4), tmp_path, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(3, 4), (4, 4)]
    assert capsys.readouterr().err == ""
    run(squares(5), tmp_path, progress=True)
    assert capsys.readouterr().err == "5/5 cells, 4 reused\n"


def test_the_time_left_goes_by_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with Progress(10.0, show=False) as display:
        now[0] += 60.0  # compilation
        display.advance(1.0, "1/3 cells")
        assert display.status() == "1/3 cells"
        now[0] += 7.0
        display.advance(1.0, "2/3 cells")
        assert display.status() == "2/3 cells, 56 s left"


def test_the_time_left_does_not_count_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    now, compiled = [100.0], [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with Progress(10.0, show=False, idle=lambda: compiled[0]) as display:
        display.advance(1.0)
        now[0], compiled[0] = now[0] + 37.0, 30.0
        display.advance(1.0)
        assert display.status() == "20.0%, 56 s left"


def test_a_log_file_gets_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with Progress(4.0, show=True) as display:
        for _ in range(4):
            now[0] += 20.0
            display.advance(1.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["50.0%, 40 s left", "100.0%", "100.0%"]


def test_a_terminal_gets_a_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run(squares(1), tmp_path)
    bad = cell("raises", 5.0)
    run([*squares(3), bad], tmp_path, progress=True)
    shown = terminal.getvalue()
    assert shown.endswith(f"\r[{'#' * 30}] 4/4 cells, 1 reused\x1b[K\n")
    assert "\x1b[Kraises of 5.0 failed 3 times" in shown


def test_ctrl_c_stops_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = cell("square"), cell("interrupts")
    with pytest.raises(KeyboardInterrupt):
        run([first, second], tmp_path)
    assert "Run the same command again" in capsys.readouterr().err
    assert run([first], tmp_path).reused == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "slurm"}, "backend must be one of loky, sequential, threads, dask, ray"),
        ({"jobs": 0}, "jobs must be"),
        ({"retries": 0}, "retries must be"),
        ({"backend": "loky", "address": "tcp://127.0.0.1:1"}, "address is for dask and ray"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=words):
        run(squares(1), tmp_path, **options)


@pytest.mark.parametrize(
    ("backend", "module", "extra"),
    [("loky", "joblib", "lab"), ("dask", "distributed", "dask"), ("ray", "ray", "ray")],
)
def test_a_missing_extra_says_how_to_get_it(
    backend: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=rf"heavybandits\[{extra}\]"):
        run(squares(1), tmp_path, backend=backend)


# ---- the folder


def test_leftovers_of_a_kill_are_cleared_unless_another_sweep_is_at_work(tmp_path: Path) -> None:
    from heavybandits.sweeps.store import hold

    run(squares(1), tmp_path)
    leftover = tmp_path / "cells" / f".{64 * '0'}.npz.{16 * '1'}"
    leftover.write_bytes(b"half")
    notes = tmp_path / "cells" / ".notes.npz.bak"
    notes.write_bytes(b"of the user's")
    with hold(tmp_path):
        assert not leftover.exists()
        leftover.write_bytes(b"half")
        run(squares(2), tmp_path)
        assert leftover.exists()
    run(squares(2), tmp_path)
    assert not leftover.exists()
    assert notes.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SweepError, match=r"cannot write .*file.*bytes free"):
        run(squares(1), tmp_path / "file")


PLACES = {
    "cell": lambda folder, one: cell_path(folder, one),
    "timing": lambda folder, one: timing_path(folder, one),
    "lock": lambda folder, one: folder / ".lock",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe"])
def test_nothing_is_written_through_a_link_or_over_what_is_no_file(
    place: str, kind: str, tmp_path: Path
) -> None:
    one, folder = cell("square", 2.0), tmp_path / "out"
    run([one], folder)
    path, precious = PLACES[place](folder, one), tmp_path / "precious"
    path.unlink()
    if kind in ("link", "dangling"):
        path.symlink_to(precious)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    if kind == "link":
        precious.write_text("precious")
    with pytest.raises(SweepError, match=f"{path.name} is a (link|folder|pipe)"):
        run([one], folder)
    assert precious.exists() == (kind == "link")
    assert kind != "link" or precious.read_text() == "precious"


def test_a_link_that_appears_while_a_cell_is_computed_is_not_followed(tmp_path: Path) -> None:
    one, precious = cell("square", 2.0), tmp_path / "precious"
    run([], tmp_path / "out")
    precious.write_text("precious")
    cell_path(tmp_path / "out", one).symlink_to(precious)
    with pytest.raises(SweepError, match="is a link to"):
        store.write_cell(tmp_path / "out", one, {"a": 1}, cpu_seconds=0.5)
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("folder", [3, b"out", "", "a\0b", ["out"]])
def test_a_folder_must_be_the_name_of_one(folder: Any) -> None:
    with pytest.raises(InvalidInputError, match="folder must be"):
        hb.map_cells(sweep_functions.square, [{"number": 1.0}], folder=folder)


@pytest.mark.parametrize("name", ["cells", "timings", "failed"])
def test_a_file_in_place_of_a_folder_of_the_store_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("in the way")
    with pytest.raises(SweepError, match=rf"cannot write .*{name}"):
        run([cell("raises")], tmp_path, retries=1)
    assert (tmp_path / name).read_text() == "in the way"


def test_a_cell_that_cannot_be_read_is_computed_again(tmp_path: Path) -> None:
    one = cell("square", 2.0)
    run([one], tmp_path)
    for text in ("[]", "null", "{", '{"cpu_seconds": 1.0, "imported": [3]}', "[" * 100_000):
        timing_path(tmp_path, one).write_text(text)
        assert run([one], tmp_path).computed == 1


def test_two_processes_share_a_store(tmp_path: Path, mark: str) -> None:
    """Each finds or computes every cell, and both end with the same files."""
    made = [start(tmp_path / "out", 30, 0.01, "threads", mark) for _ in range(2)]
    for process in made:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    run(sweep_functions.sweep(30, 0.01), tmp_path / "truth", backend="threads", jobs=4)
    assert files(tmp_path / "out") == files(tmp_path / "truth")


def test_too_little_room_is_noticed_before_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run([cell("large", 1.0)], tmp_path)
    monkeypatch.setattr(support_files, "free_bytes", lambda path: 400_000)
    with pytest.raises(SweepError, match="12 cells need about 491520 bytes, and 400000 bytes are"):
        run([cell("large", float(number)) for number in range(2, 14)], tmp_path)
    assert run([cell("large", 2.0)], tmp_path).computed == 1


# ---- the same numbers everywhere


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a sweep in one process, undisturbed."""
    folder = tmp_path_factory.mktemp("truth")
    run([*squares(8), *simulations()], folder)
    return files(folder)


@pytest.mark.parametrize(
    ("backend", "jobs"),
    [("loky", 1), ("loky", 2), ("loky", 3), ("threads", 2)],
)
def test_every_backend_writes_the_same_bytes(
    backend: str, jobs: int, truth: dict[str, bytes], tmp_path: Path
) -> None:
    cells = [*simulations(), *squares(8)]
    outcome = run(cells, tmp_path, backend=backend, jobs=jobs)
    assert outcome.computed == len(cells)
    assert files(tmp_path) == truth


def test_a_simulated_cell_is_what_simulate_gives(tmp_path: Path) -> None:
    cells = simulations()
    outcome = run(cells, tmp_path)
    problem = hb.Problem(hb.arms.Fixed(5, 3), hb.links.Logistic(), hb.noises.StudentT(3.0))
    policy = hb.crtm(dim=3, horizon=500, raw_moment=3.5, radius_scale=1e-2)
    whole = hb.simulate(
        policy, problem, horizon=500, repetitions=4, seed=7, checkpoints=[100, 500], progress=False
    )
    parts = [outcome.results[one.key] for one in cells]
    regret = np.concatenate([part["regret"] for part in parts])
    assert np.array_equal(regret, whole.curves("policy")[1])
    for name in ("updates", "projections", "truncated"):
        stacked = np.concatenate([part[name] for part in parts]).ravel()
        assert stacked.dtype == np.int64
        assert np.array_equal(stacked, whole.data[name])
    assert parts[0]["cpu_seconds"].shape == (2,)


def test_own_parts_are_taken_by_name_and_nothing_else_is() -> None:
    settings = dict(simulations()[0].settings)
    settings["problem"] = json.loads(json.dumps(settings["problem"]))
    settings["problem"]["fields"]["noise"]["part"] = f"{HERE}:OwnNoise"
    with pytest.raises(hb.StateError, match=r"no part 'sweep_functions:OwnNoise' here: if it is"):
        simulate_cell(**settings)
    assert build_parts(settings["problem"], [f"{HERE}:OwnNoise"]).noise == OwnNoise(3.0)
    with pytest.raises(InvalidInputError, match="parts must be classes of parts"):
        simulate_cell(**settings, parts=["math:sqrt"])


def test_loky_workers_use_one_thread_each_and_are_kept(tmp_path: Path) -> None:
    cells = [cell("process", float(number)) for number in range(8)]
    first = run(cells[:4], tmp_path, backend="loky", jobs=2)
    second = run(cells[4:], tmp_path, backend="loky", jobs=2)
    results = [*first.results.values(), *second.results.values()]
    assert {result["threads"] for result in results} == {"1"}
    processes = {result["process"] for result in results}
    assert len(processes) <= 2
    assert os.getpid() not in processes


def test_two_threads_leave_the_umask_alone(tmp_path: Path) -> None:
    from heavybandits._utils.files import replace_atomically

    def write() -> None:
        for _ in range(50):
            replace_atomically(tmp_path / f"{threading.get_ident()}", lambda p: p.write_bytes(b""))

    before = os.umask(0o027)
    try:
        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.umask(0o027) == 0o027
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}
    finally:
        os.umask(before)


def test_workers_that_died_unnoticed_are_given_up_and_their_cells_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A future that nothing will ever finish: without a watch, the sweep waits forever."""
    healthy = backends.start_sequential(None, None)
    gone = list[int]()

    def submit(*call: Any) -> Any:
        return healthy.submit(*call) if gone else Future()

    broken = healthy._replace(
        submit=submit, is_lost=lambda: not gone, discard=lambda: gone.append(1)
    )
    monkeypatch.setitem(backends.BACKENDS, "threads", lambda jobs, address: broken)
    monkeypatch.setattr("heavybandits.sweeps.run.WATCHED", 1)
    assert run(squares(3), tmp_path, backend="threads").computed == 3
    assert gone == [1]


def test_a_worker_that_says_done_without_a_file_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = backends.Report(backends.DONE)
    monkeypatch.setattr(backends, "compute", lambda cell, folder: done)
    outcome = run(squares(1), tmp_path)
    assert "do all workers share this folder?" in outcome.failed[0][1]
    assert load_cell(tmp_path, squares(1)[0]) is None
