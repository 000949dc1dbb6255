"""Real processes, really killed: workers, whole runs, and disks that are full."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heavybandits.sweeps import SweepError, backends
from heavybandits.sweeps.store import load_cell
from processes import gone, marked
from sweep_functions import sweep
from sweep_helpers import cell, files, kill, needs, run, squares, start, start_python

KILLS = int(os.environ.get("HEAVYBANDITS_KILLS", "8"))

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="kills processes and looks for them in /proc"
)


# ---- one worker


def test_a_killed_worker_costs_nothing_and_only_the_culprit_is_blamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, poison = sweep(8, 0.02), cell("dies", 9.0)
    unlucky = cell("dies_once", 3.0, marker=str(tmp_path / "marker"))
    outcome = run([poison, unlucky, *good], tmp_path / "out", backend="loky", jobs=2)
    assert [one for one, _ in outcome.failed] == [poison]
    assert set(outcome.results) == {one.key for one in [unlucky, *good]}
    assert "dies of 9.0 failed 3 times: the worker died" in capsys.readouterr().err
    run(good, tmp_path / "truth")
    made = files(tmp_path / "out")
    del made[f"{unlucky.key}.npz"]
    assert made == files(tmp_path / "truth")


def test_one_worker_alone_can_be_killed_too(tmp_path: Path) -> None:
    outcome = run([cell("dies", 1.0), *squares(2)], tmp_path, backend="loky", jobs=1, retries=1)
    assert [one for one, _ in outcome.failed] == [cell("dies", 1.0)]
    assert len(outcome.results) == 2


def test_loky_workers_that_are_gone_are_noticed_and_replaced(tmp_path: Path) -> None:
    run(squares(2), tmp_path, backend="loky", jobs=1)
    workers = backends.start_loky(1, None)
    assert workers.submit(os.getpid).result(60) != os.getpid()
    assert not workers.is_lost()
    workers.discard()
    assert workers.is_lost()
    assert workers.submit(os.getpid).result(60) != os.getpid()
    assert not workers.is_lost()


# ---- the whole run


def test_a_run_killed_at_random_moments_ends_with_the_bytes_of_an_undisturbed_one(
    tmp_path: Path, mark: str
) -> None:
    cells = sweep(max(60, 12 * KILLS), 0.02)
    run(cells, tmp_path / "truth", backend="threads", jobs=8)
    truth, folder = files(tmp_path / "truth"), tmp_path / "out"
    rng, finished, interrupted = random.Random(KILLS), set[str](), 0
    for number in range(KILLS):
        backend = "loky" if number % 4 == 0 else "threads"
        process = start(folder, len(cells), 0.02, backend, mark)
        if number % 5:
            process.stdout.readline()
            process.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.12))
        else:  # while it starts
            time.sleep(rng.uniform(0.0, 1.0))
        interrupted += process.poll() is None
        kill(process)
        assert gone(mark, within=10.0)
        here = {path.name: path.read_bytes() for path in folder.glob("cells/*.npz")}
        assert here.items() <= truth.items(), "a file that counts as done is damaged"
        assert finished <= set(here), "a finished cell was lost"
        finished = set(here)
    assert interrupted == KILLS
    assert finished
    outcome = run(cells, folder, backend="threads", jobs=8)
    assert outcome.reused == len(finished)
    assert files(folder) == truth
    assert all(load_cell(folder, one) is not None for one in cells)


@pytest.mark.parametrize("backend", ["loky", needs("dask", "distributed")])
def test_no_worker_outlives_a_killed_run(backend: str, tmp_path: Path, mark: str) -> None:
    process = start(tmp_path, 100, 0.5, backend, mark)
    process.stdout.readline()
    process.stdout.readline()
    assert len(marked(mark)) >= 3
    kill(process)
    assert gone(mark, within=10.0)


def test_where_the_kernel_does_not_tell_a_worker_looks_after_its_parent(mark: str) -> None:
    child = (
        "import os; from heavybandits.sweeps.backends import watch\n"
        "parent = os.getppid()\n"  # before the word goes out: afterwards it may be dead
        "print('watching', flush=True)\n"
        "watch(parent, 0.05)"
    )
    parent = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "time.sleep(60)"
    )
    process = start_python(["-c", parent], mark)
    assert process.stdout.readline() == "watching\n"
    assert len(marked(mark)) == 2
    kill(process)
    assert gone(mark, within=10.0)


def test_ctrl_c_ends_a_run_with_its_workers_and_says_how_to_go_on(
    tmp_path: Path, mark: str
) -> None:
    process = start(tmp_path, 100, 0.2, "loky", mark)
    process.stdout.readline()
    process.stdout.readline()
    for one in marked(mark):  # as a terminal does it: to the run and to its workers
        os.kill(one, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert errors.count("Run the same command again") == 1
    spoken = errors.count("Traceback") - errors.count("Exception ignored in")  # by Python itself
    assert spoken == 1  # of this little script; the workers say nothing
    assert gone(mark, within=10.0)
    done = len(list((tmp_path / "cells").glob("*.npz")))
    assert 1 <= done < 100


# ---- the disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        made = subprocess.run(command, capture_output=True)
    except OSError:
        pytest.skip("there is no mount here")
    if made.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.parametrize("backend", ["threads", "loky"])
def test_a_full_or_read_only_disk_damages_nothing_and_the_run_goes_on_later(
    backend: str, small_disk: Path, tmp_path: Path
) -> None:
    cells = [cell("large", float(number)) for number in range(12)]
    run(cells, tmp_path / "truth")
    truth = files(tmp_path / "truth")
    folder = small_disk / "out"
    with pytest.raises(SweepError, match=r"cannot write .*/out/cells/.*\(\d+ bytes free\)"):
        run(cells, folder, backend=backend, jobs=2)
    time.sleep(0.1 if backend == "threads" else 0.0)  # a thread cannot be killed: let it end
    finished = {path.name: path.read_bytes() for path in folder.glob("cells/*.npz")}
    assert finished
    assert finished.items() <= truth.items()
    with pytest.raises(SweepError, match=r"cells need about \d+ bytes, and \d+ bytes are free"):
        run(cells, folder, backend=backend, jobs=2)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(SweepError, match=r"cannot write .*Read-only file system"):
        run(cells, folder, backend=backend, jobs=2)
    subprocess.run(["mount", "-o", "remount,rw,size=4m", str(small_disk)], check=True)
    outcome = run(cells, folder, backend=backend, jobs=2)
    assert outcome.reused == len(finished)
    assert files(folder) == truth
