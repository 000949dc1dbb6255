"""The text of a team's projection, with a thread in the place of every lane: no device is needed.

Threads keep to no common step, so what a device would do by luck, they do not.
"""

import importlib.util
import threading

import numpy as np
import pytest

from heavybandits.engine import projections as engine
from heavybandits.engine.projections import ROWS, project_ball

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not installed: make gpu-test", allow_module_level=True)

from heavybandits.cuda import arms, projections


class Team:
    """Lanes that are threads: who they are, how they wait for each other and sum up."""

    def __init__(self, lanes):
        self.lanes, self.own = lanes, threading.local()
        self.barrier, self.board = threading.Barrier(lanes, timeout=20), np.zeros(lanes)

    def lane(self, lanes):
        return self.own.number

    def sync(self, lanes):
        self.barrier.wait()

    def total(self, value, lanes):
        self.board[self.own.number] = value
        self.barrier.wait()
        found = self.board.sum()
        self.barrier.wait()
        return found

    def run(self, work):
        """Let all lanes do it; the errors they met."""
        errors = []

        def as_lane(number):
            self.own.number = number
            try:
                with np.errstate(all="ignore"):
                    work()
            except BaseException as error:
                errors.append(error)
                self.barrier.abort()

        threads = [threading.Thread(target=as_lane, args=(i,)) for i in range(self.lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return errors


def stretch_for(team):
    def stretch(x, factor):
        team.sync(team.lanes)
        x[team.own.number :: team.lanes] *= factor
        team.sync(team.lanes)

    return stretch


def project_together(monkeypatch, lanes, inverse, x, limit):
    """What a team of threads makes of x."""
    team, x = Team(lanes), x.copy()
    stand_ins = {
        "lane": team.lane,
        "sync": team.sync,
        "total": team.total,
        "writable": lambda array: array,
        "opaque": lambda number: number,
        "stretch": stretch_for(team),
        "combine": arms.image_of(lanes),
    }
    for module in (projections, arms):
        for name in stand_ins.keys() & vars(module).keys():
            monkeypatch.setattr(module, name, stand_ins[name])
    monkeypatch.setattr(engine, "shortening", projections.shortening_rolled_up)
    monkeypatch.setattr("numba.cuda.libdevice.rsqrt", lambda x: 1.0 / np.sqrt(x))
    scratch = np.full((ROWS + x.size, x.size), np.nan)  # what nobody has written, nobody may read
    project = projections.projection_of(lanes)
    assert team.run(lambda: project(inverse, x, limit, scratch)) == []
    return x


def region(rng, dim, spread):
    """V^-1 with eigenvalues from 1 / spread to 1."""
    turned = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    return (turned * spread ** rng.uniform(-1.0, 0.0, dim)) @ turned.T


@pytest.mark.parametrize("lanes", [2, 8, 32])
@pytest.mark.parametrize(
    ("dim", "spread", "error"),
    [
        (1, 1.0, 1e-15),
        (2, 1e3, 1e-12),
        (10, 1e2, 1e-11),
        (10, 1e6, 1e-10),
        (24, 1e3, 1e-11),
        (24, 1e9, 5e-8),  # with one sweep alone it would be 1e-6
    ],
)
@pytest.mark.parametrize("far", [1.0 + 1e-9, 1.3, 1e4])
def test_a_team_projects_where_the_cpu_does(monkeypatch, lanes, dim, spread, error, far):
    rng = np.random.default_rng(dim)
    inverse, x = region(rng, dim, spread), rng.normal(size=dim)
    x *= 0.7 * far / np.linalg.norm(x)
    wanted = x.copy()
    project_ball(inverse, wanted, 0.7, np.zeros((ROWS + dim, dim)))
    found = project_together(monkeypatch, lanes, inverse, x, 0.7)
    assert np.linalg.norm(found) == pytest.approx(0.7, rel=1e-14)
    assert np.abs(found - wanted).max() < error


def test_a_team_projects_what_is_so_far_out_that_its_square_is_infinite(monkeypatch):
    rng = np.random.default_rng(0)
    inverse, x = region(rng, 5, 10.0), 1e200 * rng.normal(size=5)
    wanted = x.copy()
    with np.errstate(over="ignore"):
        project_ball(inverse, wanted, 1.0, np.zeros((ROWS + 5, 5)))
    found = project_together(monkeypatch, 8, inverse, x, 1.0)
    assert np.abs(found - wanted).max() < 1e-12


def test_a_direction_that_v_knows_nothing_of_is_no_trouble(monkeypatch):
    """An eigenvector: the first image lies in the basis, and nothing is left."""
    x = np.array([2.0, 0.0, 0.0])
    found = project_together(monkeypatch, 8, np.diag([0.5, 1.0, 2.0]), x, 1.0)
    assert np.abs(found - [1.0, 0.0, 0.0]).max() < 1e-15
