"""A real Dask and a real Ray on this machine: the same bytes, and killed workers do no harm."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from heavybandits.sweeps import backends
from processes import family, listening
from sweep_functions import sweep
from sweep_helpers import cell, files, finished_files, kill, needs, run, simulations, squares, start

LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


class Cluster(NamedTuple):
    name: str
    address: str | None


@pytest.fixture(params=[needs("dask", "distributed"), needs("ray", "ray")])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of two workers that is there before the sweep is."""
    backend: Any = backends.BACKENDS[request.param](2, None)
    yield Cluster(request.param, backend.address)
    backend.close(False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")
def test_a_cluster_gives_the_same_bytes_and_survives_killed_workers(
    cluster: Cluster, tmp_path: Path, mark: str
) -> None:
    """And a whole run that is killed leaves nothing but finished cells, to go on from."""
    options = {"backend": cluster.name, "address": cluster.address, "jobs": 2}
    killed = sweep(40, 0.1)
    good, poison = [*simulations(), *squares(6), *killed], cell("dies", 9.0)
    unlucky = cell("dies_once", 3.0, marker=str(tmp_path / "marker"))
    run([*good], tmp_path / "truth", backend="threads", jobs=8)
    process = start(tmp_path / "out", len(killed), 0.1, cluster.name, mark)
    process.stdout.readline()
    process.stdout.readline()
    kill(process)
    finished = finished_files(tmp_path / "out")
    assert 1 <= len(finished) < len(killed)
    assert finished.items() <= files(tmp_path / "truth").items()
    outcome = run([poison, unlucky, *good], tmp_path / "out", **options)
    assert outcome.reused >= len(finished)  # a worker may finish a cell after its run was killed
    assert [one for one, _ in outcome.failed] == [poison]
    assert "the worker died" in outcome.failed[0][1]
    assert unlucky.key in outcome.results
    made = finished_files(tmp_path / "out")
    del made[f"{unlucky.key}.npz"]
    assert made == files(tmp_path / "truth")
    if sys.platform.startswith("linux"):
        heard = set().union(*(listening(process) for process in family(os.getpid())))
        assert heard
        assert heard <= LOOPBACK
